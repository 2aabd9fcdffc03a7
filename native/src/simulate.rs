//! A cluster that serves a trace, between Python and native/core/src/sim.

use flex_core::cache::policy::Cache;
use flex_core::cache::{ForAnyCache, with_cache};
use flex_core::sim::job::Job;
use flex_core::sim::queued::queued;
use flex_core::sim::rules::NAMES;
use flex_core::sim::serial::serial;
use flex_core::sim::served::Served;
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;

type Ints<'py> = Bound<'py, PyArray1<i64>>;
type Answer<'py> = (Ints<'py>, Ints<'py>, Ints<'py>, Ints<'py>, Ints<'py>, Ints<'py>, i64, i64);

macro_rules! arrays_and_numbers {
    ([$($array:ident),*], [$($number:ident),*]) => {
        /// The fields of flex.sim.engine_input_and_output.Job, as they come.
        #[derive(FromPyObject)]
        pub struct Fields<'py> {
            cache: String,
            serial: bool,
            $($array: PyReadonlyArray1<'py, i64>,)*
            $($number: i64,)*
        }

        impl Fields<'_> {
            fn job(&self) -> PyResult<Job<'_>> {
                Ok(Job { $($array: self.$array.as_slice()?,)* $($number: self.$number,)* })
            }
        }
    };
}

arrays_and_numbers!(
    [target, key, size, work, disk, ram, connect, send, close, weight, rule, first, option, pinned],
    [
        send_unit,
        disks,
        seek,
        again,
        block,
        transfer,
        transfer_unit,
        memory,
        largest,
        front,
        front_connect,
        front_send,
        limit,
        idle_below,
        warm,
        backlog_unit,
        low,
        high,
        patience,
        bound,
        interval,
        margin,
        cpu_share
    ]
);

struct Simulation<'a> {
    job: &'a Job<'a>,
    one_by_one: bool,
}

impl ForAnyCache for Simulation<'_> {
    type Answer = Served;

    fn with<C: Cache + 'static>(self) -> Served {
        if self.one_by_one { serial::<C>(self.job) } else { queued::<C>(self.job) }
    }
}

/// What became of each access (its node, outcome and delay) and each node (busy, reading, idle), when counting
/// began, and when it ended.
#[pyfunction]
pub fn simulate<'py>(py: Python<'py>, job: Fields<'py>) -> PyResult<Answer<'py>> {
    let checked = job.job()?;
    checked.check(NAMES.len(), job.serial).map_err(|wrong| PyValueError::new_err(wrong.0))?;
    let work = Simulation { job: &checked, one_by_one: job.serial };
    let cache = job.cache.as_str();
    let served = py.detach(|| with_cache(cache, work));
    let served = served.ok_or_else(|| PyKeyError::new_err(cache.to_owned()))?;
    let column = |values: Vec<i64>| PyArray1::from_vec(py, values);
    Ok((
        column(served.node),
        column(served.outcome),
        column(served.delay),
        column(served.busy),
        column(served.reading),
        column(served.idle),
        served.began,
        served.end,
    ))
}
