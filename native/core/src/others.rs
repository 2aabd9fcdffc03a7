//! What came to sites by other names of theirs, name by name and day by day: see flex_logs_ingest/scan/python_loop.py.

use std::mem::take;

use hashbrown::HashMap;

const DAY: i64 = 86_400;
/// What a name, or a day of it, takes beside the name.
const ENTRY: usize = 128;

/// All answers of a day to requests that called a site by that name.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Other {
    pub site: String,
    pub name: String,
    pub day: i64,
    pub requests: i64,
    pub bytes: i64,
}

#[derive(Default)]
pub struct Others {
    /// Site and name, by number.
    names: Vec<(String, String)>,
    numbers: HashMap<String, u32>,
    /// By number and day: requests and bytes.
    days: HashMap<(u32, i64), (i64, i64)>,
    size: usize,
}

impl Others {
    pub fn memory(&self) -> usize {
        self.size + self.days.len() * ENTRY
    }

    /// Each name is of one site.
    pub fn number(&mut self, site: &str, name: String) -> u32 {
        if let Some(number) = self.numbers.get(&name) {
            return *number;
        }
        let number = self.names.len() as u32;
        self.size += site.len() + 2 * name.len() + ENTRY;
        self.names.push((site.to_owned(), name.clone()));
        self.numbers.insert(name, number);
        number
    }

    pub fn add(&mut self, number: u32, time: i64, sent: i64) {
        let (requests, bytes) = self.days.entry((number, time / DAY)).or_insert((0, 0));
        *requests += 1;
        *bytes = bytes.saturating_add(sent);
    }

    /// In order of sites, names and days; those that come then have numbers from 0 on.
    pub fn found(&mut self) -> Vec<Other> {
        let names = take(&mut self.names);
        self.numbers.clear();
        self.size = 0;
        let mut found: Vec<Other> = self
            .days
            .drain()
            .map(|((number, day), (requests, bytes))| {
                let (site, name) = names[number as usize].clone();
                Other { site, name, day, requests, bytes }
            })
            .collect();
        found.sort_unstable();
        found
    }
}
