//! Names that stand for no site: see flex_logs_ingest/scan/frequent_unknown_hosts.py, which defines which of them are kept.

use hashbrown::HashMap;

const KEPT: usize = 1000;
const WIDTH: usize = 255;

#[derive(Default)]
pub struct Strangers(HashMap<Vec<u8>, u64>);

impl Strangers {
    pub fn add(&mut self, name: &[u8]) {
        *self.0.entry_ref(&name[..name.len().min(WIDTH)]).or_insert(0) += 1;
        if self.0.len() > 2 * KEPT {
            self.keep_heaviest();
        }
    }

    /// In order of their names.
    pub fn found(&mut self) -> Vec<(Vec<u8>, u64)> {
        let mut found: Vec<(Vec<u8>, u64)> = self.0.drain().collect();
        found.sort_unstable();
        found
    }

    fn keep_heaviest(&mut self) {
        let mut numbers: Vec<u64> = self.0.values().copied().collect();
        numbers.sort_unstable_by(|a, b| b.cmp(a));
        let least = numbers[KEPT];
        self.0.retain(|_, number| {
            *number = number.saturating_sub(least);
            *number > 0
        });
    }
}
