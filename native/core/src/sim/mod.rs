//! A cluster that serves a trace: see flex/sim/python_engine.py, whose functions define what is computed here.

pub mod job;
mod memory;
pub mod queued;
pub mod rules;
pub mod serial;
pub mod served;
