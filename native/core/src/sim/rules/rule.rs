//! What every rule promises, and what it may know: see flex/sim/rules/rule.py.

use super::super::job::Job;

pub struct Asked {
    pub access: usize,
    pub key: usize,
    pub target: usize,
}

/// What a rule may know of the nodes: accesses under way, and nanoseconds of work they were given so far.
pub struct View<'a> {
    pub load: &'a [i64],
    pub now: i64,
    pub busy: &'a [i64],
    pub reading: &'a [i64],
}

pub trait Rule {
    /// One of the set, which is not empty.
    fn choose(&mut self, job: &Job, asked: &Asked, set: &[i64], view: &View) -> usize;
}

/// The node with the fewest accesses under way; the first of equals.
pub fn least_loaded(set: &[i64], load: &[i64]) -> usize {
    set.iter().map(|node| *node as usize).min_by_key(|node| load[*node]).unwrap_or(0)
}
