//! In turn, past nodes that have more than their share: see flex/sim/rules/weighted_by_load.py.

use super::super::job::Job;
use super::rule::{Asked, Rule, View};

pub struct Weighted {
    next: Vec<u32>,
}

impl Weighted {
    pub fn new(job: &Job) -> Weighted {
        Weighted { next: vec![0; job.keys()] }
    }
}

impl Rule for Weighted {
    fn choose(&mut self, job: &Job, asked: &Asked, set: &[i64], view: &View) -> usize {
        let total: i64 = set.iter().map(|node| view.load[*node as usize]).sum();
        let weight: i64 = set.iter().map(|node| job.weight[*node as usize]).sum();
        let start = self.next[asked.key] as usize;
        let place = (0..set.len())
            .map(|step| (start + step) % set.len())
            .find(|place| {
                let node = set[*place] as usize;
                view.load[node].saturating_mul(weight) <= total.saturating_mul(job.weight[node])
            })
            .unwrap_or(start % set.len());
        self.next[asked.key] = ((place + 1) % set.len()) as u32;
        set[place] as usize
    }
}
