//! One column of a row group, put together here and appended as one piece.
//!
//! The writer of the Parquet crate sets up a compressor and a decompressor for each column of each row group, which
//! takes longer than the rows of a short day. Here one compressor is there for all of them.

use std::io::Write;
use std::mem::take;

use bytes::Bytes;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::data_type::ByteArray;
use parquet::errors::Result;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::statistics::Statistics;
use parquet::file::writer::{SerializedPageWriter, SerializedRowGroupWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;
use zstd::bulk::Compressor;

use crate::encoded::{by_prefix, differences, plain, plain_texts, runs};
use crate::pages::Texts;

/// The most values of a page.
const PAGE: usize = 20_000;
/// About the most bytes of the texts of a page, and of a dictionary.
const TEXT: usize = 1 << 20;
const LEVEL: i32 = 1;

/// What packs the pages of all columns.
pub struct Packer(Compressor<'static>);

impl Packer {
    pub fn new() -> Result<Packer> {
        Ok(Packer(Compressor::new(LEVEL)?))
    }
}

/// A column before it is packed: pages of so many values, behind a dictionary where there is one.
pub struct Chunk {
    dictionary: Option<(u32, Vec<u8>)>,
    encoding: Encoding,
    pages: Vec<(usize, Vec<u8>)>,
    statistics: Option<Statistics>,
}

impl Chunk {
    pub fn ints(values: &[i64]) -> Chunk {
        Chunk::of_ints(values, Encoding::PLAIN, plain)
    }

    /// For numbers that are close to the one before.
    pub fn differences(values: &[i64]) -> Chunk {
        Chunk::of_ints(values, Encoding::DELTA_BINARY_PACKED, differences)
    }

    fn of_ints(values: &[i64], encoding: Encoding, encode: impl Fn(&[i64], &mut Vec<u8>)) -> Chunk {
        let (least, most) = (values.iter().copied().min(), values.iter().copied().max());
        let pages = values.chunks(PAGE).map(|values| page(values.len(), |to| encode(values, to)));
        let statistics = Some(Statistics::int64(least, most, None, Some(0), false));
        Chunk { dictionary: None, encoding, pages: pages.collect(), statistics }
    }

    /// For sorted texts.
    pub fn by_prefix(texts: &Texts) -> Chunk {
        let (mut pages, mut row) = (Vec::new(), 0);
        while row < texts.ends.len() {
            let most = texts.begin(row) + TEXT;
            let rest = &texts.ends[row..texts.ends.len().min(row + PAGE)];
            let count = rest.partition_point(|end| *end <= most).max(1);
            let rows = row..row + count;
            pages.push(page(count, |to| by_prefix(rows.map(|row| texts.at(row)), to)));
            row += count;
        }
        Chunk { dictionary: None, encoding: Encoding::DELTA_BYTE_ARRAY, pages, statistics: None }
    }

    /// For texts that are repeated: `rows` has the number of each in `names`, in rising order.
    pub fn of_names(rows: &[u32], names: &[String]) -> Chunk {
        let mut known: Vec<&[u8]> = Vec::new();
        let mut places = Vec::with_capacity(rows.len());
        for same in rows.chunk_by(|one, other| one == other) {
            places.resize(places.len() + same.len(), known.len() as u32);
            known.push(names[same[0] as usize].as_bytes());
        }
        let bound = |name: Option<&&[u8]>| name.map(|name| ByteArray::from(name.to_vec()));
        let statistics = Some(Statistics::byte_array(bound(known.first()), bound(known.last()), None, Some(0), false));
        let is_large = known.iter().map(|name| name.len()).sum::<usize>() > TEXT;
        let encode = |places: &[u32], to: &mut Vec<u8>| match is_large {
            true => plain_texts(places.iter().map(|place| known[*place as usize]), to),
            false => runs(places, known.len(), to),
        };
        let pages = places.chunks(PAGE).map(|places| page(places.len(), |to| encode(places, to))).collect();
        let (_, dictionary) = page(0, |to| plain_texts(known.iter().copied(), to));
        let (dictionary, encoding) = match is_large {
            true => (None, Encoding::PLAIN),
            false => (Some((known.len() as u32, dictionary)), Encoding::RLE_DICTIONARY),
        };
        Chunk { dictionary, encoding, pages, statistics }
    }

    /// The next column of the row group; packed where there is a packer.
    pub fn append<W: Write + Send>(
        mut self,
        to: &mut SerializedRowGroupWriter<'_, W>,
        column: &ColumnDescPtr,
        packer: Option<&mut Packer>,
    ) -> Result<()> {
        let encodings: Vec<Encoding> = self.dictionary.iter().map(|_| Encoding::PLAIN).chain([self.encoding]).collect();
        let statistics = self.statistics.take();
        let mut metadata = ColumnChunkMetaData::builder(column.clone()).set_encodings(encodings);
        if let Some(statistics) = statistics {
            metadata = metadata.set_statistics(statistics);
        }
        if packer.is_some() {
            metadata = metadata.set_compression(Compression::ZSTD(ZstdLevel::try_new(LEVEL)?));
        }
        let values: usize = self.pages.iter().map(|(values, _)| values).sum();
        let written = self.write(packer)?;
        let metadata = metadata
            .set_num_values(values as i64)
            .set_total_compressed_size(written.bytes.len() as i64)
            .set_total_uncompressed_size(written.unpacked as i64)
            .set_dictionary_page_offset((written.data > 0).then_some(0))
            .set_data_page_offset(written.data as i64)
            .build()?;
        let close = ColumnCloseResult {
            bytes_written: written.bytes.len() as u64,
            rows_written: values as u64,
            metadata,
            bloom_filter: None,
            column_index: None,
            offset_index: None,
        };
        to.append_column(&written.bytes, close)
    }

    fn write(&mut self, mut packer: Option<&mut Packer>) -> Result<Written> {
        let mut sink = TrackedWrite::new(Vec::new());
        let mut writer = SerializedPageWriter::new(&mut sink);
        let (mut unpacked, mut data) = (0, 0);
        if let Some((num_values, plain)) = self.dictionary.take() {
            let size = plain.len();
            let buf = packed(plain, packer.as_deref_mut())?;
            let page = Page::DictionaryPage { buf, num_values, encoding: Encoding::PLAIN, is_sorted: true };
            let spec = writer.write_page(CompressedPage::new(page, size))?;
            unpacked += spec.uncompressed_size;
            data = spec.compressed_size;
        }
        for (values, plain) in take(&mut self.pages) {
            let size = plain.len();
            let page = Page::DataPage {
                buf: packed(plain, packer.as_deref_mut())?,
                num_values: values as u32,
                encoding: self.encoding,
                def_level_encoding: Encoding::RLE,
                rep_level_encoding: Encoding::RLE,
                statistics: None,
            };
            unpacked += writer.write_page(CompressedPage::new(page, size))?.uncompressed_size;
        }
        writer.close()?;
        Ok(Written { bytes: sink.into_inner()?.into(), unpacked, data })
    }
}

/// All pages; where those of data begin.
struct Written {
    bytes: Bytes,
    unpacked: usize,
    data: usize,
}

fn page(values: usize, encode: impl FnOnce(&mut Vec<u8>)) -> (usize, Vec<u8>) {
    let mut plain = Vec::new();
    encode(&mut plain);
    (values, plain)
}

fn packed(plain: Vec<u8>, packer: Option<&mut Packer>) -> Result<Bytes> {
    match packer {
        Some(Packer(compressor)) => Ok(compressor.compress(&plain)?.into()),
        None => Ok(plain.into()),
    }
}
