//! The hot loops of FLEX. Each has a reference in Python that defines what it computes; this is the same, faster.
//!
//! Nothing here decides, and only the merge and what looks at small logs touch files; whatever the input, nothing here panics.

mod improve;
mod items;
mod lists;
mod merge;
mod parts;
mod puzzle;
mod remedy;
mod replay;
mod scan;
mod search;
mod shelve;
mod sift;
mod simulate;
mod small;
mod table;

use pyo3::prelude::*;

#[pymodule]
mod flex_native {
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::improve::improve;
    #[pymodule_export]
    use super::merge::merge;
    #[pymodule_export]
    use super::parts::parts;
    #[pymodule_export]
    use super::remedy::cheapest_sets;
    #[pymodule_export]
    use super::replay::replay;
    #[pymodule_export]
    use super::scan::Fitting;
    #[pymodule_export]
    use super::scan::Scan;
    #[pymodule_export]
    use super::shelve::shelve;
    #[pymodule_export]
    use super::sift::sift;
    #[pymodule_export]
    use super::simulate::simulate;
    #[pymodule_export]
    use super::small::count_logs;
    #[pymodule_export]
    use super::small::look_at_logs;

    /// Equal to that of flex/native_or_python.py, or the references are used instead.
    #[pymodule_export]
    const INTERFACE: u32 = 26;

    /// The members of registers of FLEX that the loops know. Whatever others there are, the references do.
    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("CACHES", flex_core::cache::NAMES)?;
        module.add("RULES", flex_core::sim::rules::NAMES)
    }
}
