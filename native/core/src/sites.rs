//! The sites of a log, by number: flex_logs_ingest/sites.py says which site a name stands for, here it is remembered.

use hashbrown::HashMap;
use memchr::memchr;

use crate::strangers::Strangers;

/// Any client can send any name, so names already understood are remembered only up to this many.
const REMEMBERED: usize = 50_000;
/// Longer names are understood anew each time, so that what is remembered stays small.
const LONG: usize = 1024;
/// A name that a visitor invents becomes no site of its own where there are as many already.
const MOST: usize = 50_000;
/// Where the requests go that are for no site.
pub const UNKNOWN: &str = "(unknown)";

/// What says which site the bytes of a name stand for.
pub type Naming = Box<dyn FnMut(&[u8]) -> String + Send + Sync>;

/// Which site a line belongs to: always `fixed`, else the one of its virtual host, or of its path's first `directory`.
pub struct Rule {
    pub fixed: Option<String>,
    pub directory: bool,
    pub naming: Naming,
}

impl Default for Rule {
    /// Every name is a site.
    fn default() -> Rule {
        Rule { fixed: None, directory: false, naming: Box::new(|name| String::from_utf8_lossy(name).into_owned()) }
    }
}

pub struct Sites {
    pub names: Vec<String>,
    pub strangers: Strangers,
    rule: Rule,
    numbers: HashMap<String, usize>,
    remembered: HashMap<Vec<u8>, usize>,
    unknown: Option<usize>,
}

impl Sites {
    pub fn new(rule: Rule) -> Sites {
        Sites {
            names: Vec::new(),
            strangers: Strangers::default(),
            rule,
            numbers: HashMap::new(),
            remembered: HashMap::new(),
            unknown: None,
        }
    }

    /// The number of the site that a request was for.
    pub fn of(&mut self, vhost: &[u8], target: &[u8]) -> usize {
        let name = if self.rule.directory { first_directory(target) } else { vhost };
        let site = self.number(name);
        if self.unknown == Some(site) {
            self.strangers.add(name);
        }
        site
    }

    fn number(&mut self, name: &[u8]) -> usize {
        if let Some(fixed) = &self.rule.fixed {
            return if self.names.is_empty() { self.number_of(fixed.clone()) } else { 0 };
        }
        if let Some(site) = self.remembered.get(name) {
            return *site;
        }
        let found = (self.rule.naming)(name);
        let site = self.number_of(found);
        if name.len() <= LONG {
            if self.remembered.len() >= REMEMBERED {
                self.remembered.clear();
            }
            self.remembered.insert(name.to_vec(), site);
        }
        site
    }

    fn number_of(&mut self, site: String) -> usize {
        if let Some(number) = self.numbers.get(&site) {
            return *number;
        }
        if site != UNKNOWN && self.names.len() >= MOST {
            return self.number_of(UNKNOWN.to_owned());
        }
        let number = self.names.len();
        if site == UNKNOWN {
            self.unknown = Some(number);
        }
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
