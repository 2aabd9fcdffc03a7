//! A line of a layout cut into the texts of its fields: see flex_logs_ingest/extract.py, which defines it.
//! JSON lines are cut in members.rs, lines with named columns in columns.rs.

use memchr::memchr;
use pyo3::prelude::*;

use crate::columns::Columns;
use crate::line::{scheme_width, strip_start};
use crate::members::cut_json;

/// In the order of FIELDS in flex_logs_ingest/layout.py.
pub const VHOST: usize = 0;
pub const TIME: usize = 1;
pub const REQUEST: usize = 2;
pub const STATUS: usize = 3;
pub const BYTES: usize = 4;
pub const METHOD: usize = 5;
pub const URI: usize = 6;
pub const DATE: usize = 7;
pub const FIELDS: [&str; 8] = ["vhost", "time", "request", "status", "bytes", "method", "uri", "date"];

pub type Texts<'a> = [&'a [u8]; FIELDS.len()];

/// Room for a request and a time that a line has in parts.
#[derive(Default)]
pub struct Joined {
    pub request: Vec<u8>,
    pub time: Vec<u8>,
}

pub struct Layout {
    kind: Kind,
    url_site: bool,
    stops: Vec<u8>,
}

enum Kind {
    Fields { start: Vec<u8>, ops: Vec<Op>, whole: bool },
    Json { keys: Vec<Vec<u8>>, fields: Vec<(usize, Vec<usize>)> },
    W3c { keys: Vec<(usize, Vec<Vec<u8>>)>, columns: Columns },
}

struct Op {
    slot: Option<usize>,
    literal: Vec<u8>,
    quoted: bool,
}

impl Layout {
    /// From the value of that name in flex_logs_ingest/layout.py.
    pub fn from_python(layout: &Bound<'_, PyAny>) -> PyResult<Layout> {
        let kind = match layout.getattr("kind")?.extract::<String>()?.as_str() {
            "json" => Kind::json(layout.getattr("keys")?.extract()?)?,
            "w3c" => Kind::w3c(layout)?,
            _ => Kind::fields(layout)?,
        };
        Ok(Layout {
            kind,
            url_site: layout.getattr("url_site")?.extract()?,
            stops: layout.getattr("stops")?.extract()?,
        })
    }

    /// Whether the line is no record but says how to read those that follow.
    pub fn is_heading(&mut self, line: &[u8]) -> bool {
        match &mut self.kind {
            Kind::W3c { keys, columns } if line.first() == Some(&b'#') => {
                if line.get(..8).is_some_and(|lead| lead.eq_ignore_ascii_case(b"#fields:")) {
                    *columns = Columns::named(line, keys);
                }
                true
            }
            _ => false,
        }
    }

    /// None when the line is not of this layout. What a line has in parts is put together in `joined`.
    pub fn cut<'a>(&self, line: &'a [u8], joined: &'a mut Joined) -> Option<Texts<'a>> {
        let mut texts = match &self.kind {
            Kind::Fields { start, ops, whole } => {
                let mut texts = cut_fields(line, start, ops)?;
                if !whole {
                    texts[REQUEST] = join(texts[METHOD], texts[URI], &mut joined.request);
                }
                texts
            }
            Kind::Json { keys, fields } => cut_json(line, keys, fields, &mut joined.request)?,
            Kind::W3c { columns, .. } => columns.cut(line, joined)?,
        };
        if !self.stops.is_empty() {
            let end = texts[VHOST].iter().position(|byte| self.stops.contains(byte));
            texts[VHOST] = &texts[VHOST][..end.unwrap_or(texts[VHOST].len())];
        } else if self.url_site {
            texts[VHOST] = host(texts[REQUEST]);
        }
        Some(texts)
    }
}

impl Kind {
    fn fields(layout: &Bound<'_, PyAny>) -> PyResult<Kind> {
        let mut ops = Vec::new();
        for op in layout.getattr("ops")?.try_iter()? {
            ops.push(Op::from_python(&op?)?);
        }
        let whole = ops.iter().any(|op| op.slot == Some(REQUEST));
        Ok(Kind::Fields { start: layout.getattr("start")?.extract()?, ops, whole })
    }

