//! The times of a log: most differ from the one before in nothing but the second.

use memchr::memchr;

use crate::line::{LAST_TIME, seconds, unescaped};

/// How long `10/Oct/2000:13:55:36 -0700` is, and where its seconds are.
const WIDTH: usize = 26;
const SECOND: usize = 18;

pub struct Clock {
    /// The latest time in that style, and the minute it is in.
    known: [u8; WIDTH],
    minute: i64,
}

impl Default for Clock {
    fn default() -> Clock {
        Clock { known: [0; WIDTH], minute: 0 }
    }
}

impl Clock {
    /// As `seconds` of the text without its escapes.
    #[inline]
    pub fn seconds(&mut self, text: &[u8]) -> Option<i64> {
        let Ok(text) = <&[u8; WIDTH]>::try_from(text) else {
            return seconds(&unescaped(text));
        };
        if text[..SECOND] == self.known[..SECOND] && text[SECOND + 2..] == self.known[SECOND + 2..] {
            let second = second(text).filter(|second| *second <= 60)?;
            return Some(self.minute + second).filter(|time| (0..=LAST_TIME).contains(time));
        }
        self.anew(text)
    }

    fn anew(&mut self, text: &[u8; WIDTH]) -> Option<i64> {
        let time = seconds(&unescaped(text))?;
        if text[2] == b'/' && memchr(b'\\', text).is_none() {
            self.known = *text;
            self.minute = time - second(text)?;
        }
        Some(time)
    }
}

fn second(text: &[u8; WIDTH]) -> Option<i64> {
    let digit = |byte: u8| byte.is_ascii_digit().then(|| i64::from(byte - b'0'));
    Some(digit(text[SECOND])? * 10 + digit(text[SECOND + 1])?)
}
