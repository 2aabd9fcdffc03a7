//! All ways to put some places right with few moves: see flex_solver/search/all_move_sets_loop.py, whose reference_sift defines what it
//! computes.

use std::time::{Duration, Instant};

use numpy::PyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::puzzle::{Arrays, Move, Prices, Puzzle};
use crate::table::Table;

/// The clock is looked at once in so many steps.
const NOW: u64 = 256;

/// That of flex_solver.search.all_move_sets_loop.
#[derive(FromPyObject)]
pub struct Wanted {
    price: Vec<i64>,
    cold: i64,
    any: bool,
    steps: u64,
    seconds: f64,
    reads: Vec<i64>,
}

/// The best moves found, if any, and whether nothing was left out.
#[pyfunction]
pub fn sift<'py>(
    py: Python<'py>,
    puzzle: Arrays<'py>,
    wanted: Wanted,
) -> PyResult<(Option<Bound<'py, PyArray1<i64>>>, bool)> {
    let puzzle = puzzle.checked()?;
    let count = puzzle.prices.len();
    if count == 0 || [&wanted.price, &wanted.reads].iter().any(|its| its.len() != count) {
        return Err(PyValueError::new_err("the prices do not fit each other"));
    }
    let (best, every) = py.detach(|| Search::new(&puzzle, wanted).run());
    Ok((best.map(|best| PyArray1::from_iter(py, best.into_iter().map(|m| m as i64))), every))
}

/// Rounded up, and not less than nothing.
fn part(whole: i64, one: i64, of: i64) -> i64 {
    let [whole, one, of] = [whole, one, of.max(1)].map(i128::from);
    (-(-whole * one).div_euclid(of)).max(0) as i64
}

/// A place as it was.
type Before = (usize, Vec<f64>, Vec<i64>);

/// What is paid so far by one of the puzzle's prices, what each place is to pay at least, and how much is too much.
struct Bill<'a> {
    prices: &'a Prices,
    tables: Vec<Table>,
    most: i64,
    paid: i64,
    least: Vec<i64>,
}

impl Bill<'_> {
    fn of<'a>(prices: &'a Prices, puzzle: &Puzzle, most: i64) -> Bill<'a> {
        let top = puzzle.top();
        let tables = prices.nodes.iter().map(|node| Table::of(node, top)).collect();
        let mut bill = Bill { prices, tables, most, paid: 0, least: Vec::new() };
        bill.least = (0..prices.off.len()).map(|place| bill.at_first(puzzle, place)).collect();
        bill
    }

    fn at_first(&self, puzzle: &Puzzle, place: usize) -> i64 {
        let load = puzzle.at(&puzzle.load, place);
        match (self.tables.get(place), puzzle.is_right(place, load)) {
            (Some(table), false) => i64::from(table.at_first),
            (_, right) => self.put_right(place, load, right),
        }
    }

    /// What is paid at least to put a place right that carries so much.
    fn put_right(&self, place: usize, load: &[f64], right: bool) -> i64 {
        match self.tables.get(place) {
            _ if right => 0,
            Some(table) => i64::from(table.at([load[0], load[1]])),
            None => self.prices.off[place],
        }
    }

    /// What a move adds to the least that is to be paid, once both its ends carry so much.
    fn more(&self, one: usize, ends: [usize; 2], loads: &[Vec<f64>; 2], right: [bool; 2]) -> i64 {
        let end = |end: usize| self.put_right(ends[end], &loads[end], right[end]) - self.least[ends[end]];
        self.prices.of_move[one] + end(0) + end(1)
    }

    /// The same where both ends are right then, as far as anybody knows before a table is looked at.
    fn at_best(&self, one: usize, ends: [usize; 2]) -> i64 {
        let end = |place: usize| self.prices.off[place].min(0) - self.least[place];
        self.prices.of_move[one] + end(ends[0]) + end(ends[1])
    }

    fn at_least(&self) -> i64 {
        self.paid + self.least.iter().sum::<i64>()
    }
}

struct Search<'a> {
    puzzle: &'a Puzzle,
    wanted: Wanted,
    until: Instant,
    bills: Vec<Bill<'a>>,
    /// The cold bytes that there might be before any way was found.
    all_cold: i64,
    load: Vec<f64>,
    banned: Vec<bool>,
    moved: Vec<bool>,
    taken: Vec<bool>,
    chosen: Vec<usize>,
    best: Option<Vec<usize>>,
}

