//! What comes of a simulation: see Served in flex/sim/engine_input_and_output.py.

/// What became of each access and each node. Times are nanoseconds.
pub struct Served {
    pub node: Vec<i64>,
    pub outcome: Vec<i64>,
    pub delay: Vec<i64>,
    pub busy: Vec<i64>,
    pub reading: Vec<i64>,
    pub idle: Vec<i64>,
    pub began: i64,
    pub end: i64,
}

/// How an access came by its answer.
pub const HIT: i64 = 0;
pub const READ: i64 = 1;
pub const WAITED: i64 = 2;
pub const FETCHED: i64 = 3;

impl Served {
    pub fn new(accesses: usize, nodes: usize) -> Served {
        Served {
            node: vec![0; accesses],
            outcome: vec![HIT; accesses],
            delay: vec![0; accesses],
            busy: vec![0; nodes],
            reading: vec![0; nodes],
            idle: vec![0; nodes],
            began: 0,
            end: 0,
        }
    }
}
