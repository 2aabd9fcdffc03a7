//! What every cache policy promises: see flex/caches/cache.py.

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
