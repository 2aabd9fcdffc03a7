//! Accesses through the nodes' caches: see reference_replay in flex/prediction/cache_replay.py, which defines what it computes.

use crate::cache::policy::Cache;

#[derive(Default, Clone)]
pub struct Tally {
    pub requests: i64,
    pub misses: i64,
    pub bytes: i64,
    pub disk_bytes: i64,
}

/// One tally for each node; None when a target or a node is out of range.
///
/// Nodes share nothing, so each one's accesses are replayed by themselves: the arrays of one cache serve all nodes.
pub fn replay<C: Cache>(target: &[i64], node: &[i64], size: &[i64], ram: &[i64]) -> Option<Vec<Tally>> {
    let target = in_range(target, size.len())?;
    let mut tallies = vec![Tally::default(); ram.len()];
    if ram.len() == 1 {
        node.iter().all(|node| *node == 0).then_some(())?;
        tallies[0] = alone(&mut C::new(ram[0], size.len()), &target, size);
        return Some(tallies);
    }
    let (sorted, ends) = by_node(&target, node, ram.len())?;
    let mut cache = C::new(0, size.len());
    let mut start = 0;
    for ((tally, end), limit) in tallies.iter_mut().zip(ends).zip(ram) {
        cache.reset(*limit);
        *tally = alone(&mut cache, &sorted[start..end], size);
        start = end;
    }
    Some(tallies)
}

fn in_range(target: &[i64], targets: usize) -> Option<Vec<u32>> {
    // Room for the ends of queues beside the targets.
    let most = targets.min(u32::MAX as usize - 8);
    let small = |t: &i64| u32::try_from(*t).ok().filter(|t| (*t as usize) < most);
    target.iter().map(small).collect()
}

fn alone<C: Cache>(cache: &mut C, target: &[u32], size: &[i64]) -> Tally {
    let mut tally = Tally { requests: target.len() as i64, ..Tally::default() };
    for target in target {
        let target = *target as usize;
        let bytes = size[target];
        tally.bytes = tally.bytes.saturating_add(bytes);
        if !cache.ask(target, size) {
            tally.misses += 1;
            tally.disk_bytes = tally.disk_bytes.saturating_add(bytes);
        }
    }
    tally
}

/// The targets of each node's accesses, in their order, node after node, and where each node's end.
fn by_node(target: &[u32], node: &[i64], nodes: usize) -> Option<(Vec<u32>, Vec<usize>)> {
    let mut next = vec![0; nodes + 1];
    for node in node {
        *next.get_mut(usize::try_from(*node).ok()? + 1)? += 1;
    }
    for n in 0..nodes {
        next[n + 1] += next[n];
    }
    let mut sorted = vec![0; target.len()];
    for (target, node) in target.iter().zip(node) {
        let place = &mut next[*node as usize];
        sorted[*place] = *target;
        *place += 1;
    }
    next.pop();
    Some((sorted, next))
}
