//! The search around a placement: see flex_solver/improve.py, whose reference_improve defines what it computes.

use hashbrown::HashSet;
use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

const MOVE: i64 = 1 << 29;
const FIRST_WEIGHT: i64 = 16;
const LAST_WEIGHT: i64 = 1 << 14;
const STEADY: u64 = 256;
const CHANCES: usize = 4096;
const UNIT: i64 = 1024;
const NONE: usize = usize::MAX;

/// The arrays of flex_solver.improve.Items, as they come.
#[derive(FromPyObject)]
pub struct Arrays<'py> {
    site: PyReadonlyArray1<'py, i64>,
    load: PyReadonlyArray2<'py, i64>,
    low: PyReadonlyArray2<'py, i64>,
    high: PyReadonlyArray2<'py, i64>,
    first_item: PyReadonlyArray1<'py, i64>,
    first_held: PyReadonlyArray1<'py, i64>,
    held: PyReadonlyArray1<'py, i64>,
    price: PyReadonlyArray1<'py, i64>,
    movable: PyReadonlyArray1<'py, i64>,
}

/// The same, checked to fit each other; loads and bands stand in rows of one number for each dimension.
struct Items {
    sites: usize,
    nodes: usize,
    dimensions: usize,
    site: Vec<usize>,
    load: Vec<i64>,
    low: Vec<i64>,
    high: Vec<i64>,
    first_item: Vec<usize>,
    first_held: Vec<usize>,
    held: Vec<usize>,
    price: Vec<i64>,
    movable: Vec<usize>,
}

/// Item i goes from node a to b, and item j, if there is one, from b to a.
#[derive(Clone, Copy)]
struct Change {
    i: usize,
    a: usize,
    j: Option<usize>,
    b: usize,
}

struct Search<'i> {
    items: &'i Items,
    node: Vec<usize>,
    total: Vec<i64>,
    off: Vec<i64>,
    starts: Vec<Vec<usize>>,
    moved: Vec<usize>,
    place_in_moved: Vec<usize>,
}

