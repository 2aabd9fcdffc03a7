//! What it costs at least to bring a node from a load into its band: see flex_solver/search/all_move_sets_loop.py, Table.

/// A price that nobody pays.
pub const DEAR: u16 = 60_000;
/// Cells for the width of the band, and how many there are at most along each resource.
const CELLS: f64 = 16.0;
const MOST_CELLS: f64 = 640.0;

type Pair = [f64; 2];

/// One node's load and band, and the changes that may be made to it.
pub struct Node {
    pub load: Pair,
    pub low: Pair,
    pub high: Pair,
    pub changes: Vec<(Pair, u16)>,
}

/// The price of the cheapest changes, for each cell of the loads from nothing to some most.
pub struct Table {
    cell: Pair,
    size: [usize; 2],
    least: Vec<u16>,
    /// What the cheapest change costs, and what is to be paid for the load in force.
    any: u16,
    pub at_first: u16,
}

impl Table {
    pub fn of(node: &Node, top: Pair) -> Table {
        let cell = [0, 1].map(|d| ((node.high[d] - node.low[d]) / CELLS).max(top[d] / MOST_CELLS));
        let size = [0, 1].map(|d| (top[d] / cell[d]) as usize + 1);
        let mut prices: Vec<u16> = node.changes.iter().map(|change| change.1).collect();
        prices.sort_unstable();
        let sum = |count: usize| prices.get(..count).map_or(DEAR, |some| some.iter().sum());
        let (least, found) = by_three(node, cell, size);
        let mut table = Table { cell, size, least, any: sum(1), at_first: 0 };
        let by_four = node.changes.iter().map(|(load, price)| price + table.seen(plus(node.load, *load), sum(3))).min();
        table.at_first = found.min(by_four.unwrap_or(DEAR)).min(sum(5));
        table.with_one_more(&node.changes, sum(3));
        table.least.iter_mut().for_each(|price| *price = (*price).min(sum(5)));
        table
    }

    /// For a load outside the band.
    pub fn at(&self, load: Pair) -> u16 {
        self.seen(load, self.any).max(self.any)
    }

    fn seen(&self, load: Pair, far: u16) -> u16 {
        let place = [0, 1].map(|d| (load[d] / self.cell[d]).floor());
        if (0..2).any(|d| place[d] < 0.0 || place[d] >= self.size[d] as f64) {
            return far;
        }
        self.least[place[0] as usize * self.size[1] + place[1] as usize]
    }

    /// By four changes, of which two might be the same: what three cost where one of them leads, `far` out of sight.
    fn with_one_more(&mut self, changes: &[(Pair, u16)], far: u16) {
        let (pooled, [rows, columns]) = (self.pooled(far), self.size.map(|size| size as isize));
        for (load, price) in changes {
            let [down, right] = [0, 1].map(|d| (load[d] / self.cell[d]).floor() as isize);
            let (first, end) = ((-right).clamp(0, columns), (columns - right).clamp(0, columns));
            for row in 0..rows {
                let line = &mut self.least[(row * columns) as usize..][..columns as usize];
                let (first, end) = if (0..rows).contains(&(row + down)) { (first, end.max(first)) } else { (0, 0) };
                let (before, rest) = line.split_at_mut(first as usize);
                let (within, after) = rest.split_at_mut((end - first) as usize);
                before.iter_mut().chain(after).for_each(|cell| *cell = (price + far).min(*cell));
                if let Some(there) = pooled.get(((row + down) * columns + first + right) as usize..) {
                    within.iter_mut().zip(there).for_each(|(cell, its)| *cell = (its + price).min(*cell));
                }
            }
        }
    }

    /// The least of each cell and those next to it, one ahead: a change leads from somewhere in a cell to one of them.
    fn pooled(&self, far: u16) -> Vec<u16> {
        let [rows, columns] = self.size;
        let at = |row: usize, column: usize| {
            if row < rows && column < columns { self.least[row * columns + column] } else { far }
        };
        let of = |row: usize, column: usize| {
            at(row, column).min(at(row + 1, column)).min(at(row, column + 1)).min(at(row + 1, column + 1))
        };
        (0..rows).flat_map(|row| (0..columns).map(move |column| of(row, column))).collect()
    }
}

/// By no more than three changes: for each cell, and for the load in force.
fn by_three(node: &Node, cell: Pair, size: [usize; 2]) -> (Vec<u16>, u16) {
    let beyond = [0, 1].map(|d| ((node.high[d] - node.low[d]) / cell[d]) as usize + 1);
    let wide = [size[0] + beyond[0], size[1] + beyond[1]];
    let (mut from, mut found) = (vec![DEAR; wide[0] * wide[1]], DEAR);
    let mut paint = |sum: Pair, price: u16| {
        let first = [0, 1].map(|d| ((node.low[d] - sum[d]) / cell[d]).floor() + beyond[d] as f64);
        if (0..2).all(|d| first[d] >= 0.0 && first[d] < wide[d] as f64) {
            let at = &mut from[first[0] as usize * wide[1] + first[1] as usize];
            *at = price.min(*at);
        }
        let after = plus(node.load, sum);
        if price < found && (0..2).all(|d| after[d] >= node.low[d] && after[d] <= node.high[d]) {
            found = price;
        }
    };
    paint([0.0; 2], 0);
    for (i, (one, its)) in node.changes.iter().enumerate() {
        paint(*one, *its);
        for (j, (other, price)) in node.changes[..i].iter().enumerate() {
            let (two, both) = (plus(*one, *other), its + price);
            paint(two, both);
            node.changes[..j].iter().for_each(|(third, price)| paint(plus(two, *third), both + price));
        }
    }
    let along = least_ahead(&least_ahead(&from, 1, beyond[1]), wide[1], beyond[0]);
    let least = along.chunks_exact(wide[1]).take(size[0]).flat_map(|row| row[..size[1]].iter().copied()).collect();
    (least, found)
}

/// The least of each cell and so many that follow at a distance of `stride`. What follows the end of a row is of the next
/// one: cells so near to the end are of no use.
fn least_ahead(cells: &[u16], stride: usize, ahead: usize) -> Vec<u16> {
    let (mut found, mut reach) = (cells.to_vec(), 1);
    while reach <= ahead {
        let step = reach.min(ahead + 1 - reach);
        for i in 0..found.len().saturating_sub(step * stride) {
            found[i] = found[i].min(found[i + step * stride]);
        }
        reach += step;
    }
    found
}

fn plus(one: Pair, other: Pair) -> Pair {
    [one[0] + other[0], one[1] + other[1]]
}
