//! The items that are placed: arrays from Python, checked to fit each other.

use hashbrown::HashSet;
use numpy::{PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The arrays of flex_solver.search.local_search_loop.Items, as they come.
#[derive(FromPyObject)]
pub struct Arrays<'py> {
    site: PyReadonlyArray1<'py, i64>,
    load: PyReadonlyArray2<'py, i64>,
    low: PyReadonlyArray2<'py, i64>,
    high: PyReadonlyArray2<'py, i64>,
    first_item: PyReadonlyArray1<'py, i64>,
    first_home: PyReadonlyArray1<'py, i64>,
    home: PyReadonlyArray1<'py, i64>,
    at_home: PyReadonlyArray1<'py, i64>,
    price: PyReadonlyArray1<'py, i64>,
    first_barred: PyReadonlyArray1<'py, i64>,
    barred: PyReadonlyArray1<'py, i64>,
    first_rival: PyReadonlyArray1<'py, i64>,
    rivals: PyReadonlyArray1<'py, i64>,
    movable: PyReadonlyArray1<'py, i64>,
}

/// Numbers in parts: part p is `values[first[p]..first[p + 1]]`.
pub struct Parts {
    first: Vec<usize>,
    values: Vec<usize>,
}

impl Parts {
    pub fn of(&self, part: usize) -> &[usize] {
        &self.values[self.first[part]..self.first[part + 1]]
    }
}

/// The items, checked to fit each other; loads and bands stand in rows of one number for each dimension.
pub struct Items {
    pub sites: usize,
    pub nodes: usize,
    pub dimensions: usize,
    pub site: Vec<usize>,
    pub load: Vec<i64>,
    pub low: Vec<i64>,
    pub high: Vec<i64>,
    pub first_item: Vec<usize>,
    pub homes: Parts,
    pub at_home: Vec<i64>,
    pub price: Vec<i64>,
    pub barred: Parts,
    pub rivals: Parts,
    pub movable: Vec<usize>,
}

impl Items {
    pub fn load_of(&self, site: usize) -> &[i64] {
        &self.load[site * self.dimensions..(site + 1) * self.dimensions]
    }

    pub fn band(&self, node: usize) -> (&[i64], &[i64]) {
        let at = node * self.dimensions..(node + 1) * self.dimensions;
        (&self.low[at.clone()], &self.high[at])
    }

    pub fn cost(&self, site: usize, node: usize) -> i64 {
        let first = self.homes.first[site];
        let home = self.homes.of(site).iter().position(|home| *home == node);
        home.map_or(self.price[site], |at| self.at_home[first + at])
    }
}

impl Items {
    pub fn from(arrays: Arrays) -> PyResult<Items> {
        Ok(Items {
            sites: arrays.price.len(),
            nodes: arrays.low.shape()[0],
            dimensions: arrays.load.shape()[1],
            site: places(&arrays.site)?,
            load: by_rows(&arrays.load),
            low: by_rows(&arrays.low),
            high: by_rows(&arrays.high),
            first_item: places(&arrays.first_item)?,
            homes: Parts { first: places(&arrays.first_home)?, values: places(&arrays.home)? },
            at_home: arrays.at_home.as_slice()?.to_vec(),
            price: arrays.price.as_slice()?.to_vec(),
            barred: Parts { first: places(&arrays.first_barred)?, values: places(&arrays.barred)? },
            rivals: Parts { first: places(&arrays.first_rival)?, values: places(&arrays.rivals)? },
            movable: places(&arrays.movable)?,
        })
    }

    /// Whether every number points to something that is there.
    pub fn fit(&self, node: &[usize]) -> bool {
        let within = |places: &[usize], limit: usize| places.iter().all(|place| *place < limit);
        let cuts = |first: &[usize], end: usize| {
            first.len() == self.sites + 1 && first.is_sorted() && first.last().is_none_or(|last| *last == end)
        };
        let parts =
            |parts: &Parts, limit: usize| cuts(&parts.first, parts.values.len()) && within(&parts.values, limit);
        self.load.len() == self.sites * self.dimensions
            && self.low.len() == self.nodes * self.dimensions
            && self.high.len() == self.nodes * self.dimensions
            && self.site.len() == node.len()
            && self.at_home.len() == self.homes.values.len()
            && cuts(&self.first_item, node.len())
            && parts(&self.homes, self.nodes)
            && parts(&self.barred, self.nodes)
            && parts(&self.rivals, self.sites)
            && within(&self.site, self.sites)
            && within(node, self.nodes)
            && within(&self.movable, node.len())
            && self.movable.iter().collect::<HashSet<_>>().len() == self.movable.len()
    }
}

/// A row after the other, however they lie in memory: `as_slice` takes an array that lies there by columns as well.
fn by_rows(numbers: &PyReadonlyArray2<'_, i64>) -> Vec<i64> {
    numbers.as_array().iter().copied().collect()
}

pub fn places(numbers: &PyReadonlyArray1<'_, i64>) -> PyResult<Vec<usize>> {
    let wrong = |_| PyValueError::new_err("a place is negative");
    numbers.as_slice()?.iter().map(|number| usize::try_from(*number).map_err(wrong)).collect()
}
