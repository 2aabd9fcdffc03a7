//! Whatever a log holds, scanning it ends, in little memory, with sums that hold, wherever the log is cut into chunks.
//!
//! The format is the layout in the file that FLEX_LAYOUT names; run.py writes it from the register of formats. The
//! first two bytes of an input say how to cut the log, how large a sample to keep and whether paths name the sites; the
//! others are the log.
#![no_main]

mod layout;
mod promises;

use flex_core::scan::{Found, Scan};
use flex_core::sites::Rule;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let [seed, how, log @ ..] = data else { return };
    let (limit, directory) = (usize::from(how & 0x7F), how & 0x80 != 0);
    let whole = scan(&[log], limit, directory);
    promises::hold(&whole, log, limit);
    let cut: Vec<&[u8]> = log.chunks(1 + usize::from(*seed)).collect();
    assert_eq!(scan(&cut, limit, directory), whole, "what is counted hangs on how the log is cut");
});

fn scan(chunks: &[&[u8]], limit: usize, directory: bool) -> Found {
    let rule = Rule { directory, ..Rule::default() };
    let mut scan = Scan::new(layout::wanted(), rule, limit, false);
    for chunk in chunks {
        scan.feed(chunk);
    }
    scan.finish(false)
}
