//! Malformed lines: see flex_logs_ingest/scan/malformed_lines.py, which defines it.

pub const TOO_LONG: usize = 0;
pub const NO_FIELDS: usize = 1;
pub const NO_BYTES: usize = 2;
pub const NO_STATUS: usize = 3;
pub const NO_TIME: usize = 4;

const KEPT: u64 = 3;
const WIDTH: usize = 200;
const MOST: usize = 1 << 16;

/// Where the line begins, what is wrong with it, its text.
pub type Bad = (u64, usize, Vec<u8>);

#[derive(Default)]
pub struct Malformed {
    pub counts: [u64; 5],
    pub samples: Vec<Bad>,
    all_of_them: bool,
    waiting: Vec<Bad>,
}

impl Malformed {
    pub fn new(all_of_them: bool) -> Malformed {
        Malformed { all_of_them, ..Malformed::default() }
    }

    #[cold]
    pub fn add(&mut self, start: u64, reason: usize, line: &[u8]) {
        if self.counts[reason] < KEPT {
            self.samples.push((start, reason, line[..line.len().min(WIDTH)].to_vec()));
        }
        if self.all_of_them {
            self.waiting.push((start, reason, line[..line.len().min(MOST)].to_vec()));
        }
        self.counts[reason] += 1;
    }

    /// The lines since the last call.
    pub fn take(&mut self) -> Vec<Bad> {
        std::mem::take(&mut self.waiting)
    }
}
