//! Which node an access goes to: see flex/sim/rules, whose classes define what each rule decides.
//!
//! A rule is one file and one line here; all of them count in whole numbers, so that both engines decide the same.

mod bounded;
mod cached;
mod dice;
mod hacc;
mod lard;
mod lardr;
mod least;
mod turn;
mod weighted;

use super::job::Job;
use super::memory::Contents;

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

trait Rule {
    /// One of the set, which is not empty.
    fn choose(&mut self, job: &Job, asked: &Asked, set: &[i64], view: &View, memory: &mut dyn Contents) -> usize;
}

pub struct Rules(Vec<Box<dyn Rule>>);

impl Rules {
    /// In the order of RULES in flex/sim/rules/__init__.py.
    pub fn new(job: &Job) -> Rules {
        Rules(vec![
            Box::new(turn::Turn::new(job)),
            Box::new(weighted::Weighted::new(job)),
            Box::new(least::Least),
            Box::new(dice::Dice),
            Box::new(lard::Lard::new(job)),
            Box::new(lardr::LardR::new(job)),
            Box::new(bounded::Bounded),
            Box::new(cached::Cached::new(job)),
            Box::new(hacc::Hacc::new(job)),
        ])
    }

    pub fn choose(&mut self, job: &Job, asked: &Asked, view: &View, memory: &mut dyn Contents) -> usize {
        let rule = job.rule[asked.key] as usize;
        self.0[rule].choose(job, asked, job.set(asked.key), view, memory)
    }
}

/// The node with the fewest accesses under way; the first of equals.
fn least_loaded(set: &[i64], load: &[i64]) -> usize {
    set.iter().map(|node| *node as usize).min_by_key(|node| load[*node]).unwrap_or(0)
}
