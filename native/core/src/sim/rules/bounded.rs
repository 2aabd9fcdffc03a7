//! Consistent hashing with bounded loads: see flex/sim/rules/bounded.py.

use super::super::job::Job;
use super::rule::{Asked, Rule, View};

pub struct Bounded;

impl Rule for Bounded {
    fn choose(&mut self, job: &Job, _: &Asked, set: &[i64], view: &View) -> usize {
        let total: i64 = set.iter().map(|node| view.load[*node as usize]).sum();
        let share = (total + 1).saturating_mul(job.bound);
        let most = share / (100 * set.len() as i64) + i64::from(share % (100 * set.len() as i64) != 0);
        let node = set.iter().find(|node| view.load[**node as usize] < most);
        *node.unwrap_or(&set[0]) as usize
    }
}
