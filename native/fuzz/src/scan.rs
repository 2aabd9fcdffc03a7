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

const MOST_PIECES: usize = 40;

fuzz_target!(|data: &[u8]| {
    let [seed, how, log @ ..] = data else { return };
    let (limit, directory) = (usize::from(how & 0x7F), how & 0x80 != 0);
    let whole = scan(&[log], limit, directory);
    promises::hold(&whole, log, limit);
    let cut: Vec<&[u8]> = log.chunks(1 + usize::from(*seed)).collect();
    assert_eq!(scan(&cut, limit, directory), whole, "what is counted hangs on how the log is cut");
    if cut.len() <= MOST_PIECES {
        promises::add_up(&pieces(&cut, limit, directory), &whole);
    }
});

fn scan(chunks: &[&[u8]], limit: usize, directory: bool) -> Found {
    let mut scan = begin(limit, directory);
    for chunk in chunks {
        scan.feed(chunk);
    }
    scan.finish(false)
}

/// What is counted when it is asked for behind every chunk.
fn pieces(chunks: &[&[u8]], limit: usize, directory: bool) -> Vec<Found> {
    let mut scan = begin(limit, directory);
    let piece = |chunk: &&[u8]| {
        scan.feed(chunk);
        scan.finish(false)
    };
    chunks.iter().map(piece).collect()
}

fn begin(limit: usize, directory: bool) -> Scan {
    Scan::new(layout::wanted(), Rule { directory, ..Rule::default() }, limit, false)
}
