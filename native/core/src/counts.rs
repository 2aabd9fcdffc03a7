//! What a scan counted, in order: see `Columns` of flex_logs_ingest/scan/counts_as_columns.py. partial.rs writes it to disk.

use std::fmt;

use crate::rows::Rows;

#[derive(Debug, PartialEq)]
pub struct Hour {
    pub site: u32,
    pub hour: i64,
    pub requests: i64,
    pub bytes: i64,
    /// Answers that say how long they took, and their microseconds.
    pub timed: i64,
    pub service: i64,
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
#[derive(Debug, Default, PartialEq)]
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
    /// Day and number of the site.
    pub(crate) fn group(&self, number: u32) -> (i64, u32) {
        self.groups[self.rows.row(number).group as usize]
    }

    pub fn columns(&self) -> Columns {
        let mut columns = Columns { offsets: vec![0], ..Columns::default() };
        self.add_to(&mut columns, i64::from);
        columns
    }

    /// The rows of all, one after the other, and where those of each begin; `sites` gives the sites of each other
    /// numbers.
    pub fn join(all: &[&Counts], sites: &[Vec<i64>]) -> (Columns, Vec<i64>) {
        let mut columns = Columns { offsets: vec![0], ..Columns::default() };
        let mut begins = Vec::new();
        for (counts, numbers) in all.iter().zip(sites) {
            begins.push(columns.day.len() as i64);
            counts.add_to(&mut columns, |site| numbers.get(site as usize).copied().unwrap_or_default());
        }
        (columns, begins)
    }

    fn add_to(&self, columns: &mut Columns, number_of: impl Fn(u32) -> i64) {
        for number in &self.order {
            let (row, (day, site)) = (self.rows.row(*number), self.group(*number));
            columns.day.push(day);
            columns.site.push(number_of(site));
            columns.text.extend_from_slice(self.rows.target(*number));
            columns.offsets.push(columns.text.len() as i64);
            columns.requests.push(row.requests);
            columns.bytes.push(row.bytes);
            columns.size.push(row.size);
            columns.last.push(row.last);
        }
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
