//! What the texts of a log line mean: flex_logs_ingest/lines/field_meanings.py and
//! flex_logs_ingest/scan/site_rules.py define every function here.

use std::borrow::Cow;

use memchr::{memchr, memchr3, memrchr};

use crate::find;

pub const LAST_TIME: i64 = 253_402_300_799;
pub const TARGET_LIMIT: usize = 8192;
pub const LARGEST: i64 = 1 << 44;

/// A byte count; `-` is 0 and what no answer can have is the largest.
pub fn number(text: &[u8]) -> Option<i64> {
    if text == b"-" {
        return Some(0);
    }
    if text.is_empty() {
        return None;
    }
    let count = text.iter().try_fold(0_i64, |sum, byte| {
        let digit = digit(*byte)?;
        Some(sum.saturating_mul(10).saturating_add(digit))
    })?;
    Some(count.min(LARGEST))
}

fn digit(byte: u8) -> Option<i64> {
    byte.is_ascii_digit().then(|| i64::from(byte - b'0'))
}

/// Three digits, or the `-` or `-1` of a client that was gone before it got an answer.
pub fn is_status(text: &[u8]) -> bool {
    matches!(text, b"-" | b"-1") || (text.len() == 3 && text.iter().all(u8::is_ascii_digit))
}

/// Seconds since 1970 of a time in the style of Apache, of ISO 8601, or of a number of them or of parts of them.
pub fn seconds(text: &[u8]) -> Option<i64> {
    match (text.get(2), text.get(4)) {
        (Some(b'/'), _) => clf(text),
        (_, Some(b'-' | b'/')) => iso(text),
        _ => epoch(text),
    }
}

fn clf(text: &[u8]) -> Option<i64> {
    let zone = match without_fraction(text.get(20..)?) {
        [] => &b"+0000"[..],
        [b' ', zone @ ..] if zone.len() == 5 => zone,
        _ => return None,
    };
    if text[6] != b'/' || text[11] != b':' {
        return None;
    }
    let month = match &text[3..6] {
        b"Jan" => 1,
        b"Feb" => 2,
        b"Mar" => 3,
        b"Apr" => 4,
        b"May" => 5,
        b"Jun" => 6,
        b"Jul" => 7,
        b"Aug" => 8,
        b"Sep" => 9,
        b"Oct" => 10,
        b"Nov" => 11,
        b"Dec" => 12,
        _ => return None,
    };
    instant(&text[7..11], month, &text[..2], &text[12..20], zone)
}

fn iso(text: &[u8]) -> Option<i64> {
    if text.len() < 19 || text[7] != text[4] || !matches!(text[10], b'T' | b' ') {
        return None;
    }
    let zone = without_fraction(&text[19..]);
    let zone = if zone.is_empty() { b"Z" } else { zone };
    instant(&text[..4], digits(&text[5..7])?, &text[8..10], &text[11..19], zone)
}

/// What stands behind the fraction of a second.
fn without_fraction(text: &[u8]) -> &[u8] {
    match text {
        [b'.' | b',', digits @ ..] => {
            let end = digits.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(digits.len());
            &digits[end..]
        }
        _ => text,
    }
}

/// Milliseconds, microseconds and nanoseconds of this age have 13, 16 and 19 digits, of which the first ten are seconds.
fn epoch(text: &[u8]) -> Option<i64> {
    let (whole, fraction) = match memchr(b'.', text) {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => (text, &text[..0]),
    };
    let whole = match whole.len() {
        0..=12 => whole,
        13 | 16 | 19 if whole.iter().all(u8::is_ascii_digit) => &whole[..10],
        _ => return None,
    };
    if !fraction.iter().all(u8::is_ascii_digit) {
        return None;
    }
    digits(whole).filter(|value| *value <= LAST_TIME)
}

/// The value of at most a dozen digits.
fn digits(text: &[u8]) -> Option<i64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0, |sum, byte| Some(sum * 10 + digit(*byte)?))
}

fn instant(year: &[u8], month: i64, day: &[u8], clock: &[u8], zone: &[u8]) -> Option<i64> {
    if clock[2] != b':' || clock[5] != b':' {
        return None;
    }
    let (year, day) = (digits(year)?, digits(day)?);
    let (hour, minute, second) = (digits(&clock[..2])?, digits(&clock[3..5])?, digits(&clock[6..])?);
    let of_month = 1 <= day && (1..=12).contains(&month) && day <= month_days(year, month);
    if year < 1970 || !of_month || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let value = days(year, month, day) * 86400 + hour * 3600 + minute * 60 + second - offset(zone)?;
    (0..=LAST_TIME).contains(&value).then_some(value)
}

