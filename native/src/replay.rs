//! Accesses through the nodes' caches, between Python and native/core/src/replay.rs.

use flex_core::cache::policy::Cache;
use flex_core::cache::{ForAnyCache, with_cache};
use flex_core::replay::{Tally, replay as replay_with};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::{PyIndexError, PyKeyError, PyValueError};
use pyo3::prelude::*;

type Ints<'py> = Bound<'py, PyArray1<i64>>;

struct Replay<'a> {
    target: &'a [i64],
    node: &'a [i64],
    size: &'a [i64],
    ram: &'a [i64],
}

impl ForAnyCache for Replay<'_> {
    type Answer = Option<Vec<Tally>>;

    fn with<C: Cache + 'static>(self) -> Self::Answer {
        replay_with::<C>(self.target, self.node, self.size, self.ram)
    }
}

/// Requests, misses, bytes and disk bytes of each node, each with a cache of ram[node] bytes.
#[pyfunction]
pub fn replay<'py>(
    py: Python<'py>,
    cache: &str,
    target: PyReadonlyArray1<'py, i64>,
    node: PyReadonlyArray1<'py, i64>,
    size: PyReadonlyArray1<'py, i64>,
    ram: PyReadonlyArray1<'py, i64>,
) -> PyResult<(Ints<'py>, Ints<'py>, Ints<'py>, Ints<'py>)> {
    let (target, node, size, ram) = (target.as_slice()?, node.as_slice()?, size.as_slice()?, ram.as_slice()?);
    if target.len() != node.len() {
        return Err(PyValueError::new_err("there are not as many targets as nodes"));
    }
    if size.iter().any(|bytes| *bytes < 0) {
        return Err(PyValueError::new_err("a size is negative"));
    }
    let tallies = py.detach(|| with_cache(cache, Replay { target, node, size, ram }));
    let tallies = tallies.ok_or_else(|| PyKeyError::new_err(cache.to_owned()))?;
    let tallies = tallies.ok_or_else(|| PyIndexError::new_err("a target or a node is out of range"))?;
    let column = |value: fn(&Tally) -> i64| PyArray1::from_iter(py, tallies.iter().map(value));
    Ok((
        column(|tally| tally.requests),
        column(|tally| tally.misses),
        column(|tally| tally.bytes),
        column(|tally| tally.disk_bytes),
    ))
}
