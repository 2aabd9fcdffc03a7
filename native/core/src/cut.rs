//! A line of a layout cut into the texts of its fields: see flex_logs_ingest/lines/field_cutter.py, which defines it.
//! JSON lines are cut in members.rs, lines with named columns in columns.rs.

use crate::clock::Clock;
use crate::columns::Columns;
use crate::ends::cut_ops;
use crate::find;
use crate::layout::{BYTES, FIELDS, Joined, METHOD, Op, REQUEST, STATUS, TIME, Texts, URI, VHOST, join};
use crate::line::{scheme_width, strip_start};
use crate::members::cut_json;
use crate::service_time::Times;
use crate::usual::{Line, Usual};

const HEADING_LIMIT: usize = 4096;

/// The spellings of each field, by its number.
pub type Spelled = Vec<(usize, Vec<Vec<u8>>)>;

/// As the value of that name in flex_logs_ingest/lines/layout.py.
#[derive(Clone)]
pub struct Layout {
    kind: Kind,
    url_site: bool,
    stops: Vec<u8>,
    // The opposite of `unsized` there, a word that Rust keeps for itself.
    sized: bool,
    moved: Vec<i64>,
    ends: Vec<u8>,
    times: Option<Times>,
    usual: Option<Usual>,
}

/// Made by the functions of the same names.
#[derive(Clone)]
pub enum Kind {
    Fields { start: Vec<u8>, ops: Vec<Op>, whole: bool },
    Json { keys: Vec<Vec<u8>>, fields: Vec<(usize, Vec<usize>)> },
    W3c { keys: Spelled, columns: Columns, heading: Vec<u8> },
}

impl Layout {
    pub fn new(kind: Kind, url_site: bool, stops: Vec<u8>, sized: bool) -> Layout {
        let usual = match &kind {
            Kind::Fields { start, ops, .. } if sized && !url_site && stops.is_empty() => Usual::of(start, ops),
            _ => None,
        };
        Layout { kind, url_site, stops, sized, moved: Vec::new(), ends: Vec::new(), times: None, usual }
    }

    /// The same, with times that are written otherwise than line.rs reads them.
    pub fn moving(self, moved: Vec<i64>) -> Layout {
        let usual = self.usual.filter(|_| moved.is_empty());
        Layout { moved, usual, ..self }
    }

    /// The same, for lines of which the search for a log's format knows how they end.
    pub fn ending(self, ends: Vec<u8>) -> Layout {
        Layout { ends, ..self }
    }

    /// The same, for lines that say how long an answer took.
    pub fn timed(self, times: Times) -> Layout {
        Layout { times: Some(times), ..self }
    }

    /// How many microseconds the answer took, by the texts of its line.
    #[inline]
    pub fn spent(&self, texts: &Texts) -> Option<i64> {
        self.times.as_ref()?.of(texts)
    }

    /// The same of a usual line, by what stands behind.
    #[inline]
    pub fn spent_behind(&self, rest: Option<&[u8]>) -> Option<i64> {
        let times = self.times.as_ref()?;
        let mut texts: Texts = [b""; FIELDS.len()];
        times.find(rest?, &mut texts);
        times.of(&texts)
    }

    /// Whether the line ends so: each `#` stands for a number or `-`.
    pub fn ends(&self, line: &[u8]) -> bool {
        let mut left = Some(line);
        for (place, part) in self.ends.split(|byte| *byte == b'#').rev().enumerate() {
            left = left.and_then(|left| if place == 0 { Some(left) } else { without_number(left) });
            left = left.and_then(|left| left.strip_suffix(part));
        }
        left.is_some()
    }

