//! The columns of a Parquet file, decoded a few rows at a time: whole numbers and texts, none of them missing.
//!
//! What FLEX and pyarrow write of counts is read, and nothing else: numbers PLAIN or from a dictionary, texts PLAIN,
//! from a dictionary or DELTA_BYTE_ARRAY. Whatever the bytes say, nothing here panics or reads outside a page.

use bytes::Bytes;
use parquet::basic::Encoding;
use parquet::column::page::{Page, PageReader};

use crate::packed::{Hybrid, Read, differences, in_words, short};

/// Values of a column as they are held in memory.
pub trait Values: Sized {
    type Dictionary: Default;
    type Source;

    fn dictionary(page: &[u8], values: usize) -> Read<Self::Dictionary>;
    fn source(encoding: Encoding, page: Bytes, values: usize) -> Read<Self::Source>;
    fn take(&mut self, source: &mut Self::Source, dictionary: &Self::Dictionary, rows: usize) -> Read<()>;
    fn clear(&mut self);
}

/// One column chunk while it is read.
pub struct Column<V: Values> {
    pages: Box<dyn PageReader>,
    optional: bool,
    dictionary: V::Dictionary,
    open: Option<V::Source>,
    left: usize,
    /// Values in pages that are still to come.
    behind: usize,
}

impl<V: Values> Column<V> {
    pub fn new(pages: Box<dyn PageReader>, optional: bool, rows: usize) -> Column<V> {
        Column { pages, optional, dictionary: V::Dictionary::default(), open: None, left: 0, behind: rows }
    }

    /// Exactly so many rows more.
    pub fn take(&mut self, rows: usize, into: &mut V) -> Read<()> {
        let mut wanted = rows;
        while wanted > 0 {
            while self.left == 0 {
                self.turn()?;
            }
            let now = wanted.min(self.left);
            let source = short(self.open.as_mut())?;
            into.take(source, &self.dictionary, now)?;
            self.left -= now;
            wanted -= now;
        }
        Ok(())
    }

    /// The next page of data.
    fn turn(&mut self) -> Read<()> {
        let page = self.pages.get_next_page().map_err(in_words)?;
        match page.ok_or_else(|| "a column ends before the others".to_owned())? {
            Page::DictionaryPage { buf, num_values, .. } => {
                self.dictionary = V::dictionary(&buf, num_values as usize)?;
            }
            Page::DataPage { buf, num_values, encoding, .. } => {
                let values = if self.optional { behind_levels(&buf, self.count(num_values)?)? } else { buf };
                self.open(encoding, values, num_values)?;
            }
            Page::DataPageV2 { buf, num_values, encoding, num_nulls, def_levels_byte_len, .. } => {
                if num_nulls > 0 {
                    return Err(MISSING.to_owned());
                }
                let begin = def_levels_byte_len as usize;
                short(buf.get(begin..))?;
                self.open(encoding, buf.slice(begin..), num_values)?;
            }
        }
        Ok(())
    }

    fn open(&mut self, encoding: Encoding, values: Bytes, count: u32) -> Read<()> {
        let count = self.count(count)?;
        self.open = Some(V::source(encoding, values, count)?);
        self.left = count;
        self.behind -= count;
        Ok(())
    }

    fn count(&self, values: u32) -> Read<usize> {
        let fits = Some(values as usize).filter(|count| *count <= self.behind);
        fits.ok_or_else(|| "a column has more values than rows".to_owned())
    }
}

const MISSING: &str = "a value is missing";

/// A page of a column that may have holes begins with where they are; it must not have any.
fn behind_levels(page: &Bytes, values: usize) -> Read<Bytes> {
    let length = short(page.first_chunk())?;
    let end = 4 + u32::from_le_bytes(*length) as usize;
    let mut levels = Hybrid::new(page.slice(4..end.min(page.len())), 1);
    let mut found = vec![0; values];
    levels.fill(&mut found)?;
    if found.contains(&0) {
        return Err(MISSING.to_owned());
    }
    short(page.get(end..))?;
    Ok(page.slice(end..))
}

/// Where the values of a dictionary stand in a page: how many bits each takes comes first.
fn places(page: &Bytes, values: usize) -> Read<Vec<u32>> {
    let bits = u32::from(*short(page.first())?);
    let mut places = vec![0; values];
    if bits > 32 {
        return Err("numbers of more than 32 bits".to_owned());
    }
    Hybrid::new(page.slice(1..), bits).fill(&mut places)?;
    Ok(places)
}

fn unknown<T>(encoding: Encoding) -> Read<T> {
    Err(format!("it has values as {encoding}, which counts are never written as"))
}

pub type Ints = Vec<i64>;

pub enum IntSource {
    Plain { page: Bytes, at: usize },
    Places { places: Vec<u32>, at: usize },
}

impl Values for Ints {
    type Dictionary = Vec<i64>;
    type Source = IntSource;

    fn dictionary(page: &[u8], values: usize) -> Read<Vec<i64>> {
        let (numbers, _) = short(page.get(..values.saturating_mul(8)))?.as_chunks();
        Ok(numbers.iter().map(|bytes| i64::from_le_bytes(*bytes)).collect())
    }

    fn source(encoding: Encoding, page: Bytes, values: usize) -> Read<IntSource> {
        match encoding {
            Encoding::PLAIN => Ok(IntSource::Plain { page, at: 0 }),
            Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY => {
                Ok(IntSource::Places { places: places(&page, values)?, at: 0 })
            }
            other => unknown(other),
        }
    }

