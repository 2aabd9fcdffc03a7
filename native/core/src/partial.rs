//! Counts written to disk as the Parquet files that flex_logs_ingest/counts/count_files.py describes and reads.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;
use std::sync::Arc;

use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnDescPtr;

use crate::chunk::{Chunk, Packer};
use crate::counts::Counts;
use crate::pages::Texts;

/// The most rows of a row group, and about the most bytes of its targets.
const ROWS: usize = 1 << 16;
const TEXT: usize = 1 << 23;

const FILES: &str = "message schema {
    required int64 day; required binary site (UTF8); required binary target (UTF8);
    required int64 requests; required int64 bytes; required int64 size; required int64 last;
}";
const HOURS: &str = "message schema {
    required binary site (UTF8); required int64 hour; required int64 requests; required int64 bytes;
}";
/// The same of logs that say how long answers took.
const TIMED: &str = "message schema {
    required binary site (UTF8); required int64 hour; required int64 requests; required int64 bytes;
    required int64 timed; required int64 service_us;
}";
const SAMPLE: &str = "message schema {
    required int64 time; required int64 target; required int64 level;
}";

impl Counts {
    /// All three files; whole when this returns, but not yet synced.
    pub fn write(&self, files: &Path, hours: &Path, sample: &Path) -> io::Result<()> {
        self.write_all(files, hours, sample).map_err(of_io)
    }

    fn write_all(&self, files: &Path, hours: &Path, sample: &Path) -> Result<()> {
        let mut packer = Packer::new()?;
        self.write_files(files, &mut packer)?;
        self.write_hours(hours, &mut packer)?;
        self.write_sample(sample)
    }

    fn write_files(&self, path: &Path, packer: &mut Packer) -> Result<()> {
        let mut table = Table::create(path, FILES, None)?;
        let mut rest = &self.order[..];
        while !rest.is_empty() {
            let group = self.next_group(rest);
            rest = &rest[group.sites.len()..];
            let [requests, bytes, size, last] = &group.counts;
            table.write(
                [
                    Chunk::ints(&vec![group.day; group.sites.len()]),
                    Chunk::of_names(&group.sites, &self.sites),
                    Chunk::by_prefix(&group.targets),
                    Chunk::ints(requests),
                    Chunk::ints(bytes),
                    Chunk::ints(size),
                    Chunk::ints(last),
                ],
                Some(packer),
            )?;
        }
        table.close()
    }

    /// The first of the rows: the row group ends with the day.
    fn next_group(&self, rows: &[u32]) -> Group {
        let mut group = Group { day: self.group(rows[0]).0, ..Group::default() };
        for number in rows.iter().take(ROWS) {
            let row = self.rows.row(*number);
            let (day, site) = self.groups[row.group as usize];
            if group.targets.text.len() >= TEXT || day != group.day {
                break;
            }
            group.sites.push(site);
            group.targets.push(self.rows.target(*number));
            for (counts, count) in group.counts.iter_mut().zip([row.requests, row.bytes, row.size, row.last]) {
                counts.push(count);
            }
        }
        group
    }

    fn write_hours(&self, path: &Path, packer: &mut Packer) -> Result<()> {
        let timed = self.hours.iter().any(|hour| hour.timed > 0);
        let mut table = Table::create(path, if timed { TIMED } else { HOURS }, None)?;
        for hours in self.hours.chunks(ROWS) {
            let sites: Vec<u32> = hours.iter().map(|hour| hour.site).collect();
            let hour: Vec<i64> = hours.iter().map(|hour| hour.hour).collect();
            let requests: Vec<i64> = hours.iter().map(|hour| hour.requests).collect();
            let bytes: Vec<i64> = hours.iter().map(|hour| hour.bytes).collect();
            let sites = Chunk::of_names(&sites, &self.sites);
            let columns = [sites, Chunk::ints(&hour), Chunk::ints(&requests), Chunk::ints(&bytes)];
            if !timed {
                table.write(columns, Some(packer))?;
                continue;
            }
            let [sites, hour, requests, bytes] = columns;
            let answers: Vec<i64> = hours.iter().map(|hour| hour.timed).collect();
            let service: Vec<i64> = hours.iter().map(|hour| hour.service).collect();
            let columns = [sites, hour, requests, bytes, Chunk::ints(&answers), Chunk::ints(&service)];
            table.write(columns, Some(packer))?;
        }
        table.close()
    }

    fn write_sample(&self, path: &Path) -> Result<()> {
        let mut table = Table::create(path, SAMPLE, Some(("flex.level", self.level)))?;
        for sample in self.sample.chunks(ROWS) {
            let time: Vec<i64> = sample.iter().map(|sampled| sampled.time).collect();
            let target: Vec<i64> = sample.iter().map(|sampled| sampled.row.into()).collect();
            let level: Vec<i64> = sample.iter().map(|sampled| sampled.level.into()).collect();
            // Numbers of targets look like chance: no compression is worth its time here.
            table.write([&time, &target, &level].map(|values| Chunk::differences(values)), None)?;
        }
        table.close()
    }
}

/// The rows of a row group of the first file, by column.
#[derive(Default)]
struct Group {
    day: i64,
    sites: Vec<u32>,
    targets: Texts,
    counts: [Vec<i64>; 4],
}

/// A file being written.
struct Table {
    file: SerializedFileWriter<BufWriter<File>>,
    columns: Vec<ColumnDescPtr>,
}

impl Table {
    fn create(path: &Path, schema: &str, note: Option<(&str, u32)>) -> Result<Table> {
        let note = note.map(|(name, value)| vec![KeyValue::new(name.to_owned(), value.to_string())]);
        let properties = WriterProperties::builder()
            .set_created_by("FLEX".to_owned())
            .set_offset_index_disabled(true)
            .set_key_value_metadata(note)
            .build();
        let (sink, schema) = (BufWriter::new(File::create(path)?), Arc::new(parse_message_type(schema)?));
        let file = SerializedFileWriter::new(sink, schema, Arc::new(properties))?;
        let columns = file.schema_descr().columns().to_vec();
        Ok(Table { file, columns })
    }

    /// A row group.
    fn write<const N: usize>(&mut self, chunks: [Chunk; N], mut packer: Option<&mut Packer>) -> Result<()> {
        let mut group: SerializedRowGroupWriter<'_, _> = self.file.next_row_group()?;
        for (chunk, column) in chunks.into_iter().zip(&self.columns) {
            chunk.append(&mut group, column, packer.as_deref_mut())?;
        }
        group.close()?;
        Ok(())
    }

    fn close(self) -> Result<()> {
        self.file.close()?;
        Ok(())
    }
}

/// What the disk answered, where it is that.
fn of_io(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(error) => match error.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(error) => io::Error::other(error),
        },
        error => io::Error::other(error),
    }
}
