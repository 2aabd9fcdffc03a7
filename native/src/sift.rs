//! All ways to put some places right with few moves: see flex_solver/sift.py, whose reference_sift defines what it
//! computes.

use std::time::{Duration, Instant};

use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::items::places;
use crate::table::{Node, Table};

/// No price may be larger: four of them, and one that nobody pays, fit into 16 bits.
const MOST: i64 = 1_000;
/// Tables are for loads of up to so many times the largest; the clock is looked at once in so many steps.
const BEYOND: f64 = 1.5;
const NOW: u64 = 256;

/// The arrays of flex_solver.sift.Puzzle, as they come.
#[derive(FromPyObject)]
pub struct Arrays<'py> {
    load: PyReadonlyArray2<'py, f64>,
    low: PyReadonlyArray2<'py, f64>,
    high: PyReadonlyArray2<'py, f64>,
    off: PyReadonlyArray1<'py, i64>,
    first_change: PyReadonlyArray1<'py, i64>,
    change: PyReadonlyArray2<'py, f64>,
    change_price: PyReadonlyArray1<'py, i64>,
    row: PyReadonlyArray1<'py, i64>,
    site: PyReadonlyArray1<'py, i64>,
    source: PyReadonlyArray1<'py, i64>,
    target: PyReadonlyArray1<'py, i64>,
    asks: PyReadonlyArray2<'py, f64>,
    price: PyReadonlyArray1<'py, i64>,
    cold: PyReadonlyArray1<'py, i64>,
}

/// That of flex_solver.sift.
#[derive(FromPyObject)]
pub struct Wanted {
    price: i64,
    cold: i64,
    any: bool,
    steps: u64,
    seconds: f64,
}

#[derive(Clone, Copy)]
struct Move {
    row: usize,
    site: usize,
    source: usize,
    target: usize,
    price: i64,
    cold: i64,
}

/// Loads, bands and what moves ask stand in rows of one number for each dimension.
struct Puzzle {
    dimensions: usize,
    load: Vec<f64>,
    low: Vec<f64>,
    high: Vec<f64>,
    off: Vec<i64>,
    nodes: Vec<Node>,
    moves: Vec<Move>,
    asks: Vec<f64>,
    /// The moves from or to each place.
    touching: Vec<Vec<usize>>,
}

/// The best moves found, if any, and whether nothing was left out.
#[pyfunction]
pub fn sift<'py>(
    py: Python<'py>,
    puzzle: Arrays<'py>,
    wanted: Wanted,
) -> PyResult<(Option<Bound<'py, PyArray1<i64>>>, bool)> {
    let puzzle = puzzle.checked()?;
    let (best, every) = py.detach(|| Search::new(&puzzle, wanted).run());
    Ok((best.map(|best| PyArray1::from_iter(py, best.into_iter().map(|m| m as i64))), every))
}

impl Arrays<'_> {
    fn checked(&self) -> PyResult<Puzzle> {
        let [count, dimensions] = [self.load.shape()[0], self.load.shape()[1]];
        let (row, site) = (places(&self.row)?, places(&self.site)?);
        let (source, target) = (places(&self.source)?, places(&self.target)?);
        let (price, cold) = (self.price.as_slice()?, self.cold.as_slice()?);
        let many = row.len();
        let fits = dimensions >= 2
            && [&self.low, &self.high].iter().all(|edge| edge.shape() == [count, dimensions])
            && self.off.len() == count
            && self.asks.shape() == [many, dimensions]
            && [site.len(), source.len(), target.len(), price.len(), cold.len()].iter().all(|length| *length == many)
            && source.iter().chain(&target).all(|place| *place < count);
        if !fits {
            return Err(PyValueError::new_err("the arrays do not fit each other"));
        }
        let moves: Vec<Move> = (0..many)
            .map(|m| Move {
                row: row[m],
                site: site[m],
                source: source[m],
                target: target[m],
                price: price[m],
                cold: cold[m],
            })
            .collect();
        let touches = |m: &usize, place: usize| moves[*m].source == place || moves[*m].target == place;
        Ok(Puzzle {
            dimensions,
            load: by_rows(&self.load),
            low: by_rows(&self.low),
            high: by_rows(&self.high),
            off: self.off.as_slice()?.to_vec(),
            nodes: self.nodes()?,
            touching: (0..count).map(|place| (0..many).filter(|m| touches(m, place)).collect()).collect(),
            asks: by_rows(&self.asks),
            moves,
        })
    }

    fn nodes(&self) -> PyResult<Vec<Node>> {
        let (first, prices) = (places(&self.first_change)?, self.change_price.as_slice()?);
        let (load, low, high) = (self.load.as_array(), self.low.as_array(), self.high.as_array());
        let fits = (1..=load.shape()[0] + 1).contains(&first.len())
            && first.is_sorted()
            && first.last() == Some(&prices.len())
            && self.change.shape() == [prices.len(), load.shape()[1]]
            && prices.iter().all(|price| (0..=MOST).contains(price));
        if !fits {
            return Err(PyValueError::new_err("the changes do not fit the places"));
        }
        let change = self.change.as_array();
        let node = |n: usize| Node {
            load: [0, 1].map(|d| load[[n, d]]),
            low: [0, 1].map(|d| low[[n, d]]),
            high: [0, 1].map(|d| high[[n, d]]),
            changes: (first[n]..first[n + 1]).map(|c| ([0, 1].map(|d| change[[c, d]]), prices[c] as u16)).collect(),
        };
        Ok((0..first.len() - 1).map(node).collect())
    }
}

