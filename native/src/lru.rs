//! Accesses through the nodes' LRU caches: see reference_lru in flex/replay.py, which defines what it computes.

use hashbrown::HashMap;
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;

type Ints<'py> = Bound<'py, PyArray1<i64>>;

const NONE: usize = usize::MAX;

struct Entry {
    target: usize,
    older: usize,
    newer: usize,
}

/// What a node holds, as a list from the least to the most recently used.
struct Cache {
    limit: i64,
    free: i64,
    entries: Vec<Entry>,
    places: HashMap<usize, usize>,
    unused: Vec<usize>,
    oldest: usize,
    newest: usize,
}

#[derive(Default, Clone)]
struct Tally {
    requests: i64,
    misses: i64,
    bytes: i64,
    disk_bytes: i64,
}

impl Cache {
    fn new(limit: i64) -> Cache {
        Cache {
            limit,
            free: limit,
            entries: Vec::new(),
            places: HashMap::new(),
            unused: Vec::new(),
            oldest: NONE,
            newest: NONE,
        }
    }

    /// Whether the target was in memory; it is afterwards, unless it is larger than the cache.
    fn ask(&mut self, target: usize, size: &[i64]) -> bool {
        if let Some(place) = self.places.get(&target) {
            let place = *place;
            if place != self.newest {
                self.unlink(place);
                self.append(place);
            }
            return true;
        }
        if size[target] > self.limit {
            return false;
        }
        while self.free < size[target] && self.oldest != NONE {
            self.evict(size);
        }
        self.free -= size[target];
        let entry = Entry { target, older: NONE, newer: NONE };
        let place = match self.unused.pop() {
            Some(place) => {
                self.entries[place] = entry;
                place
            }
            None => {
                self.entries.push(entry);
                self.entries.len() - 1
            }
        };
        self.places.insert(target, place);
        self.append(place);
        false
    }

    fn evict(&mut self, size: &[i64]) {
        let place = self.oldest;
        let target = self.entries[place].target;
        self.free += size[target];
        self.unlink(place);
        self.places.remove(&target);
        self.unused.push(place);
    }

    fn unlink(&mut self, place: usize) {
        let Entry { older, newer, .. } = self.entries[place];
        match older {
            NONE => self.oldest = newer,
            _ => self.entries[older].newer = newer,
        }
        match newer {
            NONE => self.newest = older,
            _ => self.entries[newer].older = older,
        }
    }

    fn append(&mut self, place: usize) {
        let newest = std::mem::replace(&mut self.newest, place);
        self.entries[place].older = newest;
        self.entries[place].newer = NONE;
        match newest {
            NONE => self.oldest = place,
            _ => self.entries[newest].newer = place,
        }
    }
}

/// Requests, misses, bytes and disk bytes of each node, each with an LRU cache of ram[node] bytes.
#[pyfunction]
pub fn lru<'py>(
    py: Python<'py>,
    target: PyReadonlyArray1<'py, i64>,
    node: PyReadonlyArray1<'py, i64>,
    size: PyReadonlyArray1<'py, i64>,
    ram: PyReadonlyArray1<'py, i64>,
) -> PyResult<(Ints<'py>, Ints<'py>, Ints<'py>, Ints<'py>)> {
    let (target, node, size, ram) = (target.as_slice()?, node.as_slice()?, size.as_slice()?, ram.as_slice()?);
    if target.len() != node.len() {
        return Err(PyValueError::new_err("there are not as many targets as nodes"));
    }
    let tallies = py.detach(|| replay(target, node, size, ram));
    let tallies = tallies.ok_or_else(|| PyIndexError::new_err("a target or a node is out of range"))?;
    let column = |value: fn(&Tally) -> i64| PyArray1::from_iter(py, tallies.iter().map(value));
    Ok((
        column(|tally| tally.requests),
        column(|tally| tally.misses),
        column(|tally| tally.bytes),
        column(|tally| tally.disk_bytes),
    ))
}

/// None when a target or a node is out of range.
fn replay(target: &[i64], node: &[i64], size: &[i64], ram: &[i64]) -> Option<Vec<Tally>> {
    let mut caches: Vec<Cache> = ram.iter().map(|limit| Cache::new(*limit)).collect();
    let mut tallies = vec![Tally::default(); ram.len()];
    for (target, node) in target.iter().zip(node) {
        let (target, node) = (usize::try_from(*target).ok()?, usize::try_from(*node).ok()?);
        let bytes = *size.get(target)?;
        let tally = tallies.get_mut(node)?;
        tally.requests += 1;
        tally.bytes = tally.bytes.saturating_add(bytes);
        if !caches[node].ask(target, size) {
            tally.misses += 1;
            tally.disk_bytes = tally.disk_bytes.saturating_add(bytes);
        }
    }
    Some(tallies)
}
