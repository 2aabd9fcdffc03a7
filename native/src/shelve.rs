//! The records of a zone transfer as sets: dns/flex_dns/wire/sets_from_transferred_records.py defines it, and keeps whatever is new.

use flex_core::names::{Unread, name_at};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString};

const A: u16 = 1;
const TXT: u16 = 16;
const AAAA: u16 = 28;
/// NS, CNAME, SOA, DNAME.
const NOTED: [u16; 4] = [2, 5, 6, 39];
/// Type, class, TTL, length.
const FIXED: usize = 10;

/// Up to the first record that is noted: where that is, and how many are left.
#[pyfunction]
pub fn shelve<'py>(
    wire: &Bound<'py, PyBytes>,
    mut at: usize,
    mut left: usize,
    _known: &Bound<'py, PyAny>,
    shelf: &Bound<'py, PyAny>,
) -> PyResult<(usize, usize)> {
    let shelf = Shelf::of(shelf)?;
    let wire = wire.as_bytes();
    let mut name = String::new();
    while left > 0 {
        let start = name_at(wire, at, &mut name).map_err(unread)?;
        let fixed = wire.get(start..start + FIXED).ok_or_else(cut_off)?;
        let kind = u16::from_be_bytes([fixed[0], fixed[1]]);
        if NOTED.contains(&kind) {
            break;
        }
        let end = start + FIXED + usize::from(u16::from_be_bytes([fixed[8], fixed[9]]));
        let record = wire.get(start..end).ok_or_else(cut_off)?;
        shelf.take(&name, kind, record)?;
        (at, left) = (end, left - 1);
    }
    Ok((at, left))
}

struct Shelf<'py> {
    shelf: &'py Bound<'py, PyAny>,
    names: Bound<'py, PyDict>,
    sets: Bound<'py, PyDict>,
    values: Bound<'py, PyDict>,
    unions: Bound<'py, PyDict>,
}

impl<'py> Shelf<'py> {
    fn of(shelf: &'py Bound<'py, PyAny>) -> PyResult<Shelf<'py>> {
        let py = shelf.py();
        let dict = |name| -> PyResult<Bound<'py, PyDict>> { Ok(shelf.getattr(name)?.cast_into::<PyDict>()?) };
        Ok(Shelf {
            shelf,
            names: dict(intern!(py, "names"))?,
            sets: dict(intern!(py, "sets"))?,
            values: dict(intern!(py, "values"))?,
            unions: dict(intern!(py, "unions"))?,
        })
    }

    fn take(&self, name: &str, kind: u16, record: &[u8]) -> PyResult<()> {
        let py = self.shelf.py();
        let kind = match kind {
            A => intern!(py, "A"),
            TXT => intern!(py, "TXT"),
            AAAA => intern!(py, "AAAA"),
            _ => return Ok(()),
        };
        let Some(name) = self.names.get_item(PyString::new(py, name))? else { return Ok(()) };
        let (key, record) = ((name, kind).into_pyobject(py)?, PyBytes::new(py, record));
        let Some(value) = self.values.get_item(&record)? else { return self.keep(key, record) };
        let others = match self.sets.get_item(&key)? {
            None => return self.sets.set_item(key, value),
            Some(others) if others.is(&value) => return Ok(()),
            Some(others) => others,
        };
        match self.unions.get_item((others, value))? {
            Some(union) => self.sets.set_item(key, union),
            None => self.keep(key, record),
        }
    }

    /// What is the first of its kind is left to the reference: there are few.
    fn keep(&self, key: impl IntoPyObject<'py>, record: Bound<'py, PyBytes>) -> PyResult<()> {
        self.shelf.call_method1(intern!(self.shelf.py(), "keep"), (key, record)).map(drop)
    }
}

fn unread(why: Unread) -> PyErr {
    match why {
        Unread::CutOff => cut_off(),
        Unread::Endless => PyValueError::new_err("a name that never ends"),
        Unread::TooLong => PyValueError::new_err("a name that is too long"),
    }
}

fn cut_off() -> PyErr {
    PyIndexError::new_err("a record is cut off")
}