    fn json(spelled: Vec<(String, Vec<Vec<u8>>)>) -> PyResult<Kind> {
        let mut keys: Vec<Vec<u8>> = Vec::new();
        let mut fields = Vec::new();
        for (field, spellings) in spelled {
            let mut numbers = Vec::new();
            for key in spellings {
                let known = keys.iter().position(|other| *other == key);
                numbers.push(known.unwrap_or(keys.len()));
                if known.is_none() {
                    keys.push(key);
                }
            }
            fields.push((slot(&field)?, numbers));
        }
        Ok(Kind::Json { keys, fields })
    }

    fn w3c(layout: &Bound<'_, PyAny>) -> PyResult<Kind> {
        let spelled: Vec<(String, Vec<Vec<u8>>)> = layout.getattr("keys")?.extract()?;
        let mut keys = Vec::new();
        for (field, spellings) in spelled {
            keys.push((slot(&field)?, spellings));
        }
        let start: Vec<u8> = layout.getattr("start")?.extract()?;
        let columns = Columns::named(&start, &keys);
        Ok(Kind::W3c { keys, columns })
    }
}

impl Op {
    fn from_python(op: &Bound<'_, PyAny>) -> PyResult<Op> {
        let field: Option<String> = op.getattr("field")?.extract()?;
        Ok(Op {
            slot: field.map(|name| slot(&name)).transpose()?,
            literal: op.getattr("literal")?.extract()?,
            quoted: op.getattr("quoted")?.extract()?,
        })
    }

    fn end(&self, line: &[u8], at: usize) -> Option<usize> {
        if self.quoted { closing(line, &self.literal, at) } else { find(line, &self.literal, at) }
    }
}

fn slot(field: &str) -> PyResult<usize> {
    let known = FIELDS.iter().position(|name| *name == field);
    known.ok_or_else(|| pyo3::exceptions::PyValueError::new_err(format!("{field} is not a field")))
}

fn cut_fields<'a>(line: &'a [u8], start: &[u8], ops: &[Op]) -> Option<Texts<'a>> {
    if !begins(line, start) {
        return None;
    }
    let mut texts: Texts = [b""; FIELDS.len()];
    let mut at = start.len();
    for (i, op) in ops.iter().enumerate() {
        let last = i + 1 == ops.len();
        let end = match op.end(line, at) {
            Some(end) => end,
            None if last && !op.quoted => line.len(),
            None => return None,
        };
        if let Some(slot) = op.slot {
            texts[slot] = &line[at..end];
        }
        at = end + op.literal.len();
    }
    Some(texts)
}

/// Where the literal begins, at `at` or behind it.
fn find(line: &[u8], literal: &[u8], mut at: usize) -> Option<usize> {
    let first = *literal.first()?;
    loop {
        at += memchr(first, line.get(at..)?)?;
        if begins(&line[at..], literal) {
            return Some(at);
        }
        at += 1;
    }
}

/// As starts_with, without a call for the one or two bytes that literals have.
fn begins(text: &[u8], literal: &[u8]) -> bool {
    text.len() >= literal.len() && text.iter().zip(literal).all(|(byte, wanted)| byte == wanted)
}

/// The same, where an even number of backslashes stands before the literal.
pub fn closing(line: &[u8], literal: &[u8], at: usize) -> Option<usize> {
    let mut end = find(line, literal, at)?;
    loop {
        let escapes = line[at..end].iter().rev().take_while(|byte| **byte == b'\\').count();
        if escapes % 2 == 0 {
            return Some(end);
        }
        end = find(line, literal, end + 1)?;
    }
}

pub fn join<'a>(method: &[u8], uri: &[u8], joined: &'a mut Vec<u8>) -> &'a [u8] {
    let method = if method.is_empty() { b"GET" } else { method };
    joined.clear();
    for part in [method, b" ", uri, b" HTTP/1.1"] {
        joined.extend_from_slice(part);
    }
    joined
}

/// The host of the URL that a request asks for; empty when it is none.
fn host(request: &[u8]) -> &[u8] {
    let Some(method_end) = memchr(b' ', request) else {
        return b"";
    };
    let url = strip_start(&request[method_end..], b' ');
    let width = scheme_width(url);
    let rest = &url[width..];
    match width {
        0 => b"",
        _ => &rest[..rest.iter().position(|byte| b"/?# ".contains(byte)).unwrap_or(rest.len())],
    }
}