    fn take(&mut self, source: &mut IntSource, dictionary: &Vec<i64>, rows: usize) -> Read<()> {
        match source {
            IntSource::Plain { page, at } => {
                let (numbers, _) = short(page.get(*at..*at + rows * 8))?.as_chunks();
                self.extend(numbers.iter().map(|bytes| i64::from_le_bytes(*bytes)));
                *at += rows * 8;
            }
            IntSource::Places { places, at } => {
                for place in short(places.get(*at..*at + rows))? {
                    self.push(*short(dictionary.get(*place as usize))?);
                }
                *at += rows;
            }
        }
        Ok(())
    }

    fn clear(&mut self) {
        Vec::clear(self);
    }
}

/// Texts one behind the other; `ends` has the end of each.
#[derive(Default)]
pub struct Texts {
    pub text: Vec<u8>,
    pub ends: Vec<usize>,
}

impl Texts {
    pub fn at(&self, row: usize) -> &[u8] {
        &self.text[self.begin(row)..self.ends[row]]
    }

    pub fn begin(&self, row: usize) -> usize {
        if row == 0 { 0 } else { self.ends[row - 1] }
    }

    pub fn push(&mut self, text: &[u8]) {
        self.text.extend_from_slice(text);
        self.ends.push(self.text.len());
    }

    /// Whether all of them are UTF-8.
    pub fn are_unicode(&self) -> bool {
        str::from_utf8(&self.text).is_ok_and(|text| self.ends.iter().all(|end| text.is_char_boundary(*end)))
    }
}

pub enum TextSource {
    Plain { page: Bytes, at: usize },
    Places { places: Vec<u32>, at: usize },
    Delta { prefixes: Vec<u32>, suffixes: Vec<u32>, page: Bytes, at: usize, row: usize, before: Vec<u8> },
}

impl Values for Texts {
    type Dictionary = Texts;
    type Source = TextSource;

    fn dictionary(page: &[u8], values: usize) -> Read<Texts> {
        let (mut found, mut at) = (Texts::default(), 0);
        for _ in 0..values {
            found.push(plain_text(page, &mut at)?);
        }
        Ok(found)
    }

    fn source(encoding: Encoding, page: Bytes, values: usize) -> Read<TextSource> {
        match encoding {
            Encoding::PLAIN => Ok(TextSource::Plain { page, at: 0 }),
            Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY => {
                Ok(TextSource::Places { places: places(&page, values)?, at: 0 })
            }
            Encoding::DELTA_BYTE_ARRAY => {
                let (prefixes, begin) = differences(&page, values)?;
                let (suffixes, size) = differences(short(page.get(begin..))?, values)?;
                let at = begin + size;
                Ok(TextSource::Delta { prefixes, suffixes, page, at, row: 0, before: Vec::new() })
            }
            other => unknown(other),
        }
    }

    fn take(&mut self, source: &mut TextSource, dictionary: &Texts, rows: usize) -> Read<()> {
        match source {
            TextSource::Plain { page, at } => {
                for _ in 0..rows {
                    self.push(plain_text(page, at)?);
                }
            }
            TextSource::Places { places, at } => {
                for place in short(places.get(*at..*at + rows))? {
                    if *place as usize >= dictionary.ends.len() {
                        return short(None);
                    }
                    self.push(dictionary.at(*place as usize));
                }
                *at += rows;
            }
            TextSource::Delta { prefixes, suffixes, page, at, row, before } => {
                let prefixes = short(prefixes.get(*row..*row + rows))?;
                let suffixes = short(suffixes.get(*row..*row + rows))?;
                *row += rows;
                self.grow(prefixes, suffixes, page, at, before)?;
            }
        }
        Ok(())
    }

    fn clear(&mut self) {
        self.text.clear();
        self.ends.clear();
    }
}

impl Texts {
    /// Texts by what they share with the one before, which is `before` at first and in the end.
    fn grow(
        &mut self,
        prefixes: &[u32],
        suffixes: &[u32],
        page: &[u8],
        at: &mut usize,
        before: &mut Vec<u8>,
    ) -> Read<()> {
        let mut last = None;
        for (prefix, suffix) in prefixes.iter().zip(suffixes) {
            let (prefix, suffix) = (*prefix as usize, *suffix as usize);
            let begin = self.text.len();
            match last {
                None => self.text.extend_from_slice(short(before.get(..prefix))?),
                Some(from) if from + prefix <= begin => self.text.extend_from_within(from..from + prefix),
                Some(_) => return short(None),
            }
            self.text.extend_from_slice(short(page.get(*at..*at + suffix))?);
            self.ends.push(self.text.len());
            *at += suffix;
            last = Some(begin);
        }
        if let Some(from) = last {
            before.clear();
            before.extend_from_slice(&self.text[from..]);
        }
        Ok(())
    }
}

fn plain_text<'a>(page: &'a [u8], at: &mut usize) -> Read<&'a [u8]> {
    let length = u32::from_le_bytes(*short(page.get(*at..).and_then(<[u8]>::first_chunk))?) as usize;
    let begin = *at + 4;
    let text = short(page.get(begin..begin + length))?;
    *at = begin + length;
    Ok(text)
}
