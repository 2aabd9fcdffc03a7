//! Which targets a node keeps in its memory: see flex/caches, whose classes define what each policy computes.
//!
//! A policy is one file and one line here. Targets are small numbers, so what a policy knows of them stands in arrays;
//! memory of targets that a node is never asked for is not touched, and costs nothing.

mod gds;
mod list;
mod lru;
mod s3fifo;
mod sieve;

pub use gds::{Gds, Gdsf};
pub use lru::Lru;
pub use s3fifo::S3Fifo;
pub use sieve::Sieve;

/// A node's memory of so many bytes.
pub trait Cache {
    /// For targets below `targets`.
    fn new(limit: i64, targets: usize) -> Self
    where
        Self: Sized;

    /// Empty again, with another limit.
    fn reset(&mut self, limit: i64);

    /// Whether the target was in memory; it is afterwards, unless it is larger than the memory.
    fn ask(&mut self, target: usize, size: &[i64]) -> bool;

    fn holds(&self, target: usize) -> bool;

    /// The target that is looked at first when room is needed.
    fn oldest(&mut self) -> Option<usize>;
}

/// Calls the function with the policy of that name as its type parameter; None for a name that nobody has.
#[macro_export]
macro_rules! with_cache {
    ($name:expr, $function:ident, $($argument:expr),*) => {
        match $name {
            "lru" => Some($function::<$crate::cache::Lru>($($argument),*)),
            "gds" => Some($function::<$crate::cache::Gds>($($argument),*)),
            "gdsf" => Some($function::<$crate::cache::Gdsf>($($argument),*)),
            "s3fifo" => Some($function::<$crate::cache::S3Fifo>($($argument),*)),
            "sieve" => Some($function::<$crate::cache::Sieve>($($argument),*)),
            _ => None,
        }
    };
}