impl<'i> Search<'i> {
    fn new(items: &'i Items, node: Vec<usize>) -> Search<'i> {
        let mut search = Search {
            items,
            total: vec![0; items.nodes * items.dimensions],
            off: vec![0; items.nodes],
            starts: vec![Vec::new(); items.nodes],
            moved: Vec::new(),
            place_in_moved: vec![NONE; node.len()],
            node,
        };
        for (i, n) in search.node.iter().enumerate() {
            for (total, load) in search.total[n * items.dimensions..].iter_mut().zip(items.load_of(items.site[i])) {
                *total += load;
            }
        }
        for n in 0..items.nodes {
            search.off[n] = search.off_with(n, |_| 0);
        }
        for i in &items.movable {
            search.starts[search.node[*i]].push(*i);
            if !items.holds(items.site[*i], search.node[*i]) {
                search.list(*i);
            }
        }
        search
    }

    fn run(&mut self, heat: &[i64], chance: &[i64], steps: u64, seed: u64) -> Vec<usize> {
        let mut best = self.node.clone();
        if self.items.movable.is_empty() || self.items.nodes < 2 || heat.is_empty() {
            return best;
        }
        let mut changed = Vec::new();
        let mut off: i64 = self.off.iter().sum();
        let mut cost: i64 = self.moved.iter().map(|i| MOVE + self.items.price[self.items.site[*i]]).sum();
        let (mut best_off, mut best_cost) = (off, cost);
        let (mut weight, mut state) = (FIRST_WEIGHT, seed);
        for step in 0..steps {
            if step % STEADY == 0 {
                weight = if off > 0 {
                    (weight + (weight >> 3) + 1).min(LAST_WEIGHT)
                } else {
                    (weight - (weight >> 3) - 1).max(1)
                };
            }
            let (bits, more) = (random(&mut state), random(&mut state));
            let Some(change) = self.propose(bits, more) else { continue };
            let (off_change, cost_change) = self.weigh(change);
            let dearer = ((weight * off_change) >> 4) + cost_change;
            let now = heat[(step * heat.len() as u64 / steps) as usize];
            if dearer > 0 && dearer > now * chance[more as usize & (CHANCES - 1)] / UNIT {
                continue;
            }
            self.carry_out(change);
            changed.push(change.i);
            changed.extend(change.j);
            off += off_change;
            cost += cost_change;
            if off < best_off || (off == best_off && cost < best_cost) {
                (best_off, best_cost) = (off, cost);
                for k in changed.drain(..) {
                    best[k] = self.node[k];
                }
            }
        }
        best
    }

    /// None when that is no change, or not allowed.
    fn propose(&self, bits: u64, more: u64) -> Option<Change> {
        let items = self.items;
        let kind = bits & 7;
        let (i, b);
        if !self.moved.is_empty() && kind < 5 {
            i = self.moved[below(self.moved.len(), bits >> 8)];
            let homes = items.held_by(items.site[i]);
            b = if !homes.is_empty() && kind < 3 {
                homes[below(homes.len(), bits >> 24)]
            } else {
                below(self.items.nodes, bits >> 24)
            };
        } else {
            i = items.movable[skewed(items.movable.len(), bits >> 8)];
            b = below(self.items.nodes, bits >> 24);
        }
        let a = self.node[i];
        if a == b || self.is_on(items.site[i], b) {
            return None;
        }
        if matches!(kind, 0 | 3 | 5 | 6) {
            return Some(Change { i, a, j: None, b });
        }
        let candidates = &self.starts[b];
        if candidates.is_empty() {
            return None;
        }
        let j = candidates[skewed(candidates.len(), more >> 16)];
        if self.node[j] != b || self.is_on(items.site[j], a) {
            return None;
        }
        Some(Change { i, a, j: Some(j), b })
    }

    fn is_on(&self, site: usize, node: usize) -> bool {
        self.node[self.items.first_item[site]..self.items.first_item[site + 1]].contains(&node)
    }

    fn weigh(&self, Change { i, a, j, b }: Change) -> (i64, i64) {
        let items = self.items;
        let s = items.site[i];
        let mut cost = items.cost(s, b) - items.cost(s, a);
        let loads = items.load_of(s);
        let others = j.map(|j| {
            let t = items.site[j];
            cost += items.cost(t, a) - items.cost(t, b);
            items.load_of(t)
        });
        let asked = |d: usize| loads[d] - others.map_or(0, |others| others[d]);
        (self.off_with(a, |d| -asked(d)) + self.off_with(b, asked) - self.off[a] - self.off[b], cost)
    }

    fn carry_out(&mut self, Change { i, a, j, b }: Change) {
        self.put(i, a, b);
        if let Some(j) = j {
            self.put(j, b, a);
        }
        self.off[a] = self.off_with(a, |_| 0);
        self.off[b] = self.off_with(b, |_| 0);
    }

    fn put(&mut self, i: usize, a: usize, b: usize) {
        let items = self.items;
        let s = items.site[i];
        self.node[i] = b;
        for (d, load) in items.load_of(s).iter().enumerate() {
            self.total[a * items.dimensions + d] -= load;
            self.total[b * items.dimensions + d] += load;
        }
        match (!items.holds(s, b), self.place_in_moved[i] != NONE) {
            (true, false) => self.list(i),
            (false, true) => self.unlist(i),
            _ => (),
        }
    }

    /// The load outside the band of a node, were its load changed so.
    fn off_with(&self, node: usize, change: impl Fn(usize) -> i64) -> i64 {
        let first = node * self.items.dimensions;
        (0..self.items.dimensions)
            .map(|d| {
                let load = self.total[first + d] + change(d);
                (load - self.items.high[first + d]).max(self.items.low[first + d] - load).max(0)
            })
            .sum()
    }

    fn list(&mut self, i: usize) {
        self.place_in_moved[i] = self.moved.len();
        self.moved.push(i);
    }

    /// The last of the list takes the place that becomes free.
    fn unlist(&mut self, i: usize) {
        let at = std::mem::replace(&mut self.place_in_moved[i], NONE);
        self.moved.swap_remove(at);
        if let Some(last) = self.moved.get(at) {
            self.place_in_moved[*last] = at;
        }
    }
}

impl Items {
    fn load_of(&self, site: usize) -> &[i64] {
        &self.load[site * self.dimensions..(site + 1) * self.dimensions]
    }

