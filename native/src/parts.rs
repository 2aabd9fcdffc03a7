//! Changes as the bytes of an update: dns/flex_dns/wire/messages.py defines them, and spells whatever is not plain.

use hashbrown::HashMap;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyModule, PyString};

/// Where the zone's name stands in each message.
const ZONE_AT: [u8; 2] = [0xC0, 0x0C];
const TXT: u16 = 16;
const CNAME: u16 = 5;
const IN: u16 = 1;
const NONE: u16 = 254;
const ANY: u16 = 255;
const LONGEST_LABEL: usize = 63;
const LONGEST_NAME: usize = 254;

/// `MessagePart` of dns/flex_dns/wire/messages.py.
type Part<'py> = (Bound<'py, PyBytes>, usize, Bound<'py, PyBytes>, usize);

/// All of them together: what they require, and what they make.
#[pyfunction]
pub fn parts<'py>(py: Python<'py>, zone: &str, changes: &Bound<'py, PyAny>) -> PyResult<Part<'py>> {
    let mut parts = Parts::of(zone, py.import(intern!(py, "flex_dns.wire.messages"))?);
    for change in changes.try_iter()? {
        parts.add(&change?)?;
    }
    let Records { bytes: required, count: requirements } = parts.required;
    let Records { bytes: made, count: makings } = parts.made;
    Ok((PyBytes::new(py, &required), requirements, PyBytes::new(py, &made), makings))
}

#[derive(Default)]
struct Records {
    bytes: Vec<u8>,
    count: usize,
}

impl Records {
    /// The data with its length before it.
    fn push(&mut self, owner: &[u8], kind: u16, class: u16, ttl: u32, data: &[u8]) {
        self.bytes.extend_from_slice(owner);
        self.bytes.extend_from_slice(&kind.to_be_bytes());
        self.bytes.extend_from_slice(&class.to_be_bytes());
        self.bytes.extend_from_slice(&ttl.to_be_bytes());
        self.bytes.extend_from_slice(data);
        self.count += 1;
    }

    fn push_empty(&mut self, owner: &[u8], kind: u16, class: u16) {
        self.push(owner, kind, class, 0, &[0, 0]);
    }
}

struct Parts<'py> {
    zone: String,
    wire: Bound<'py, PyModule>,
    required: Records,
    made: Records,
    /// By type, then by value: a cluster has few addresses and one marker.
    data: HashMap<u16, HashMap<String, Vec<u8>>>,
}

impl<'py> Parts<'py> {
    fn of(zone: &str, wire: Bound<'py, PyModule>) -> Parts<'py> {
        let (required, made, data) = Default::default();
        Parts { zone: zone.to_owned(), wire, required, made, data }
    }

    fn add(&mut self, change: &Bound<'py, PyAny>) -> PyResult<()> {
        let py = change.py();
        let [before, after] = [intern!(py, "before"), intern!(py, "after")].map(|name| change.getattr(name));
        let [before, after] = [Set::of(&before?)?, Set::of(&after?)?];
        let Some(either) = after.as_ref().or(before.as_ref()) else { return self.spell(change) };
        let (Some(kind), true) = (number(either.kind.to_str()?), after.as_ref().is_none_or(|set| set.ttl.is_some()))
        else {
            return self.spell(change);
        };
        let owner = self.owner(&either.name)?;
        if let Some(before) = &before {
            for value in &before.values {
                let data = data(&self.wire, &mut self.data, kind, &either.kind, value)?;
                self.required.push(&owner, kind, IN, 0, data);
            }
            self.made.push_empty(&owner, kind, ANY);
        } else {
            self.required.push_empty(&owner, kind, NONE);
            if kind != TXT {
                self.required.push_empty(&owner, CNAME, NONE);
            }
        }
        for (after, value) in after.iter().flat_map(|set| set.values.iter().map(move |value| (set, value))) {
            let data = data(&self.wire, &mut self.data, kind, &either.kind, value)?;
            self.made.push(&owner, kind, IN, after.ttl.unwrap_or_default(), data);
        }
        Ok(())
    }

    /// As the reference does it, or says what is wrong.
    fn spell(&mut self, change: &Bound<'py, PyAny>) -> PyResult<()> {
        let part = self.wire.call_method1(intern!(change.py(), "part"), (&self.zone, change))?;
        let (required, requirements, made, makings) = part.extract::<(Vec<u8>, usize, Vec<u8>, usize)>()?;
        self.required.bytes.extend(required);
        self.required.count += requirements;
        self.made.bytes.extend(made);
        self.made.count += makings;
        Ok(())
    }

    fn owner(&self, name: &Bound<'py, PyString>) -> PyResult<Vec<u8>> {
        match plain(&self.zone, name.to_str()?) {
            Some(owner) => Ok(owner),
            None => self.wire.call_method1(intern!(name.py(), "owner_bytes"), (&self.zone, name))?.extract(),
        }
    }
}

/// `Rrset` of flex/model/zone_plan.py; a TTL that does not fit is left to the reference.
struct Set<'py> {
    name: Bound<'py, PyString>,
    kind: Bound<'py, PyString>,
    ttl: Option<u32>,
    values: Vec<Bound<'py, PyString>>,
}

impl<'py> Set<'py> {
    fn of(set: &Bound<'py, PyAny>) -> PyResult<Option<Set<'py>>> {
        if set.is_none() {
            return Ok(None);
        }
        let py = set.py();
        Ok(Some(Set {
            name: set.getattr(intern!(py, "name"))?.cast_into()?,
            kind: set.getattr(intern!(py, "type"))?.cast_into()?,
            ttl: set.getattr(intern!(py, "ttl"))?.extract().ok(),
            values: set.getattr(intern!(py, "values"))?.extract()?,
        }))
    }
}

fn number(kind: &str) -> Option<u16> {
    Some(match kind {
        "A" => 1,
        "AAAA" => 28,
        "TXT" => TXT,
        _ => return None,
    })
}

/// The value with its length, made by the reference, once.
fn data<'found>(
    wire: &Bound<'_, PyModule>,
    known: &'found mut HashMap<u16, HashMap<String, Vec<u8>>>,
    number: u16,
    kind: &Bound<'_, PyString>,
    value: &Bound<'_, PyString>,
) -> PyResult<&'found [u8]> {
    let (text, known) = (value.to_str()?, known.entry(number).or_default());
    if !known.contains_key(text) {
        let made = wire.call_method1(intern!(value.py(), "rdata_bytes"), (kind, value))?.extract()?;
        known.insert(text.to_owned(), made);
    }
    Ok(&known[text])
}

/// A name in the zone whose labels can be copied as they are, up to where it ends as the zone's does.
fn plain(zone: &str, name: &str) -> Option<Vec<u8>> {
    if name == zone {
        return Some(ZONE_AT.to_vec());
    }
    let below = name.strip_suffix(zone)?.strip_suffix('.')?;
    if name.len() > LONGEST_NAME || !name.is_ascii() || below.contains('\\') {
        return None;
    }
    let mut owner = Vec::with_capacity(below.len() + 1 + ZONE_AT.len());
    for label in below.split('.') {
        if label.is_empty() || label.len() > LONGEST_LABEL {
            return None;
        }
        owner.push(label.len() as u8);
        owner.extend_from_slice(label.as_bytes());
    }
    owner.extend_from_slice(&ZONE_AT);
    Some(owner)
}
