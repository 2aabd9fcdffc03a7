//! The scan loop: see flex_logs_ingest/reference.py, which defines what it computes.

use hashbrown::{DefaultHashBuilder, HashMap, HashTable};
use memchr::{memchr, memrchr};
use std::hash::BuildHasher;

use crate::cut::{BYTES, Joined, Layout, REQUEST, STATUS, TIME, VHOST};
use crate::line::{asked, is_status, number, seconds, strip_end, strip_start, unescaped};
use crate::malformed::{Bad, Malformed, NO_BYTES, NO_FIELDS, NO_STATUS, NO_TIME, TOO_LONG};
use crate::sites::{Rule, Sites};

const LINE_LIMIT: usize = 1 << 20;
const COUNTED: usize = 0;
const OTHER_STATUS: usize = 1;
const NO_REQUEST: usize = 2;
const MALFORMED: usize = 3;

/// What one log counted: see `Columns` of flex_logs_ingest/reference.py.
#[derive(Debug, PartialEq)]
pub struct Columns {
    pub sites: Vec<String>,
    pub day: Vec<i64>,
    pub site: Vec<i64>,
    pub text: Vec<u8>,
    pub offsets: Vec<i64>,
    pub requests: Vec<i64>,
    pub bytes: Vec<i64>,
    pub size: Vec<i64>,
    pub last: Vec<i64>,
    pub hour_site: Vec<i64>,
    pub hour: Vec<i64>,
    pub hour_requests: Vec<i64>,
    pub hour_bytes: Vec<i64>,
    pub sample_time: Vec<i64>,
    pub sample_row: Vec<i64>,
    pub sample_level: Vec<i64>,
    pub level: u32,
    pub lines: [u64; 4],
    pub reasons: [u64; 5],
    pub bad: Vec<Bad>,
    pub strangers: Vec<(Vec<u8>, u64)>,
    pub heading: Vec<u8>,
    pub first_time: i64,
    pub last_time: i64,
    pub pending: u64,
}

struct Row {
    hash: u64,
    day: i64,
    site: usize,
    start: usize,
    end: usize,
    requests: i64,
    bytes: i64,
    size: i64,
    last: i64,
    level: u32,
}

#[derive(Default)]
struct Hour {
    requests: i64,
    bytes: i64,
}

struct Sampled {
    time: i64,
    row: usize,
}

pub struct Scan {
    layout: Layout,
    sites: Sites,
    limit: usize,
    hasher: DefaultHashBuilder,
    rows: Vec<Row>,
    index: HashTable<usize>,
    text: Vec<u8>,
    hours: HashMap<(usize, i64), Hour>,
    sample: Vec<Sampled>,
    level: u32,
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
            hasher: DefaultHashBuilder::default(),
            rows: Vec::new(),
            index: HashTable::new(),
            text: Vec::new(),
            hours: HashMap::new(),
            sample: Vec::new(),
            level: 0,
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

    /// How many rows are held: what memory grows with.
    pub fn rows(&self) -> usize {
        self.rows.len()
    }

    /// The malformed lines since the last call, where they are kept.
    pub fn take_bad(&mut self) -> Vec<Bad> {
        self.bad.take()
    }

