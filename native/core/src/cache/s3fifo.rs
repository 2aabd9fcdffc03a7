//! S3-FIFO: see flex/caches/s3fifo.py.

use super::list::Lists;
use super::policy::Cache;

const SMALL: usize = 0;
const MAIN: usize = 1;
const SHARE: i64 = 10;
const MOST: u8 = 3;
/// Asked for again so often: of a target that is in memory; the others have none.
const OUT: u8 = 0;
const NEVER: u8 = 1;

pub struct S3Fifo {
    limit: i64,
    free: i64,
    small_limit: i64,
    small_bytes: i64,
    ghost_free: i64,
    queues: Lists<2>,
    ghosts: Lists<1>,
    again: Vec<u8>,
}

impl Cache for S3Fifo {
    fn new(limit: i64, targets: usize) -> S3Fifo {
        let (queues, ghosts, again) = (Lists::new(targets), Lists::new(targets), vec![OUT; targets]);
        let mut cache = S3Fifo { limit, free: 0, small_limit: 0, small_bytes: 0, ghost_free: 0, queues, ghosts, again };
        cache.reset(limit);
        cache
    }

    fn reset(&mut self, limit: i64) {
        for queue in [SMALL, MAIN] {
            while let Some(target) = self.queues.oldest(queue) {
                self.queues.remove(target);
                self.again[target] = OUT;
            }
        }
        self.ghosts.clear(0);
        (self.limit, self.free) = (limit, limit);
        (self.small_limit, self.small_bytes) = (limit / SHARE, 0);
        self.ghost_free = limit - self.small_limit;
    }

    #[inline(always)]
    fn ask(&mut self, target: usize, size: &[i64]) -> bool {
        if self.again[target] != OUT {
            self.again[target] = (self.again[target] + 1).min(NEVER + MOST);
            return true;
        }
        if size[target] > self.limit {
            return false;
        }
        while self.free < size[target] && self.evict(size) {}
        self.enter(target, size[target], size);
        false
    }

    fn holds(&self, target: usize) -> bool {
        self.again[target] != OUT
    }

    fn oldest(&mut self) -> Option<usize> {
        self.queues.oldest(if self.small_is_next() { SMALL } else { MAIN })
    }
}

impl S3Fifo {
    fn enter(&mut self, target: usize, bytes: i64, size: &[i64]) {
        self.free -= bytes;
        self.again[target] = NEVER;
        if self.ghosts.has(target) {
            self.forget(target, size);
            self.queues.push(MAIN, target);
        } else {
            self.queues.push(SMALL, target);
            self.small_bytes += bytes;
        }
    }

    fn small_is_next(&self) -> bool {
        self.queues.oldest(SMALL).is_some()
            && (self.small_bytes >= self.small_limit || self.queues.oldest(MAIN).is_none())
    }

    fn evict(&mut self, size: &[i64]) -> bool {
        let small = self.small_is_next();
        let Some(target) = self.queues.oldest(if small { SMALL } else { MAIN }) else { return false };
        self.queues.remove(target);
        if small {
            self.leave_small(target, size);
        } else {
            self.leave_main(target, size);
        }
        true
    }

    fn leave_small(&mut self, target: usize, size: &[i64]) {
        self.small_bytes -= size[target];
        if self.again[target] > NEVER + 1 {
            self.again[target] = NEVER;
            self.queues.push(MAIN, target);
            return;
        }
        self.again[target] = OUT;
        self.free += size[target];
        self.remember(target, size);
    }

    fn leave_main(&mut self, target: usize, size: &[i64]) {
        if self.again[target] > NEVER {
            self.again[target] -= 1;
            self.queues.push(MAIN, target);
            return;
        }
        self.again[target] = OUT;
        self.free += size[target];
    }

    fn remember(&mut self, target: usize, size: &[i64]) {
        if size[target] > self.limit - self.small_limit {
            return;
        }
        while self.ghost_free < size[target] {
            let Some(oldest) = self.ghosts.oldest(0) else { break };
            self.forget(oldest, size);
        }
        self.ghosts.push(0, target);
        self.ghost_free -= size[target];
    }

    fn forget(&mut self, target: usize, size: &[i64]) {
        self.ghosts.remove(target);
        self.ghost_free += size[target];
    }
}
