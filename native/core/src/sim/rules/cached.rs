//! Where it is in memory, or where the oldest is: see flex/sim/rules/cached.py.

use super::super::job::Job;
use super::super::memory::Contents;
use super::{Asked, Rule, View};

pub struct Cached {
    last: Vec<i64>,
}

impl Cached {
    pub fn new(job: &Job) -> Cached {
        Cached { last: vec![-1; job.targets()] }
    }
}

impl Rule for Cached {
    fn choose(&mut self, _: &Job, asked: &Asked, set: &[i64], _: &View, memory: &mut dyn Contents) -> usize {
        let nodes = set.iter().map(|node| *node as usize);
        let holder = nodes.clone().find(|node| memory.holds(*node, asked.target));
        let node =
            holder.or_else(|| nodes.min_by_key(|node| memory.oldest(*node).map_or(-1, |target| self.last[target])));
        self.last[asked.target] = asked.access as i64;
        node.unwrap_or(0)
    }
}
