//! The rows of a scan: what is counted of each target, found again by a hash that nobody outside can foresee.

use std::hash::{BuildHasher, Hasher};
use std::hint::black_box;

use hashbrown::DefaultHashBuilder;

use crate::places::Places;

const FEW: usize = 1 << 14;

pub struct Row {
    hash: u64,
    start: usize,
    length: u32,
    /// The number of its day and site.
    pub group: u32,
    pub requests: i64,
    pub bytes: i64,
    pub size: i64,
    pub last: i64,
    pub level: u32,
}

#[derive(Default)]
pub struct Rows {
    hasher: DefaultHashBuilder,
    rows: Vec<Row>,
    places: Places,
    text: Vec<u8>,
}

impl Rows {
    /// About how much memory they take, and what it takes to sort them.
    pub fn memory(&self) -> usize {
        self.rows.len() * (size_of::<Row>() + size_of::<Key>() + 16) + self.text.len()
    }

    pub fn row(&self, number: u32) -> &Row {
        &self.rows[number as usize]
    }

    pub fn target(&self, number: u32) -> &[u8] {
        text_of(&self.text, self.row(number))
    }

    /// Whether the processor has most of them at hand anyway.
    #[inline]
    pub fn are_few(&self) -> bool {
        self.rows.len() < FEW
    }

    /// What a target of a group is found by.
    #[inline]
    pub fn hash(&self, group: u32, target: &[u8]) -> u64 {
        let mut hasher = self.hasher.build_hasher();
        hasher.write_u32(group);
        hasher.write(target);
        hasher.finish()
    }

    /// The processor has the rows of these hashes at hand then: it waits for memory once, not once for each of them.
    #[inline]
    pub fn touch(&self, hashes: impl Iterator<Item = u64> + Clone) {
        self.places.touch(hashes.clone());
        let rows = || hashes.clone().filter_map(|hash| self.rows.get(self.places.guess(hash)? as usize));
        black_box(rows().fold(0, |all, row| all ^ row.requests ^ row.last ^ i64::from(row.level)));
        black_box(rows().fold(0, |all, row| all ^ self.text.get(row.start).copied().unwrap_or_default()));
    }

    /// The row of a target of that hash, and its number; a new one has the level that is asked for then.
    #[inline]
    pub fn of(&mut self, hash: u64, group: u32, target: &[u8], level: impl FnOnce() -> u32) -> (u32, &mut Row) {
        let (rows, text) = (&self.rows, &self.text);
        let same = |number: u32| {
            let row = &rows[number as usize];
            row.hash == hash && row.group == group && text_of(text, row) == target
        };
        let number = self.places.find(hash, same).unwrap_or_else(|| self.add(hash, group, target, level()));
        (number, &mut self.rows[number as usize])
    }

    fn add(&mut self, hash: u64, group: u32, target: &[u8], level: u32) -> u32 {
        let (number, start, length) = (self.rows.len() as u32, self.text.len(), target.len() as u32);
        self.places.add(hash, self.rows.iter().map(|row| row.hash));
        self.text.extend_from_slice(target);
        self.rows.push(Row { hash, start, length, group, requests: 0, bytes: 0, size: 0, last: 0, level });
        number
    }

    /// The numbers of all rows, by the rank of their group and then by target.
    pub fn sorted(&self, ranks: &[u32]) -> Vec<u32> {
        let mut keys: Vec<Key> = (0..self.rows.len() as u32).map(|number| self.key(number, ranks)).collect();
        keys.sort_unstable_by(|a, b| {
            let places = (a.rank, a.lead).cmp(&(b.rank, b.lead));
            places.then_with(|| self.target(a.number).cmp(self.target(b.number)))
        });
        keys.iter().map(|key| key.number).collect()
    }

    fn key(&self, number: u32, ranks: &[u32]) -> Key {
        let target = self.target(number);
        // Every target begins with a slash, and a shorter one is as one that goes on with zeros, which none does.
        let mut lead = [0; LEAD];
        let rest = target.get(1..target.len().min(LEAD + 1)).unwrap_or_default();
        lead[..rest.len()].copy_from_slice(rest);
        Key { lead: u128::from_be_bytes(lead), rank: ranks[self.row(number).group as usize], number }
    }
}

const LEAD: usize = 16;

/// What tells most rows apart without a look at their texts.
struct Key {
    lead: u128,
    rank: u32,
    number: u32,
}

fn text_of<'a>(text: &'a [u8], row: &Row) -> &'a [u8] {
    &text[row.start..row.start + row.length as usize]
}
