//! What most lines of most logs are, read in one go: a time of Apache's, a request in quotes for a plain path, a status
//! and a number of bytes, one behind the other.
//!
//! Of any other line nothing is said here: cut.rs and line.rs read it, and of these lines they would say the same.

use crate::clock::Clock;
use crate::find;
use crate::layout::{BYTES, Op, REQUEST, STATUS, TIME, VHOST};
use crate::line::{LARGEST, TARGET_LIMIT};

/// How long such a time is.
const TIME_WIDTH: usize = 26;
const VERSION: &[u8] = b" HTTP/1.1";
/// No answer has so many digits of bytes.
const DIGITS: usize = 15;

/// A layout whose lines can be such ones.
#[derive(Clone)]
pub struct Usual {
    start: Vec<u8>,
    before: Vec<Op>,
    behind_time: Vec<u8>,
    behind_request: Vec<u8>,
    behind_status: Vec<u8>,
    behind_bytes: Vec<u8>,
}

pub struct Line<'a> {
    pub vhost: &'a [u8],
    pub time: i64,
    pub status: &'a [u8],
    pub sent: i64,
    pub asked: Asked<'a>,
    /// What stands behind all that; None where the line ends there.
    pub rest: Option<&'a [u8]>,
}

/// Whether it is HEAD, and the target; None for `-`.
pub type Asked<'a> = Option<(bool, &'a [u8])>;

impl Usual {
    /// None where lines of these fields cannot be such ones.
    pub fn of(start: &[u8], ops: &[Op]) -> Option<Usual> {
        let (before, [time, request, status, bytes]) = ops.split_last_chunk()?;
        let slots = [time, request, status, bytes].map(|op| op.slot);
        let quoted = [time, request, status, bytes].map(|op| op.quoted);
        let plain = ops.iter().all(|op| op.plain)
            && before.iter().all(|op| !op.quoted && !op.literal.is_empty() && matches!(op.slot, None | Some(VHOST)));
        let ends = |op: &Op, inside: fn(&u8) -> bool| op.literal.first().is_some_and(|byte| !inside(byte));
        let apart = ends(time, in_times) && ends(status, u8::is_ascii_digit) && ends(bytes, in_numbers);
        let usual = slots == [Some(TIME), Some(REQUEST), Some(STATUS), Some(BYTES)]
            && quoted == [false, true, false, false]
            && request.literal.first() == Some(&b'"');
        (usual && plain && apart).then(|| Usual {
            start: start.to_vec(),
            before: before.to_vec(),
            behind_time: time.literal.clone(),
            behind_request: request.literal.clone(),
            behind_status: status.literal.clone(),
            behind_bytes: bytes.literal.clone(),
        })
    }

    #[inline]
    pub fn line<'a>(&self, line: &'a [u8], clock: &mut Clock) -> Option<Line<'a>> {
        if !find::begins(line, &self.start) {
            return None;
        }
        let mut vhost = &b""[..];
        let mut at = self.start.len();
        for op in &self.before {
            let end = short(line, &op.literal, at).or_else(|| find::literal(line, &op.literal, at))?;
            if op.slot.is_some() {
                vhost = &line[at..end];
            }
            at = end + op.literal.len();
        }
        let end = at + TIME_WIDTH;
        let time = clock.seconds(behind(line, end, &self.behind_time)?.0.get(at..)?)?;
        let (asked, at) = self.asked(line, end + self.behind_time.len())?;
        let (text, _) = behind(line, at + 3, &self.behind_status)?;
        let status = &text[at..];
        if !status.iter().all(u8::is_ascii_digit) {
            return None;
        }
        let (sent, rest) = self.sent(&line[at + 3 + self.behind_status.len()..])?;
        Some(Line { vhost, time, status, sent, asked, rest })
    }

    /// What was asked for by the request that begins there, and where the status begins.
    #[inline]
    fn asked<'a>(&self, line: &'a [u8], at: usize) -> Option<(Asked<'a>, usize)> {
        let request = line.get(at..)?;
        let width = match request {
            [b'G', b'E', b'T', b' ', b'/', ..] => 4,
            [b'P', b'O', b'S', b'T', b' ', b'/', ..] | [b'H', b'E', b'A', b'D', b' ', b'/', ..] => 5,
            [b'-', rest @ ..] if find::begins(rest, &self.behind_request) => {
                return Some((None, at + 1 + self.behind_request.len()));
            }
            _ => return None,
        };
        let stop = find::odd(request, width)?;
        let end = match request[stop] {
            b' ' => stop + VERSION.len(),
            b'?' | b'#' => find::literal(request, &self.behind_request, stop)?,
            _ => return None,
        };
        let (text, _) = behind(request, end, &self.behind_request)?;
        let is_version = end >= stop + VERSION.len() && is_version(&text[end - VERSION.len()..]);
        let target = &request[width..stop];
        let asked = (request[0] == b'H', target);
        (is_version && target.len() <= TARGET_LIMIT).then(|| (Some(asked), at + end + self.behind_request.len()))
    }

    /// The number that the text begins with, and what stands behind.
    #[inline]
    fn sent<'a>(&self, text: &'a [u8]) -> Option<(i64, Option<&'a [u8]>)> {
        let (mut sent, mut end) = (0, 0);
        while let Some(byte @ b'0'..=b'9') = text.get(end) {
            sent = sent * 10 + i64::from(byte - b'0');
            end += 1;
            if end > DIGITS {
                return None;
            }
        }
        if end == 0 {
            end = usize::from(text.first()? == &b'-');
        }
        if end == 0 {
            return None;
        }
        let sent = sent.min(LARGEST);
        match &text[end..] {
            [] => Some((sent, None)),
            rest => find::begins(rest, &self.behind_bytes).then(|| (sent, Some(&rest[self.behind_bytes.len()..]))),
        }
    }
}

/// The line up to there and what comes then, where it goes on with the literal.
#[inline(always)]
fn behind<'a>(line: &'a [u8], end: usize, literal: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    line.split_at_checked(end).filter(|(_, rest)| find::begins(rest, literal))
}

/// Where the literal begins behind a field of one byte, as most fields are that nobody needs.
#[inline(always)]
fn short(line: &[u8], literal: &[u8], at: usize) -> Option<usize> {
    let is_one = line.get(at) != literal.first() && find::begins(line.get(at + 1..)?, literal);
    is_one.then_some(at + 1)
}

#[inline(always)]
fn is_version(text: &[u8]) -> bool {
    let digits = |major: &u8, minor: &u8| major.is_ascii_digit() && minor.is_ascii_digit();
    matches!(text, [b' ', b'H', b'T', b'T', b'P', b'/', major, b'.', minor] if digits(major, minor))
}

/// What the texts of times are made of, as the log has them.
fn in_times(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || b"/:+-., \\".contains(byte)
}

fn in_numbers(byte: &u8) -> bool {
    byte.is_ascii_digit() || *byte == b'-'
}
