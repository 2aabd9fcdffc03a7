//! What layouts are made of: the fields of a line, their texts, and the steps that find them.
//!
//! Takes lines and returns parts of them. Does not cut a whole line: cut.rs does, and the modules that it asks for help
//! (columns.rs, ends.rs, members.rs, usual.rs) know this module and not cut.rs.
//! flex_logs_ingest/lines/layout.py defines what is here.

use crate::find;

/// The number of each field, in the order of FIELDS in flex_logs_ingest/lines/layout.py.
pub const VHOST: usize = 0;
pub const TIME: usize = 1;
pub const REQUEST: usize = 2;
pub const STATUS: usize = 3;
pub const BYTES: usize = 4;
pub const METHOD: usize = 5;
pub const URI: usize = 6;
pub const DATE: usize = 7;
pub const UPSTREAM: usize = 8;
pub const TAKEN: usize = 9;
pub const FIELDS: [&str; 10] =
    ["vhost", "time", "request", "status", "bytes", "method", "uri", "date", "upstream", "taken"];

/// The text of each field of a line, by its number; empty where the line has none.
pub type Texts<'a> = [&'a [u8]; FIELDS.len()];

/// Room for a request and a time that are put together from several fields of a line.
#[derive(Default)]
pub struct Joined {
    pub request: Vec<u8>,
    pub time: Vec<u8>,
}

/// One step through a line: a text and the literal behind it. As the value of that name in
/// flex_logs_ingest/lines/layout.py.
#[derive(Clone)]
pub struct Op {
    /// The number of the field that the text belongs to; None for a text that nobody needs.
    pub slot: Option<usize>,
    pub literal: Vec<u8>,
    pub quoted: bool,
    /// Whether the text ends at the first literal, or at the first that closes its quotation mark. Where it does not,
    /// `width`, `listed`, `ahead` and `fits` say where it ends.
    pub plain: bool,
    /// How many bytes the text has at least.
    pub width: usize,
    /// Whether the text can be a list of addresses.
    pub listed: bool,
    /// How many of the next steps have to fit for the end to be right.
    pub ahead: usize,
    pub fits: Fit,
}

/// What the text of a field has to look like: as the value of that name in flex_logs_ingest/lines/layout.py.
#[derive(Clone, Copy, PartialEq)]
pub enum Fit {
    Any,
    Word,
    Number,
    Status,
    Method,
    Version,
    Time,
}

impl Fit {
    pub fn named(name: &str) -> Option<Fit> {
        Some(match name {
            "" => Fit::Any,
            "word" => Fit::Word,
            "number" => Fit::Number,
            "status" => Fit::Status,
            "method" => Fit::Method,
            "version" => Fit::Version,
            "time" => Fit::Time,
            _ => return None,
        })
    }
}

impl Op {
    /// A step whose text ends at the first literal.
    pub fn new(slot: Option<usize>, literal: Vec<u8>, quoted: bool) -> Op {
        Op { slot, literal, quoted, plain: true, width: 0, listed: false, ahead: 0, fits: Fit::Any }
    }
}

/// The number of the field of that name.
pub fn slot(field: &str) -> Option<usize> {
    FIELDS.iter().position(|name| *name == field)
}

/// Where the first literal begins, from `at` on, that has an even number of backslashes before it.
pub fn closing(line: &[u8], literal: &[u8], at: usize) -> Option<usize> {
    let mut end = find::literal(line, literal, at)?;
    loop {
        let escapes = line[at..end].iter().rev().take_while(|byte| **byte == b'\\').count();
        if escapes % 2 == 0 {
            return Some(end);
        }
        end = find::literal(line, literal, end + 1)?;
    }
}

/// A request line put together from its method and path.
pub fn join<'a>(method: &[u8], uri: &[u8], joined: &'a mut Vec<u8>) -> &'a [u8] {
    let method = if method.is_empty() { b"GET" } else { method };
    joined.clear();
    for part in [method, b" ", uri, b" HTTP/1.1"] {
        joined.extend_from_slice(part);
    }
    joined
}
