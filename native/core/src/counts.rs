//! What a scan counted, in order: see `Columns` of flex_logs_ingest/scan/counts_as_columns.py. partial.rs writes it to disk.

use std::fmt;

use crate::rows::{Row, Rows};

#[derive(Debug, PartialEq)]
pub struct Hour {
    pub site: u32,
    pub hour: i64,
    pub requests: i64,
    pub bytes: i64,
}

#[derive(Debug, PartialEq)]
pub struct Sampled {
    pub time: i64,
    pub row: u32,
    pub level: u32,
}

/// Sites are in the order of their names, and numbered by it; hours by site and hour; the sample as in the log.
pub struct Counts {
    pub sites: Vec<String>,
    pub(crate) groups: Vec<(i64, u32)>,
    pub(crate) rows: Rows,
    /// The numbers of the rows by day, site, target.
    pub(crate) order: Vec<u32>,
    pub hours: Vec<Hour>,
    pub sample: Vec<Sampled>,
    pub level: u32,
}

/// The rows, sorted by day, site, target. Row i's target is text[offsets[i]..offsets[i + 1]].
#[derive(Debug, PartialEq)]
pub struct Columns {
    pub day: Vec<i64>,
    pub site: Vec<i64>,
    pub text: Vec<u8>,
    pub offsets: Vec<i64>,
    pub requests: Vec<i64>,
    pub bytes: Vec<i64>,
    pub size: Vec<i64>,
    pub last: Vec<i64>,
}

impl Counts {
    pub(crate) fn ints<T: FromIterator<i64>>(&self, numbers: &[u32], value: impl Fn(&Row) -> i64) -> T {
        numbers.iter().map(|number| value(self.rows.row(*number))).collect()
    }

    /// Day and number of the site.
    pub(crate) fn group(&self, number: u32) -> (i64, u32) {
        self.groups[self.rows.row(number).group as usize]
    }

    pub fn columns(&self) -> Columns {
        let (text, offsets) = self.texts();
        let group = |row: &Row| self.groups[row.group as usize];
        Columns {
            day: self.ints(&self.order, |row| group(row).0),
            site: self.ints(&self.order, |row| i64::from(group(row).1)),
            text,
            offsets,
            requests: self.ints(&self.order, |row| row.requests),
            bytes: self.ints(&self.order, |row| row.bytes),
            size: self.ints(&self.order, |row| row.size),
            last: self.ints(&self.order, |row| row.last),
        }
    }

    fn texts(&self) -> (Vec<u8>, Vec<i64>) {
        let (mut text, mut offsets) = (Vec::new(), vec![0]);
        for number in &self.order {
            text.extend_from_slice(self.rows.target(*number));
            offsets.push(text.len() as i64);
        }
        (text, offsets)
    }
}

/// Counts are the same when they say the same.
impl PartialEq for Counts {
    fn eq(&self, other: &Counts) -> bool {
        let said = |counts: &Counts| (counts.columns(), counts.level);
        said(self) == said(other)
            && (&self.sites, &self.hours, &self.sample) == (&other.sites, &other.hours, &other.sample)
    }
}

impl fmt::Debug for Counts {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{:?}", (&self.sites, self.columns(), &self.hours, &self.sample, self.level))
    }
}