impl Search<'_> {
    fn new(puzzle: &Puzzle, wanted: Wanted) -> Search<'_> {
        let (places, moves) = (puzzle.touching.len(), &puzzle.moves);
        let seconds = Duration::try_from_secs_f64(wanted.seconds).unwrap_or_default();
        Search {
            puzzle,
            until: Instant::now() + seconds.min(Duration::from_secs(1_000_000)),
            bills: puzzle.prices.iter().zip(&wanted.price).map(|(its, most)| Bill::of(its, puzzle, *most)).collect(),
            all_cold: wanted.cold,
            load: puzzle.load.clone(),
            banned: vec![false; moves.len()],
            moved: vec![false; moves.iter().map(|one| one.row + 1).max().unwrap_or(0)],
            taken: vec![false; moves.iter().map(|one| one.site + 1).max().unwrap_or(0) * places],
            chosen: Vec::new(),
            best: None,
            wanted,
        }
    }

    fn run(mut self) -> (Option<Vec<usize>>, bool) {
        let every = self.bills.iter().any(|bill| bill.at_least() > bill.most) || self.go_on(0);
        (self.best, every)
    }

    /// Looks at all that goes on from the moves chosen; whether there were steps enough for that.
    fn go_on(&mut self, cold: i64) -> bool {
        let off = self.off();
        if off.is_empty() {
            self.best = Some(self.chosen.clone());
            self.wanted.cold = cold - 1;
            for (at, bill) in self.bills.iter_mut().enumerate() {
                let [most, reads] = [self.wanted.price[at], self.wanted.reads[at]];
                bill.most = most - reads + part(reads, self.wanted.cold, self.all_cold);
            }
            return true;
        }
        if self.wanted.steps == 0 || (self.wanted.steps.is_multiple_of(NOW) && Instant::now() > self.until) {
            return false;
        }
        self.wanted.steps -= 1;
        let nexts = self.fewest(&off, cold);
        let all = nexts.iter().all(|(_, next)| self.try_out(*next, cold));
        nexts.iter().for_each(|(_, next)| self.banned[*next] = false);
        all
    }

    /// What goes on from one more move, which is banned from then on; false when the steps are used up.
    fn try_out(&mut self, next: usize, cold: i64) -> bool {
        let one = self.puzzle.moves[next];
        self.banned[next] = true;
        if (self.wanted.any && self.best.is_some()) || cold + one.cold > self.wanted.cold {
            return true;
        }
        let before = self.make(next);
        let all = self.go_on(cold + one.cold);
        self.unmake(next, before);
        all
    }

    /// The places outside their bands, those first for which most is to be paid.
    fn off(&self) -> Vec<usize> {
        let off = |place: &usize| !self.puzzle.is_right(*place, self.puzzle.at(&self.load, *place));
        let mut found: Vec<usize> = (0..self.puzzle.touching.len()).filter(off).collect();
        found.sort_by_key(|place| -self.bills[0].least[*place]);
        found
    }

    fn fewest(&self, off: &[usize], cold: i64) -> Vec<(i64, usize)> {
        let mut best = self.nexts(off[0], cold, usize::MAX).unwrap_or_default();
        for place in &off[1..] {
            if let Some(fewer) = self.nexts(*place, cold, best.len()) {
                best = fewer;
            }
        }
        best.sort_unstable();
        best
    }

    /// The moves that may be next at a place, those first after which least is to be paid.
    fn nexts(&self, place: usize, cold: i64, fewer: usize) -> Option<Vec<(i64, usize)>> {
        let puzzle = self.puzzle;
        let left: Vec<i64> = self.bills.iter().map(|bill| bill.most - bill.at_least()).collect();
        let mut loads = [vec![0.0; puzzle.dimensions], vec![0.0; puzzle.dimensions]];
        let mut found = Vec::new();
        if fewer == 0 {
            return None;
        }
        for &next in &puzzle.touching[place] {
            let one = puzzle.moves[next];
            let taken = self.moved[one.row] || self.taken[one.site * puzzle.touching.len() + one.target];
            if taken || self.banned[next] || cold + one.cold > self.wanted.cold {
                continue;
            }
            let ends = [one.source, one.target];
            if self.bills.iter().zip(&left).any(|(bill, left)| bill.at_best(next, ends) > *left) {
                continue;
            }
            for (d, asks) in puzzle.at(&puzzle.asks, next).iter().enumerate() {
                loads[0][d] = self.load[one.source * puzzle.dimensions + d] - asks;
                loads[1][d] = self.load[one.target * puzzle.dimensions + d] + asks;
            }
            let right = [0, 1].map(|end| puzzle.is_right(ends[end], &loads[end]));
            let more = |bill: &Bill| bill.more(next, ends, &loads, right);
            let first = more(&self.bills[0]);
            if first <= left[0] && self.bills[1..].iter().zip(&left[1..]).all(|(bill, left)| more(bill) <= *left) {
                if found.len() + 1 == fewer {
                    return None;
                }
                found.push((first, next));
            }
        }
        Some(found)
    }

    fn make(&mut self, next: usize) -> [Before; 2] {
        let (puzzle, one) = (self.puzzle, self.puzzle.moves[next]);
        let asks = puzzle.at(&puzzle.asks, next);
        let before = [one.source, one.target].map(|place| {
            let least = self.bills.iter().map(|bill| bill.least[place]).collect();
            (place, puzzle.at(&self.load, place).to_vec(), least)
        });
        for (d, asks) in asks.iter().enumerate() {
            self.load[one.source * puzzle.dimensions + d] -= asks;
            self.load[one.target * puzzle.dimensions + d] += asks;
        }
        for bill in &mut self.bills {
            for place in [one.source, one.target] {
                let load = puzzle.at(&self.load, place);
                bill.least[place] = bill.put_right(place, load, puzzle.is_right(place, load));
            }
            bill.paid += bill.prices.of_move[next];
        }
        self.mark(one, true);
        self.chosen.push(next);
        before
    }

    fn unmake(&mut self, next: usize, before: [Before; 2]) {
        for (place, load, least) in before {
            let first = place * self.puzzle.dimensions;
            self.load[first..first + load.len()].copy_from_slice(&load);
            self.bills.iter_mut().zip(least).for_each(|(bill, least)| bill.least[place] = least);
        }
        self.bills.iter_mut().for_each(|bill| bill.paid -= bill.prices.of_move[next]);
        self.mark(self.puzzle.moves[next], false);
        self.chosen.pop();
    }

    fn mark(&mut self, one: Move, made: bool) {
        self.moved[one.row] = made;
        self.taken[one.site * self.puzzle.touching.len() + one.target] = made;
    }
}
