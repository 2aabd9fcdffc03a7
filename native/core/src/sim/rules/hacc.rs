//! HACC's Smart Router: see flex/sim/rules/hacc.py.

use super::super::job::Job;
use super::rule::{Asked, Rule, View};

const NOBODY: u32 = u32::MAX;
const WHOLE: i64 = 1000;

pub struct Hacc {
    server: Vec<u32>,
    held: Vec<i64>,
    load: Vec<i64>,
    /// Of each node's processor and disks: what they were given so far, and have not done yet.
    seen: Vec<[i64; 2]>,
    left: Vec<[i64; 2]>,
    sampled: i64,
    /// How many of its keys a node may still hand to the least loaded.
    spare: Vec<i64>,
}

impl Hacc {
    pub fn new(job: &Job) -> Hacc {
        let nodes = job.nodes();
        Hacc {
            server: vec![NOBODY; job.keys()],
            held: vec![0; nodes],
            load: vec![0; nodes],
            seen: vec![[0; 2]; nodes],
            left: vec![[0; 2]; nodes],
            sampled: 0,
            spare: vec![0; nodes],
        }
    }

    fn sample(&mut self, job: &Job, view: &View, set: &[i64]) {
        let passed = view.now - self.sampled;
        self.sampled = view.now;
        let most = [passed, passed.saturating_mul(job.disks)];
        for node in 0..self.load.len() {
            let given = [view.busy[node], view.reading[node]];
            let mut did = [0; 2];
            for kind in 0..2 {
                let waiting = self.left[node][kind] + given[kind] - self.seen[node][kind];
                did[kind] = waiting.min(most[kind]);
                self.left[node][kind] = waiting - did[kind];
            }
            self.seen[node] = given;
            let work = job.cpu_share * did[0] + (100 - job.cpu_share) * did[1];
            self.load[node] = (work / 100).saturating_mul(WHOLE) / passed;
        }
        let least = self.load[self.least(set)];
        for node in 0..self.load.len() {
            let excess = self.load[node] - least;
            self.spare[node] = if excess > job.margin { self.held[node] * excess / (2 * self.load[node]) } else { 0 };
        }
    }

    /// By the load last sampled; of equals the one that holds least, then the first.
    fn least(&self, set: &[i64]) -> usize {
        let nodes = set.iter().map(|node| *node as usize);
        nodes.min_by_key(|node| (self.load[*node], self.held[*node])).unwrap_or(0)
    }
}

impl Rule for Hacc {
    fn choose(&mut self, job: &Job, asked: &Asked, set: &[i64], view: &View) -> usize {
        if view.now - self.sampled >= job.interval {
            self.sample(job, view, set);
        }
        let server = self.server[asked.key];
        if server != NOBODY && self.spare[server as usize] <= 0 {
            return server as usize;
        }
        let least = self.least(set);
        if server != NOBODY {
            self.spare[server as usize] -= 1;
            self.held[server as usize] -= 1;
        }
        self.server[asked.key] = least as u32;
        self.held[least] += 1;
        least
    }
}