fn offset(zone: &[u8]) -> Option<i64> {
    let (hours, minutes) = match zone {
        b"Z" | b"z" => return Some(0),
        [_, hours @ ..] if hours.len() == 2 => (digits(hours)?, 0),
        [_, rest @ ..] if rest.len() == 4 => (digits(&rest[..2])?, digits(&rest[2..])?),
        [_, rest @ ..] if rest.len() == 5 && rest[2] == b':' => (digits(&rest[..2])?, digits(&rest[3..])?),
        _ => return None,
    };
    let east = hours * 3600 + minutes * 60;
    match zone[0] {
        _ if hours > 23 || minutes > 59 => None,
        b'+' => Some(east),
        b'-' => Some(-east),
        _ => None,
    }
}

fn month_days(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days since 1970-01-01 in the Gregorian calendar, with years that begin in March and eras of 400 of them.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// Without the escapes of Apache, nginx and JSON.
pub fn unescaped(text: &[u8]) -> Cow<'_, [u8]> {
    let Some(first) = memchr(b'\\', text) else {
        return Cow::Borrowed(text);
    };
    let mut plain = text[..first].to_vec();
    let mut rest = &text[first..];
    while let Some(byte) = rest.first() {
        let width = if *byte == b'\\' { unescape(rest, &mut plain) } else { 0 };
        if width == 0 {
            plain.push(*byte);
        }
        rest = &rest[width.max(1)..];
    }
    Cow::Owned(plain)
}

/// Push what the escape at the beginning of the text stands for and say how long it is; 0 when it is none.
fn unescape(text: &[u8], plain: &mut Vec<u8>) -> usize {
    let byte = match text.get(1) {
        Some(b'x') => {
            let Some(code) = hex(text.get(2..4)) else { return 0 };
            plain.push(code as u8);
            return 4;
        }
        Some(b'u') => {
            let Some(code) = hex(text.get(2..6)) else { return 0 };
            push_code(code, plain);
            return 6;
        }
        Some(b'b') => 0x08,
        Some(b'f') => 0x0c,
        Some(b'n') => b'\n',
        Some(b'r') => b'\r',
        Some(b't') => b'\t',
        Some(b'v') => 0x0b,
        Some(byte @ (b'"' | b'\\' | b'/')) => *byte,
        _ => return 0,
    };
    plain.push(byte);
    2
}

fn hex(digits: Option<&[u8]>) -> Option<u32> {
    digits?.iter().try_fold(0, |sum, byte| Some(sum * 16 + char::from(*byte).to_digit(16)?))
}

/// UTF-8 of a code of 16 bits; each half of a surrogate pair stands for itself.
fn push_code(code: u32, plain: &mut Vec<u8>) {
    match code {
        0..0x80 => plain.push(code as u8),
        0x80..0x800 => plain.extend([0xC0 | (code >> 6) as u8, 0x80 | (code & 0x3F) as u8]),
        _ => plain.extend([0xE0 | (code >> 12) as u8, 0x80 | (code >> 6 & 0x3F) as u8, 0x80 | (code & 0x3F) as u8]),
    }
}

pub struct Asked<'a> {
    pub head: bool,
    pub target: Cow<'a, [u8]>,
}

/// Method and target of a request line, None for what is no request for something of a site.
#[inline]
pub fn asked(request: &[u8]) -> Option<Asked<'_>> {
    if let Some(asked) = asked_plainly(request) {
        return Some(asked);
    }
    match unescaped(request) {
        Cow::Borrowed(request) => asked_somehow(request),
        Cow::Owned(request) => {
            let Asked { head, target } = asked_somehow(&request)?;
            Some(Asked { head, target: Cow::Owned(target.into_owned()) })
        }
    }
}

/// The same for what most requests are: nothing in them says another thing than it stands for. None for all others.
#[inline]
fn asked_plainly(request: &[u8]) -> Option<Asked<'_>> {
    let method = [&b"GET "[..], b"POST ", b"HEAD "].iter().find(|method| find::begins(request, method))?.len();
    let end = request.len().checked_sub(b" HTTP/1.1".len())?;
    let version = &request[end..];
    if !find::begins(version, b" HTTP/") || version[6..].contains(&b' ') || request.get(method) != Some(&b'/') {
        return None;
    }
    let stop = find::odd(request, method)?;
    let whole = stop == end || (stop < end && matches!(request[stop], b'?' | b'#'));
    let plain = whole && stop - method <= TARGET_LIMIT;
    plain.then(|| Asked { head: request[0] == b'H', target: Cow::Borrowed(&request[method..stop]) })
}

