//! Which lines are of a layout: see flex_logs_ingest/lines/which_layout.py, which defines it.

use crate::cut::Layout;
use crate::layout::{BYTES, Joined, STATUS, TIME, VHOST};
use crate::line::{is_status, number, seconds, unescaped};

/// Their numbers.
pub fn fitting<'a>(layout: &mut Layout, lines: impl Iterator<Item = &'a [u8]>) -> Vec<usize> {
    let mut joined = Joined::default();
    let mut fits = |line| !layout.is_heading(line) && says_all(layout, line, &mut joined);
    lines.enumerate().filter(|(_, line)| fits(line)).map(|(number, _)| number).collect()
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
