//! Locality-aware request distribution: see flex/sim/rules/lard.py.

use super::super::job::Job;
use super::rule::{Asked, Rule, View, least_loaded};

const NOBODY: u32 = u32::MAX;

pub struct Lard {
    server: Vec<u32>,
}

impl Lard {
    pub fn new(job: &Job) -> Lard {
        Lard { server: vec![NOBODY; job.keys()] }
    }
}

impl Rule for Lard {
    fn choose(&mut self, job: &Job, asked: &Asked, set: &[i64], view: &View) -> usize {
        let server = &mut self.server[asked.key];
        if *server == NOBODY {
            *server = first(job, asked.target, set, view) as u32;
        }
        if overloaded(job, view, set, *server as usize) {
            *server = least_loaded(set, view.load) as u32;
        }
        *server as usize
    }
}

/// A node that has it in memory beforehand, where there is one.
fn first(job: &Job, target: usize, set: &[i64], view: &View) -> usize {
    let filled = set.iter().map(|node| *node as usize).find(|node| job.is_pinned(target, *node));
    filled.unwrap_or_else(|| least_loaded(set, view.load))
}

/// Far busier than it should be while another has little to do, or far too busy whatever the others do.
pub fn overloaded(job: &Job, view: &View, set: &[i64], node: usize) -> bool {
    let load = view.load[node];
    load >= 2 * job.high || load > job.high && set.iter().any(|other| view.load[*other as usize] < job.low)
}
