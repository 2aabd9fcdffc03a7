//! The merge of sorted runs as a function of Python: flex_logs_ingest/counts/merge_reference.py defines it, flex-core computes it.

use flex_core::merge::{Trouble, merged};
use flex_core::run::Place;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;

/// `Given` of flex_logs_ingest/counts/merge_reference.py.
type Given = (String, Vec<usize>, Option<i64>, bool);

#[pyfunction]
pub fn merge(py: Python<'_>, runs: Vec<Given>, path: &str, progress: Py<PyAny>) -> PyResult<u64> {
    let places = runs.into_iter().map(|(path, groups, day, before)| Place { path, groups, day, before }).collect();
    let mut unheard = None;
    let mut tell = |rows: usize| {
        let heard = Python::attach(|py| py.check_signals().and_then(|()| progress.call1(py, (rows,)).map(drop)));
        unheard = heard.err();
        unheard.is_none()
    };
    let done = py.detach(|| merged(places, path, &mut tell));
    done.map_err(|trouble| match trouble {
        Trouble::Input(path, why) => PyValueError::new_err((path, why)),
        Trouble::Output(error) => match error.raw_os_error() {
            Some(number) => PyOSError::new_err((number, error.to_string())),
            None => PyOSError::new_err(error.to_string()),
        },
        Trouble::Enough => unheard.unwrap_or_else(|| PyOSError::new_err("nobody wanted more")),
    })
}
