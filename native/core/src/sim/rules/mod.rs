//! Which node an access goes to: see flex/sim/rules, whose classes define what each rule decides.
//!
//! A rule is one file, and two lines here: its module and its row of the table. All of them count in whole numbers, so that
//! both engines decide the same.

mod bounded;
mod cached;
mod dice;
mod hacc;
mod lard;
mod lardr;
mod least;
pub mod rule;
mod turn;
mod weighted;

use super::job::Job;
use crate::cache::policy::Cache;
use rule::{Asked, Rule, View};

pub struct Rules(Vec<Box<dyn Rule>>);

macro_rules! register {
    ($($name:literal => $make:expr,)+) => {
        /// What flex/sim/rules calls them. The number of a rule in a job is its place here.
        pub const NAMES: &[&str] = &[$($name),+];

        impl Rules {
            /// `C` is what the nodes' memories keep their targets by.
            pub fn new<C: Cache + 'static>(job: &Job) -> Rules {
                let made: Vec<fn(&Job) -> Box<dyn Rule>> = vec![$($make),+];
                Rules(made.into_iter().map(|make| make(job)).collect())
            }
        }
    };
}

register! {
    "turn" => |job| Box::new(turn::Turn::new(job)),
    "weighted" => |job| Box::new(weighted::Weighted::new(job)),
    "least" => |_| Box::new(least::Least),
    "dice" => |_| Box::new(dice::Dice),
    "lard" => |job| Box::new(lard::Lard::new(job)),
    "lardr" => |job| Box::new(lardr::LardR::new(job)),
    "bounded" => |_| Box::new(bounded::Bounded),
    "cached" => |job| Box::new(cached::Cached::<C>::new(job)),
    "hacc" => |job| Box::new(hacc::Hacc::new(job)),
}

impl Rules {
    pub fn choose(&mut self, job: &Job, asked: &Asked, view: &View) -> usize {
        let rule = job.rule[asked.key] as usize;
        self.0[rule].choose(job, asked, job.set(asked.key), view)
    }
}
