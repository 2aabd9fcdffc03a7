//! Where a text ends in a line that can hold what stands behind it: flex_logs_ingest/lines/find_end_of_field.py defines it.

use memchr::memchr;

use crate::find;
use crate::layout::{Fit, Op, Texts, closing};

/// As of the same name there.
const TRIES: usize = 256;
const BEFORE_PATH: &[u8] = b"/*? \"|,;\t";

/// Put the texts of these ops, from `at` on, in the places of their fields. What stands behind the last literal; None in
/// its place where the line ends without that.
pub fn cut_ops<'a>(line: &'a [u8], at: usize, ops: &[Op], texts: &mut Texts<'a>) -> Option<Option<&'a [u8]>> {
    let mut at = at;
    let mut whole = true;
    for (i, op) in ops.iter().enumerate() {
        let last = i + 1 == ops.len();
        let found = match (op.plain, op.quoted) {
            (true, false) => find::literal(line, &op.literal, at),
            (true, true) => closing(line, &op.literal, at),
            (false, _) => end_of(&ops[i..], line, at),
        };
        let end = match found {
            Some(end) => end,
            None if last && !op.quoted => {
                whole = false;
                line.len()
            }
            None => return None,
        };
        if let Some(slot) = op.slot {
            texts[slot] = &line[at..end];
        }
        at = end + op.literal.len();
    }
    Some(line.get(at..).filter(|_| whole))
}

/// Where the text of the first of these ops ends that begins there.
fn end_of(ops: &[Op], line: &[u8], at: usize) -> Option<usize> {
    let op = ops.first()?;
    let mut end = plain_end(op, line, at)?;
    if op.ahead == 0 && !op.listed {
        return Some(end);
    }
    for _ in 0..TRIES {
        if !(op.listed && within_list(line, end)) && goes_on(ops, line, end) {
            return Some(end);
        }
        end = find::literal(line, &op.literal, end + 1)?;
    }
    None
}

fn plain_end(op: &Op, line: &[u8], at: usize) -> Option<usize> {
    if op.quoted {
        return closing(line, &op.literal, at);
    }
    if op.literal.is_empty() {
        let path = line[at..].iter().position(|byte| BEFORE_PATH.contains(byte));
        return Some(path.map_or(line.len(), |path| at + path));
    }
    find::literal(line, &op.literal, at + op.width)
}

/// Addresses are parted by a comma and a blank, and by a colon between blanks where a request went on elsewhere.
fn within_list(line: &[u8], end: usize) -> bool {
    line[..end].ends_with(b",") || line[..end].ends_with(b" :") || line[end + 1..].starts_with(b": ")
}

/// Whether the texts of the next ops, so many as are to be looked at, fit.
fn goes_on(ops: &[Op], line: &[u8], end: usize) -> bool {
    let mut at = end + ops[0].literal.len();
    for (number, op) in ops.iter().enumerate().take(ops[0].ahead + 1).skip(1) {
        let end = match plain_end(op, line, at) {
            Some(end) => end,
            None if number + 1 == ops.len() && !op.quoted => line.len(),
            None => return false,
        };
        if !fits(op.fits, line.get(at..end).unwrap_or_default()) {
            return false;
        }
        at = end + op.literal.len();
    }
    true
}

fn fits(fit: Fit, text: &[u8]) -> bool {
    match fit {
        Fit::Any => true,
        Fit::Word => memchr(b' ', text).is_none(),
        Fit::Number => is_number(text),
        // Not the `-` of many other fields.
        Fit::Status => text.len() == 3 && text.iter().all(u8::is_ascii_digit),
        Fit::Method => text.iter().all(|byte| matches!(byte, b'A'..=b'Z' | b'-' | b'_')),
        Fit::Time => text.first().is_some_and(u8::is_ascii_digit),
        Fit::Version => matches!(text, b"" | b"-") || text.starts_with(b"HTTP/"),
    }
}

fn is_number(text: &[u8]) -> bool {
    let digits = text.iter().filter(|byte| byte.is_ascii_digit()).count();
    let points = text.iter().filter(|byte| **byte == b'.').count();
    text == b"-" || (digits > 0 && points <= 1 && digits + points == text.len())
}
