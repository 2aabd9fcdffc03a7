//! The wanted members of a log line that is a JSON object: see flex_logs_ingest/lines/json_members.py, which defines it.

use crate::layout::{FIELDS, METHOD, REQUEST, STATUS, TIME, Texts, UPSTREAM, URI, closing, join};

pub fn cut_json<'a>(
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
    // With `escape=json` nginx writes nothing for what it did not ask.
    if texts[UPSTREAM] == Some(b"") {
        texts[UPSTREAM] = Some(b"-");
    }
    if [TIME, REQUEST, STATUS].iter().any(|slot| texts[*slot].is_none()) {
        return None;
    }
    Some(texts.map(Option::unwrap_or_default))
}

/// The wanted members of the object that the line is.
fn members<'a>(line: &'a [u8], keys: &[Vec<u8>], found: &mut [Option<&'a [u8]>]) -> Option<()> {
    object(line, 0, None, keys, found).map(|_| ())
}

/// Where the object that begins at `at` ends; it is the member `outer` of the line, or the line.
fn object<'a>(
    line: &'a [u8],
    at: usize,
    outer: Option<&[u8]>,
    keys: &[Vec<u8>],
    found: &mut [Option<&'a [u8]>],
) -> Option<usize> {
    let mut at = skip(line, at);
    if line.get(at) != Some(&b'{') {
        return None;
    }
    at = skip(line, at + 1);
    if line.get(at) == Some(&b'}') {
        return Some(at + 1);
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
        at = skip(line, at + 1);
        let inside = outer.is_none() && line.get(at) == Some(&b'{') && keys.iter().any(|other| is_parent(key, other));
        let (value, end) = match inside {
            true => (None, object(line, at, Some(key), keys, found)?),
            false => value(line, at)?,
        };
        if let Some(number) = keys.iter().position(|other| is_path(other, outer, key)) {
            found[number] = value;
        }
        at = skip(line, end);
        match line.get(at) {
            Some(b'}') => return Some(at + 1),
            Some(b',') => at = skip(line, at + 1),
            _ => return None,
        }
    }
}

/// Whether the path leads to a member of the object that is the member `key`.
fn is_parent(key: &[u8], path: &[u8]) -> bool {
    path.get(key.len()) == Some(&b'.') && path.starts_with(key) && !key.contains(&b'.')
}

fn is_path(path: &[u8], outer: Option<&[u8]>, key: &[u8]) -> bool {
    match outer {
        None => path == key,
        Some(outer) => is_parent(outer, path) && path[outer.len() + 1..] == *key,
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
