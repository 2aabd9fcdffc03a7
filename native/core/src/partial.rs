//! Counts written to disk as the Parquet files that flex_logs_ingest/partials.py describes and reads.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnPath;

use crate::counts::Counts;

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
const SAMPLE: &str = "message schema {
    required int64 time; required int64 target; required int64 level;
}";

type Group<'a> = SerializedRowGroupWriter<'a, BufWriter<File>>;

impl Counts {
    /// All three files; whole when this returns, but not yet synced.
    pub fn write(&self, files: &Path, hours: &Path, sample: &Path) -> io::Result<()> {
        let written = self.write_files(files).and_then(|()| self.write_hours(hours));
        written.and_then(|()| self.write_sample(sample)).map_err(of_io)
    }

    fn write_files(&self, path: &Path) -> Result<()> {
        let names: Vec<ByteArray> = self.sites.iter().map(|site| site.as_str().into()).collect();
        let properties = common()?
            .set_column_encoding(ColumnPath::from("target"), Encoding::DELTA_BYTE_ARRAY)
            .set_column_statistics_enabled(ColumnPath::from("target"), EnabledStatistics::None);
        let mut file = create(path, FILES, properties)?;
        let mut rest = &self.order[..];
        while !rest.is_empty() {
            let (rows, text) = self.next_group(rest);
            let mut group = file.next_row_group()?;
            self.write_rows(&rest[..rows], text, &names, &mut group)?;
            group.close()?;
            rest = &rest[rows..];
        }
        file.close()?;
        Ok(())
    }

    /// How many of the rows the next row group has, and their targets: it ends with the day.
    fn next_group(&self, rows: &[u32]) -> (usize, (Vec<u8>, Vec<usize>)) {
        let (mut text, mut ends) = (Vec::new(), Vec::new());
        let day = self.group(rows[0]).0;
        for number in rows.iter().take(ROWS) {
            if text.len() >= TEXT || self.group(*number).0 != day {
                break;
            }
            text.extend_from_slice(self.rows.target(*number));
            ends.push(text.len());
        }
        (ends.len(), (text, ends))
    }

    fn write_rows(
        &self,
        rows: &[u32],
        (text, ends): (Vec<u8>, Vec<usize>),
        names: &[ByteArray],
        group: &mut Group,
    ) -> Result<()> {
        let sites: Vec<ByteArray> = rows.iter().map(|row| names[self.group(*row).1 as usize].clone()).collect();
        let text = Bytes::from(text);
        let begins = std::iter::once(&0).chain(&ends);
        let targets: Vec<ByteArray> = begins.zip(&ends).map(|(begin, end)| text.slice(*begin..*end).into()).collect();
        write_ints(group, &vec![self.group(rows[0]).0; rows.len()])?;
        write_texts(group, &sites)?;
        write_texts(group, &targets)?;
        write_ints(group, &self.ints::<Vec<i64>>(rows, |row| row.requests))?;
        write_ints(group, &self.ints::<Vec<i64>>(rows, |row| row.bytes))?;
        write_ints(group, &self.ints::<Vec<i64>>(rows, |row| row.size))?;
        write_ints(group, &self.ints::<Vec<i64>>(rows, |row| row.last))
    }

    fn write_hours(&self, path: &Path) -> Result<()> {
        let mut file = create(path, HOURS, common()?)?;
        for hours in self.hours.chunks(ROWS) {
            let mut group = file.next_row_group()?;
            let sites: Vec<ByteArray> =
                hours.iter().map(|hour| self.sites[hour.site as usize].as_str().into()).collect();
            write_texts(&mut group, &sites)?;
            write_ints(&mut group, &hours.iter().map(|hour| hour.hour).collect::<Vec<i64>>())?;
            write_ints(&mut group, &hours.iter().map(|hour| hour.requests).collect::<Vec<i64>>())?;
            write_ints(&mut group, &hours.iter().map(|hour| hour.bytes).collect::<Vec<i64>>())?;
            group.close()?;
        }
        file.close()?;
        Ok(())
    }

    fn write_sample(&self, path: &Path) -> Result<()> {
        let level = KeyValue::new("flex.level".to_owned(), self.level.to_string());
        // Numbers of targets look like chance: no compression is worth its time here.
        let properties = common()?
            .set_compression(Compression::UNCOMPRESSED)
            .set_encoding(Encoding::DELTA_BINARY_PACKED)
            .set_key_value_metadata(Some(vec![level]));
        let mut file = create(path, SAMPLE, properties)?;
        for sample in self.sample.chunks(ROWS) {
            let mut group = file.next_row_group()?;
            write_ints(&mut group, &sample.iter().map(|sampled| sampled.time).collect::<Vec<i64>>())?;
            write_ints(&mut group, &sample.iter().map(|sampled| i64::from(sampled.row)).collect::<Vec<i64>>())?;
            write_ints(&mut group, &sample.iter().map(|sampled| i64::from(sampled.level)).collect::<Vec<i64>>())?;
            group.close()?;
        }
        file.close()?;
        Ok(())
    }
}

fn common() -> Result<WriterPropertiesBuilder> {
    Ok(WriterProperties::builder()
        .set_created_by("FLEX".to_owned())
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(1)?))
        .set_dictionary_enabled(false)
        .set_encoding(Encoding::PLAIN)
        .set_column_dictionary_enabled(ColumnPath::from("site"), true)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true))
}

fn create(
    path: &Path,
    schema: &str,
    properties: WriterPropertiesBuilder,
) -> Result<SerializedFileWriter<BufWriter<File>>> {
    let file = BufWriter::new(File::create(path)?);
    SerializedFileWriter::new(file, Arc::new(parse_message_type(schema)?), Arc::new(properties.build()))
}

fn write_ints(group: &mut Group, values: &[i64]) -> Result<()> {
    if let Some(mut column) = group.next_column()? {
        column.typed::<Int64Type>().write_batch(values, None, None)?;
        column.close()?;
    }
    Ok(())
}

fn write_texts(group: &mut Group, values: &[ByteArray]) -> Result<()> {
    if let Some(mut column) = group.next_column()? {
        column.typed::<ByteArrayType>().write_batch(values, None, None)?;
        column.close()?;
    }
    Ok(())
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
