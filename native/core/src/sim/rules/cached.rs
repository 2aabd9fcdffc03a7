//! Where it is in memory, or where the oldest is: see flex/sim/rules/in_memory_lb_gc.py.

use super::super::job::Job;
use super::super::memory::Contents;
use super::rule::{Asked, Rule, View};

const NOWHERE: usize = usize::MAX;

pub struct Cached {
    last: Vec<i64>,
    sent: Vec<i64>,
    node: Vec<usize>,
}

impl Cached {
    pub fn new(job: &Job) -> Cached {
        Cached { last: vec![-1; job.targets()], sent: vec![0; job.nodes()], node: vec![NOWHERE; job.targets()] }
    }
}

impl Cached {
    fn for_new(&mut self, job: &Job, target: usize, set: &[i64], memory: &mut dyn Contents) -> usize {
        let size = job.size[target];
        let nodes = set.iter().map(|node| *node as usize);
        let room = nodes.clone().filter(|node| self.sent[*node].saturating_add(size) <= job.ram[*node]);
        if let Some(node) = room.min_by_key(|node| self.sent[*node]) {
            self.sent[node] += size;
            return node;
        }
        nodes.min_by_key(|node| self.age(*node, memory.oldest(*node))).unwrap_or(0)
    }

    fn age(&self, node: usize, target: Option<usize>) -> i64 {
        target.filter(|target| self.node[*target] == node).map_or(-1, |target| self.last[target])
    }
}

impl Rule for Cached {
    fn choose(&mut self, job: &Job, asked: &Asked, set: &[i64], _: &View, memory: &mut dyn Contents) -> usize {
        let had = Some(self.node[asked.target]).filter(|node| *node != NOWHERE && memory.holds(*node, asked.target));
        let holder = had.or_else(|| {
            let mut nodes = set.iter().map(|node| *node as usize);
            nodes.find(|node| memory.holds(*node, asked.target))
        });
        let node = holder.unwrap_or_else(|| self.for_new(job, asked.target, set, memory));
        self.last[asked.target] = asked.access as i64;
        self.node[asked.target] = node;
        node
    }
}
