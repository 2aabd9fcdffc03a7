//! Whatever a log holds, scanning it ends, in little memory, with sums that hold, wherever the log is cut into chunks.
//!
//! The format is the layout in the file that FLEX_LAYOUT names; run.py writes it from the register of formats. The
//! first two bytes of an input say how to cut the log, how large a sample to keep, whether paths name the sites and
//! whether every plain host name is a site; the others are the log.
#![no_main]

mod layout;
mod promises;

use flex_core::scan::{Found, Scan};
use flex_core::sites::Rule;
use libfuzzer_sys::fuzz_target;

const MOST_PIECES: usize = 40;

#[derive(Clone, Copy)]
struct Names {
    directory: bool,
    every_host: bool,
}

fuzz_target!(|data: &[u8]| {
    let [seed, how, log @ ..] = data else { return };
    let (limit, names) = (usize::from(how & 0x3F), Names { directory: how & 0x80 != 0, every_host: how & 0x40 != 0 });
    let whole = scan(&[log], limit, names);
    promises::hold(&whole, log, limit);
    let cut: Vec<&[u8]> = log.chunks(1 + usize::from(*seed)).collect();
    assert_eq!(scan(&cut, limit, names), whole, "what is counted hangs on how the log is cut");
    if cut.len() <= MOST_PIECES {
        promises::add_up(&pieces(&cut, limit, names), &whole);
    }
});

fn scan(chunks: &[&[u8]], limit: usize, names: Names) -> Found {
    let mut scan = begin(limit, names);
    for chunk in chunks {
        scan.feed(chunk);
    }
    scan.finish(false)
}

/// What is counted when it is asked for behind every chunk.
fn pieces(chunks: &[&[u8]], limit: usize, names: Names) -> Vec<Found> {
    let mut scan = begin(limit, names);
    let piece = |chunk: &&[u8]| {
        scan.feed(chunk);
        scan.finish(false)
    };
    chunks.iter().map(piece).collect()
}

fn begin(limit: usize, names: Names) -> Scan {
    Scan::new(
        layout::wanted(),
        Rule { directory: names.directory, every_host: names.every_host, ..Rule::default() },
        limit,
        false,
    )
}
