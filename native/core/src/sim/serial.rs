//! The FLEX paper's nodes, one answer after the other: see reference_serial in flex/sim/python_engine.py.

use super::job::Job;
use super::memory::Memories;
use super::rules::Rules;
use super::rules::rule::{Asked, View};
use super::served::{HIT, READ, Served};
use crate::cache::policy::Cache;

pub fn serial<C: Cache + 'static>(job: &Job) -> Served {
    let mut run = Served::new(job.target.len(), job.nodes());
    let mut memories = Memories::<C>::new(job);
    let mut rules = Rules::new::<C>(job);
    let mut clock = vec![0_i64; job.nodes()];
    let mut load = vec![0_i64; job.nodes()];
    for (access, (target, key)) in job.target.iter().zip(job.key).enumerate() {
        let asked = Asked { access, key: *key as usize, target: *target as usize };
        let now = clock.iter().copied().min().unwrap_or(0);
        load.iter_mut().zip(&clock).for_each(|(load, clock)| *load = (clock - now) / job.backlog_unit);
        let view = View { load: &load, now, busy: &run.busy, reading: &run.reading };
        let node = rules.choose(job, &asked, &view);
        let size = job.size[asked.target];
        let mut cost = job.connect[node] + job.sending(node, size) + job.work[asked.target] + job.close[node];
        run.busy[node] += cost;
        if !job.is_pinned(asked.target, node) && !memories.ask(node, asked.target, job.size) {
            let reading = reading(job, size);
            run.reading[node] += reading;
            cost += reading;
            run.outcome[access] = READ;
        } else {
            run.outcome[access] = HIT;
        }
        run.node[access] = node as i64;
        run.delay[access] = cost;
        clock[node] += cost;
    }
    run.end = clock.iter().copied().max().unwrap_or(0);
    run.idle.iter_mut().zip(&clock).for_each(|(idle, clock)| *idle = run.end - clock);
    run
}

/// All of a file at once.
fn reading(job: &Job, size: i64) -> i64 {
    let blocks = size / job.block + i64::from(size % job.block != 0);
    job.seek + (blocks - 1).max(0).saturating_mul(job.again) + job.transferring(size)
}
