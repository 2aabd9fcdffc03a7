//! Which lines are of which layout: flex_logs_ingest/lines/which_lines_fit_layout.py defines it.

use crate::cut::Layout;
use crate::layout::{BYTES, Joined, STATUS, TIME, VHOST};
use crate::line::{is_status, number, seconds, unescaped};

/// Their numbers, for each layout.
pub fn fitting(layouts: &[Layout], lines: &[&[u8]]) -> Vec<Vec<usize>> {
    let mut joined = Joined::default();
    layouts.iter().map(|layout| of_one(layout, lines, 0, &mut joined)).collect()
}

/// What the lines at the beginning of a log say of the format that it is in.
#[derive(Debug, PartialEq)]
pub enum First {
    /// The first layout of half as many lines as are of the one that has most.
    Layout(usize),
    /// Less than a tenth of the lines are of any.
    None,
    /// That depends on a layout that is not sure.
    Unsure,
}

/// Of the `sure` layouts all lines count that are found here. The last layouts are looked at first, because most lines
/// are of one of these: others that have less than half as many are given up early.
pub fn first_with_half(layouts: &[Layout], sure: &[bool], lines: &[&[u8]]) -> First {
    let mut joined = Joined::default();
    let mut found = vec![0; layouts.len()];
    let mut most: usize = 0;
    let is_sure = |number: usize| sure.get(number).is_some_and(|sure| *sure);
    for (number, layout) in layouts.iter().enumerate().rev() {
        found[number] = of_one(layout, lines, most.div_ceil(2), &mut joined).len();
        if is_sure(number) {
            most = most.max(found[number]);
        }
    }
    let mut hopeful = (0..layouts.len()).filter(|number| found[*number] > 0 && found[*number] * 2 >= most).peekable();
    let first = hopeful.peek().copied();
    match first {
        _ if !hopeful.all(is_sure) => First::Unsure,
        Some(first) if most * 10 >= lines.len() => First::Layout(first),
        _ => First::None,
    }
}

/// None at all where they are fewer than `least`.
fn of_one(layout: &Layout, lines: &[&[u8]], least: usize, joined: &mut Joined) -> Vec<usize> {
    // A line that names columns changes what those behind it are read by, and the layout is to stay as it is.
    let mut changed: Option<Layout> = None;
    let mut found = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        if layout.takes_heading(line) {
            changed.get_or_insert_with(|| layout.clone()).is_heading(line);
        } else if layout.ends(line) && says_all(changed.as_ref().unwrap_or(layout), line, joined) {
            found.push(number);
        }
        if found.len() + lines.len() - number - 1 < least {
            return Vec::new();
        }
    }
    found
}

fn says_all(layout: &Layout, line: &[u8], joined: &mut Joined) -> bool {
    let Some(texts) = layout.cut(line, joined) else {
        return false;
    };
    let vhost = texts[VHOST];
    // What stands before the empty identity is a client, and behind it a user whose name holds a space.
    let is_client = !vhost.is_empty() && line.strip_prefix(vhost).is_some_and(|rest| rest.starts_with(b" - "));
    let says = || seconds(&unescaped(texts[TIME])).is_some() && number(texts[BYTES]).is_some();
    !is_client && is_status(texts[STATUS]) && says()
}
