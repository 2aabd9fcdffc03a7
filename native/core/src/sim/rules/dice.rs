//! At random, the same way each time: see flex/sim/rules/random_node.py.

use super::super::job::Job;
use super::rule::{Asked, Rule, View};

pub struct Dice;

impl Rule for Dice {
    fn choose(&mut self, _: &Job, asked: &Asked, set: &[i64], _: &View) -> usize {
        set[(mixed(asked.access as u64) % set.len() as u64) as usize] as usize
    }
}

/// splitmix64.
fn mixed(position: u64) -> u64 {
    let mut x = position.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}
