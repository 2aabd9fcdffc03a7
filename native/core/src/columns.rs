//! Lines whose columns the log itself names: see flex_logs_ingest/lines/field_cutter.py, which defines it.

use memchr::{memchr, memchr_iter, memmem};

use crate::layout::{DATE, FIELDS, Joined, METHOD, REQUEST, STATUS, TIME, Texts, URI, join};

/// The field of each column; empty while they do not say enough.
#[derive(Clone)]
pub struct Columns(Vec<Option<usize>>);

impl Columns {
    /// As a `#Fields:` line names them; `keys` are the spellings of each field, the preferred one first.
    pub fn named(directive: &[u8], keys: &[(usize, Vec<Vec<u8>>)]) -> Columns {
        let names = directive.get(8..).unwrap_or_default().to_ascii_lowercase();
        let names: Vec<&[u8]> =
            names.split(|byte| matches!(byte, b' ' | b'\t')).filter(|name| !name.is_empty()).collect();
        let mut fields = vec![None; names.len()];
        for (slot, spellings) in keys {
            let place = spellings.iter().find_map(|key| names.iter().position(|name| name == key));
            if let Some(place) = place {
                fields[place] = Some(*slot);
            }
        }
        let enough = [DATE, TIME, URI, STATUS].iter().all(|slot| fields.contains(&Some(*slot)));
        Columns(if enough { fields } else { Vec::new() })
    }

    pub fn cut<'a>(&self, line: &'a [u8], joined: &'a mut Joined) -> Option<Texts<'a>> {
        let mut texts: Texts = [b""; FIELDS.len()];
        let tabs = memchr(b'\t', line).is_some();
        let separator = if tabs { b'\t' } else { b' ' };
        // As many separators as there should be: then none of them is in quotes, whatever a visitor wrote.
        let plain = memchr_iter(separator, line).count() + 1 == self.0.len();
        let mut rest = Some(line);
        for slot in &self.0 {
            let (text, behind) = if plain { part(rest?, separator) } else { cell(rest?, separator)? };
            if let Some(slot) = slot {
                texts[*slot] = text;
            }
            rest = behind;
        }
        if rest.is_some() {
            return None;
        }
        let Joined { request, time } = joined;
        join(texts[METHOD], texts[URI], request);
        if !tabs {
            spaced(&mut request[texts[METHOD].len()..]);
        }
        texts[REQUEST] = request;
        time.clear();
        for part in [texts[DATE], b"T", texts[TIME], b"Z"] {
            time.extend_from_slice(part);
        }
        texts[TIME] = time;
        Some(texts)
    }
}

/// Where spaces part the columns, a plus sign stands for one.
fn spaced(text: &mut [u8]) {
    for byte in text.iter_mut().filter(|byte| **byte == b'+') {
        *byte = b' ';
    }
}

/// The text of the first column, and what stands behind its separator.
fn part(line: &[u8], separator: u8) -> (&[u8], Option<&[u8]>) {
    let (text, behind) = match memchr(separator, line) {
        Some(end) => (&line[..end], Some(&line[end + 1..])),
        None => (line, None),
    };
    (text.strip_prefix(b"\"").and_then(|text| text.strip_suffix(b"\"")).unwrap_or(text), behind)
}

/// Likewise, where separators may stand in quotes: a text that begins with a quotation mark ends with one, or has no end.
fn cell(line: &[u8], separator: u8) -> Option<(&[u8], Option<&[u8]>)> {
    if line.first() != Some(&b'"') {
        let end = memchr(separator, line);
        return Some((&line[..end.unwrap_or(line.len())], end.map(|end| &line[end + 1..])));
    }
    let line = &line[1..];
    match memmem::find(line, &[b'"', separator]) {
        Some(end) => Some((&line[..end], Some(&line[end + 2..]))),
        None => Some((line.strip_suffix(b"\"")?, None)),
    }
}
