//! Each key's nodes in turn: see flex/sim/rules/turn.py.

use super::super::job::Job;
use super::rule::{Asked, Rule, View};

pub struct Turn {
    next: Vec<u32>,
}

impl Turn {
    pub fn new(job: &Job) -> Turn {
        Turn { next: vec![0; job.keys()] }
    }
}

impl Rule for Turn {
    fn choose(&mut self, _: &Job, asked: &Asked, set: &[i64], _: &View) -> usize {
        let next = &mut self.next[asked.key];
        let node = set[*next as usize % set.len()];
        *next = (*next + 1) % set.len() as u32;
        node as usize
    }
}
