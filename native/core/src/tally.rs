//! What a scan has counted so far: hours of each site, rows of each target, the sample of accesses.

use hashbrown::{HashMap, HashSet};
use std::mem::take;

use crate::counts::{Counts, Hour, Sampled};
use crate::rows::Rows;

/// What one more site, hour or day takes beside its name, with its places in the tables.
const ENTRY: usize = 128;
/// About what a day takes when it is written: a row group of its own.
const DAY: usize = 1 << 13;

pub struct Access<'a> {
    hash: u64,
    site: usize,
    group: u32,
    target: &'a [u8],
    time: i64,
    sent: i64,
    whole: bool,
}

#[derive(Clone)]
struct Site {
    /// The hour of its latest line, and where that and its day are counted.
    hour: i64,
    hour_at: usize,
    group: u32,
}

#[derive(Default)]
pub struct Tally {
    /// By number.
    sites: Vec<Site>,
    hours: Vec<Hour>,
    hour_places: HashMap<(u32, i64), usize>,
    /// Day and site of each group of rows.
    groups: Vec<(i64, u32)>,
    group_numbers: HashMap<(i64, u32), u32>,
    days: HashSet<i64>,
    rows: Rows,
    sample: Vec<Sampled>,
    level: u32,
}

impl Tally {
    /// About how much memory all of it takes.
    pub fn memory(&self) -> usize {
        let entries = self.sites.len() + self.hours.len() + self.groups.len();
        self.rows.memory() + entries * ENTRY + self.days.len() * DAY + self.sample.len() * size_of::<Sampled>()
    }

    /// An answer of any status.
    #[inline]
    pub fn answer(&mut self, site: usize, time: i64, sent: i64, spent: Option<i64>) {
        let hour = time / 3600;
        if self.sites.get(site).is_none_or(|site| site.hour != hour) {
            self.turn(site, hour);
        }
        let hour = &mut self.hours[self.sites[site].hour_at];
        hour.requests += 1;
        hour.bytes = hour.bytes.saturating_add(sent);
        if let Some(spent) = spent {
            hour.timed += 1;
            hour.service = hour.service.saturating_add(spent);
        }
    }

    /// An access to a target, after its answer, to be counted; `whole` when it sent all of it.
    #[inline]
    pub fn access<'a>(&self, site: usize, target: &'a [u8], time: i64, sent: i64, whole: bool) -> Access<'a> {
        let group = self.sites[site].group;
        Access { hash: self.rows.hash(group, target), site, group, target, time, sent, whole }
    }

    /// Whether many accesses at once are counted faster than one by one.
    #[inline]
    pub fn gains_from_many(&self) -> bool {
        !self.rows.are_few()
    }

    /// Accesses in the order of the log, with the names of the sites by number.
    pub fn count_all(&mut self, accesses: &[Access], names: &[String]) {
        self.rows.touch(accesses.iter().map(|access| access.hash));
        for access in accesses {
            self.count(access, names);
        }
    }

    #[inline]
    pub fn count(&mut self, access: &Access, names: &[String]) {
        let Access { hash, site, group, target, time, sent, whole } = *access;
        let (number, row) = self.rows.of(hash, group, target, || level_of(&names[site], target));
        row.requests += 1;
        row.bytes = row.bytes.saturating_add(sent);
        row.last = row.last.max(time);
        if whole {
            row.size = row.size.max(sent);
        }
        if row.level >= self.level {
            self.sample.push(Sampled { time, row: number, level: row.level });
        }
    }

    /// Another hour for this site, perhaps another day.
    fn turn(&mut self, site: usize, hour: i64) {
        if site >= self.sites.len() {
            self.sites.resize(site + 1, Site { hour: -1, hour_at: 0, group: 0 });
        }
        let number = site as u32;
        let hours = &mut self.hours;
        let hour_at = *self.hour_places.entry((number, hour)).or_insert_with(|| {
            hours.push(Hour { site: number, hour, requests: 0, bytes: 0, timed: 0, service: 0 });
            hours.len() - 1
        });
        let day = (hour / 24, number);
        let next = self.groups.len() as u32;
        let group = *self.group_numbers.entry(day).or_insert(next);
        if group == next {
            self.groups.push(day);
            self.days.insert(day.0);
        }
        let site = &mut self.sites[site];
        (site.hour, site.hour_at, site.group) = (hour, hour_at, group);
    }

    /// Keep every second target of the sample as long as it is too large.
    pub fn thin(&mut self, limit: usize) {
        while self.sample.len() > limit {
            self.level += 1;
            let level = self.level;
            self.sample.retain(|sampled| sampled.level >= level);
        }
    }

    /// All of it in order, with the names of the sites by number; what comes then is counted from nothing.
    pub fn take(&mut self, mut names: Vec<String>) -> Counts {
        let mut all = take(self);
        let mut order: Vec<u32> = (0..names.len() as u32).collect();
        order.sort_unstable_by_key(|site| &names[*site as usize]);
        let site_ranks = ranks(&order);
        for hour in &mut all.hours {
            hour.site = site_ranks[hour.site as usize];
        }
        all.hours.sort_unstable_by_key(|hour| (hour.site, hour.hour));
        for (_, site) in &mut all.groups {
            *site = site_ranks[*site as usize];
        }
        let mut group_order: Vec<u32> = (0..all.groups.len() as u32).collect();
        group_order.sort_unstable_by_key(|group| all.groups[*group as usize]);
        let row_order = all.rows.sorted(&ranks(&group_order));
        let row_ranks = ranks(&row_order);
        for sampled in &mut all.sample {
            sampled.row = row_ranks[sampled.row as usize];
        }
        Counts {
            sites: order.iter().map(|site| take(&mut names[*site as usize])).collect(),
            groups: all.groups,
            rows: all.rows,
            order: row_order,
            hours: all.hours,
            sample: all.sample,
            level: all.level,
        }
    }
}

/// The place of each number in the order.
fn ranks(order: &[u32]) -> Vec<u32> {
    let mut ranks = vec![0; order.len()];
    for (rank, number) in order.iter().enumerate() {
        ranks[*number as usize] = rank as u32;
    }
    ranks
}

/// How many zero bits the hash of a target begins with.
fn level_of(site: &str, target: &[u8]) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    crc.update(site.as_bytes());
    crc.update(b"\0");
    crc.update(target);
    let mut mixed = crc.finalize();
    mixed = (mixed ^ mixed >> 16).wrapping_mul(0x85EB_CA6B);
    mixed = (mixed ^ mixed >> 13).wrapping_mul(0xC2B2_AE35);
    (mixed ^ mixed >> 16).leading_zeros()
}
