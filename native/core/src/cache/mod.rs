//! Which targets a node keeps in its memory: see flex/caches, whose classes define what each policy computes.
//!
//! A policy is one file, and two lines here: its module and its row of the register. Targets are small numbers, so what a
//! policy knows of them stands in arrays; memory of targets that a node is never asked for is not touched, and costs nothing.

mod gds;
mod list;
mod lru;
pub mod policy;
mod s3fifo;
mod sieve;

use policy::Cache;

/// What is done with a policy, whichever it is.
pub trait ForAnyCache {
    type Answer;

    fn with<C: Cache + 'static>(self) -> Self::Answer;
}

macro_rules! register {
    ($($name:literal => $policy:ty,)+) => {
        /// What flex/caches calls them.
        pub const NAMES: &[&str] = &[$($name),+];

        /// None for a name that nobody has.
        pub fn with_cache<W: ForAnyCache>(name: &str, work: W) -> Option<W::Answer> {
            match name {
                $($name => Some(work.with::<$policy>()),)+
                _ => None,
            }
        }
    };
}

register! {
    "lru" => lru::Lru,
    "gds" => gds::Gds,
    "gdsf" => gds::Gdsf,
    "s3fifo" => s3fifo::S3Fifo,
    "sieve" => sieve::Sieve,
}
