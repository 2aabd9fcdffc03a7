//! The layout under test, from a text of one fact a line: a word, then values in hexadecimal.
//!
//!     kind fields
//!     start 22
//!     op time 20 bare plain 0 0 0 -

use std::sync::OnceLock;

use flex_core::cut::{Kind, Layout, Spelled};
use flex_core::layout::{Fit, Op, slot};
use flex_core::service_time::{Times, Unit};

/// A new one for each scan: the columns of a W3C log change while it is read.
pub fn wanted() -> Layout {
    static TEXT: OnceLock<String> = OnceLock::new();
    parsed(TEXT.get_or_init(|| {
        let path = std::env::var("FLEX_LAYOUT").expect("FLEX_LAYOUT names a layout, see run.py");
        std::fs::read_to_string(path).expect("the layout can be read")
    }))
}

fn parsed(text: &str) -> Layout {
    let (mut kind, mut start, mut stops, mut url_site, mut sized) = ("", Vec::new(), Vec::new(), false, true);
    let (mut ops, mut keys, mut moved) = (Vec::new(), Spelled::new(), Vec::new());
    let (mut lead, mut after, mut upstream, mut taken, mut timed) =
        (Vec::new(), Vec::new(), Unit::Seconds, Unit::Seconds, false);
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        match words.as_slice() {
            ["kind", name] => kind = name,
            ["start", value] => start = unhex(value),
            ["stops", value] => stops = unhex(value),
            ["url_site"] => url_site = true,
            ["unsized"] => sized = false,
            ["moved", places @ ..] => moved = places.iter().map(|place| place.parse().expect("a place")).collect(),
            ["lead", value] => lead = unhex(value),
            ["op", facts @ ..] => ops.push(op(facts)),
            ["after", facts @ ..] => after.push(op(facts)),
            ["unit", field, unit] => {
                let unit = Unit::named(unit).expect("a unit");
                *(if *field == "upstream" { &mut upstream } else { &mut taken }) = unit;
                timed = true;
            }
            ["key", field, spellings @ ..] => {
                keys.push((slot(field).expect("a field"), spellings.iter().map(|text| unhex(text)).collect()));
            }
            _ => panic!("no layout says {line}"),
        }
    }
    let kind = match kind {
        "json" => Kind::json(keys),
        "w3c" => Kind::w3c(&start, keys),
        _ => Kind::fields(start, ops),
    };
    let layout = Layout::new(kind, url_site, stops, sized).moving(moved);
    if timed { layout.timed(Times { lead, after, upstream, taken }) } else { layout }
}

fn op(facts: &[&str]) -> Op {
    let [field, literal, quoted, plain, width, listed, ahead, fits] = facts else {
        panic!("no op is {facts:?}");
    };
    Op {
        slot: slot(field),
        literal: unhex(literal),
        quoted: *quoted == "quoted",
        plain: *plain == "plain",
        width: width.parse().expect("a width"),
        listed: *listed == "1",
        ahead: ahead.parse().expect("a number of ops"),
        fits: Fit::named(fits.trim_matches('-')).expect("what a text fits"),
    }
}

fn unhex(text: &str) -> Vec<u8> {
    let digits = text.trim_start_matches('=').as_bytes();
    digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}
