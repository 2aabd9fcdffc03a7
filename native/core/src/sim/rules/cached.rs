//! Where it is in memory, or where the oldest is: see flex/sim/rules/in_memory_lb_gc.py.

use super::super::job::Job;
use super::rule::{Asked, Rule, View};
use crate::cache::policy::Cache;

const NEVER: i64 = -1;

pub struct Cached<C> {
    /// Made when the first access comes: most jobs have none of this rule.
    memories: Vec<C>,
    last: Vec<i64>,
    sent: Vec<i64>,
}

impl<C: Cache> Cached<C> {
    pub fn new(job: &Job) -> Cached<C> {
        Cached { memories: Vec::new(), last: vec![NEVER; job.targets()], sent: vec![0; job.nodes()] }
    }

    fn for_new(&mut self, job: &Job, target: usize, set: &[i64]) -> usize {
        let size = job.size[target];
        let nodes = set.iter().map(|node| *node as usize);
        let room = nodes.clone().filter(|node| self.sent[*node].saturating_add(size) <= job.ram[*node]);
        if let Some(node) = room.min_by_key(|node| self.sent[*node]) {
            self.sent[node] += size;
            return node;
        }
        nodes.min_by_key(|node| self.memories[*node].oldest().map_or(NEVER, |oldest| self.last[oldest])).unwrap_or(0)
    }
}

impl<C: Cache> Rule for Cached<C> {
    fn choose(&mut self, job: &Job, asked: &Asked, set: &[i64], _: &View) -> usize {
        if self.memories.is_empty() {
            self.memories = job.ram.iter().map(|ram| C::new(*ram, job.targets())).collect();
        }
        let mut nodes = set.iter().map(|node| *node as usize);
        let holder = nodes.find(|node| self.memories[*node].holds(asked.target));
        let node = holder.unwrap_or_else(|| self.for_new(job, asked.target, set));
        self.memories[node].ask(asked.target, job.size);
        self.last[asked.target] = asked.access as i64;
        node
    }
}
