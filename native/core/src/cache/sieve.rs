//! SIEVE: see flex/caches/sieve.py.

use super::list::Lists;
use super::policy::Cache;

const QUEUE: usize = 0;

pub struct Sieve {
    limit: i64,
    free: i64,
    queue: Lists<1>,
    visited: Vec<bool>,
    hand: Option<usize>,
}

impl Cache for Sieve {
    fn new(limit: i64, targets: usize) -> Sieve {
        Sieve { limit, free: limit, queue: Lists::new(targets), visited: vec![false; targets], hand: None }
    }

    fn reset(&mut self, limit: i64) {
        while let Some(target) = self.queue.oldest(QUEUE) {
            self.queue.remove(target);
            self.visited[target] = false;
        }
        (self.limit, self.free, self.hand) = (limit, limit, None);
    }

    #[inline(always)]
    fn ask(&mut self, target: usize, size: &[i64]) -> bool {
        if self.queue.has(target) {
            self.visited[target] = true;
            return true;
        }
        let bytes = size[target];
        if bytes > self.limit {
            return false;
        }
        while self.free < bytes && self.evict(size) {}
        self.free -= bytes;
        self.queue.push(QUEUE, target);
        false
    }

    fn holds(&self, target: usize) -> bool {
        self.queue.has(target)
    }

    fn oldest(&mut self) -> Option<usize> {
        self.hand.or_else(|| self.queue.oldest(QUEUE))
    }
}

impl Sieve {
    fn evict(&mut self, size: &[i64]) -> bool {
        let Some(mut target) = self.hand.or_else(|| self.queue.oldest(QUEUE)) else { return false };
        while std::mem::take(&mut self.visited[target]) {
            let Some(next) = self.queue.newer(target).or_else(|| self.queue.oldest(QUEUE)) else { return false };
            target = next;
        }
        self.hand = self.queue.newer(target);
        self.queue.remove(target);
        self.free += size[target];
        true
    }
}
