//! What is to be put right by few moves, as it comes from Python: see flex_solver/search/all_move_sets_loop.py, Puzzle.

use numpy::{PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::items::places;
use crate::table::Node;

/// No price may be larger: four of them, and one that nobody pays, fit into 16 bits.
const MOST: i64 = 1_000;
/// Tables are for loads of up to so many times the largest.
const BEYOND: f64 = 1.5;

/// The arrays of flex_solver.search.all_move_sets_loop.Puzzle, as they come.
#[derive(FromPyObject)]
pub struct Arrays<'py> {
    load: PyReadonlyArray2<'py, f64>,
    low: PyReadonlyArray2<'py, f64>,
    high: PyReadonlyArray2<'py, f64>,
    off: PyReadonlyArray2<'py, i64>,
    first_change: PyReadonlyArray1<'py, i64>,
    change: PyReadonlyArray2<'py, f64>,
    change_price: PyReadonlyArray2<'py, i64>,
    row: PyReadonlyArray1<'py, i64>,
    site: PyReadonlyArray1<'py, i64>,
    source: PyReadonlyArray1<'py, i64>,
    target: PyReadonlyArray1<'py, i64>,
    asks: PyReadonlyArray2<'py, f64>,
    price: PyReadonlyArray2<'py, i64>,
    cold: PyReadonlyArray1<'py, i64>,
}

#[derive(Clone, Copy)]
pub struct Move {
    pub row: usize,
    pub site: usize,
    pub source: usize,
    pub target: usize,
    pub cold: i64,
}

/// What places cost that are no nodes, what nodes' changes cost, and what the moves do: each sets a limit of its own.
pub struct Prices {
    pub off: Vec<i64>,
    pub nodes: Vec<Node>,
    pub of_move: Vec<i64>,
}

/// Loads, bands and what moves ask stand in rows of one number for each dimension.
pub struct Puzzle {
    pub dimensions: usize,
    pub load: Vec<f64>,
    pub low: Vec<f64>,
    pub high: Vec<f64>,
    pub prices: Vec<Prices>,
    pub moves: Vec<Move>,
    pub asks: Vec<f64>,
    /// The moves from or to each place.
    pub touching: Vec<Vec<usize>>,
}

impl Arrays<'_> {
    pub fn checked(&self) -> PyResult<Puzzle> {
        let [count, dimensions] = [self.load.shape()[0], self.load.shape()[1]];
        let (row, site) = (places(&self.row)?, places(&self.site)?);
        let (source, target) = (places(&self.source)?, places(&self.target)?);
        let (cold, many) = (self.cold.as_slice()?, row.len());
        let fits = dimensions >= 2
            && [&self.low, &self.high].iter().all(|edge| edge.shape() == [count, dimensions])
            && self.off.shape() == [self.off.shape()[0], count]
            && self.price.shape() == [self.off.shape()[0], many]
            && self.asks.shape() == [many, dimensions]
            && [site.len(), source.len(), target.len(), cold.len()].iter().all(|length| *length == many)
            && source.iter().chain(&target).all(|place| *place < count);
        if !fits {
            return Err(PyValueError::new_err("the arrays do not fit each other"));
        }
        let moves: Vec<Move> = (0..many)
            .map(|m| Move { row: row[m], site: site[m], source: source[m], target: target[m], cold: cold[m] })
            .collect();
        let touches = |m: &usize, place: usize| moves[*m].source == place || moves[*m].target == place;
        Ok(Puzzle {
            dimensions,
            load: by_rows(&self.load),
            low: by_rows(&self.low),
            high: by_rows(&self.high),
            prices: self.prices()?,
            touching: (0..count).map(|place| (0..many).filter(|m| touches(m, place)).collect()).collect(),
            asks: by_rows(&self.asks),
            moves,
        })
    }

    fn prices(&self) -> PyResult<Vec<Prices>> {
        let (first, prices) = (places(&self.first_change)?, self.change_price.as_array());
        let (load, low, high) = (self.load.as_array(), self.low.as_array(), self.high.as_array());
        let fits = (1..=load.shape()[0] + 1).contains(&first.len())
            && first.is_sorted()
            && first.last() == Some(&prices.shape()[1])
            && prices.shape()[0] == self.off.shape()[0]
            && self.change.shape() == [prices.shape()[1], load.shape()[1]]
            && prices.iter().all(|price| (0..=MOST).contains(price));
        if !fits {
            return Err(PyValueError::new_err("the changes do not fit the places"));
        }
        let change = self.change.as_array();
        let node = |p: usize, n: usize| Node {
            load: [0, 1].map(|d| load[[n, d]]),
            low: [0, 1].map(|d| low[[n, d]]),
            high: [0, 1].map(|d| high[[n, d]]),
            changes: (first[n]..first[n + 1])
                .map(|c| ([0, 1].map(|d| change[[c, d]]), prices[[p, c]] as u16))
                .collect(),
        };
        let (off, of_move) = (self.off.as_array(), self.price.as_array());
        Ok((0..prices.shape()[0])
            .map(|p| Prices {
                off: off.row(p).to_vec(),
                nodes: (0..first.len() - 1).map(|n| node(p, n)).collect(),
                of_move: of_move.row(p).to_vec(),
            })
            .collect())
    }
}

fn by_rows(numbers: &PyReadonlyArray2<'_, f64>) -> Vec<f64> {
    numbers.as_array().iter().copied().collect()
}

impl Puzzle {
    pub fn at<'a>(&self, numbers: &'a [f64], place: usize) -> &'a [f64] {
        &numbers[place * self.dimensions..][..self.dimensions]
    }

    pub fn is_right(&self, place: usize, load: &[f64]) -> bool {
        let band = self.at(&self.low, place).iter().zip(self.at(&self.high, place));
        load.iter().zip(band).all(|(load, (low, high))| load >= low && load <= high)
    }

    /// The largest of the first two loads, and beyond.
    pub fn top(&self) -> [f64; 2] {
        let each = |d: usize| self.load.iter().chain(&self.high).skip(d).step_by(self.dimensions);
        [0, 1].map(|d| BEYOND * each(d).copied().fold(0.0, f64::max))
    }
}
