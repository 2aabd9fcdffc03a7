//! How long an answer took: flex_logs_ingest/lines/service_time.py defines every function here.

use memchr::memchr;

use crate::ends::cut_ops;
use crate::find;
use crate::layout::{Op, TAKEN, Texts, UPSTREAM};
use crate::line::strip;

const LONGEST: i64 = 86_400_000_000;
const DIGITS: i64 = 11;
const MOST_TEXT: usize = 64;
const MOST_LIST: usize = 1024;
const PARTS: usize = 5;

/// What the numbers of a timer are: as the value of that name in flex_logs_ingest/lines/layout.py.
#[derive(Clone, Copy, PartialEq)]
pub enum Unit {
    Seconds,
    Millis,
    Micros,
    Nanos,
    Haproxy,
    Squid,
    W3c,
}

impl Unit {
    pub fn named(name: &str) -> Option<Unit> {
        Some(match name {
            "s" => Unit::Seconds,
            "ms" => Unit::Millis,
            "us" => Unit::Micros,
            "ns" => Unit::Nanos,
            "haproxy" => Unit::Haproxy,
            "squid" => Unit::Squid,
            "w3c" => Unit::W3c,
            _ => return None,
        })
    }

    /// The power of ten that makes microseconds of it.
    fn power(self) -> i64 {
        match self {
            Unit::Seconds => 6,
            Unit::Micros => 0,
            Unit::Nanos => -3,
            Unit::Millis | Unit::Haproxy | Unit::Squid | Unit::W3c => 3,
        }
    }
}

/// Where a line says how long its answer took, and in which units.
#[derive(Clone)]
pub struct Times {
    pub lead: Vec<u8>,
    pub after: Vec<Op>,
    pub upstream: Unit,
    pub taken: Unit,
}

impl Times {
    /// Put the texts of timers in their places, where the line goes on with them behind its last needed field.
    #[inline]
    pub fn find<'a>(&self, rest: &'a [u8], texts: &mut Texts<'a>) {
        if self.after.is_empty() || !find::begins(rest, &self.lead) {
            return;
        }
        let mut found = *texts;
        if cut_ops(rest, self.lead.len(), &self.after, &mut found).is_some() {
            *texts = found;
        }
    }

    #[inline]
    pub fn of(&self, texts: &Texts) -> Option<i64> {
        let (behind, whole) = (texts[UPSTREAM], texts[TAKEN]);
        let spent = if behind.is_empty() { None } else { upstream(behind, self.upstream) };
        if spent.is_some() || whole.is_empty() {
            return spent;
        }
        taken(whole, self.taken)
    }
}

fn upstream(text: &[u8], unit: Unit) -> Option<i64> {
    if unit == Unit::Haproxy {
        return of_haproxy(text);
    }
    if text.len() > MOST_LIST {
        return None;
    }
    let mut total = 0;
    for part in text.split(|byte| matches!(byte, b',' | b':')) {
        let one = strip(part, b' ');
        if one != b"-" && one != b"-1" {
            total += microseconds(one, unit)?;
        }
    }
    Some(total.min(LONGEST))
}

fn taken(text: &[u8], unit: Unit) -> Option<i64> {
    match unit {
        Unit::Squid => {
            let text = crate::line::strip_start(text, b' ');
            microseconds(&text[..memchr(b' ', text).unwrap_or(text.len())], Unit::Millis)
        }
        Unit::W3c => microseconds(text, if text.contains(&b'.') { Unit::Seconds } else { Unit::Millis }),
        unit => microseconds(text, unit),
    }
}

fn of_haproxy(text: &[u8]) -> Option<i64> {
    if text.len() > MOST_TEXT {
        return None;
    }
    let mut found = [0; PARTS];
    let mut parts = text.split(|byte| *byte == b'/');
    for place in &mut found {
        *place = match parts.next()? {
            b"-1" => -1,
            part => microseconds(part.strip_prefix(b"+").unwrap_or(part), Unit::Millis)?,
        };
    }
    let [asked, waited, connected, answered, whole] = found;
    match () {
        () if parts.next().is_some() => None,
        () if answered >= 0 => Some(answered),
        () if connected < 0 => Some(0),
        () => Some((whole - asked.max(0) - waited.max(0) - connected).max(0)),
    }
}

fn microseconds(text: &[u8], unit: Unit) -> Option<i64> {
    if text.len() > MOST_TEXT {
        return None;
    }
    let (whole, rest) = digits(text);
    if whole.is_empty() {
        return None;
    }
    let (part, rest) = match rest {
        [b'.', rest @ ..] => digits(rest),
        _ => (&rest[..0], rest),
    };
    let (power, rest) = exponent(rest)?;
    let unit = match rest {
        b"" => unit,
        b"ns" => Unit::Nanos,
        b"us" => Unit::Micros,
        b"ms" => Unit::Millis,
        b"s" => Unit::Seconds,
        _ => return None,
    };
    Some(shifted(whole, part, unit.power() + power - part.len() as i64))
}

/// The number of these digits, times that power of ten.
fn shifted(whole: &[u8], part: &[u8], power: i64) -> i64 {
    let mut digits = whole.iter().chain(part).skip_while(|digit| **digit == b'0');
    let count = digits.clone().count() as i64;
    if count == 0 || count + power <= 0 {
        return 0;
    }
    if count + power > DIGITS {
        return LONGEST;
    }
    let value = (0..count + power).fold(0, |sum, place| {
        let digit = if place < count { digits.next().map_or(0, |digit| i64::from(digit - b'0')) } else { 0 };
        sum * 10 + digit
    });
    value.min(LONGEST)
}

/// The power of ten that a number goes on with, and what stands behind.
fn exponent(text: &[u8]) -> Option<(i64, &[u8])> {
    let [b'e' | b'E', rest @ ..] = text else {
        return Some((0, text));
    };
    let (sign, rest) = match rest {
        [b'-', rest @ ..] => (-1, rest),
        [b'+', rest @ ..] => (1, rest),
        _ => (1, rest),
    };
    let (digits, rest) = digits(rest);
    let value = digits.iter().fold(0, |sum, digit| sum * 10 + i64::from(digit - b'0'));
    (1..=3).contains(&digits.len()).then_some((sign * value, rest))
}

fn digits(text: &[u8]) -> (&[u8], &[u8]) {
    text.split_at(text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len()))
}
