//! The scan loop as a class of Python: flex_logs_ingest/scan/python_loop.py defines it, flex-core computes it.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use flex_core::counts::{Columns, Counts, Hour, Sampled};
use flex_core::cut::{Kind, Layout, Spelled};
use flex_core::fitting::{First, first_with_half};
use flex_core::layout::{Fit, Op, slot};
use flex_core::malformed::Bad;
use flex_core::others::Other;
use flex_core::scan::Found;
use flex_core::service_time::{Times, Unit};
use flex_core::sites::{Naming, Rule, UNKNOWN};
use flex_core::small;
use numpy::PyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

/// `failed` is what the rule for sites raised, if it ever did.
#[pyclass(module = "flex_native")]
pub struct Scan {
    scan: flex_core::scan::Scan,
    failed: Failed,
}

pub type Failed = Arc<Mutex<Option<PyErr>>>;

#[pymethods]
impl Scan {
    #[new]
    #[pyo3(signature = (layout, rule, sample_limit, keep_bad = false))]
    fn new(layout: &Bound<'_, PyAny>, rule: &Bound<'_, PyAny>, sample_limit: usize, keep_bad: bool) -> PyResult<Scan> {
        let failed = Failed::default();
        let rule = rule_of(rule, failed.clone())?;
        Ok(Scan { scan: flex_core::scan::Scan::new(layout_of(layout)?, rule, sample_limit, keep_bad), failed })
    }

    #[getter]
    fn memory(&self) -> usize {
        self.scan.memory()
    }

    fn feed(&mut self, py: Python<'_>, chunk: &[u8]) -> PyResult<()> {
        py.detach(|| self.scan.feed(chunk));
        self.check()
    }

    fn take_bad<'py>(&mut self, py: Python<'py>) -> Vec<(u64, usize, Bound<'py, PyBytes>)> {
        bad_lines(py, &self.scan.take_bad())
    }

    #[pyo3(signature = (complete = false))]
    fn finish<'py>(&mut self, py: Python<'py>, complete: bool) -> PyResult<Bound<'py, PyDict>> {
        let found = py.detach(|| self.scan.finish(complete));
        self.check()?;
        into_python(py, found)
    }
}

/// `Tables` of flex_logs_ingest/scan/counts_as_columns.py.
#[pyclass(module = "flex_native", frozen)]
pub struct Tables(Counts);

#[pymethods]
impl Tables {
    fn columns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let columns = py.detach(|| self.0.columns());
        columns_into_python(py, columns, self.0.sample.iter().map(|one| (one, 0)))
    }

    /// As of the same name in the protocol: those of one after the other, with other numbers of the sites.
    #[staticmethod]
    fn join<'py>(
        py: Python<'py>,
        tables: Vec<Bound<'py, Tables>>,
        sites: Vec<Vec<i64>>,
    ) -> PyResult<(Bound<'py, PyDict>, Vec<usize>)> {
        let counts: Vec<&Counts> = tables.iter().map(|one| &one.get().0).collect();
        let (columns, begins) = py.detach(|| Counts::join(&counts, &sites));
        let begun = counts.iter().zip(begins);
        let sample = begun.flat_map(|(one, begin)| one.sample.iter().map(move |sampled| (sampled, begin)));
        let columns = columns_into_python(py, columns, sample)?;
        Ok((columns, counts.iter().map(|one| one.sample.len()).collect()))
    }

    fn weight(&self, names: Vec<u64>) -> u64 {
        flex_core::signature::weight(&self.0, &names)
    }

    fn write(&self, py: Python<'_>, files: PathBuf, hours: PathBuf, sample: PathBuf) -> PyResult<()> {
        Ok(py.detach(|| self.0.write(&files, &hours, &sample))?)
    }
}

/// `Columns` of flex_logs_ingest/scan/counts_as_columns.py; the sample with the numbers at which its rows begin.
fn columns_into_python<'py, 'a>(
    py: Python<'py>,
    columns: Columns,
    sample: impl Iterator<Item = (&'a Sampled, i64)>,
) -> PyResult<Bound<'py, PyDict>> {
    let rows = PyDict::new(py);
    let ints = |values: Vec<i64>| PyArray1::from_vec(py, values);
    let (mut times, mut numbers, mut levels) = (Vec::new(), Vec::new(), Vec::new());
    for (sampled, begin) in sample {
        times.push(sampled.time);
        numbers.push(begin + i64::from(sampled.row));
        levels.push(i64::from(sampled.level));
    }
    rows.set_item("day", ints(columns.day))?;
    rows.set_item("site", ints(columns.site))?;
    rows.set_item("text", PyBytes::new(py, &columns.text))?;
    rows.set_item("offsets", ints(columns.offsets))?;
    rows.set_item("requests", ints(columns.requests))?;
    rows.set_item("bytes", ints(columns.bytes))?;
    rows.set_item("size", ints(columns.size))?;
    rows.set_item("last", ints(columns.last))?;
    rows.set_item("sample_time", ints(times))?;
    rows.set_item("sample_row", ints(numbers))?;
    rows.set_item("sample_level", ints(levels))?;
    Ok(rows)
}

