//! Sorted runs added up into one: see reference_merge in flex_logs_ingest/counts/merge_reference.py, which defines it.

use std::io;

use crate::run::{COUNTS, Place, Run, SIZE};
use crate::table::{ROWS, Table};

/// Why a merge stopped.
pub enum Trouble {
    /// This file cannot be read, for this reason.
    Input(String, String),
    Output(io::Error),
    /// The caller did not want more.
    Enough,
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Trouble {
        Trouble::Output(error)
    }
}

/// Write the rows of all runs, added up, to a file; how many there are.
///
/// `tell` hears how many more rows were read, and says whether to go on.
pub fn merged(places: Vec<Place>, path: &str, tell: &mut dyn FnMut(usize) -> bool) -> Result<u64, Trouble> {
    let mut runs = Vec::with_capacity(places.len());
    for place in places {
        let path = place.path.clone();
        let run = Run::open(place).map_err(|why| Trouble::Input(path, why))?;
        if !run.is_at_end() {
            runs.push(run);
        }
    }
    let mut merge = Merge { table: Table::create(path)?, runs, read: 0, tell };
    while let Some(of_site) = merge.runs_of_least_site() {
        merge.add_site(&of_site)?;
    }
    merge.tell()?;
    Ok(merge.table.close()?)
}

struct Merge<'a> {
    table: Table,
    /// Those that are not at their end.
    runs: Vec<Run>,
    read: usize,
    tell: &'a mut dyn FnMut(usize) -> bool,
}

impl Merge<'_> {
    fn runs_of_least_site(&self) -> Option<Vec<usize>> {
        let site = self.runs.iter().map(Run::site).min()?;
        Some((0..self.runs.len()).filter(|run| self.runs[*run].site() == site).collect())
    }

    /// All rows of the site at hand.
    fn add_site(&mut self, of_site: &[usize]) -> Result<(), Trouble> {
        let Some(first) = of_site.first() else {
            return Ok(());
        };
        let site = self.runs[*first].site().to_vec();
        let mut heap = Heap::of(of_site, &self.runs);
        let mut target = Vec::new();
        while let Some(least) = heap.least() {
            target.clear();
            target.extend_from_slice(self.runs[least].target());
            let mut sum = Sum::default();
            while let Some(run) = heap.least().filter(|run| self.runs[*run].target() == target) {
                sum.add(&self.runs[run]);
                let goes_on = self.advance(run)?;
                heap.moved(goes_on, &self.runs);
            }
            if sum.counts[0] > 0 {
                self.table.push(&site, &target, sum.known())?;
            }
        }
        self.runs.retain(|run| !run.is_at_end());
        Ok(())
    }

    /// Whether the run goes on with the same site.
    fn advance(&mut self, run: usize) -> Result<bool, Trouble> {
        let run = &mut self.runs[run];
        run.advance().map_err(|why| Trouble::Input(run.path().to_owned(), why))?;
        let goes_on = !run.is_at_end() && run.is_same_site();
        self.read += 1;
        if self.read == ROWS {
            self.tell()?;
        }
        Ok(goes_on)
    }

    fn tell(&mut self) -> Result<(), Trouble> {
        let read = std::mem::take(&mut self.read);
        if (self.tell)(read) { Ok(()) } else { Err(Trouble::Enough) }
    }
}

/// One target while its rows come in. `before` is the size known from before.
#[derive(Default)]
struct Sum {
    counts: [i64; COUNTS.len()],
    before: i64,
}

impl Sum {
    fn add(&mut self, run: &Run) {
        if run.is_before() {
            self.before = self.before.max(run.count(SIZE));
            return;
        }
        let [requests, bytes, size, last] = &mut self.counts;
        *requests = requests.saturating_add(run.count(0));
        *bytes = bytes.saturating_add(run.count(1));
        *size = run.count(2).max(*size);
        *last = run.count(3).max(*last);
    }

    fn known(&self) -> [i64; COUNTS.len()] {
        let [requests, bytes, size, last] = self.counts;
        [requests, bytes, if size > 0 { size } else { self.before }, last]
    }
}

/// Runs of one site, the one with the least target first.
struct Heap {
    runs: Vec<usize>,
}

impl Heap {
    fn of(of_site: &[usize], runs: &[Run]) -> Heap {
        let mut heap = Heap { runs: of_site.to_vec() };
        for at in (0..heap.runs.len() / 2).rev() {
            heap.sink(at, runs);
        }
        heap
    }

    fn least(&self) -> Option<usize> {
        self.runs.first().copied()
    }

    /// The first run is at another row, or out of rows of the site.
    fn moved(&mut self, goes_on: bool, runs: &[Run]) {
        if !goes_on && self.runs.len() > 1 {
            self.runs.swap_remove(0);
        } else if !goes_on {
            self.runs.clear();
        }
        self.sink(0, runs);
    }

    fn sink(&mut self, mut at: usize, runs: &[Run]) {
        let target = |heap: &Heap, at: usize| runs[heap.runs[at]].target();
        loop {
            let mut child = 2 * at + 1;
            if child >= self.runs.len() {
                return;
            }
            if child + 1 < self.runs.len() && target(self, child + 1) < target(self, child) {
                child += 1;
            }
            if target(self, at) <= target(self, child) {
                return;
            }
            self.runs.swap(at, child);
            at = child;
        }
    }
}
