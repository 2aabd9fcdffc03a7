//! The nodes' memories: each node's own, or one for all.

use super::job::{Job, SHARED};
use crate::cache::policy::Cache;

pub struct Memories<C> {
    caches: Vec<C>,
    shared: bool,
    largest: i64,
}

impl<C: Cache> Memories<C> {
    pub fn new(job: &Job) -> Memories<C> {
        let shared = job.memory == SHARED;
        let all = job.ram.iter().fold(0, |sum: i64, ram| sum.saturating_add(*ram));
        let limits = if shared { std::slice::from_ref(&all) } else { job.ram };
        Memories {
            caches: limits.iter().map(|limit| C::new(*limit, job.targets())).collect(),
            shared,
            largest: job.largest,
        }
    }

    pub fn ask(&mut self, node: usize, target: usize, size: &[i64]) -> bool {
        size[target] <= self.largest && self.caches[if self.shared { 0 } else { node }].ask(target, size)
    }

    /// Another node that has the target in its memory: the first.
    pub fn elsewhere(&self, node: usize, target: usize) -> Option<usize> {
        (0..self.caches.len()).find(|other| *other != node && self.caches[*other].holds(target))
    }
}
