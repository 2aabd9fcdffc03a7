//! Names as they stand in a DNS message: dns/flex_dns/wire/read_names_in_messages.py defines how they are read.

const POINTER: u8 = 0xC0;
/// As bytes, without the end.
const LONGEST: usize = 254;

#[derive(Debug, PartialEq, Eq)]
pub enum Unread {
    CutOff,
    Endless,
    TooLong,
}

/// The name that begins there becomes the text, in lower case; where it ends.
///
/// # Errors
///
/// Where the message ends before the name does, or the name never does, or is too long for one.
pub fn name_at(wire: &[u8], start: usize, text: &mut String) -> Result<usize, Unread> {
    text.clear();
    let (mut at, mut part, mut end, mut length) = (start, start, None, 0);
    loop {
        match byte(wire, at)? {
            0 => break,
            pointer if pointer >= POINTER => {
                end.get_or_insert(at + 2);
                at = target(wire, at)?;
                if at >= part {
                    return Err(Unread::Endless);
                }
                part = at;
            }
            size => {
                let next = at + 1 + usize::from(size);
                label(wire.get(at + 1..next).ok_or(Unread::CutOff)?, text);
                length += next - at;
                if length > LONGEST {
                    return Err(Unread::TooLong);
                }
                at = next;
            }
        }
    }
    if text.is_empty() {
        text.push('.');
    }
    Ok(end.unwrap_or(at + 1))
}

fn byte(wire: &[u8], at: usize) -> Result<u8, Unread> {
    wire.get(at).copied().ok_or(Unread::CutOff)
}

/// Where a pointer leads, which may be to another one, but not to one that leads to another again.
fn target(wire: &[u8], at: usize) -> Result<usize, Unread> {
    let first = pointed(wire, at)?;
    if byte(wire, first)? >= POINTER && byte(wire, pointed(wire, first)?)? >= POINTER {
        return Err(Unread::Endless);
    }
    Ok(first)
}

fn pointed(wire: &[u8], at: usize) -> Result<usize, Unread> {
    Ok(usize::from(byte(wire, at)? & 0x3F) << 8 | usize::from(byte(wire, at + 1)?))
}

/// Bytes are taken for Latin 1, and what has a meaning in names as text is escaped.
fn label(raw: &[u8], text: &mut String) {
    for &byte in raw {
        match byte {
            b'.' | b'\\' => text.extend(['\\', char::from(byte)]),
            b'A'..=b'Z' | 0xC0..=0xD6 | 0xD8..=0xDE => text.push(char::from(byte + 32)),
            _ => text.push(char::from(byte)),
        }
    }
    text.push('.');
}

#[cfg(test)]
mod tests {
    use super::{Unread, name_at};

    fn read(wire: &[u8], at: usize) -> Result<(String, usize), Unread> {
        let mut text = String::from("from before");
        name_at(wire, at, &mut text).map(|end| (text, end))
    }

    #[test]
    fn a_name_goes_on_where_its_pointer_leads() {
        let wire = b"\x07EXAMPLE\x00\x03w.w\xc0\x00rest";
        assert_eq!(read(wire, 0), Ok(("example.".into(), 9)));
        assert_eq!(read(wire, 9), Ok(("w\\.w.example.".into(), 15)));
        assert_eq!(read(b"\x00", 0), Ok((".".into(), 1)));
    }

    #[test]
    fn a_name_without_an_end_is_refused() {
        for endless in [&b"\xc0\x00"[..], b"\x01a\xc0\x00", b"\xc0\x02\x01a\xc0\x02"] {
            assert_eq!(read(endless, 0), Err(Unread::Endless), "{endless:?}");
        }
        let steps = b"\x01a\x00\xc0\x00\xc0\x03\xc0\x05\xc0\x07";
        assert_eq!(read(steps, 5), Ok(("a.".into(), 7)));
        assert_eq!(read(steps, 7), Err(Unread::Endless));
    }

    #[test]
    fn a_name_that_is_cut_off_is_refused() {
        for cut in [&b""[..], b"\x01", b"\x05abc", b"\x01a", b"\xc0", b"\x01a\xc0"] {
            assert_eq!(read(cut, 0), Err(Unread::CutOff), "{cut:?}");
        }
    }

    #[test]
    fn no_name_is_longer_than_names_are() {
        let most: Vec<u8> = b"\x01a".repeat(127).into_iter().chain([0]).collect();
        assert_eq!(read(&most, 0).map(|(text, _)| text.len()), Ok(254));
        let more: Vec<u8> = b"\x01a".repeat(128).into_iter().chain([0]).collect();
        assert_eq!(read(&more, 0), Err(Unread::TooLong));
    }
}