/// As `ReferenceFitting` of flex_logs_ingest/lines/which_lines_fit_layout.py.
#[pyclass(module = "flex_native", frozen)]
pub struct Fitting(Vec<Layout>);

#[pymethods]
impl Fitting {
    #[new]
    fn new(layouts: Vec<Bound<'_, PyAny>>) -> PyResult<Fitting> {
        Ok(Fitting(layouts.iter().map(layout_of).collect::<PyResult<_>>()?))
    }

    fn of(&self, lines: Vec<Bound<'_, PyBytes>>) -> Vec<Vec<usize>> {
        let lines: Vec<&[u8]> = lines.iter().map(|line| line.as_bytes()).collect();
        flex_core::fitting::fitting(&self.0, &lines)
    }

    /// Of each of these beginnings of logs, of which so many lines are looked at, the number of its layout; -1 where it
    /// has none, and None where that depends on a layout that is not `sure`.
    fn first_with_half(
        &self,
        py: Python<'_>,
        heads: Vec<Bound<'_, PyBytes>>,
        most: usize,
        sure: Vec<bool>,
        threads: usize,
    ) -> Vec<Option<isize>> {
        let heads: Vec<&[u8]> = heads.iter().map(|head| head.as_bytes()).collect();
        let first = |head: &[u8]| match first_with_half(&self.0, &sure, &small::lines(head, most)) {
            First::Layout(number) => Some(number as isize),
            First::None => Some(-1),
            First::Unsure => None,
        };
        py.detach(|| small::each(heads, threads, first))
    }
}

impl Scan {
    fn check(&self) -> PyResult<()> {
        taken(&self.failed).map_or(Ok(()), Err)
    }
}

/// What the rule raised; from then on it has raised nothing.
pub fn taken(failed: &Failed) -> Option<PyErr> {
    failed.lock().ok().and_then(|mut failed| failed.take())
}

/// From a SiteRule of flex_logs_ingest/scan/site_rules.py. It is asked once for each name, as long as names are remembered.
pub fn rule_of(rule: &Bound<'_, PyAny>, failed: Failed) -> PyResult<Rule> {
    let (fixed, directory) = (rule.getattr("fixed")?.extract()?, rule.getattr("directory")?.extract()?);
    let every_host = rule.getattr("every_host")?.extract()?;
    let naming = asking(rule, "naming", failed.clone(), UNKNOWN);
    let other = asking(rule, "other_naming", failed, "");
    Ok(Rule { fixed, directory, every_host, naming, other })
}

/// What Python says of a name; `otherwise` where it raises. A rule that nobody asks, as that of a log of one site, works
/// nothing out.
fn asking(rule: &Bound<'_, PyAny>, which: &'static str, failed: Failed, otherwise: &'static str) -> Naming {
    let rule = rule.clone().unbind();
    let mut answer: Option<Py<PyAny>> = None;
    let mut ask = move |name: &[u8]| -> PyResult<String> {
        Python::attach(|py| {
            let answer = match &mut answer {
                Some(answer) => answer,
                none => none.insert(rule.call_method0(py, which)?),
            };
            answer.call1(py, (PyBytes::new(py, name),))?.extract(py)
        })
    };
    Box::new(move |name: &[u8]| {
        ask(name).unwrap_or_else(|error| {
            if let Ok(mut failed) = failed.lock() {
                *failed = Some(error);
            }
            otherwise.to_owned()
        })
    })
}

/// From the value of that name in flex_logs_ingest/lines/layout.py.
pub fn layout_of(layout: &Bound<'_, PyAny>) -> PyResult<Layout> {
    let start: Vec<u8> = layout.getattr("start")?.extract()?;
    let kind = match layout.getattr("kind")?.extract::<String>()?.as_str() {
        "json" => Kind::json(spelled(layout)?),
        "w3c" => Kind::w3c(&start, spelled(layout)?),
        _ => Kind::fields(start, ops(layout)?),
    };
    let (url_site, unsized_) = (layout.getattr("url_site")?.extract()?, layout.getattr("unsized")?.extract::<bool>()?);
    let whole = Layout::new(kind, url_site, layout.getattr("stops")?.extract()?, !unsized_);
    let whole = match times(layout)? {
        Some(times) => whole.timed(times),
        None => whole,
    };
    Ok(whole.moving(layout.getattr("moved")?.extract()?).ending(layout.getattr("ends")?.extract()?))
}

