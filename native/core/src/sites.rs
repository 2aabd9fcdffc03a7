//! The sites of a log, by number: flex_logs_ingest/scan/site_rules.py says which site a name stands for, here it is remembered.

use std::mem::take;

use hashbrown::{HashMap, HashSet};
use memchr::memchr;

use crate::others::Others;
use crate::strangers::Strangers;

/// Any client can send any name, so names already understood are remembered only up to about this many bytes.
const REMEMBERED: usize = 1 << 22;
/// Longer names are understood anew each time, so that what is remembered stays small.
const LONG: usize = 1024;
/// What a name that is remembered takes beside itself.
const ENTRY: usize = 64;
/// A name that a visitor invents becomes no site of its own where the log has had as many already.
const MOST: usize = 50_000;
/// DNS has no longer names, and no longer parts of them.
const HOST: usize = 253;
const LABEL: usize = 63;
/// Where the requests go that are for no site.
pub const UNKNOWN: &str = "(unknown)";

/// What says which site the bytes of a name stand for.
pub type Naming = Box<dyn FnMut(&[u8]) -> String + Send + Sync>;

/// Which site a line belongs to: always `fixed`, else the one of its virtual host, or of its path's first `directory`.
/// Where `every_host` is a site of its own name, nobody is asked about a name that is plainly one.
pub struct Rule {
    pub fixed: Option<String>,
    pub directory: bool,
    pub every_host: bool,
    pub naming: Naming,
    /// By which other name of its site the bytes of a name call it; empty where they do not.
    pub other: Naming,
}

impl Default for Rule {
    /// Every name is a site.
    fn default() -> Rule {
        let naming = Box::new(|name: &[u8]| String::from_utf8_lossy(name).into_owned());
        Rule { fixed: None, directory: false, every_host: false, naming, other: Box::new(|_: &[u8]| String::new()) }
    }
}

/// A site's number and, where it was called by another name, that of the name.
type Called = (usize, Option<u32>);

pub struct Sites {
    pub names: Vec<String>,
    pub strangers: Strangers,
    pub others: Others,
    rule: Rule,
    numbers: HashMap<String, usize>,
    remembered: HashMap<Vec<u8>, Called>,
    /// The name before, which is often the same.
    latest: Option<(Vec<u8>, Called)>,
    unknown: Option<usize>,
    /// Every site since the log began, wherever its counts were handed over in between.
    seen: HashSet<String>,
    /// About how many bytes the names of sites take, and those that are remembered.
    size: usize,
    remembered_size: usize,
}

impl Sites {
    pub fn new(rule: Rule) -> Sites {
        Sites {
            names: Vec::new(),
            strangers: Strangers::default(),
            others: Others::default(),
            rule,
            numbers: HashMap::new(),
            remembered: HashMap::new(),
            latest: None,
            unknown: None,
            seen: HashSet::new(),
            size: 0,
            remembered_size: 0,
        }
    }

    pub fn into_rule(self) -> Rule {
        self.rule
    }

    /// About how many bytes are held.
    pub fn memory(&self) -> usize {
        self.size + self.remembered_size + self.others.memory()
    }

    /// The names by number; those that come then have numbers from 0 on.
    pub fn take(&mut self) -> Vec<String> {
        self.forget();
        self.numbers.clear();
        self.unknown = None;
        self.size = 0;
        take(&mut self.names)
    }

    /// Whether lines say by which name a site was called.
    pub fn tells_names(&self) -> bool {
        self.rule.fixed.is_none() && !self.rule.directory
    }

    fn forget(&mut self) {
        self.latest = None;
        self.remembered.clear();
        self.remembered_size = 0;
    }

    /// The number of the site that a request was for; an answer of so many bytes at that time.
    #[inline]
    pub fn of(&mut self, vhost: &[u8], target: &[u8], time: i64, sent: i64) -> usize {
        let name = if self.rule.directory { first_directory(target) } else { vhost };
        let (site, other) = self.number(name);
        if self.unknown == Some(site) {
            self.strangers.add(name);
        }
        if let Some(other) = other {
            self.others.add(other, time, sent);
        }
        site
    }

    #[inline]
    fn number(&mut self, name: &[u8]) -> Called {
        if self.rule.fixed.is_some() && !self.names.is_empty() {
            return (0, None);
        }
        match &self.latest {
            // Comparing nothing with nothing takes some processors longer than comparing names.
            Some((latest, called)) if latest.len() == name.len() && (name.is_empty() || latest == name) => *called,
            _ => self.look(name),
        }
    }

    fn look(&mut self, name: &[u8]) -> Called {
        let site = match (&self.rule.fixed, self.remembered.get(name)) {
            (Some(fixed), _) => (self.number_of(fixed.clone()), None),
            (_, Some(called)) => *called,
            _ => self.understand(name),
        };
        if name.len() <= LONG {
            let (latest, number) = self.latest.get_or_insert_default();
            latest.clear();
            latest.extend_from_slice(name);
            *number = site;
        }
        site
    }

    fn understand(&mut self, name: &[u8]) -> Called {
        let plain = if self.rule.every_host { host(name) } else { None };
        let called = match plain {
            Some(found) => (self.number_of(found), None),
            None => self.ask(name),
        };
        if name.len() <= LONG {
            if self.remembered_size >= REMEMBERED {
                self.forget();
            }
            self.remembered_size += name.len() + ENTRY;
            self.remembered.insert(name.to_vec(), called);
        }
        called
    }

    fn ask(&mut self, name: &[u8]) -> Called {
        let found = (self.rule.naming)(name);
        let site = self.number_of(found);
        if self.unknown == Some(site) || !self.tells_names() {
            return (site, None);
        }
        let other = (self.rule.other)(name);
        let number = (!other.is_empty()).then(|| self.others.number(&self.names[site], other));
        (site, number)
    }

    fn number_of(&mut self, site: String) -> usize {
        if let Some(number) = self.numbers.get(&site) {
            return *number;
        }
        let number = self.names.len();
        if site == UNKNOWN {
            self.unknown = Some(number);
        } else if !self.seen.contains(&site) {
            if self.seen.len() >= MOST {
                return self.number_of(UNKNOWN.to_owned());
            }
            self.seen.insert(site.clone());
        }
        self.size += 2 * (site.len() + ENTRY);
        self.numbers.insert(site.clone(), number);
        self.names.push(site);
        number
    }
}

/// Up to the slash that ends it; the first slash where there is no other.
fn first_directory(target: &[u8]) -> &[u8] {
    match memchr(b'/', target.get(1..).unwrap_or_default()) {
        Some(at) => &target[..at + 2],
        None => b"/",
    }
}

/// The host of a name that is as DNS has it, perhaps with a port behind it. None says nothing.
fn host(name: &[u8]) -> Option<String> {
    let end = memchr(b':', name).unwrap_or(name.len());
    let (host, port) = name.split_at(end);
    let last = host.rsplit(|byte| *byte == b'.').next()?;
    let is_host = host.len() <= HOST
        && host.split(|byte| *byte == b'.').all(is_label)
        && !last.iter().all(u8::is_ascii_digit)
        && port.iter().skip(1).all(u8::is_ascii_digit);
    if is_host { String::from_utf8(host.to_vec()).ok() } else { None }
}

fn is_label(label: &[u8]) -> bool {
    let letter = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let ends = label.first().is_some_and(letter) && label.last().is_some_and(letter);
    ends && label.len() <= LABEL && label.iter().all(|byte| letter(byte) || *byte == b'-')
}
