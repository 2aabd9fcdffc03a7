//! Sorted counts in a Parquet file, one row at hand at a time and a few thousand in memory.

use std::cmp::Ordering;
use std::fs::File;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use parquet::basic::Type;
use parquet::file::reader::{FileReader, SerializedFileReader};

use crate::packed::{Read, in_words};
use crate::pages::{Column, Ints, Texts, Values};

/// How many rows of a run are decoded at once.
const BATCH: usize = 2048;

/// Which rows of a file: those of these row groups, of one day where it is given.
///
/// Of a run from `before` the days in question only the sizes are looked at.
pub struct Place {
    pub path: String,
    pub groups: Vec<usize>,
    pub day: Option<i64>,
    pub before: bool,
}

pub struct Run {
    place: Place,
    file: SerializedFileReader<File>,
    next_group: usize,
    group: Option<Group>,
    left: usize,
    row: usize,
    rows: usize,
    batch: Batch,
}

/// The columns of one row group; a column that is not looked at is None.
struct Group {
    day: Option<Column<Ints>>,
    site: Column<Texts>,
    target: Column<Texts>,
    counts: [Option<Column<Ints>>; 4],
}

#[derive(Default)]
struct Batch {
    day: Ints,
    site: Texts,
    target: Texts,
    counts: [Ints; 4],
    /// Whether a row is of the same site as the one before.
    same_site: Vec<bool>,
    last: Option<(Vec<u8>, Vec<u8>)>,
}

pub const COUNTS: [&str; 4] = ["requests", "bytes", "size", "last"];
pub const SIZE: usize = 2;

impl Run {
    /// At its first row, if it has one.
    pub fn open(place: Place) -> Read<Run> {
        let file = File::open(&place.path).map_err(in_words)?;
        let file = careful(|| SerializedFileReader::new(file).map_err(in_words))?;
        let batch = Batch::default();
        let mut run = Run { place, file, next_group: 0, group: None, left: 0, row: 0, rows: 0, batch };
        run.fill()?;
        Ok(run)
    }

    pub fn is_at_end(&self) -> bool {
        self.row == self.rows
    }

    pub fn is_before(&self) -> bool {
        self.place.before
    }

    pub fn path(&self) -> &str {
        &self.place.path
    }

    pub fn site(&self) -> &[u8] {
        self.batch.site.at(self.row)
    }

    /// As of the row before; false for the first one.
    pub fn is_same_site(&self) -> bool {
        self.batch.same_site[self.row]
    }

    pub fn target(&self) -> &[u8] {
        self.batch.target.at(self.row)
    }

    pub fn count(&self, column: usize) -> i64 {
        self.batch.counts[column][self.row]
    }

    pub fn advance(&mut self) -> Read<()> {
        self.row += 1;
        if self.row < self.rows { Ok(()) } else { self.fill() }
    }

    /// The next rows; none when it is at its end.
    fn fill(&mut self) -> Read<()> {
        if self.rows > 0 {
            self.batch.last =
                Some((self.batch.site.at(self.rows - 1).to_vec(), self.batch.target.at(self.rows - 1).to_vec()));
        }
        (self.row, self.rows) = (0, 0);
        while self.row == self.rows {
            if self.left == 0 && !careful(|| self.turn())? {
                (self.row, self.rows) = (0, 0);
                return Ok(());
            }
            let now = self.left.min(BATCH);
            self.left -= now;
            let (batch, group) = (&mut self.batch, &mut self.group);
            if let Some(group) = group {
                careful(|| batch.fill(group, now))?;
            }
            (self.row, self.rows) = self.batch.of_day(self.place.day, now)?;
            self.batch.check(self.row..self.rows)?;
        }
        Ok(())
    }

