//! A line of a layout cut into the texts of its fields: see flex_logs_ingest/extract.py, which defines it.

use memchr::memchr;
use pyo3::prelude::*;

/// In the order of FIELDS in flex_logs_ingest/layout.py.
pub const VHOST: usize = 0;
pub const TIME: usize = 1;
pub const REQUEST: usize = 2;
pub const STATUS: usize = 3;
pub const BYTES: usize = 4;
const METHOD: usize = 5;
const URI: usize = 6;
const FIELDS: [&str; 7] = ["vhost", "time", "request", "status", "bytes", "method", "uri"];

pub type Texts<'a> = [&'a [u8]; FIELDS.len()];

pub enum Layout {
    Fields { start: Vec<u8>, ops: Vec<Op>, whole: bool },
    Json { keys: Vec<Vec<u8>>, fields: Vec<(usize, Vec<usize>)> },
}

pub struct Op {
    slot: Option<usize>,
    literal: Vec<u8>,
    quoted: bool,
}

impl Layout {
    /// From the value of that name in flex_logs_ingest/layout.py.
    pub fn from_python(layout: &Bound<'_, PyAny>) -> PyResult<Layout> {
        if layout.getattr("kind")?.extract::<String>()? == "json" {
            return Layout::json(layout.getattr("keys")?.extract()?);
        }
        let mut ops = Vec::new();
        for op in layout.getattr("ops")?.try_iter()? {
            ops.push(Op::from_python(&op?)?);
        }
        let whole = ops.iter().any(|op| op.slot == Some(REQUEST));
        Ok(Layout::Fields { start: layout.getattr("start")?.extract()?, ops, whole })
    }

    fn json(spelled: Vec<(String, Vec<Vec<u8>>)>) -> PyResult<Layout> {
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
        Ok(Layout::Json { keys, fields })
    }

    /// None when the line is not of this layout. A request in two fields is put together in `joined`.
    pub fn cut<'a>(&self, line: &'a [u8], joined: &'a mut Vec<u8>) -> Option<Texts<'a>> {
        match self {
            Layout::Fields { start, ops, whole } => {
                let mut texts = cut_fields(line, start, ops)?;
                if !whole {
                    texts[REQUEST] = join(texts[METHOD], texts[URI], joined);
                }
                Some(texts)
            }
            Layout::Json { keys, fields } => cut_json(line, keys, fields, joined),
        }
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
fn closing(line: &[u8], literal: &[u8], at: usize) -> Option<usize> {
    let mut end = find(line, literal, at)?;
    loop {
        let escapes = line[at..end].iter().rev().take_while(|byte| **byte == b'\\').count();
        if escapes % 2 == 0 {
            return Some(end);
        }
        end = find(line, literal, end + 1)?;
    }
}

fn join<'a>(method: &[u8], uri: &[u8], joined: &'a mut Vec<u8>) -> &'a [u8] {
    let method = if method.is_empty() { b"GET" } else { method };
    joined.clear();
    for part in [method, b" ", uri, b" HTTP/1.1"] {
        joined.extend_from_slice(part);
    }
    joined
}

fn cut_json<'a>(
    line: &'a [u8],
    keys: &[Vec<u8>],
    fields: &[(usize, Vec<usize>)],
    joined: &'a mut Vec<u8>,
) -> Option<Texts<'a>> {
    let mut found: Vec<Option<&[u8]>> = vec![None; keys.len()];
    members(line, keys, &mut found)?;
    let mut texts: [Option<&[u8]>; FIELDS.len()] = [None; FIELDS.len()];
    for (slot, numbers) in fields {
        texts[*slot] = numbers.iter().find_map(|number| found[*number]);
    }
    if let (None, Some(uri)) = (texts[REQUEST], texts[URI]) {
        texts[REQUEST] = Some(join(texts[METHOD].unwrap_or_default(), uri, joined));
    }
    if [TIME, REQUEST, STATUS, BYTES].iter().any(|slot| texts[*slot].is_none()) {
        return None;
    }
    Some(texts.map(Option::unwrap_or_default))
}

/// The wanted members of the object that the line is.
fn members<'a>(line: &'a [u8], keys: &[Vec<u8>], found: &mut [Option<&'a [u8]>]) -> Option<()> {
    let mut at = skip(line, 0);
    if line.get(at) != Some(&b'{') {
        return None;
    }
    at = skip(line, at + 1);
    if line.get(at) == Some(&b'}') {
        return Some(());
    }
    loop {
        if line.get(at) != Some(&b'"') {
            return None;
        }
        let end = closing(line, b"\"", at + 1)?;
        let key = &line[at + 1..end];
        at = skip(line, end + 1);
        if line.get(at) != Some(&b':') {
            return None;
        }
        let (value, end) = value(line, skip(line, at + 1))?;
        if let Some(number) = keys.iter().position(|other| other == key) {
            found[number] = value;
        }
        at = skip(line, end);
        match line.get(at) {
            Some(b'}') => return Some(()),
            Some(b',') => at = skip(line, at + 1),
            _ => return None,
        }
    }
}

fn skip(line: &[u8], mut at: usize) -> usize {
    while matches!(line.get(at), Some(b' ' | b'\t' | b'\r')) {
        at += 1;
    }
    at
}

/// A value's text, None for one that is not text or number, and where it ends.
fn value(line: &[u8], at: usize) -> Option<(Option<&[u8]>, usize)> {
    match line.get(at)? {
        b'"' => {
            let end = closing(line, b"\"", at + 1)?;
            Some((Some(&line[at + 1..end]), end + 1))
        }
        b'{' | b'[' => Some((None, nested(line, at)?)),
        _ => {
            let rest = &line[at..];
            let ends = |byte: &u8| matches!(byte, b',' | b'}' | b']' | b' ' | b'\t' | b'\r' | b'"');
            let text = &rest[..rest.iter().position(ends).unwrap_or(rest.len())];
            match text {
                b"" => None,
                b"null" | b"true" | b"false" => Some((None, at + text.len())),
                _ => Some((Some(text), at + text.len())),
            }
        }
    }
}

fn nested(line: &[u8], mut at: usize) -> Option<usize> {
    let mut depth = 0_usize;
    while let Some(byte) = line.get(at) {
        match byte {
            b'"' => at = closing(line, b"\"", at + 1)?,
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            _ => {}
        }
        at += 1;
        if depth == 0 {
            return Some(at);
        }
    }
    None
}