    fn held_by(&self, site: usize) -> &[usize] {
        &self.held[self.first_held[site]..self.first_held[site + 1]]
    }

    fn holds(&self, site: usize, node: usize) -> bool {
        self.held_by(site).contains(&node)
    }

    fn cost(&self, site: usize, node: usize) -> i64 {
        if self.holds(site, node) { 0 } else { MOVE + self.price[site] }
    }
}

/// The next output of splitmix64.
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

/// A number below the limit from the lowest 31 bits.
fn below(limit: usize, bits: u64) -> usize {
    (((bits & 0x7FFF_FFFF) * limit as u64) >> 31) as usize
}

/// The same, low numbers more often: the square of an even choice.
fn skewed(limit: usize, bits: u64) -> usize {
    let even = bits & 0x7FFF_FFFF;
    ((((even * even) >> 31) * limit as u64) >> 31) as usize
}

/// The best node found for each item after `steps` attempts; `node` is where they start.
#[pyfunction]
pub fn improve<'py>(
    py: Python<'py>,
    items: Arrays<'py>,
    node: PyReadonlyArray1<'py, i64>,
    heat: PyReadonlyArray1<'py, i64>,
    chance: PyReadonlyArray1<'py, i64>,
    steps: u64,
    seed: u64,
) -> PyResult<Bound<'py, PyArray1<i64>>> {
    let items = Items::from(items)?;
    let (node, heat, chance) = (places(&node)?, heat.as_slice()?, chance.as_slice()?);
    if !items.fit(&node) || chance.len() != CHANCES {
        return Err(PyValueError::new_err("the arrays do not fit each other"));
    }
    let best = py.detach(|| Search::new(&items, node).run(heat, chance, steps, seed));
    Ok(PyArray1::from_iter(py, best.into_iter().map(|n| n as i64)))
}

impl Items {
    fn from(arrays: Arrays) -> PyResult<Items> {
        Ok(Items {
            sites: arrays.price.len(),
            nodes: arrays.low.shape()[0],
            dimensions: arrays.load.shape()[1],
            site: places(&arrays.site)?,
            load: arrays.load.as_slice()?.to_vec(),
            low: arrays.low.as_slice()?.to_vec(),
            high: arrays.high.as_slice()?.to_vec(),
            first_item: places(&arrays.first_item)?,
            first_held: places(&arrays.first_held)?,
            held: places(&arrays.held)?,
            price: arrays.price.as_slice()?.to_vec(),
            movable: places(&arrays.movable)?,
        })
    }

    /// Whether every number points to something that is there.
    fn fit(&self, node: &[usize]) -> bool {
        let within = |places: &[usize], limit: usize| places.iter().all(|place| *place < limit);
        let cuts = |first: &[usize], end: usize| {
            first.len() == self.sites + 1 && first.is_sorted() && first.last().is_none_or(|last| *last == end)
        };
        self.load.len() == self.sites * self.dimensions
            && self.low.len() == self.nodes * self.dimensions
            && self.high.len() == self.nodes * self.dimensions
            && self.site.len() == node.len()
            && cuts(&self.first_item, node.len())
            && cuts(&self.first_held, self.held.len())
            && within(&self.site, self.sites)
            && within(node, self.nodes)
            && within(&self.held, self.nodes)
            && within(&self.movable, node.len())
            && self.movable.iter().collect::<HashSet<_>>().len() == self.movable.len()
    }
}

fn places(numbers: &PyReadonlyArray1<'_, i64>) -> PyResult<Vec<usize>> {
    let wrong = |_| PyValueError::new_err("a place is negative");
    numbers.as_slice()?.iter().map(|number| usize::try_from(*number).map_err(wrong)).collect()
}
