//! Small logs, many at a time: flex_logs_ingest/reading/small_logs.py defines it, flex-core computes it.

use std::path::PathBuf;

use flex_core::cut::Layout;
use flex_core::sites::Rule;
use flex_core::small::{self, Counted, Look, Way};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::scan::{Failed, into_python, layout_of, rule_of, taken};

/// Device, inode, size, time of the last change, and bytes.
type Seen<'py> = (u64, u64, u64, i64, Bound<'py, PyBytes>);
/// The opening, the counts, and the memory that they took.
type Told<'py> = (Option<Bound<'py, PyDict>>, Bound<'py, PyDict>, usize);

#[pyfunction]
#[allow(clippy::too_many_arguments)] // As many as its reference has.
pub fn look_at_logs<'py>(
    py: Python<'py>,
    paths: Vec<PathBuf>,
    magics: Vec<Vec<u8>>,
    flags: i32,
    most: usize,
    whole: bool,
    head: usize,
    threads: usize,
) -> Vec<Option<Seen<'py>>> {
    let way = Way { flags, magics, most, whole, head };
    let found: Vec<Option<Look>> = py.detach(|| small::each(paths, threads, |path| small::look(&path, &way)));
    let seen = |log: Look| (log.device, log.inode, log.size, log.modified, PyBytes::new(py, &log.text));
    found.into_iter().map(|log| log.map(seen)).collect()
}

/// One log, and what it is to be counted by.
struct Task<'a> {
    text: &'a [u8],
    layout: &'a Layout,
    rule: Rule,
    failed: Failed,
}

#[pyfunction]
pub fn count_logs<'py>(
    py: Python<'py>,
    logs: Vec<(Bound<'py, PyBytes>, usize, Bound<'py, PyAny>)>,
    layouts: Vec<Bound<'py, PyAny>>,
    sample_limit: usize,
    look: usize,
    threads: usize,
) -> PyResult<Vec<Told<'py>>> {
    let layouts: Vec<Layout> = layouts.iter().map(layout_of).collect::<PyResult<_>>()?;
    let tasks: Vec<Task<'_>> = logs
        .iter()
        .map(|(text, number, rule)| {
            let failed = Failed::default();
            let layout = layouts.get(*number).ok_or_else(|| PyIndexError::new_err("there is no such layout"))?;
            Ok(Task { text: text.as_bytes(), layout, rule: rule_of(rule, failed.clone())?, failed })
        })
        .collect::<PyResult<_>>()?;
    let counted: Vec<(Failed, Counted)> = py.detach(|| {
        let count =
            |Task { text, layout, rule, failed }| (failed, small::count(text, layout, rule, sample_limit, look));
        small::each(tasks, threads, count)
    });
    counted.into_iter().map(|(failed, counted)| told(py, &failed, counted)).collect()
}

fn told<'py>(py: Python<'py>, failed: &Failed, counted: Counted) -> PyResult<Told<'py>> {
    if let Some(error) = taken(failed) {
        return Err(error);
    }
    let opening = counted.opening.map(|found| into_python(py, found)).transpose()?;
    Ok((opening, into_python(py, counted.found)?, counted.memory))
}