    /// The line, where it is one of those that most are.
    #[inline]
    pub fn usual<'a>(&self, line: &'a [u8], clock: &mut Clock) -> Option<Line<'a>> {
        self.usual.as_ref()?.line(line, clock)
    }

    /// The line that names the columns of what follows.
    pub fn heading(&self) -> &[u8] {
        match &self.kind {
            Kind::W3c { heading, .. } => heading,
            _ => b"",
        }
    }

    /// Whether the line is no record, as `is_heading` says; nothing is taken from it.
    pub fn takes_heading(&self, line: &[u8]) -> bool {
        matches!(self.kind, Kind::W3c { .. }) && line.first() == Some(&b'#')
    }

    /// Whether the line is no record but says how to read those that follow.
    pub fn is_heading(&mut self, line: &[u8]) -> bool {
        match &mut self.kind {
            Kind::W3c { keys, columns, heading } if line.first() == Some(&b'#') => {
                if line.get(..8).is_some_and(|lead| lead.eq_ignore_ascii_case(b"#fields:")) {
                    *heading = line[..line.len().min(HEADING_LIMIT)].to_vec();
                    *columns = Columns::named(heading, keys);
                }
                true
            }
            _ => false,
        }
    }

    /// None when the line is not of this layout. What a line has in parts is put together in `joined`.
    pub fn cut<'a>(&self, line: &'a [u8], joined: &'a mut Joined) -> Option<Texts<'a>> {
        let mut texts = match &self.kind {
            Kind::Fields { start, ops, whole } => {
                let (mut texts, rest) = cut_fields(line, start, ops)?;
                if let (Some(times), Some(rest)) = (&self.times, rest) {
                    times.find(rest, &mut texts);
                }
                let Joined { request, time } = joined;
                if !whole {
                    texts[REQUEST] = join(texts[METHOD], texts[URI], request);
                }
                if !self.moved.is_empty() {
                    texts[TIME] = stamped(texts[TIME], &self.moved, time);
                }
                texts
            }
            Kind::Json { keys, fields } => cut_json(line, keys, fields, &mut joined.request)?,
            Kind::W3c { columns, .. } => columns.cut(line, joined)?,
        };
        if !self.sized {
            let full = texts[STATUS] == b"200" && !texts[REQUEST].starts_with(b"HEAD ");
            texts[BYTES] = if full { b"1" } else { b"0" };
        }
        if !self.stops.is_empty() {
            let end = texts[VHOST].iter().position(|byte| self.stops.contains(byte));
            texts[VHOST] = &texts[VHOST][..end.unwrap_or(texts[VHOST].len())];
        } else if self.url_site {
            texts[VHOST] = host(texts[REQUEST]);
        }
        Some(texts)
    }
}

impl Kind {
    pub fn fields(start: Vec<u8>, ops: Vec<Op>) -> Kind {
        let whole = ops.iter().any(|op| op.slot == Some(REQUEST));
        Kind::Fields { start, ops, whole }
    }

    /// From the spellings of each field, the preferred one first.
    pub fn json(spelled: Spelled) -> Kind {
        let mut keys: Vec<Vec<u8>> = Vec::new();
        let mut fields = Vec::new();
        for (slot, spellings) in spelled {
            let mut numbers = Vec::new();
            for key in spellings {
                let known = keys.iter().position(|other| *other == key);
                numbers.push(known.unwrap_or(keys.len()));
                if known.is_none() {
                    keys.push(key);
                }
            }
            fields.push((slot, numbers));
        }
        Kind::Json { keys, fields }
    }

    /// From the `#Fields:` line in force before the log's first, and the spellings of each field.
    pub fn w3c(start: &[u8], keys: Spelled) -> Kind {
        let columns = Columns::named(start, &keys);
        Kind::W3c { keys, columns, heading: start.to_vec() }
    }
}

/// The line without the number that it ends with, or the `-`.
fn without_number(line: &[u8]) -> Option<&[u8]> {
    let digits = line.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    match digits {
        0 => line.strip_suffix(b"-"),
        _ => Some(&line[..line.len() - digits]),
    }
}

/// The texts, and what stands behind the last literal; None where the line ends without that.
fn cut_fields<'a>(line: &'a [u8], start: &[u8], ops: &[Op]) -> Option<(Texts<'a>, Option<&'a [u8]>)> {
    if !find::begins(line, start) {
        return None;
    }
    let mut texts: Texts = [b""; FIELDS.len()];
    let rest = cut_ops(line, start.len(), ops, &mut texts)?;
    Some((texts, rest))
}

/// The time as line.rs reads it: see the function of that name in flex_logs_ingest/lines/time_formats.py.
fn stamped<'a>(time: &'a [u8], moved: &[i64], room: &'a mut Vec<u8>) -> &'a [u8] {
    room.clear();
    for place in moved {
        let byte = match usize::try_from(*place) {
            Err(_) => place.unsigned_abs() as u8,
            Ok(place) => match time.get(place) {
                Some(b' ') => b'0',
                Some(byte) => *byte,
                None => return time,
            },
        };
        room.push(byte);
    }
    room
}

/// The host of the URL that a request asks for; empty when it is none.
fn host(request: &[u8]) -> &[u8] {
    let Some(method_end) = find::byte(request, 0, b' ') else {
        return b"";
    };
    let url = strip_start(&request[method_end..], b' ');
    let width = scheme_width(url);
    let rest = &url[width..];
    match width {
        0 => b"",
        _ => &rest[..rest.iter().position(|byte| b"/?# ".contains(byte)).unwrap_or(rest.len())],
    }
}
