//! The search around a placement: see flex_solver/search/local_search_loop.py, whose reference_improve defines what it computes.

use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::items::{Arrays, Items, places};
use crate::search::{CHANCES, Search};

/// That of flex_solver.search.local_search_loop.Schedule.
#[derive(FromPyObject)]
pub struct Schedule<'py> {
    heat: PyReadonlyArray1<'py, i64>,
    weight: PyReadonlyArray1<'py, i64>,
    chance: PyReadonlyArray1<'py, i64>,
    steps: u64,
    seed: u64,
}

/// The best node found for each item; `node` is where they start.
#[pyfunction]
pub fn improve<'py>(
    py: Python<'py>,
    items: Arrays<'py>,
    node: PyReadonlyArray1<'py, i64>,
    schedule: Schedule<'py>,
) -> PyResult<Bound<'py, PyArray1<i64>>> {
    let items = Items::from(items)?;
    let node = places(&node)?;
    let (heat, weight, chance) = (schedule.heat.as_slice()?, schedule.weight.as_slice()?, schedule.chance.as_slice()?);
    if !items.fit(&node) || chance.len() != CHANCES || heat.len() != weight.len() {
        return Err(PyValueError::new_err("the arrays do not fit each other"));
    }
    let best = py.detach(|| Search::new(&items, node, schedule.seed).run(heat, weight, chance, schedule.steps));
    Ok(PyArray1::from_iter(py, best.into_iter().map(|n| n as i64)))
}
