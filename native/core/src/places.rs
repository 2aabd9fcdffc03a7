//! Where rows are by their hash: a table of numbers of rows, each beside half of its hash.

use std::hint::black_box;

/// Half of the hash above, the number of the row plus one below; 0 where no row is.
#[derive(Default)]
pub struct Places(Vec<u64>);

const HALF: u32 = 32;
const FEWEST: usize = 1 << 10;

impl Places {
    /// The number of the first row of that hash that is the one meant.
    #[inline]
    pub fn find(&self, hash: u64, is_it: impl Fn(u32) -> bool) -> Option<u32> {
        let mask = self.0.len().checked_sub(1)?;
        let mut at = hash as usize & mask;
        loop {
            let place = self.0[at];
            if place == 0 {
                return None;
            }
            let number = place as u32 - 1;
            if place >> HALF == hash >> HALF && is_it(number) {
                return Some(number);
            }
            at = (at + 1) & mask;
        }
    }

    /// The row where one of that hash is most likely; any or none where it is not there.
    #[inline]
    pub fn guess(&self, hash: u64) -> Option<u32> {
        let mask = self.0.len().checked_sub(1)?;
        let place = self.0[hash as usize & mask];
        (place >> HALF == hash >> HALF).then(|| (place as u32).wrapping_sub(1))
    }

    /// The processor has the places of these hashes at hand then.
    #[inline]
    pub fn touch(&self, hashes: impl Iterator<Item = u64>) {
        if let Some(mask) = self.0.len().checked_sub(1) {
            black_box(hashes.fold(0, |all, hash| all ^ self.0[hash as usize & mask]));
        }
    }

    /// One more row than `hashes` has: its number is theirs to count.
    pub fn add(&mut self, hash: u64, hashes: impl ExactSizeIterator<Item = u64>) {
        let number = hashes.len();
        if (number + 1) * 4 > self.0.len() * 3 {
            self.0 = zeros((self.0.len() * 2).max(FEWEST));
            for (number, hash) in hashes.enumerate() {
                self.put(hash, number);
            }
        }
        self.put(hash, number);
    }

    fn put(&mut self, hash: u64, number: usize) {
        let mask = self.0.len() - 1;
        let mut at = hash as usize & mask;
        while self.0[at] != 0 {
            at = (at + 1) & mask;
        }
        self.0[at] = hash >> HALF << HALF | (number as u64 + 1);
    }
}

/// Written here and now. Of zeros that the system gives, each page would be read first: it would be given again when it
/// is written, and all threads would have to hear of that.
fn zeros(size: usize) -> Vec<u64> {
    let mut places = Vec::with_capacity(size);
    places.resize(size, black_box(0));
    places
}
