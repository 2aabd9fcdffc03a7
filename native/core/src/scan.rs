//! The scan loop: see flex_logs_ingest/scan/python_loop.py, which defines what it computes.

use std::mem::take;

use memchr::{memchr, memrchr};

use crate::clock::Clock;
use crate::counts::Counts;
use crate::cut::Layout;
use crate::layout::{BYTES, Joined, REQUEST, STATUS, TIME, VHOST};
use crate::line::{asked, is_status, number, strip_end, strip_start};
use crate::malformed::{Bad, Malformed, NO_BYTES, NO_FIELDS, NO_STATUS, NO_TIME, TOO_LONG};
use crate::others::Other;
use crate::sites::{Rule, Sites};
use crate::tally::{Access, Tally};

const LINE_LIMIT: usize = 1 << 20;
/// How many accesses are counted at once.
const WAITING: usize = 32;

const COUNTED: usize = 0;
const OTHER_STATUS: usize = 1;
const NO_REQUEST: usize = 2;
const MALFORMED: usize = 3;

/// What one segment of a log counted: see `ScannedColumns` of flex_logs_ingest/scan/counts_as_columns.py.
#[derive(Debug, PartialEq)]
pub struct Found {
    pub counts: Counts,
    pub lines: [u64; 4],
    pub reasons: [u64; 5],
    pub bad: Vec<Bad>,
    pub strangers: Vec<(Vec<u8>, u64)>,
    /// None where lines do not say by which name a site was called.
    pub others: Option<Vec<Other>>,
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

    /// The rule, for another scan.
    pub fn into_rule(self) -> Rule {
        self.sites.into_rule()
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
        let came = self.sites.others.found();
        let others = self.sites.tells_names().then_some(came);
        let found = Found {
            counts: self.tally.take(self.sites.take()),
            lines: self.lines,
            reasons: self.bad.counts,
            bad: take(&mut self.bad.samples),
            strangers: self.sites.strangers.found(),
            others,
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
        let mut waiting = Vec::with_capacity(WAITING);
        while let Some(end) = memchr(b'\n', rest) {
            self.line(strip_start(&rest[..end], 0), &mut waiting);
            self.start += end as u64 + 1;
            rest = &rest[end + 1..];
        }
        self.count_waiting(&mut waiting);
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
        let mut tail = take(&mut self.tail);
        let mut waiting = Vec::new();
        self.line(&tail, &mut waiting);
        self.count_waiting(&mut waiting);
        self.start += self.pending + 1;
        self.pending = 0;
        tail.clear();
        self.tail = tail;
    }

    #[inline]
    fn line<'a>(&mut self, line: &'a [u8], waiting: &mut Vec<Access<'a>>) {
        let class = self.count(line, waiting);
        if let Err(reason) = class {
            self.bad.add(self.start, reason, line);
        }
        self.lines[class.unwrap_or(MALFORMED)] += 1;
    }

    /// The line's class; what is wrong with it when it is malformed. Accesses of usual lines wait for some more.
    #[inline]
    fn count<'a>(&mut self, line: &'a [u8], waiting: &mut Vec<Access<'a>>) -> Result<usize, usize> {
        if line.len() > LINE_LIMIT {
            return Err(TOO_LONG);
        }
        let line = strip_end(line, b'\r');
        let Some(found) = self.layout.usual(line, &mut self.clock) else {
            self.count_waiting(waiting);
            return self.count_any(line);
        };
        self.pass(found.time);
        let Some((head, target)) = found.asked else {
            return Ok(NO_REQUEST);
        };
        let spent = self.layout.spent_behind(found.rest);
        let Some(access) = self.answer(found.vhost, target, found.time, found.sent, spent, found.status, !head) else {
            return Ok(OTHER_STATUS);
        };
        if self.tally.gains_from_many() {
            waiting.push(access);
            if waiting.len() == WAITING {
                self.count_waiting(waiting);
            }
        } else {
            self.tally.count(&access, &self.sites.names);
        }
        Ok(COUNTED)
    }

    fn count_waiting(&mut self, waiting: &mut Vec<Access>) {
        self.tally.count_all(waiting, &self.sites.names);
        waiting.clear();
    }

    fn count_any(&mut self, line: &[u8]) -> Result<usize, usize> {
        if self.layout.is_heading(line) {
            return Ok(NO_REQUEST);
        }
        let mut joined = take(&mut self.joined);
        let class = self.count_texts(line, &mut joined);
        self.joined = joined;
        class
    }

    fn count_texts(&mut self, line: &[u8], joined: &mut Joined) -> Result<usize, usize> {
        let texts = self.layout.cut(line, joined).ok_or(NO_FIELDS)?;
        let sent = number(texts[BYTES]).ok_or(NO_BYTES)?;
        let status = texts[STATUS];
        if !is_status(status) {
            return Err(NO_STATUS);
        }
        let time = self.clock.seconds(texts[TIME]).ok_or(NO_TIME)?;
        self.pass(time);
        let Some(asked) = asked(texts[REQUEST]) else {
            return Ok(NO_REQUEST);
        };
        let spent = self.layout.spent(&texts);
        let Some(access) = self.answer(texts[VHOST], &asked.target, time, sent, spent, status, !asked.head) else {
            return Ok(OTHER_STATUS);
        };
        self.tally.count(&access, &self.sites.names);
        Ok(COUNTED)
    }

    #[inline]
    fn pass(&mut self, time: i64) {
        self.first = self.first.min(time);
        self.last = self.last.max(time);
    }

    /// Count an answer. What it was to, where it is one of success; `full` where that of status 200 has all of it.
    #[inline]
    #[expect(clippy::too_many_arguments)]
    fn answer<'a>(
        &mut self,
        vhost: &[u8],
        target: &'a [u8],
        time: i64,
        sent: i64,
        spent: Option<i64>,
        status: &[u8],
        full: bool,
    ) -> Option<Access<'a>> {
        let site = self.sites.of(vhost, target, time, sent);
        self.tally.answer(site, time, sent, spent);
        let is_access = matches!(status[0], b'2' | b'3');
        is_access.then(|| self.tally.access(site, target, time, sent, full && status == b"200"))
    }
}
