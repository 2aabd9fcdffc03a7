//! Least recently used: see flex/caches/lru.py.

use super::list::Lists;
use super::policy::Cache;

const QUEUE: usize = 0;

pub struct Lru {
    limit: i64,
    free: i64,
    queue: Lists<1>,
}

impl Cache for Lru {
    fn new(limit: i64, targets: usize) -> Lru {
        Lru { limit, free: limit, queue: Lists::new(targets) }
    }

    fn reset(&mut self, limit: i64) {
        self.queue.clear(QUEUE);
        (self.limit, self.free) = (limit, limit);
    }

    #[inline(always)]
    fn ask(&mut self, target: usize, size: &[i64]) -> bool {
        if self.queue.has(target) {
            self.queue.renew(QUEUE, target);
            return true;
        }
        let bytes = size[target];
        if bytes > self.limit {
            return false;
        }
        while self.free < bytes {
            let Some(oldest) = self.queue.oldest(QUEUE) else { break };
            self.queue.remove(oldest);
            self.free += size[oldest];
        }
        self.queue.push(QUEUE, target);
        self.free -= bytes;
        false
    }

    fn holds(&self, target: usize) -> bool {
        self.queue.has(target)
    }

    fn oldest(&mut self) -> Option<usize> {
        self.queue.oldest(QUEUE)
    }
}
