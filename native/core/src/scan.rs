//! The scan loop: see flex_logs_ingest/reference.py, which defines what it computes.

use memchr::{memchr, memrchr};

use crate::clock::Clock;
use crate::counts::Counts;
use crate::cut::{BYTES, Joined, Layout, REQUEST, STATUS, TIME, VHOST};
use crate::line::{asked, is_status, number, strip_end, strip_start};
use crate::malformed::{Bad, Malformed, NO_BYTES, NO_FIELDS, NO_STATUS, NO_TIME, TOO_LONG};
use crate::sites::{Rule, Sites};
use crate::tally::Tally;

const LINE_LIMIT: usize = 1 << 20;

const COUNTED: usize = 0;
const OTHER_STATUS: usize = 1;
const NO_REQUEST: usize = 2;
const MALFORMED: usize = 3;

/// What one stretch of a log counted: see `Found` of flex_logs_ingest/columns.py.
#[derive(Debug, PartialEq)]
pub struct Found {
    pub counts: Counts,
    pub lines: [u64; 4],
    pub reasons: [u64; 5],
    pub bad: Vec<Bad>,
    pub strangers: Vec<(Vec<u8>, u64)>,
    pub heading: Vec<u8>,
    pub first_time: i64,
    pub last_time: i64,
    pub pending: u64,
}

pub struct Scan {
    layout: Layout,
    sites: Sites,
    limit: usize,
    tally: Tally,
    clock: Clock,
    first: i64,
    last: i64,
    lines: [u64; 4],
    bad: Malformed,
    // The line that has no end yet: where it begins, how long it is, and what is kept of it.
    start: u64,
    pending: u64,
    tail: Vec<u8>,
    joined: Joined,
}

impl Scan {
    pub fn new(layout: Layout, rule: Rule, sample_limit: usize, keep_bad: bool) -> Scan {
        Scan {
            layout,
            sites: Sites::new(rule),
            limit: sample_limit,
            tally: Tally::default(),
            clock: Clock::default(),
            first: i64::MAX,
            last: 0,
            lines: [0; 4],
            bad: Malformed::new(keep_bad),
            start: 0,
            pending: 0,
            tail: Vec::new(),
            joined: Joined::default(),
        }
    }

    /// About how much memory is held.
    pub fn memory(&self) -> usize {
        self.tally.memory() + self.sites.memory()
    }

    /// The malformed lines since the last call, where they are kept.
    pub fn take_bad(&mut self) -> Vec<Bad> {
        self.bad.take()
    }

    /// What was counted since the last call; an unfinished line waits for what will be fed, and its memory is given
    /// back. With `complete`, a last line without an end counts too: nothing will be added to it.
    pub fn finish(&mut self, complete: bool) -> Found {
        if complete && self.pending > 0 {
            self.end_line();
        }
        self.tally.thin(self.limit);
        let found = Found {
            counts: self.tally.take(self.sites.take()),
            lines: self.lines,
            reasons: self.bad.counts,
            bad: std::mem::take(&mut self.bad.samples),
            strangers: self.sites.strangers.found(),
            heading: self.layout.heading().to_vec(),
            first_time: self.first.min(self.last),
            last_time: self.last,
            pending: self.pending,
        };
        (self.first, self.last) = (i64::MAX, 0);
        self.lines = [0; 4];
        self.bad.counts = [0; 5];
        found
    }

    pub fn feed(&mut self, chunk: &[u8]) {
        let Some(first) = memchr(b'\n', chunk) else {
            return self.grow(chunk);
        };
        self.grow(&chunk[..first]);
        self.end_line();
        let end = memrchr(b'\n', chunk).unwrap_or(first);
        let mut rest = &chunk[first + 1..=end.max(first)];
        while let Some(end) = memchr(b'\n', rest) {
            self.line(strip_start(&rest[..end], 0));
            self.start += end as u64 + 1;
            rest = &rest[end + 1..];
        }
        self.grow(&chunk[end + 1..]);
        self.tally.thin(self.limit);
    }

    fn grow(&mut self, piece: &[u8]) {
        self.pending += piece.len() as u64;
        // A log that was emptied under a writer that goes on where it stood begins with zeros up to there.
        let piece = if self.tail.is_empty() { strip_start(piece, 0) } else { piece };
        let room = (LINE_LIMIT + 1).saturating_sub(self.tail.len());
        self.tail.extend_from_slice(&piece[..piece.len().min(room)]);
    }

    fn end_line(&mut self) {
        let mut tail = std::mem::take(&mut self.tail);
        self.line(&tail);
        self.start += self.pending + 1;
        self.pending = 0;
        tail.clear();
        self.tail = tail;
    }

    #[inline]
    fn line(&mut self, line: &[u8]) {
        let class = self.count(line);
        if let Err(reason) = class {
            self.bad.add(self.start, reason, line);
        }
        self.lines[class.unwrap_or(MALFORMED)] += 1;
    }

    /// The line's class; what is wrong with it when it is malformed.
    #[inline]
    fn count(&mut self, line: &[u8]) -> Result<usize, usize> {
        if line.len() > LINE_LIMIT {
            return Err(TOO_LONG);
        }
        let line = strip_end(line, b'\r');
        if self.layout.is_heading(line) {
            return Ok(NO_REQUEST);
        }
        let texts = self.layout.cut(line, &mut self.joined).ok_or(NO_FIELDS)?;
        let sent = number(texts[BYTES]).ok_or(NO_BYTES)?;
        let status = texts[STATUS];
        if !is_status(status) {
            return Err(NO_STATUS);
        }
        let time = self.clock.seconds(texts[TIME]).ok_or(NO_TIME)?;
        self.first = self.first.min(time);
        self.last = self.last.max(time);
        let Some(asked) = asked(texts[REQUEST]) else {
            return Ok(NO_REQUEST);
        };
        let site = self.sites.of(texts[VHOST], &asked.target);
        self.tally.answer(site, time, sent);
        if !matches!(status[0], b'2' | b'3') {
            return Ok(OTHER_STATUS);
        }
        let name = &self.sites.names[site];
        self.tally.access(site, name, &asked.target, time, sent, status == b"200" && !asked.head);
        Ok(COUNTED)
    }
}
