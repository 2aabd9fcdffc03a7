//! Numbers packed into few bits, as Parquet has them: runs and packed groups, and differences in blocks.
//!
//! Whatever the bytes say, nothing here panics or reads outside of them.

use bytes::Bytes;

/// Why a file cannot be read, in words.
pub type Read<T> = Result<T, String>;

pub fn in_words(error: impl std::fmt::Display) -> String {
    error.to_string()
}

pub fn short<T>(found: Option<T>) -> Read<T> {
    found.ok_or_else(|| "a page ends before its values do".to_owned())
}

/// Numbers of few bits, in runs of one number or packed: RLE of the Parquet format.
pub struct Hybrid {
    data: Bytes,
    at: usize,
    bits: u32,
}

impl Hybrid {
    pub fn new(data: Bytes, bits: u32) -> Hybrid {
        Hybrid { data, at: 0, bits }
    }

    pub fn fill(&mut self, found: &mut [u32]) -> Read<()> {
        let mut rest = found;
        while !rest.is_empty() {
            let header = varint(&self.data, &mut self.at)?;
            rest = if header & 1 == 0 { self.run(header >> 1, rest)? } else { self.packed(header >> 1, rest)? };
        }
        Ok(())
    }

    fn run<'a>(&mut self, length: u64, rest: &'a mut [u32]) -> Read<&'a mut [u32]> {
        let width = self.bits.div_ceil(8) as usize;
        let bytes = short(self.data.get(self.at..self.at + width))?;
        let value = bytes.iter().rev().fold(0, |value, byte| value << 8 | u32::from(*byte));
        self.at += width;
        let (run, rest) = rest.split_at_mut(rest.len().min(usize::try_from(length).unwrap_or(usize::MAX)));
        if run.is_empty() {
            return Err("a run of no values".to_owned());
        }
        run.fill(value);
        Ok(rest)
    }

    fn packed<'a>(&mut self, groups: u64, rest: &'a mut [u32]) -> Read<&'a mut [u32]> {
        let count = usize::try_from(groups.saturating_mul(8)).unwrap_or(usize::MAX);
        let (run, rest) = rest.split_at_mut(rest.len().min(count));
        if run.is_empty() {
            return Err("a run of no values".to_owned());
        }
        let bytes = short(self.data.get(self.at..))?;
        unpack(bytes, self.bits, run)?;
        self.at =
            self.at.saturating_add(usize::try_from(groups).unwrap_or(usize::MAX).saturating_mul(self.bits as usize));
        Ok(rest)
    }
}

/// Packed numbers of `bits` bits each, the lowest first.
fn unpack(bytes: &[u8], bits: u32, found: &mut [u32]) -> Read<()> {
    if bits > 32 {
        return Err("numbers of more than 32 bits".to_owned());
    }
    let mask = (1u64 << bits) - 1;
    short(bytes.get(..(found.len() * bits as usize).div_ceil(8)))?;
    for (number, value) in found.iter_mut().enumerate() {
        let bit = number * bits as usize;
        let from = &bytes[bit / 8..];
        let word = match from.first_chunk() {
            Some(eight) => u64::from_le_bytes(*eight),
            None => from.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)),
        };
        *value = (word >> (bit % 8) & mask) as u32;
    }
    Ok(())
}

fn varint(data: &[u8], at: &mut usize) -> Read<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = *short(data.get(*at))?;
        *at += 1;
        value |= u64::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            return Ok(value);
        }
    }
    Err("a number that does not end".to_owned())
}

/// Numbers by their differences, in blocks of packed ones: DELTA_BINARY_PACKED. All of them, and where they end.
pub fn differences(data: &[u8], most: usize) -> Read<(Vec<u32>, usize)> {
    let mut at = 0;
    let block = varint(data, &mut at)? as usize;
    let parts = varint(data, &mut at)? as usize;
    let total = varint(data, &mut at)? as usize;
    let mut value = zigzag(varint(data, &mut at)?) as u32;
    if total > most || parts == 0 || block == 0 || !block.is_multiple_of(parts) || block > 1 << 20 {
        return Err("lengths that make no sense".to_owned());
    }
    let mut found = Vec::with_capacity(total);
    if total > 0 {
        found.push(value);
    }
    let mut packed = vec![0; block / parts];
    while found.len() < total {
        let least = zigzag(varint(data, &mut at)?) as u32;
        let widths = short(data.get(at..at + parts))?;
        at += parts;
        for bits in widths {
            if found.len() == total {
                break;
            }
            let now = packed.len().min(total - found.len());
            let bytes = short(data.get(at..))?;
            let size = (packed.len() * *bits as usize).div_ceil(8);
            unpack(&bytes[..size.min(bytes.len())], u32::from(*bits), &mut packed[..now])?;
            at += size;
            for difference in &packed[..now] {
                value = value.wrapping_add(least).wrapping_add(*difference);
                found.push(value);
            }
        }
    }
    Ok((found, at))
}

fn zigzag(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}