/// Of a request without escapes.
fn asked_somehow(request: &[u8]) -> Option<Asked<'_>> {
    let end = memchr(b' ', request)?;
    let (method, rest) = (&request[..end], &request[end + 1..]);
    let proper = method.iter().all(|byte| matches!(byte, b'A'..=b'Z' | b'-' | b'_'));
    if !proper || method.is_empty() || method.len() > 32 {
        return None;
    }
    let (path, version) = match memrchr(b' ', rest) {
        Some(at) => (&rest[..at], &rest[at + 1..]),
        None => (&rest[..0], rest),
    };
    let path = match version.starts_with(b"HTTP/") {
        true => path,
        false if method == b"GET" => rest,
        false => return None,
    };
    let path = origin_form(strip(path, b' '));
    path.starts_with(b"/").then(|| Asked { head: method == b"HEAD", target: target(path) })
}

pub fn strip(text: &[u8], byte: u8) -> &[u8] {
    strip_end(strip_start(text, byte), byte)
}

pub fn strip_start(text: &[u8], byte: u8) -> &[u8] {
    let start = text.iter().position(|other| *other != byte).unwrap_or(text.len());
    &text[start..]
}

pub fn strip_end(text: &[u8], byte: u8) -> &[u8] {
    let end = text.iter().rposition(|other| *other != byte).map_or(0, |last| last + 1);
    &text[..end]
}

/// `/path` of `http://host/path`.
fn origin_form(path: &[u8]) -> &[u8] {
    let width = scheme_width(path);
    if width == 0 {
        return path;
    }
    match memchr3(b'/', b'?', b'#', &path[width..]) {
        Some(at) if path[width + at] == b'/' => &path[width + at..],
        _ => b"/",
    }
}

/// How long the `http://` or `https://` is that a URL begins with; 0 when it is none.
pub fn scheme_width(url: &[u8]) -> usize {
    [&b"https://"[..], b"http://"]
        .iter()
        .find(|scheme| url.get(..scheme.len()).is_some_and(|lead| lead.eq_ignore_ascii_case(scheme)))
        .map_or(0, |scheme| scheme.len())
}

/// The one spelling of a path that begins with a slash.
fn target(path: &[u8]) -> Cow<'_, [u8]> {
    let mut before = 0;
    let mut odd = false;
    let mut end = path.len();
    for (at, byte) in path.iter().enumerate() {
        match byte {
            b'?' | b'#' => {
                end = at;
                break;
            }
            b'%' | 0..=0x20 | 0x7F.. => odd = true,
            b'/' | b'.' if before == b'/' => odd = true,
            _ => {}
        }
        before = *byte;
    }
    let path = &path[..end];
    match odd || path.len() > TARGET_LIMIT {
        true => Cow::Owned(spelled(path)),
        false => Cow::Borrowed(path),
    }
}

fn spelled(path: &[u8]) -> Vec<u8> {
    let mut path = collapsed(&encoded(path));
    if path.len() > TARGET_LIMIT {
        let hash = crc32fast::hash(&path);
        path.truncate(TARGET_LIMIT - 9);
        path.extend(format!("~{hash:08x}").as_bytes());
    }
    path
}

fn encoded(path: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(path.len());
    let mut rest = path;
    while let Some(byte) = rest.first() {
        let code = if *byte == b'%' { hex(rest.get(1..3)) } else { None };
        match (*byte, code) {
            (b'%', Some(code)) => {
                let code = code as u8;
                if code.is_ascii_alphanumeric() || matches!(code, b'-' | b'.' | b'_' | b'~') {
                    plain.push(code);
                } else {
                    push_percent(code, &mut plain);
                }
                rest = &rest[3..];
                continue;
            }
            (b'%' | 0..=0x20 | 0x7F.., _) => push_percent(*byte, &mut plain),
            _ => plain.push(*byte),
        }
        rest = &rest[1..];
    }
    plain
}

fn push_percent(byte: u8, plain: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    plain.extend([b'%', HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
}

fn collapsed(path: &[u8]) -> Vec<u8> {
    let mut kept: Vec<&[u8]> = Vec::new();
    let mut folder = false;
    for part in path.split(|byte| *byte == b'/') {
        folder = matches!(part, b"" | b"." | b"..");
        match part {
            b".." => drop(kept.pop()),
            b"" | b"." => {}
            _ => kept.push(part),
        }
    }
    let mut plain = Vec::with_capacity(path.len());
    for part in &kept {
        plain.push(b'/');
        plain.extend_from_slice(part);
    }
    if folder || kept.is_empty() {
        plain.push(b'/');
    }
    plain
}
