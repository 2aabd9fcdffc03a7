//! Locality-aware request distribution with replication: see flex/sim/rules/lardr.py.

use super::super::job::Job;
use super::lard::overloaded;
use super::rule::{Asked, Rule, View, least_loaded};

#[derive(Clone, Default)]
struct Servers {
    nodes: Vec<i64>,
    changed: i64,
}

pub struct LardR {
    servers: Vec<Servers>,
}

impl LardR {
    pub fn new(job: &Job) -> LardR {
        LardR { servers: vec![Servers::default(); job.keys()] }
    }
}

impl Rule for LardR {
    fn choose(&mut self, job: &Job, asked: &Asked, set: &[i64], view: &View) -> usize {
        let servers = &mut self.servers[asked.key];
        if servers.nodes.is_empty() {
            let node = least_loaded(set, view.load);
            servers.nodes.push(node as i64);
            servers.changed = view.now;
            return node;
        }
        let mut node = least_loaded(&servers.nodes, view.load);
        let most = most_loaded(&servers.nodes, view.load);
        let mut changed = false;
        if overloaded(job, view, set, node) {
            node = least_loaded(set, view.load);
            if !servers.nodes.contains(&(node as i64)) {
                servers.nodes.push(node as i64);
                changed = true;
            }
        }
        if servers.nodes.len() > 1 && view.now - servers.changed > job.patience {
            servers.nodes.retain(|server| *server != most);
            changed = true;
        }
        if changed {
            servers.changed = view.now;
        }
        node
    }
}

/// The first of equals.
fn most_loaded(nodes: &[i64], load: &[i64]) -> i64 {
    let mut most = nodes[0];
    for node in nodes {
        if load[*node as usize] > load[most as usize] {
            most = *node;
        }
    }
    most
}
