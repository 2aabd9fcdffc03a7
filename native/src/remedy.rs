//! The cheapest remedies of a node: see flex_solver/programs/cheapest_changes.py, whose reference_sets defines what it computes.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::ops::Range;

use numpy::{PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Those of flex_solver/programs/cheapest_changes.py.
const INEXACT: f64 = 1e-9;
const CELLS: f64 = 8.0;
const AHEAD: usize = 10;
const MOST_CELLS: f64 = 4_000_000.0;
const BEGINNINGS: usize = 2_000_000;
const AT_ONCE: usize = 64;
const CHECKS: usize = 100_000_000;

/// What a set costs, and its changes.
type Sets = Vec<(f64, Vec<usize>)>;

/// The cheapest sets of each size, and up to how many members none that is cheaper was left out.
#[pyfunction]
#[allow(clippy::too_many_arguments)] // As many as its reference has.
pub fn cheapest_sets(
    py: Python<'_>,
    low: PyReadonlyArray1<'_, f64>,
    high: PyReadonlyArray1<'_, f64>,
    load: PyReadonlyArray2<'_, f64>,
    price: PyReadonlyArray1<'_, f64>,
    below: f64,
    size: usize,
    keep: usize,
) -> PyResult<(Sets, usize)> {
    let (low, high, price) = (low.as_slice()?, high.as_slice()?, price.as_slice()?);
    if load.shape() != [price.len(), low.len()] || high.len() != low.len() || low.is_empty() || keep == 0 {
        return Err(PyValueError::new_err("the arrays do not fit each other"));
    }
    let load: Vec<f64> = load.as_array().iter().copied().collect();
    Ok(py.detach(|| {
        let spared = size.saturating_sub(1) as f64 * price.iter().copied().fold(0.0, f64::min);
        let mut by_price: Vec<usize> = (0..price.len()).filter(|one| price[*one] < below - spared).collect();
        by_price.sort_by(|one, other| ordered(price[*one], price[*other]));
        let (mut found, thorough) = Search::new(low, high, &load, price, &by_price, below).sets(size, keep);
        for (_, changes) in &mut found {
            changes.iter_mut().for_each(|change| *change = by_price[*change]);
            changes.sort_unstable();
        }
        (found, thorough)
    }))
}

fn ordered(one: f64, other: f64) -> Ordering {
    one.partial_cmp(&other).unwrap_or(Ordering::Equal)
}

#[derive(PartialEq)]
struct Set {
    price: f64,
    changes: Vec<usize>,
}

impl Eq for Set {}

impl Ord for Set {
    fn cmp(&self, other: &Set) -> Ordering {
        ordered(self.price, other.price).then_with(|| self.changes.cmp(&other.changes))
    }
}

impl PartialOrd for Set {
    fn partial_cmp(&self, other: &Set) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// What sets of a number of members begin with: all but the two dearest members, what these cost, and what may follow.
struct Stem {
    set: Vec<u32>,
    price: f64,
    next: Range<usize>,
}

/// A set without its dearest member, and what it would cost with the cheapest change in reach.
struct Begun<'a> {
    hoped: f64,
    stem: &'a Stem,
    next: usize,
}

/// Changes are in the order of their prices.
struct Search {
    low: Vec<f64>,
    high: Vec<f64>,
    load: Vec<f64>,
    price: Vec<f64>,
    below: f64,
}

impl Search {
    fn new(low: &[f64], high: &[f64], load: &[f64], price: &[f64], by_price: &[usize], below: f64) -> Search {
        let dimensions = low.len();
        Search {
            low: low.iter().map(|edge| edge - INEXACT).collect(),
            high: high.iter().map(|edge| edge + INEXACT).collect(),
            load: by_price.iter().flat_map(|one| &load[one * dimensions..(one + 1) * dimensions]).copied().collect(),
            price: by_price.iter().map(|one| price[*one]).collect(),
            below,
        }
    }

    fn sets(&self, size: usize, keep: usize) -> (Sets, usize) {
        if size == 0 {
            return (Vec::new(), 0);
        }
        let mut found = self.alone(keep);
        if size == 1 || self.price.is_empty() {
            return (found, size);
        }
        let table = Table::new(self);
        for members in 2..=size {
            let Some(stems) = self.stems(members) else { return (found, members - 1) };
            let (sets, is_whole) = self.completed(&table, &stems, keep);
            found.extend(sets);
            if !is_whole {
                return (found, members - 1);
            }
        }
        (found, size)
    }

    fn alone(&self, keep: usize) -> Sets {
        let right = (0..self.price.len()).filter(|one| self.is_right(&vec![0.0; self.low.len()], *one));
        right
            .take_while(|one| self.price[*one] < self.below)
            .take(keep)
            .map(|one| (self.price[one], vec![one]))
            .collect()
    }

    /// What all sets that may cost less in the end begin with; None where they are too many.
    fn stems(&self, members: usize) -> Option<Vec<Stem>> {
        let mut stems = vec![self.stem(Vec::new(), members)?];
        for left in (2..members).rev() {
            let mut longer = Vec::new();
            let mut count = 0;
            for stem in &stems {
                for next in stem.next.clone() {
                    let grown = self.stem(stem.set.iter().copied().chain([next as u32]).collect(), left)?;
                    count += grown.next.len();
                    if count > BEGINNINGS {
                        return None;
                    }
                    longer.push(grown);
                }
            }
            stems = longer;
        }
        Some(stems)
    }

    /// With `left` members to come.
    fn stem(&self, set: Vec<u32>, left: usize) -> Option<Stem> {
        let price = set.iter().fold(0.0, |sum, one| sum + self.price[*one as usize]);
        let most = (self.below - price) / left as f64;
        let after = set.last().map_or(0, |last| *last as usize + 1);
        let end = self.price.partition_point(|price| *price < most).max(after);
        (end - after <= BEGINNINGS).then_some(Stem { set, price, next: after..end })
    }

    /// The cheapest sets that begin so, each with one more change, and whether all were looked at that may be.
    fn completed(&self, table: &Table, stems: &[Stem], keep: usize) -> (Sets, bool) {
        let mut likely = Vec::new();
        for stem in stems {
            let place = table.place_of(&self.low, &self.load_of(&stem.set));
            for next in stem.next.clone() {
                let price = self.price[next];
                let hoped = stem.price + price + table.least(place, next).max(price);
                if hoped < self.below {
                    likely.push(Begun { hoped, stem, next });
                }
            }
        }
        likely.sort_by(|one, other| ordered(one.hoped, other.hoped));
        let mut found = BTreeSet::new();
        let mut checks = 0;
        for part in likely.chunks(AT_ONCE) {
            if found.iter().nth(keep - 1).is_some_and(|set: &Set| part[0].hoped >= set.price) {
                break;
            }
            checks += part.len() * self.price.len();
            if checks > CHECKS {
                break;
            }
            found.extend(part.iter().filter_map(|begun| self.with_one_more(begun)));
        }
        (found.into_iter().take(keep).map(|set| (set.price, set.changes)).collect(), checks <= CHECKS)
    }

    /// The first that puts the node right is the cheapest.
    fn with_one_more(&self, begun: &Begun<'_>) -> Option<Set> {
        let mut changes: Vec<usize> = begun.stem.set.iter().map(|one| *one as usize).chain([begun.next]).collect();
        let mut load = self.load_of(&begun.stem.set);
        for (d, sum) in load.iter_mut().enumerate() {
            *sum += self.load_in(begun.next, d);
        }
        let so_far = begun.stem.price + self.price[begun.next];
        let cheap = self.price.iter().take_while(|price| so_far + **price < self.below).count();
        let last = (0..cheap).find(|one| self.is_right(&load, *one) && !changes.contains(one))?;
        changes.push(last);
        changes.sort_unstable();
        Some(Set { price: so_far + self.price[last], changes })
    }

    /// Whether the change brings the node into its band, after what came before.
    fn is_right(&self, before: &[f64], change: usize) -> bool {
        let load = &self.load[change * before.len()..];
        (0..before.len()).all(|d| {
            let both = before[d] + load[d];
            both >= self.low[d] && both <= self.high[d]
        })
    }

    fn load_in(&self, change: usize, d: usize) -> f64 {
        self.load[change * self.low.len() + d]
    }

    fn load_of(&self, set: &[u32]) -> Vec<f64> {
        let sum = |d| set.iter().fold(0.0, |sum, one| sum + self.load_in(*one as usize, d));
        (0..self.low.len()).map(sum).collect()
    }
}

/// What the cheapest change in reach costs: a grid over the first two resources, or the one there is.
struct Table {
    width: [f64; 2],
    first: [i64; 2],
    length: [i64; 2],
    least: Vec<f64>,
    /// In cells, of each change.
    brings: Vec<[i64; 2]>,
}

impl Table {
    fn new(search: &Search) -> Table {
        let dimensions = search.low.len();
        let most = if dimensions == 1 { MOST_CELLS } else { MOST_CELLS.sqrt() };
        let brings = vec![[0; 2]; search.price.len()];
        let mut table = Table { width: [1.0; 2], first: [0; 2], length: [1; 2], least: Vec::new(), brings };
        for d in 0..dimensions.min(2) {
            let of_all = search.load.iter().skip(d).step_by(dimensions).copied();
            let (smallest, largest) = of_all
                .clone()
                .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), load| (load.min(low), load.max(high)));
            table.width[d] = ((search.high[d] - search.low[d]) / CELLS).max((largest - smallest) / most);
            table.first[d] = table.cell(d, smallest) - AHEAD as i64 - 1;
            table.length[d] = table.cell(d, largest) - table.first[d] + 2;
            for (brings, load) in table.brings.iter_mut().zip(of_all) {
                brings[d] = (load / table.width[d]).ceil() as i64;
            }
        }
        table.least = vec![f64::INFINITY; (table.length[0] * table.length[1]) as usize];
        for (load, price) in search.load.chunks_exact(dimensions).zip(&search.price) {
            let at = table.at(table.place_of(load, &[]));
            table.least[at] = table.least[at].min(*price);
        }
        table.reach_ahead();
        table
    }

    /// In cells.
    fn place_of(&self, low: &[f64], load: &[f64]) -> [i64; 2] {
        let of = |d: usize| low.get(d).map_or(0, |low| self.cell(d, low - load.get(d).unwrap_or(&0.0)));
        [of(0), of(1)]
    }

    /// After one more change than the place knows of.
    fn least(&self, place: [i64; 2], change: usize) -> f64 {
        let brings = self.brings[change];
        self.least[self.at([place[0] - brings[0], place[1] - brings[1]])]
    }

    fn cell(&self, d: usize, load: f64) -> i64 {
        (load / self.width[d]).floor() as i64
    }

    /// The rim has cells that nothing is in reach of, for whatever is beyond it.
    fn at(&self, place: [i64; 2]) -> usize {
        let of = |d: usize| (place[d] - self.first[d]).clamp(0, self.length[d] - 1);
        (of(0) * self.length[1] + of(1)) as usize
    }

    /// The least of each cell and the AHEAD that follow, along both sides.
    fn reach_ahead(&mut self) {
        let (down, across) = (self.length[0] as usize, self.length[1] as usize);
        for (stride, length) in [(across, down), (1, across)] {
            for at in 0..self.least.len() {
                let end = AHEAD.min(length - 1 - at / stride % length);
                self.least[at] =
                    (1..=end).fold(self.least[at], |least, step| least.min(self.least[at + step * stride]));
            }
        }
    }
}
