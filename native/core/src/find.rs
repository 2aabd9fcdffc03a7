//! Bytes found in a line, sixteen at a time. Fields are short: most of what a search costs is its beginning, so these
//! are compiled into the loop, where memchr would be called.

use block::{Block, WIDTH};

/// Where the byte is, at `at` or behind it.
#[inline(always)]
pub fn byte(text: &[u8], mut at: usize, byte: u8) -> Option<usize> {
    while let Some(block) = Block::at(text, at) {
        let found = block.equal(byte);
        if found != 0 {
            return Some(at + found.trailing_zeros() as usize);
        }
        at += WIDTH;
    }
    let (block, before) = Block::last(text, at)?;
    let found = block.equal(byte) >> before;
    let place = at + found.trailing_zeros() as usize;
    (place < text.len()).then_some(place)
}

/// Where the literal begins, at `at` or behind it.
#[inline(always)]
pub fn literal(text: &[u8], literal: &[u8], mut at: usize) -> Option<usize> {
    let (lead, rest) = literal.split_first()?;
    loop {
        at = byte(text, at, *lead)?;
        if begins(&text[at + 1..], rest) {
            return Some(at);
        }
        at += 1;
    }
}

/// As starts_with, without a call for the one or two bytes that literals have.
#[inline(always)]
pub fn begins(text: &[u8], literal: &[u8]) -> bool {
    text.len() >= literal.len() && text.iter().zip(literal).all(|(byte, wanted)| byte == wanted)
}

/// Where the first byte is, at `at` or behind it, that does not stay as it is in a target: what is not printable
/// ASCII, a space, `%`, `?`, `#`, a backslash, and a slash or a dot behind a slash. Nor does a quotation mark: it may end
/// the request.
#[inline(always)]
pub fn odd(text: &[u8], mut at: usize) -> Option<usize> {
    let mut slash_before = 0;
    while let Some(block) = Block::at(text, at) {
        let slashes = block.equal(b'/');
        let found = block.odd() | ((slashes << 1 | slash_before) & (slashes | block.equal(b'.')));
        if found != 0 {
            return Some(at + found.trailing_zeros() as usize);
        }
        slash_before = slashes >> (WIDTH - 1);
        at += WIDTH;
    }
    let (block, before) = Block::last(text, at)?;
    let slashes = block.equal(b'/') >> before;
    let found = block.odd() >> before | ((slashes << 1 | slash_before) & (slashes | block.equal(b'.') >> before));
    let place = at + found.trailing_zeros() as usize;
    (place < text.len()).then_some(place)
}

/// Sixteen bytes; what is asked of them is answered by a bit for each, the first byte's the lowest.
#[cfg(target_arch = "x86_64")]
mod block {
    use std::arch::x86_64::{
        __m128i, _mm_cmpeq_epi8, _mm_cmplt_epi8, _mm_movemask_epi8, _mm_or_si128, _mm_set_epi64x, _mm_set1_epi8,
    };

    pub const WIDTH: usize = 16;

    #[derive(Clone, Copy)]
    pub struct Block(__m128i);

    impl Block {
        #[inline(always)]
        pub fn of(bytes: &[u8; WIDTH]) -> Block {
            let both = u128::from_le_bytes(*bytes);
            // SAFETY: every x86_64 has SSE2; so below.
            Block(unsafe { _mm_set_epi64x((both >> 64) as i64, both as i64) })
        }

        #[inline(always)]
        pub fn equal(self, byte: u8) -> u32 {
            unsafe { _mm_movemask_epi8(_mm_cmpeq_epi8(self.0, _mm_set1_epi8(byte as i8))) as u32 }
        }

