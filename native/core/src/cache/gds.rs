//! Greedy-Dual-Size, without and with frequency: see flex/caches/gds.py.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::policy::Cache;

pub type Gds = GreedyDual<false>;
pub type Gdsf = GreedyDual<true>;

/// What a target is worth, as the bits of a number that is not negative: they are in the order of the numbers.
/// Then the turn it was given this worth in, and the target.
type Entry = Reverse<(u64, u64, u32)>;

pub struct GreedyDual<const COUNTS: bool> {
    limit: i64,
    free: i64,
    floor: f64,
    turn: u64,
    heap: BinaryHeap<Entry>,
    /// Of each target in memory; 0 of the others.
    turn_of: Vec<u64>,
    asked: Vec<u32>,
    held: usize,
}

impl<const COUNTS: bool> Cache for GreedyDual<COUNTS> {
    fn new(limit: i64, targets: usize) -> Self {
        let (turn_of, asked) = (vec![0; targets], vec![0; targets]);
        GreedyDual { limit, free: limit, floor: 0.0, turn: 0, heap: BinaryHeap::new(), turn_of, asked, held: 0 }
    }

    fn reset(&mut self, limit: i64) {
        for Reverse((_, _, target)) in self.heap.drain() {
            self.turn_of[target as usize] = 0;
        }
        (self.limit, self.free, self.floor, self.turn, self.held) = (limit, limit, 0.0, 0, 0);
    }

    #[inline(always)]
    fn ask(&mut self, target: usize, size: &[i64]) -> bool {
        if self.turn_of[target] != 0 {
            self.value(target, size[target]);
            return true;
        }
        let bytes = size[target];
        if bytes > self.limit {
            return false;
        }
        while self.free < bytes && self.evict(size) {}
        self.free -= bytes;
        self.held += 1;
        self.asked[target] = 0;
        self.value(target, bytes);
        false
    }

    fn holds(&self, target: usize) -> bool {
        self.turn_of[target] != 0
    }

    fn oldest(&mut self) -> Option<usize> {
        self.drop_stale();
        self.heap.peek().map(|Reverse((_, _, target))| *target as usize)
    }
}

impl<const COUNTS: bool> GreedyDual<COUNTS> {
    fn value(&mut self, target: usize, bytes: i64) {
        self.turn += 1;
        self.turn_of[target] = self.turn;
        self.asked[target] = if COUNTS { self.asked[target].saturating_add(1) } else { 1 };
        let worth = self.floor + f64::from(self.asked[target]) / bytes.max(1) as f64;
        if self.heap.len() > 4 * self.held + 64 {
            self.heap.retain(|Reverse((_, turn, target))| self.turn_of[*target as usize] == *turn);
        }
        self.heap.push(Reverse((worth.to_bits(), self.turn, target as u32)));
    }

    fn evict(&mut self, size: &[i64]) -> bool {
        self.drop_stale();
        let Some(Reverse((worth, _, target))) = self.heap.pop() else { return false };
        self.floor = f64::from_bits(worth);
        self.free += size[target as usize];
        self.turn_of[target as usize] = 0;
        self.held -= 1;
        true
    }

    fn drop_stale(&mut self) {
        while let Some(Reverse((_, turn, target))) = self.heap.peek() {
            if self.turn_of[*target as usize] == *turn {
                return;
            }
            self.heap.pop();
        }
    }
}