fn spelled(layout: &Bound<'_, PyAny>) -> PyResult<Spelled> {
    let keys: Vec<(String, Vec<Vec<u8>>)> = layout.getattr("keys")?.extract()?;
    keys.into_iter().map(|(field, spellings)| Ok((number(&field)?, spellings))).collect()
}

fn ops(layout: &Bound<'_, PyAny>) -> PyResult<Vec<Op>> {
    ops_of(layout, "ops")
}

fn ops_of(layout: &Bound<'_, PyAny>, name: &str) -> PyResult<Vec<Op>> {
    layout.getattr(name)?.try_iter()?.map(|op| op_of(&op?)).collect()
}

/// None where no line says how long its answer took.
fn times(layout: &Bound<'_, PyAny>) -> PyResult<Option<Times>> {
    let units: Vec<(String, String)> = layout.getattr("units")?.extract()?;
    let unit = |field: &str| {
        let name = units.iter().find(|(named, _)| named == field).map_or("s", |(_, unit)| unit);
        Unit::named(name).ok_or_else(|| PyValueError::new_err(format!("{name} is not what times are in")))
    };
    let (upstream, taken) = (unit("upstream")?, unit("taken")?);
    let lead = layout.getattr("lead")?.extract()?;
    Ok((!units.is_empty()).then_some(Times { lead, after: ops_of(layout, "after")?, upstream, taken }))
}

fn op_of(op: &Bound<'_, PyAny>) -> PyResult<Op> {
    let field: Option<String> = op.getattr("field")?.extract()?;
    let fits: String = op.getattr("fits")?.extract()?;
    Ok(Op {
        slot: field.map(|name| number(&name)).transpose()?,
        literal: op.getattr("literal")?.extract()?,
        quoted: op.getattr("quoted")?.extract()?,
        plain: op.getattr("plain")?.extract()?,
        width: op.getattr("width")?.extract()?,
        listed: op.getattr("listed")?.extract()?,
        ahead: op.getattr("ahead")?.extract()?,
        fits: Fit::named(&fits).ok_or_else(|| PyValueError::new_err(format!("{fits} is not what a text fits")))?,
    })
}

fn number(field: &str) -> PyResult<usize> {
    slot(field).ok_or_else(|| PyValueError::new_err(format!("{field} is not a field")))
}

/// `ScannedColumns` of flex_logs_ingest/scan/counts_as_columns.py.
pub fn into_python(py: Python<'_>, all: Found) -> PyResult<Bound<'_, PyDict>> {
    let found = PyDict::new(py);
    let strangers: Vec<(Bound<'_, PyBytes>, u64)> =
        all.strangers.iter().map(|(name, requests)| (PyBytes::new(py, name), *requests)).collect();
    let hours = |value: &dyn Fn(&Hour) -> i64| PyArray1::from_iter(py, all.counts.hours.iter().map(value));
    found.set_item("sites", &all.counts.sites)?;
    found.set_item("hour_site", hours(&|hour| i64::from(hour.site)))?;
    found.set_item("hour", hours(&|hour| hour.hour))?;
    found.set_item("hour_requests", hours(&|hour| hour.requests))?;
    found.set_item("hour_bytes", hours(&|hour| hour.bytes))?;
    found.set_item("hour_timed", hours(&|hour| hour.timed))?;
    found.set_item("hour_service", hours(&|hour| hour.service))?;
    found.set_item("level", all.counts.level)?;
    found.set_item("lines", all.lines.to_vec())?;
    found.set_item("reasons", all.reasons.to_vec())?;
    found.set_item("bad", bad_lines(py, &all.bad))?;
    found.set_item("strangers", strangers)?;
    found.set_item("others", all.others.map(|names| names.into_iter().map(said).collect::<Vec<_>>()))?;
    found.set_item("heading", PyBytes::new(py, &all.heading))?;
    found.set_item("first_time", all.first_time)?;
    found.set_item("last_time", all.last_time)?;
    found.set_item("pending", all.pending)?;
    found.set_item("tables", Tables(all.counts))?;
    Ok(found)
}

/// Site, other name, day, requests and bytes.
fn said(other: Other) -> (String, String, i64, i64, i64) {
    (other.site, other.name, other.day, other.requests, other.bytes)
}

fn bad_lines<'py>(py: Python<'py>, lines: &[Bad]) -> Vec<(u64, usize, Bound<'py, PyBytes>)> {
    lines.iter().map(|(start, reason, line)| (*start, *reason, PyBytes::new(py, line))).collect()
}