        #[inline(always)]
        pub fn odd(self) -> u32 {
            let is = |byte: u8| unsafe { _mm_cmpeq_epi8(self.0, _mm_set1_epi8(byte as i8)) };
            let or = |one: __m128i, other: __m128i| unsafe { _mm_or_si128(one, other) };
            // With a sign, what is beyond ASCII is less than a space too.
            let low = unsafe { _mm_cmplt_epi8(self.0, _mm_set1_epi8(0x21)) };
            let ends = or(is(b'?'), is(b'#'));
            let escapes = or(is(b'%'), is(b'\\'));
            let beyond = or(is(0x7F), is(b'"'));
            unsafe { _mm_movemask_epi8(or(or(low, beyond), or(ends, escapes))) as u32 }
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod block {
    pub const WIDTH: usize = 16;

    #[derive(Clone, Copy)]
    pub struct Block([u8; WIDTH]);

    impl Block {
        pub fn of(bytes: &[u8; WIDTH]) -> Block {
            Block(*bytes)
        }

        pub fn equal(self, byte: u8) -> u32 {
            self.which(|other| other == byte)
        }

        pub fn odd(self) -> u32 {
            self.which(|byte| matches!(byte, 0..=0x20 | 0x7F.. | b'"' | b'%' | b'?' | b'#' | b'\\'))
        }

        fn which(self, wanted: impl Fn(u8) -> bool) -> u32 {
            (0..WIDTH).fold(0, |found, at| found | u32::from(wanted(self.0[at])) << at)
        }
    }
}

impl Block {
    /// The block that begins there; None when it would end behind the text.
    #[inline(always)]
    fn at(text: &[u8], at: usize) -> Option<Block> {
        let bytes = text.get(at..at.checked_add(WIDTH)?)?;
        Some(Block::of(bytes.try_into().ok()?))
    }

    /// The last block of the text, and how many of its bytes stand before `at`. Behind a shorter text are zeros: what
    /// is found there is not in the text.
    #[inline(always)]
    fn last(text: &[u8], at: usize) -> Option<(Block, u32)> {
        if at >= text.len() {
            return None;
        }
        if let Some(bytes) = text.last_chunk() {
            return Some((Block::of(bytes), (at + WIDTH - text.len()) as u32));
        }
        let mut bytes = [0; WIDTH];
        bytes[..text.len()].copy_from_slice(text);
        Some((Block::of(&bytes), at as u32))
    }
}

#[cfg(test)]
mod tests {
    use super::{byte, odd};

    /// Every byte at every place of texts around the width of a block.
    fn texts() -> impl Iterator<Item = Vec<u8>> {
        let single = |length: usize, at: usize, byte: u8| {
            let mut text = vec![b'a'; length];
            text[at] = byte;
            text
        };
        (1..50)
            .flat_map(move |length| (0..length).flat_map(move |at| (1..=255).map(move |byte| single(length, at, byte))))
    }

    #[test]
    fn a_byte_is_found_where_it_is() {
        for text in texts() {
            for at in [0, 1, 15, 16, 17, 40] {
                let found = text.iter().skip(at).position(|other| *other == b'"').map(|place| place + at);
                assert_eq!(byte(&text, at, b'"'), found, "{text:?} from {at}");
            }
        }
    }

    #[test]
    fn what_does_not_stay_as_it_is_is_odd() {
        let is_odd = |byte: u8| byte <= 0x20 || byte >= 0x7F || b"\"%?#\\".contains(&byte);
        for text in texts() {
            let found = text.iter().position(|byte| is_odd(*byte));
            assert_eq!(odd(&text, 0), found, "{text:?}");
        }
    }

    #[test]
    fn a_slash_or_a_dot_behind_a_slash_is_odd_wherever_it_is() {
        for begin in 0..40 {
            for end in 0..40 {
                for second in [b'/', b'.'] {
                    let mut text = vec![b'a'; begin];
                    text.extend([b'/', second]);
                    text.resize(text.len() + end, b'b');
                    assert_eq!(odd(&text, 0), Some(begin + 1), "{text:?}");
                }
            }
        }
    }
}