fn by_rows(numbers: &PyReadonlyArray2<'_, f64>) -> Vec<f64> {
    numbers.as_array().iter().copied().collect()
}

impl Puzzle {
    fn at<'a>(&self, numbers: &'a [f64], place: usize) -> &'a [f64] {
        &numbers[place * self.dimensions..][..self.dimensions]
    }

    fn is_right(&self, place: usize, load: &[f64]) -> bool {
        let band = self.at(&self.low, place).iter().zip(self.at(&self.high, place));
        load.iter().zip(band).all(|(load, (low, high))| load >= low && load <= high)
    }

    /// The largest of the first two loads, and beyond.
    fn top(&self) -> [f64; 2] {
        let each = |d: usize| self.load.iter().chain(&self.high).skip(d).step_by(self.dimensions);
        [0, 1].map(|d| BEYOND * each(d).copied().fold(0.0, f64::max))
    }
}

/// A place as it was.
type Before = (usize, Vec<f64>, i64);

struct Search<'a> {
    puzzle: &'a Puzzle,
    wanted: Wanted,
    until: Instant,
    tables: Vec<Table>,
    load: Vec<f64>,
    least: Vec<i64>,
    banned: Vec<bool>,
    moved: Vec<bool>,
    taken: Vec<bool>,
    chosen: Vec<usize>,
    best: Option<Vec<usize>>,
}

