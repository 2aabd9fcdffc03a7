//! What counts weigh in the signature of a reading: see flex_logs_ingest/counts/signature.py, which defines it.

use crate::counts::Counts;

const BASE: u64 = 0x9DDF_EA08_EB38_2D69;

/// The sum over the hours and the rows; `names` are the hashes of the sites, by number. No hash, no weight.
pub fn weight(counts: &Counts, names: &[u64]) -> u64 {
    let name = |site: u32| names.get(site as usize).copied().unwrap_or_default();
    let hours = counts.hours.iter().map(|hour| {
        let key = name(hour.site).wrapping_add(mix(hour.hour as u64));
        weighed(key, hour.requests, hour.bytes)
    });
    let rows = counts.order.iter().map(|number| {
        let (row, (day, site)) = (counts.rows.row(*number), counts.group(*number));
        let key = mix(name(site) ^ mix(day as u64)).wrapping_add(mix(text(counts.rows.target(*number))));
        weighed(key, row.requests, row.bytes)
    });
    hours.chain(rows).fold(0, u64::wrapping_add)
}

/// Requests and bytes apart, so that one does not make up for the other.
fn weighed(key: u64, requests: i64, bytes: i64) -> u64 {
    let by_request = mix(key.wrapping_add(1)).wrapping_mul(requests as u64);
    by_request.wrapping_add(mix(key.wrapping_add(2)).wrapping_mul(bytes as u64))
}

/// A polynomial over the bytes. No byte counts as nothing.
fn text(target: &[u8]) -> u64 {
    target.iter().rev().fold(0, |sum: u64, byte| sum.wrapping_mul(BASE).wrapping_add(u64::from(*byte) + 1))
}

/// Each bit of a word decides about each bit of what comes out: splitmix64.
fn mix(word: u64) -> u64 {
    let word = (word ^ word >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let word = (word ^ word >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ word >> 31
}