    /// The next row group; false when there is none.
    fn turn(&mut self) -> Read<bool> {
        let Some(number) = self.place.groups.get(self.next_group) else {
            self.group = None;
            return Ok(false);
        };
        if *number >= self.file.num_row_groups() {
            return Err(format!("it has no row group {number}"));
        }
        self.next_group += 1;
        let rows = self.file.metadata().row_group(*number).num_rows();
        self.left = usize::try_from(rows).map_err(in_words)?;
        let before = self.place.before;
        let count = |column: usize| match before && column != SIZE {
            true => Ok(None),
            false => self.column(*number, COUNTS[column], Type::INT64).map(Some),
        };
        self.group = Some(Group {
            day: self.place.day.map(|_| self.column(*number, "day", Type::INT64)).transpose()?,
            site: self.column(*number, "site", Type::BYTE_ARRAY)?,
            target: self.column(*number, "target", Type::BYTE_ARRAY)?,
            counts: [count(0)?, count(1)?, count(2)?, count(3)?],
        });
        Ok(true)
    }

    fn column<V: Values>(&self, group: usize, name: &str, is: Type) -> Read<Column<V>> {
        let columns = self.file.metadata().file_metadata().schema_descr().columns();
        let number = columns.iter().position(|column| column.path().string() == name);
        let number = number.ok_or_else(|| format!("it has no column {name}"))?;
        let column = &columns[number];
        if column.physical_type() != is || column.max_rep_level() > 0 || column.max_def_level() > 1 {
            return Err(format!("its column {name} is not as counts are"));
        }
        let pages = self.file.get_row_group(group).and_then(|group| group.get_column_page_reader(number));
        Ok(Column::new(pages.map_err(in_words)?, column.max_def_level() == 1, self.left))
    }
}

/// A file that is damaged in a way that the Parquet crate did not expect is damaged all the same.
fn careful<T>(work: impl FnOnce() -> Read<T>) -> Read<T> {
    let done = catch_unwind(AssertUnwindSafe(work));
    done.unwrap_or_else(|_| Err("its parts contradict each other".to_owned()))
}

impl Batch {
    fn fill(&mut self, group: &mut Group, rows: usize) -> Read<()> {
        self.site.clear();
        group.site.take(rows, &mut self.site)?;
        self.target.clear();
        group.target.take(rows, &mut self.target)?;
        self.day.clear();
        if let Some(column) = &mut group.day {
            column.take(rows, &mut self.day)?;
        }
        for (column, values) in group.counts.iter_mut().zip(&mut self.counts) {
            values.clear();
            if let Some(column) = column {
                column.take(rows, values)?;
            }
        }
        Ok(())
    }

    /// Where the rows of that day begin and end: a file is sorted by day first.
    fn of_day(&self, day: Option<i64>, rows: usize) -> Read<(usize, usize)> {
        let Some(day) = day else {
            return Ok((0, rows));
        };
        if !self.day.is_sorted() {
            return Err("it is not sorted by day".to_owned());
        }
        let begin = self.day.partition_point(|other| *other < day);
        Ok((begin, self.day.partition_point(|other| *other <= day)))
    }

    /// Rows out of order would be merged wrongly.
    fn check(&mut self, rows: Range<usize>) -> Read<()> {
        if !self.site.are_unicode() || !self.target.are_unicode() {
            return Err("it holds a text that is not UTF-8".to_owned());
        }
        if self.counts.iter().flatten().any(|count| *count < 0) {
            return Err("it holds a count below 0".to_owned());
        }
        self.same_site.clear();
        self.same_site.resize(rows.end, false);
        let mut before = self.last.as_ref().map(|(site, target)| (&site[..], &target[..]));
        for row in rows {
            let (site, target) = (self.site.at(row), self.target.at(row));
            if let Some((site_before, target_before)) = before {
                let order = site_before.cmp(site);
                if order.then_with(|| target_before.cmp(target)) != Ordering::Less {
                    return Err("it is not sorted by site and target, each of them once".to_owned());
                }
                self.same_site[row] = order == Ordering::Equal;
            }
            before = Some((site, target));
        }
        Ok(())
    }
}
