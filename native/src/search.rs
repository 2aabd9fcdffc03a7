//! The loop of flex_solver/search/local_search_loop.py itself: see there for what each part of it computes.

use crate::items::Items;
use crate::lists::{Changes, Lists, NONE};

const MOVE: i64 = 1 << 29;
const OUTSIDE: i64 = MOVE >> 1;
pub const CHANCES: usize = 4096;
const UNIT: i64 = 1024;
const MEND: u64 = 58;
const RECONSIDER: u64 = 77;
const REPLACE: u64 = 96;
const MERGE: u64 = 115;
const EXCHANGE: u64 = 38;
const FEW: usize = 4;
const SOME: usize = 6;

/// What a few changes did: where each item was, and what load outside, prices and nodes outside became more by.
#[derive(Default)]
struct Tried {
    undo: Changes,
    off: i64,
    cost: i64,
    nodes: i64,
}

pub struct Search<'i> {
    items: &'i Items,
    state: u64,
    node: Vec<usize>,
    total: Vec<i64>,
    off: Vec<i64>,
    outside: Lists,
    here: Lists,
    moved: Lists,
    away: Lists,
    left: Vec<usize>,
}

impl<'i> Search<'i> {
    pub fn new(items: &'i Items, node: Vec<usize>, seed: u64) -> Search<'i> {
        let mut search = Search {
            items,
            state: seed,
            total: vec![0; items.nodes * items.dimensions],
            off: vec![0; items.nodes],
            outside: Lists::new(1, items.nodes),
            here: Lists::new(items.nodes, node.len()),
            moved: Lists::new(1, node.len()),
            away: Lists::new(items.nodes, node.len()),
            left: vec![NONE; node.len()],
            node,
        };
        for i in 0..search.node.len() {
            search.shift_load(items.site[i], search.node[i], 1);
        }
        for n in 0..items.nodes {
            search.off[n] = search.off_with(n, |_| 0);
            if search.off[n] > 0 {
                search.outside.add(0, n);
            }
        }
        for i in &items.movable {
            let (s, n) = (items.site[*i], search.node[*i]);
            search.here.add(n, *i);
            if items.cost(s, n) != 0 {
                let home = search.free_home(s);
                search.list_as_moved(*i, home);
            }
        }
        search
    }

    pub fn run(&mut self, heat: &[i64], weight: &[i64], chance: &[i64], steps: u64) -> Vec<usize> {
        let mut best = self.node.clone();
        if self.items.movable.is_empty() || self.items.nodes < 2 || heat.is_empty() {
            return best;
        }
        let mut changed = Vec::new();
        let mut off: i64 = self.off.iter().sum();
        let mut cost: i64 = self.moved.members[0].iter().map(|i| self.cost_of(*i)).sum();
        let (mut best_off, mut best_cost) = (off, cost);
        for step in 0..steps {
            let part = (step as u128 * heat.len() as u128 / steps as u128) as usize;
            let changes = self.propose();
            if changes.count == 0 {
                continue;
            }
            let tried = self.attempt(changes);
            let dearer = ((weight[part] * tried.off) >> 4) + tried.cost + tried.nodes * OUTSIDE;
            if tried.undo.count < changes.count
                || (dearer > 0 && dearer > heat[part] * chance[self.random() as usize & (CHANCES - 1)] / UNIT)
            {
                self.undo(&tried.undo);
                continue;
            }
            self.keep(&tried.undo);
            changed.extend(changes.list().iter().map(|(i, _)| *i));
            off += tried.off;
            cost += tried.cost;
            if off < best_off || (off == best_off && cost < best_cost) {
                (best_off, best_cost) = (off, cost);
                for k in changed.drain(..) {
                    best[k] = self.node[k];
                }
            }
        }
        best
    }

    fn propose(&mut self) -> Changes {
        let kind = self.random() & 127;
        if !self.outside.members[0].is_empty() && kind < MEND {
            let n = self.one_of(|s| &s.outside.members[0]);
            return self.mend(n);
        }
        if !self.moved.members[0].is_empty() && kind < MERGE {
            let i = self.one_of(|s| &s.moved.members[0]);
            return match kind {
                ..RECONSIDER => self.reconsider(i),
                RECONSIDER..REPLACE => self.replace(i),
                _ => self.merge(i),
            };
        }
        self.anything()
    }

    fn mend(&mut self, n: usize) -> Changes {
        let totals = self.totals(n);
        let (low, high) = self.items.band(n);
        let mut over = totals.iter().zip(high).any(|(load, high)| load > high);
        let under = totals.iter().zip(low).any(|(load, low)| load < low);
        if over && under {
            over = self.random() & 1 == 0;
        }
        if !over {
            return self.bring(n);
        }
        if self.here.members[n].is_empty() {
            return Changes::default();
        }
        let i = self.one_of(|s| &s.here.members[n]);
        let mut to = self.best_place(i, SOME);
        if self.left[i] != NONE && self.random() & 127 < EXCHANGE {
            to = self.left[i];
        }
        self.perhaps_exchanged(i, n, to)
    }

    /// The best of some items elsewhere.
    fn bring(&mut self, n: usize) -> Changes {
        let (mut best, mut least) = (NONE, 0);
        for _ in 0..SOME {
            let m = self.below(self.items.nodes);
            if m == n || self.here.members[m].is_empty() {
                continue;
            }
            let i = self.one_of(|s| &s.here.members[m]);
            let load = self.items.load_of(self.items.site[i]);
            let worse = self.off_with(n, |d| load[d]) + self.off_with(m, |d| -load[d]) - self.off[m];
            if best == NONE || worse < least {
                (best, least) = (i, worse);
            }
        }
        if best == NONE { Changes::default() } else { Changes::of(&[(best, n)]) }
    }

    /// The best of some nodes for an item, or NONE.
    fn best_place(&mut self, i: usize, tries: usize) -> usize {
        let (mut best, mut least) = (NONE, 0);
        for _ in 0..tries {
            let m = self.below(self.items.nodes);
            if m == self.node[i] {
                continue;
            }
            let load = self.items.load_of(self.items.site[i]);
            let worse = self.off_with(m, |d| load[d]) - self.off[m];
            if best == NONE || worse < least {
                (best, least) = (m, worse);
            }
        }
        best
    }

    fn perhaps_exchanged(&mut self, i: usize, n: usize, to: usize) -> Changes {
        if to == NONE {
            return Changes::default();
        }
        if self.random() & 127 < EXCHANGE && !self.here.members[to].is_empty() {
            return Changes::of(&[(i, to), (self.one_of(|s| &s.here.members[to]), n)]);
        }
        Changes::of(&[(i, to)])
    }

    fn reconsider(&mut self, i: usize) -> Changes {
        let to = if self.random() & 1 == 1 { self.left[i] } else { self.best_place(i, FEW) };
        if to == NONE { Changes::default() } else { Changes::of(&[(i, to)]) }
    }

    fn replace(&mut self, i: usize) -> Changes {
        let home = self.left[i];
        if home == NONE || self.here.members[home].is_empty() {
            return Changes::default();
        }
        Changes::of(&[(i, home), (self.one_of(|s| &s.here.members[home]), self.node[i])])
    }

    fn merge(&mut self, i: usize) -> Changes {
        let home = self.left[i];
        if home == NONE || self.here.members[home].is_empty() {
            return Changes::default();
        }
        let both = self.random() & 1 == 0;
        let middle = if both { home } else { self.node[i] };
        if self.away.members[middle].is_empty() {
            return Changes::default();
        }
        let j = self.one_of(|s| &s.away.members[middle]);
        let k = self.one_of(|s| &s.here.members[home]);
        if j == i || j == k {
            return Changes::default();
        }
        let to = if both && self.random() & 1 == 1 { self.node[i] } else { self.node[j] };
        Changes::of(&[(i, home), (j, middle), (k, to)])
    }

    fn anything(&mut self) -> Changes {
        let (n, to) = (self.below(self.items.nodes), self.below(self.items.nodes));
        if n == to || self.here.members[n].is_empty() {
            return Changes::default();
        }
        let i = self.one_of(|s| &s.here.members[n]);
        self.perhaps_exchanged(i, n, to)
    }

    /// Stops at the first change that is none, or not allowed.
    fn attempt(&mut self, changes: Changes) -> Tried {
        let mut tried = Tried::default();
        for (i, to) in changes.list() {
            let (at, s) = (self.node[*i], self.items.site[*i]);
            if at == *to || !self.may_be_on(s, *to) {
                break;
            }
            tried.undo.add((*i, at));
            tried.cost += self.items.cost(s, *to) - self.items.cost(s, at);
            self.shift_load(s, at, -1);
            self.shift_load(s, *to, 1);
            self.node[*i] = *to;
            for n in [at, *to] {
                let (before, after) = (self.off[n], self.off_with(n, |_| 0));
                self.off[n] = after;
                tried.off += after - before;
                tried.nodes += i64::from(after > 0) - i64::from(before > 0);
            }
        }
        tried
    }

    fn undo(&mut self, done: &Changes) {
        for (i, at) in done.list().iter().rev() {
            let (s, to) = (self.items.site[*i], self.node[*i]);
            self.shift_load(s, to, -1);
            self.shift_load(s, *at, 1);
            self.node[*i] = *at;
            self.off[to] = self.off_with(to, |_| 0);
            self.off[*at] = self.off_with(*at, |_| 0);
        }
    }

    /// Brings the lists in step with what was done. No item is in it twice.
    fn keep(&mut self, done: &Changes) {
        for (i, at) in done.list() {
            let (i, at, to) = (*i, *at, self.node[*i]);
            self.here.drop(at, i);
            self.here.add(to, i);
            match (self.cost_of(i) > 0, self.moved.contains(i)) {
                (true, false) => self.list_as_moved(i, at),
                (false, true) => self.unlist(i),
                _ => (),
            }
            for n in [at, to] {
                match (self.off[n] > 0, self.outside.contains(n)) {
                    (true, false) => self.outside.add(0, n),
                    (false, true) => self.outside.drop(0, n),
                    _ => (),
                }
            }
        }
    }

    fn list_as_moved(&mut self, i: usize, home: usize) {
        self.moved.add(0, i);
        self.left[i] = home;
        if home != NONE {
            self.away.add(home, i);
        }
    }

    fn unlist(&mut self, i: usize) {
        self.moved.drop(0, i);
        let home = std::mem::replace(&mut self.left[i], NONE);
        if home != NONE {
            self.away.drop(home, i);
        }
    }

    /// The first of the site's homes that it has left, or NONE.
    fn free_home(&self, site: usize) -> usize {
        self.items.homes.of(site).iter().find(|home| !self.is_on(site, **home)).copied().unwrap_or(NONE)
    }

    fn may_be_on(&self, site: usize, node: usize) -> bool {
        !self.items.barred.of(site).contains(&node)
            && !self.is_on(site, node)
            && !self.items.rivals.of(site).iter().any(|rival| self.is_on(*rival, node))
    }

    fn is_on(&self, site: usize, node: usize) -> bool {
        self.node[self.items.first_item[site]..self.items.first_item[site + 1]].contains(&node)
    }

    fn cost_of(&self, i: usize) -> i64 {
        self.items.cost(self.items.site[i], self.node[i])
    }

    fn totals(&self, node: usize) -> &[i64] {
        &self.total[node * self.items.dimensions..(node + 1) * self.items.dimensions]
    }

    /// The load outside the band of a node, were its load changed so.
    fn off_with(&self, node: usize, change: impl Fn(usize) -> i64) -> i64 {
        let (low, high) = self.items.band(node);
        let totals = self.totals(node);
        (0..self.items.dimensions)
            .map(|d| {
                let load = totals[d] + change(d);
                (load - high[d]).max(low[d] - load).max(0)
            })
            .sum()
    }

    fn shift_load(&mut self, site: usize, node: usize, times: i64) {
        let first = node * self.items.dimensions;
        for (d, load) in self.items.load_of(site).iter().enumerate() {
            self.total[first + d] += times * load;
        }
    }

    fn one_of(&mut self, members: impl Fn(&Self) -> &[usize]) -> usize {
        let at = self.below(members(self).len());
        members(self)[at]
    }

    /// A number below the limit from the lowest 31 bits of a random one.
    fn below(&mut self, limit: usize) -> usize {
        (((self.random() & 0x7FFF_FFFF) * limit as u64) >> 31) as usize
    }

    /// The next output of splitmix64.
    fn random(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }
}
