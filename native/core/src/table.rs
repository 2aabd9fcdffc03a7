//! Rows of the file table written to disk as Parquet, by a thread of its own.

use std::fs::File;
use std::io;
use std::mem::take;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{JoinHandle, spawn};

use bytes::Bytes;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnPath;

use crate::pages::Texts;

/// Rows of a row group. Two of them are in memory: one that is filled, one that is written.
pub const ROWS: usize = 1 << 16;

const SCHEMA: &str = "message files {
    required binary site (UTF8);
    required binary target (UTF8);
    required int64 requests;
    required int64 bytes;
    required int64 size;
    required int64 last;
}";

#[derive(Default)]
struct Rows {
    site: Texts,
    target: Texts,
    counts: [Vec<i64>; 4],
}

pub struct Table {
    rows: Rows,
    sender: Option<SyncSender<Rows>>,
    writer: Option<JoinHandle<Result<()>>>,
    written: u64,
}

impl Table {
    pub fn create(path: &str) -> io::Result<Table> {
        let file = File::create(path)?;
        let (sender, receiver) = sync_channel::<Rows>(0);
        let writer = spawn(move || {
            let schema = Arc::new(parse_message_type(SCHEMA)?);
            let mut file = SerializedFileWriter::new(file, schema, Arc::new(properties()?))?;
            for rows in receiver {
                let mut group = file.next_row_group()?;
                rows.write(&mut group)?;
                group.close()?;
            }
            file.close()?;
            Ok(())
        });
        Ok(Table { rows: Rows::default(), sender: Some(sender), writer: Some(writer), written: 0 })
    }

    pub fn push(&mut self, site: &[u8], target: &[u8], counts: [i64; 4]) -> io::Result<()> {
        self.rows.site.push(site);
        self.rows.target.push(target);
        for (column, count) in self.rows.counts.iter_mut().zip(counts) {
            column.push(count);
        }
        self.written += 1;
        if self.rows.site.ends.len() < ROWS { Ok(()) } else { self.send() }
    }

    /// Everything is in the file when this returns; how many rows that is.
    pub fn close(mut self) -> io::Result<u64> {
        if !self.rows.site.ends.is_empty() {
            self.send()?;
        }
        self.sender = None;
        self.end()?;
        Ok(self.written)
    }

    fn send(&mut self) -> io::Result<()> {
        let sent = self.sender.as_ref().is_some_and(|sender| sender.send(take(&mut self.rows)).is_ok());
        if sent { Ok(()) } else { self.end() }
    }

    /// What the writer ended with.
    fn end(&mut self) -> io::Result<()> {
        let ended = self.writer.take().map(JoinHandle::join);
        match ended {
            Some(Ok(Ok(()))) => Ok(()),
            Some(Ok(Err(ParquetError::External(error)))) => match error.downcast::<io::Error>() {
                Ok(error) => Err(*error),
                Err(error) => Err(io::Error::other(error)),
            },
            Some(Ok(Err(error))) => Err(io::Error::other(error)),
            Some(Err(_)) | None => Err(io::Error::other("the writer ended too early")),
        }
    }
}

impl Drop for Table {
    /// Nobody writes to the file any more, also when it was given up.
    fn drop(&mut self) {
        self.sender = None;
        if let Some(writer) = self.writer.take() {
            drop(writer.join());
        }
    }
}

fn properties() -> Result<WriterProperties> {
    let column = |name: &str| ColumnPath::from(name);
    Ok(WriterProperties::builder()
        .set_created_by("FLEX".to_owned())
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(1)?))
        .set_dictionary_enabled(false)
        .set_column_dictionary_enabled(column("site"), true)
        .set_column_encoding(column("target"), Encoding::DELTA_BYTE_ARRAY)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_column_statistics_enabled(column("target"), EnabledStatistics::None)
        .set_offset_index_disabled(true)
        .build())
}

impl Rows {
    fn write<W: io::Write + Send>(self, group: &mut SerializedRowGroupWriter<'_, W>) -> Result<()> {
        for texts in [self.site, self.target] {
            let values = arrays(texts);
            if let Some(mut column) = group.next_column()? {
                column.typed::<ByteArrayType>().write_batch(&values, None, None)?;
                column.close()?;
            }
        }
        for values in self.counts {
            if let Some(mut column) = group.next_column()? {
                column.typed::<Int64Type>().write_batch(&values, None, None)?;
                column.close()?;
            }
        }
        Ok(())
    }
}

fn arrays(texts: Texts) -> Vec<ByteArray> {
    let text = Bytes::from(texts.text);
    let begins = std::iter::once(0).chain(texts.ends.iter().copied());
    begins.zip(&texts.ends).map(|(begin, end)| text.slice(begin..*end).into()).collect()
}
