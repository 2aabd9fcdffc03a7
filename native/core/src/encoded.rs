//! Values as Parquet has them: what packed.rs and pages.rs read.

const BLOCK: usize = 128;
const PART: usize = 32;

/// Numbers by their differences, in blocks of packed ones: DELTA_BINARY_PACKED.
pub fn differences(values: &[i64], to: &mut Vec<u8>) {
    for header in [BLOCK, BLOCK / PART, values.len()] {
        varint(header as u64, to);
    }
    varint(zigzag(values.first().copied().unwrap_or(0)), to);
    let mut block = [0; BLOCK];
    let behind = values.get(1..).unwrap_or_default();
    for (values, behind) in values.chunks(BLOCK).zip(behind.chunks(BLOCK)) {
        for (difference, (before, value)) in block.iter_mut().zip(values.iter().zip(behind)) {
            *difference = value.wrapping_sub(*before);
        }
        packed(&mut block, behind.len(), to);
    }
}

/// The differences of a block; what stands behind so many of them means nothing.
fn packed(block: &mut [i64; BLOCK], count: usize, to: &mut Vec<u8>) {
    let least = block[..count].iter().copied().min().unwrap_or(0);
    block[count..].fill(least);
    varint(zigzag(least), to);
    let (parts, _) = block.as_chunks::<PART>();
    let mut above = [[0; PART]; BLOCK / PART];
    for (above, part) in above.iter_mut().zip(parts) {
        *above = part.map(|difference| difference.wrapping_sub(least) as u64);
        let all = above.iter().fold(0, |all, value| all | value);
        to.push((u64::BITS - all.leading_zeros()) as u8);
    }
    let widths = to.len() - BLOCK / PART;
    for (number, above) in above.iter().enumerate() {
        pack(above, u32::from(to[widths + number]), to);
    }
}

/// So many bits of each, the lowest first.
fn pack(values: &[u64; PART], bits: u32, to: &mut Vec<u8>) {
    match bits {
        0 => {}
        1..=32 => pack_short(values, bits, to),
        _ => pack_long(values, bits, to),
    }
}

fn pack_short(values: &[u64; PART], bits: u32, to: &mut Vec<u8>) {
    let mut words = [0; PART * 4];
    let (mut word, mut filled, mut at) = (0, 0, 0);
    for value in values {
        word |= value << filled;
        filled += bits;
        if filled >= u32::BITS {
            words[at..at + 4].copy_from_slice(&(word as u32).to_le_bytes());
            (word, filled, at) = (word >> u32::BITS, filled - u32::BITS, at + 4);
        }
    }
    to.extend_from_slice(&words[..at]);
}

fn pack_long(values: &[u64; PART], bits: u32, to: &mut Vec<u8>) {
    let mut words = [0; PART * 8 + 4];
    let (mut word, mut filled, mut at) = (0, 0, 0);
    for value in values {
        word |= u128::from(*value) << filled;
        filled += bits;
        if filled >= u64::BITS {
            words[at..at + 8].copy_from_slice(&(word as u64).to_le_bytes());
            (word, filled, at) = (word >> u64::BITS, filled - u64::BITS, at + 8);
        }
    }
    words[at..][..4].copy_from_slice(&(word as u32).to_le_bytes());
    to.extend_from_slice(&words[..PART / 8 * bits as usize]);
}

/// Texts by what each shares with the one before: DELTA_BYTE_ARRAY.
pub fn by_prefix<'a>(texts: impl Iterator<Item = &'a [u8]>, to: &mut Vec<u8>) {
    let mut before = &b""[..];
    let (mut prefixes, mut suffixes, mut rests) = (Vec::new(), Vec::new(), Vec::new());
    for text in texts {
        let shared = before.iter().zip(text).take_while(|(one, other)| one == other).count();
        prefixes.push(shared as i64);
        suffixes.push((text.len() - shared) as i64);
        rests.extend_from_slice(&text[shared..]);
        before = text;
    }
    differences(&prefixes, to);
    differences(&suffixes, to);
    to.extend_from_slice(&rests);
}

/// Texts with their lengths before them: PLAIN.
pub fn plain_texts<'a>(texts: impl Iterator<Item = &'a [u8]>, to: &mut Vec<u8>) {
    for text in texts {
        to.extend_from_slice(&(text.len() as u32).to_le_bytes());
        to.extend_from_slice(text);
    }
}

/// Numbers of 64 bits: PLAIN.
pub fn plain(values: &[i64], to: &mut Vec<u8>) {
    to.reserve_exact(size_of_val(values));
    for value in values {
        to.extend_from_slice(&value.to_le_bytes());
    }
}

/// Places in a dictionary, all of them below `end`, in runs of one place: RLE_DICTIONARY.
pub fn runs(places: &[u32], end: usize, to: &mut Vec<u8>) {
    let bits = usize::BITS - end.saturating_sub(1).leading_zeros();
    to.push(bits as u8);
    for run in places.chunk_by(|one, other| one == other) {
        varint((run.len() as u64) << 1, to);
        to.extend_from_slice(&run[0].to_le_bytes()[..bits.div_ceil(8) as usize]);
    }
}

fn varint(mut value: u64, to: &mut Vec<u8>) {
    while value >= 0x80 {
        to.push(value as u8 | 0x80);
        value >>= 7;
    }
    to.push(value as u8);
}

fn zigzag(number: i64) -> u64 {
    (number << 1 ^ number >> 63) as u64
}

#[cfg(test)]
mod tests {
    use super::differences;
    use crate::packed;

    #[test]
    fn differences_of_any_width_are_read_as_they_were() {
        for bits in 0..32 {
            let values: Vec<i64> = (0..300).map(|i| if i % 3 == 1 { (1 << bits) - 1 } else { i % 2 }).collect();
            let mut bytes = Vec::new();
            differences(&values, &mut bytes);
            let (found, end) = packed::differences(&bytes, 300).unwrap();
            assert_eq!(found.iter().map(|value| i64::from(*value)).collect::<Vec<_>>(), values);
            assert_eq!(end, bytes.len());
        }
    }

    #[test]
    fn no_difference_is_too_wide() {
        let mut bytes = Vec::new();
        differences(&[i64::MIN, 0, i64::MAX, -1, i64::MIN, 1 << 40, -1 << 50], &mut bytes);
        assert!(bytes.len() > 6 * 8);
    }
}