impl Search<'_> {
    fn new(puzzle: &Puzzle, wanted: Wanted) -> Search<'_> {
        let (places, moves, top) = (puzzle.off.len(), &puzzle.moves, puzzle.top());
        let seconds = Duration::try_from_secs_f64(wanted.seconds).unwrap_or_default();
        let mut search = Search {
            puzzle,
            wanted,
            until: Instant::now() + seconds.min(Duration::from_secs(1_000_000)),
            tables: puzzle.nodes.iter().map(|node| Table::of(node, top)).collect(),
            load: puzzle.load.clone(),
            least: Vec::new(),
            banned: vec![false; moves.len()],
            moved: vec![false; moves.iter().map(|one| one.row + 1).max().unwrap_or(0)],
            taken: vec![false; moves.iter().map(|one| one.site + 1).max().unwrap_or(0) * places],
            chosen: Vec::new(),
            best: None,
        };
        search.least = (0..places).map(|place| search.at_first(place)).collect();
        search
    }

    fn run(mut self) -> (Option<Vec<usize>>, bool) {
        let every = self.least.iter().sum::<i64>() > self.wanted.price || self.go_on(0, 0);
        (self.best, every)
    }

    /// What is paid at least to put a place right that carries so much.
    fn paid(&self, place: usize, load: &[f64]) -> i64 {
        match self.tables.get(place) {
            _ if self.puzzle.is_right(place, load) => 0,
            Some(table) => i64::from(table.at([load[0], load[1]])),
            None => self.puzzle.off[place],
        }
    }

    fn at_first(&self, place: usize) -> i64 {
        let load = self.puzzle.at(&self.load, place);
        match self.tables.get(place) {
            Some(table) if !self.puzzle.is_right(place, load) => i64::from(table.at_first),
            _ => self.paid(place, load),
        }
    }

    /// Looks at all that goes on from the moves chosen; whether there were steps enough for that.
    fn go_on(&mut self, price: i64, cold: i64) -> bool {
        let off = self.off();
        if off.is_empty() {
            self.best = Some(self.chosen.clone());
            self.wanted.cold = cold - 1;
            return true;
        }
        if self.wanted.steps == 0 || (self.wanted.steps.is_multiple_of(NOW) && Instant::now() > self.until) {
            return false;
        }
        self.wanted.steps -= 1;
        let nexts = self.fewest(&off, price, cold);
        let all = nexts.iter().all(|(_, next)| self.try_out(*next, price, cold));
        nexts.iter().for_each(|(_, next)| self.banned[*next] = false);
        all
    }

    /// What goes on from one more move, which is banned from then on; false when the steps are used up.
    fn try_out(&mut self, next: usize, price: i64, cold: i64) -> bool {
        let one = self.puzzle.moves[next];
        self.banned[next] = true;
        if (self.wanted.any && self.best.is_some()) || cold + one.cold > self.wanted.cold {
            return true;
        }
        let before = self.make(next);
        let all = self.go_on(price + one.price, cold + one.cold);
        self.unmake(next, before);
        all
    }

    /// The places outside their bands, those first for which most is to be paid.
    fn off(&self) -> Vec<usize> {
        let off = |place: &usize| !self.puzzle.is_right(*place, self.puzzle.at(&self.load, *place));
        let mut found: Vec<usize> = (0..self.least.len()).filter(off).collect();
        found.sort_by_key(|place| -self.least[*place]);
        found
    }

    fn fewest(&self, off: &[usize], price: i64, cold: i64) -> Vec<(i64, usize)> {
        let mut best = self.nexts(off[0], price, cold, usize::MAX).unwrap_or_default();
        for place in &off[1..] {
            if let Some(fewer) = self.nexts(*place, price, cold, best.len()) {
                best = fewer;
            }
        }
        best.sort_unstable();
        best
    }

    /// The moves that may be next at a place, those first after which least is to be paid.
    fn nexts(&self, place: usize, price: i64, cold: i64, fewer: usize) -> Option<Vec<(i64, usize)>> {
        let (puzzle, total) = (self.puzzle, price + self.least.iter().sum::<i64>());
        let (mut left, mut full) = (vec![0.0; puzzle.dimensions], vec![0.0; puzzle.dimensions]);
        let mut found = Vec::new();
        if fewer == 0 {
            return None;
        }
        for &next in &puzzle.touching[place] {
            let one = puzzle.moves[next];
            let taken = self.moved[one.row] || self.taken[one.site * self.least.len() + one.target];
            if taken || self.banned[next] || cold + one.cold > self.wanted.cold {
                continue;
            }
            let (from, to) = (puzzle.at(&self.load, one.source), puzzle.at(&self.load, one.target));
            for (d, asks) in puzzle.at(&puzzle.asks, next).iter().enumerate() {
                (left[d], full[d]) = (from[d] - asks, to[d] + asks);
            }
            let after = total + one.price - self.least[one.source] - self.least[one.target]
                + self.paid(one.source, &left)
                + self.paid(one.target, &full);
            if after <= self.wanted.price {
                if found.len() + 1 == fewer {
                    return None;
                }
                found.push((after, next));
            }
        }
        Some(found)
    }

    fn make(&mut self, next: usize) -> [Before; 2] {
        let (puzzle, one) = (self.puzzle, self.puzzle.moves[next]);
        let asks = puzzle.at(&puzzle.asks, next);
        let before =
            [one.source, one.target].map(|place| (place, puzzle.at(&self.load, place).to_vec(), self.least[place]));
        for (d, asks) in asks.iter().enumerate() {
            self.load[one.source * puzzle.dimensions + d] -= asks;
            self.load[one.target * puzzle.dimensions + d] += asks;
        }
        for place in [one.source, one.target] {
            self.least[place] = self.paid(place, puzzle.at(&self.load, place));
        }
        self.mark(one, true);
        self.chosen.push(next);
        before
    }

    fn unmake(&mut self, next: usize, before: [Before; 2]) {
        for (place, load, least) in before {
            let first = place * self.puzzle.dimensions;
            self.load[first..first + load.len()].copy_from_slice(&load);
            self.least[place] = least;
        }
        self.mark(self.puzzle.moves[next], false);
        self.chosen.pop();
    }

    fn mark(&mut self, one: Move, made: bool) {
        self.moved[one.row] = made;
        self.taken[one.site * self.least.len() + one.target] = made;
    }
}