    /// To be called once. With `complete`, a last line without an end counts too: nothing will be added to it.
    pub fn finish(&mut self, complete: bool) -> Columns {
        if complete && self.pending > 0 {
            self.end_line();
            self.thin();
        }
        self.columns()
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
        self.thin();
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

    fn line(&mut self, line: &[u8]) {
        let mut joined = std::mem::take(&mut self.joined);
        let class = self.count(line, &mut joined);
        self.joined = joined;
        if let Err(reason) = class {
            self.bad.add(self.start, reason, line);
        }
        self.lines[class.unwrap_or(MALFORMED)] += 1;
    }

    /// The line's class; what is wrong with it when it is malformed.
    fn count(&mut self, line: &[u8], joined: &mut Joined) -> Result<usize, usize> {
        if line.len() > LINE_LIMIT {
            return Err(TOO_LONG);
        }
        let line = strip_end(line, b'\r');
        if self.layout.is_heading(line) {
            return Ok(NO_REQUEST);
        }
        let texts = self.layout.cut(line, joined).ok_or(NO_FIELDS)?;
        let sent = number(texts[BYTES]).ok_or(NO_BYTES)?;
        let status = texts[STATUS];
        if !is_status(status) {
            return Err(NO_STATUS);
        }
        let time = seconds(&unescaped(texts[TIME])).ok_or(NO_TIME)?;
        self.first = self.first.min(time);
        self.last = self.last.max(time);
        let request = unescaped(texts[REQUEST]);
        let Some(asked) = asked(&request) else {
            return Ok(NO_REQUEST);
        };
        let site = self.sites.of(texts[VHOST], &asked.target);
        let hour = self.hours.entry((site, time / 3600)).or_default();
        hour.requests += 1;
        hour.bytes = hour.bytes.saturating_add(sent);
        if !matches!(status[0], b'2' | b'3') {
            return Ok(OTHER_STATUS);
        }
        let number = self.row(time / 86400, site, &asked.target);
        let row = &mut self.rows[number];
        row.requests += 1;
        row.bytes = row.bytes.saturating_add(sent);
        row.last = row.last.max(time);
        if status == b"200" && !asked.head {
            row.size = row.size.max(sent);
        }
        if row.level >= self.level {
            self.sample.push(Sampled { time, row: number });
        }
        Ok(COUNTED)
    }

    fn row(&mut self, day: i64, site: usize, target: &[u8]) -> usize {
        let hash = self.hasher.hash_one((day, site, target));
        let (rows, text) = (&self.rows, &self.text);
        let same = |number: &usize| {
            let row = &rows[*number];
            row.hash == hash && row.day == day && row.site == site && &text[row.start..row.end] == target
        };
        if let Some(number) = self.index.find(hash, same) {
            return *number;
        }
        let (number, start) = (self.rows.len(), self.text.len());
        let level = level_of(&self.sites.names[site], target);
        self.text.extend_from_slice(target);
        let end = self.text.len();
        self.rows.push(Row { hash, day, site, start, end, requests: 0, bytes: 0, size: 0, last: 0, level });
        self.index.insert_unique(hash, number, |number| self.rows[*number].hash);
        number
    }

    /// Keep every second target of the sample as long as it is too large.
    fn thin(&mut self) {
        while self.sample.len() > self.limit {
            self.level += 1;
            self.sample.retain(|sampled| self.rows[sampled.row].level >= self.level);
        }
    }

    fn target(&self, row: usize) -> &[u8] {
        &self.text[self.rows[row].start..self.rows[row].end]
    }

    fn columns(&mut self) -> Columns {
        let mut site_order: Vec<usize> = (0..self.sites.names.len()).collect();
        site_order.sort_unstable_by_key(|site| &self.sites.names[*site]);
        let site_rank = ranks(&site_order);
        let mut rows: Vec<usize> = (0..self.rows.len()).collect();
        rows.sort_unstable_by_key(|row| (self.rows[*row].day, site_rank[self.rows[*row].site], self.target(*row)));
        let mut hours: Vec<(usize, i64)> = self.hours.keys().copied().collect();
        hours.sort_unstable_by_key(|(site, hour)| (site_rank[*site], *hour));
        let row_rank = ranks(&rows);
        let (text, offsets) = self.texts(&rows);
        let of_rows = |value: &dyn Fn(&Row) -> i64| rows.iter().map(|row| value(&self.rows[*row])).collect();
        let of_hours = |value: &dyn Fn(&Hour) -> i64| hours.iter().map(|key| value(&self.hours[key])).collect();
        let of_sample = |value: &dyn Fn(&Sampled) -> i64| self.sample.iter().map(value).collect();
        Columns {
            day: of_rows(&|row| row.day),
            site: of_rows(&|row| site_rank[row.site]),
            text,
            offsets,
            requests: of_rows(&|row| row.requests),
            bytes: of_rows(&|row| row.bytes),
            size: of_rows(&|row| row.size),
            last: of_rows(&|row| row.last),
            hour_site: hours.iter().map(|(site, _)| site_rank[*site]).collect(),
            hour: hours.iter().map(|(_, hour)| *hour).collect(),
            hour_requests: of_hours(&|hour| hour.requests),
            hour_bytes: of_hours(&|hour| hour.bytes),
            sample_time: of_sample(&|sampled| sampled.time),
            sample_row: of_sample(&|sampled| row_rank[sampled.row]),
            sample_level: of_sample(&|sampled| i64::from(self.rows[sampled.row].level)),
            level: self.level,
            lines: self.lines,
            reasons: self.bad.counts,
            bad: std::mem::take(&mut self.bad.samples),
            strangers: self.sites.strangers.found(),
            heading: self.layout.heading().to_vec(),
            first_time: self.first.min(self.last),
            last_time: self.last,
            pending: self.pending,
            sites: site_order.iter().map(|site| self.sites.names[*site].clone()).collect(),
        }
    }

    fn texts(&self, rows: &[usize]) -> (Vec<u8>, Vec<i64>) {
        let mut text = Vec::with_capacity(self.text.len());
        let mut offsets = Vec::with_capacity(rows.len() + 1);
        offsets.push(0);
        for row in rows {
            text.extend_from_slice(self.target(*row));
            offsets.push(text.len() as i64);
        }
        (text, offsets)
    }
}

/// How many zero bits the hash of a target begins with.
fn level_of(site: &str, target: &[u8]) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    crc.update(site.as_bytes());
    crc.update(b"\0");
    crc.update(target);
    let mut mixed = crc.finalize();
    mixed = (mixed ^ mixed >> 16).wrapping_mul(0x85EB_CA6B);
    mixed = (mixed ^ mixed >> 13).wrapping_mul(0xC2B2_AE35);
    (mixed ^ mixed >> 16).leading_zeros()
}

/// The place of each number in the order.
fn ranks(order: &[usize]) -> Vec<i64> {
    let mut ranks = vec![0; order.len()];
    for (rank, number) in order.iter().enumerate() {
        ranks[*number] = rank as i64;
    }
    ranks
}
