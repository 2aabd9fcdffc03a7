//! The records of a zone transfer as sets: dns/flex_dns/wire/transferred_sets.py defines it, and keeps whatever is new.

use std::ops::Range;

use flex_core::names::{Unread, name_at};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString};

const A: u16 = 1;
const TXT: u16 = 16;
const AAAA: u16 = 28;
const MX: u16 = 15;
const SRV: u16 = 33;
const SVCB: u16 = 64;
const HTTPS: u16 = 65;
const CAA: u16 = 257;
/// What a TXT record begins with that says who may send mail, behind its first length.
const SPF: &[u8] = b"v=spf1";
const CNAME: u16 = 5;
/// NS, SOA, DNAME.
const NOTED: [u16; 3] = [2, 6, 39];
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
    let (py, wire) = (wire.py(), wire.as_bytes());
    let (mut name, mut target) = (String::new(), String::new());
    while left > 0 {
        let start = name_at(wire, at, &mut name).map_err(unread)?;
        let fixed = wire.get(start..start + FIXED).ok_or_else(cut_off)?;
        let kind = u16::from_be_bytes([fixed[0], fixed[1]]);
        if NOTED.contains(&kind) {
            break;
        }
        let end = start + FIXED + usize::from(u16::from_be_bytes([fixed[8], fixed[9]]));
        let record = wire.get(start..end).ok_or_else(cut_off)?;
        if kind == CNAME {
            shelf.alias(&name, wire, start + FIXED, &mut target)?;
        } else {
            shelf.take(&name, kind, record)?;
        }
        if let Some(pointing) = &shelf.pointing {
            note(py, wire, start + FIXED..end, &name, kind, pointing, &mut target)?;
        }
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
    aliases: Bound<'py, PyDict>,
    /// Whether anybody wants HTTPS and SVCB.
    hints: bool,
    /// Those of all names, where anybody wants them.
    every_alias: Option<Bound<'py, PyDict>>,
    /// Nobody wants records that point to names where there is none.
    pointing: Option<Bound<'py, PyList>>,
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
            aliases: dict(intern!(py, "aliases"))?,
            hints: shelf.getattr(intern!(py, "hints"))?.extract()?,
            every_alias: shelf.getattr(intern!(py, "every_alias"))?.extract()?,
            pointing: shelf.getattr(intern!(py, "pointing"))?.extract()?,
        })
    }

    fn take(&self, name: &str, kind: u16, record: &[u8]) -> PyResult<()> {
        let py = self.shelf.py();
        let kind = match kind {
            A => intern!(py, "A"),
            TXT => intern!(py, "TXT"),
            AAAA => intern!(py, "AAAA"),
            SVCB if self.hints => intern!(py, "SVCB"),
            HTTPS if self.hints => intern!(py, "HTTPS"),
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

    /// Where a CNAME leads, where that matters: its data begins there.
    fn alias(&self, name: &str, wire: &[u8], data: usize, target: &mut String) -> PyResult<()> {
        let name = PyString::new(self.shelf.py(), name);
        let wanted = self.names.contains(&name)?;
        if !wanted && self.every_alias.is_none() {
            return Ok(());
        }
        name_at(wire, data, target).map_err(unread)?;
        let target = PyString::new(self.shelf.py(), target);
        if wanted {
            self.aliases.set_item(&name, &target)?;
        }
        match &self.every_alias {
            None => Ok(()),
            // Many lead to one: its text is kept once.
            Some(every) => match self.names.get_item(&target)? {
                Some(known) => every.set_item(name, known),
                None => every.set_item(name, target),
            },
        }
    }

    /// What is the first of its kind is left to the reference: there are few.
    fn keep(&self, key: impl IntoPyObject<'py>, record: Bound<'py, PyBytes>) -> PyResult<()> {
        self.shelf.call_method1(intern!(self.shelf.py(), "keep"), (key, record)).map(drop)
    }
}

/// Appends a record that points to a name, or says something of what names depend on.
fn note(
    py: Python<'_>,
    wire: &[u8],
    data: Range<usize>,
    name: &str,
    kind: u16,
    pointing: &Bound<'_, PyList>,
    target: &mut String,
) -> PyResult<()> {
    let numbers = match kind {
        MX | SVCB | HTTPS => 2,
        SRV => 6,
        CAA => data.len(),
        TXT if says_who_sends(&wire[data.clone()]) => data.len(),
        _ => return Ok(()),
    };
    let place = data.start + numbers;
    target.clear();
    if matches!(kind, MX | SRV | SVCB | HTTPS) {
        if place >= data.end {
            return Ok(());
        }
        name_at(wire, place, target).map_err(unread)?;
    }
    let kept = if matches!(kind, SVCB | HTTPS) { data } else { data.start..place };
    pointing.append((name, kind, PyBytes::new(py, &wire[kept]), target.as_str()))
}

fn says_who_sends(data: &[u8]) -> bool {
    data.get(1..=SPF.len()).is_some_and(|first| first.eq_ignore_ascii_case(SPF))
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
