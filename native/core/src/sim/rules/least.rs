//! The least loaded for its weight: see flex/sim/rules/least.py.

use super::super::job::Job;
use super::rule::{Asked, Rule, View};

pub struct Least;

impl Rule for Least {
    fn choose(&mut self, job: &Job, _: &Asked, set: &[i64], view: &View) -> usize {
        let mut best = set[0] as usize;
        for node in &set[1..] {
            let node = *node as usize;
            if view.load[node].saturating_mul(job.weight[best]) < view.load[best].saturating_mul(job.weight[node]) {
                best = node;
            }
        }
        best
    }
}
