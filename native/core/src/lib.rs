//! The hot loops of FLEX that need no Python. Each has a reference in Python that defines what it computes.
//!
//! Each function takes bytes and plain values, and returns plain values; only the merge goes from file to file, and only
//! `small` opens logs. flex-native hands them to Python, and whoever wants to measure or to fuzz a loop calls it
//! directly. Whatever the input, nothing here panics.

pub mod cache;
mod chunk;
mod clock;
mod columns;
pub mod counts;
pub mod cut;
mod encoded;
pub mod ends;
mod find;
pub mod fitting;
pub mod layout;
pub mod line;
pub mod malformed;
mod members;
pub mod merge;
pub mod names;
pub mod others;
mod packed;
mod pages;
pub mod partial;
mod places;
pub mod replay;
mod rows;
pub mod run;
pub mod scan;
pub mod service_time;
pub mod signature;
pub mod sim;
pub mod sites;
pub mod small;
mod strangers;
mod table;
mod tally;
mod usual;
