//! What is to be simulated: the fields of Job in flex/sim/engine_input_and_output.py, as they come.

/// How the nodes' memories belong together.
pub const FETCHING: i64 = 1;
pub const SHARED: i64 = 2;

/// Who pays for looking into requests.
pub const FRONT_END: i64 = 1;
pub const DISTRIBUTORS: i64 = 2;

/// What does not fit together in a Job.
#[derive(Debug)]
pub struct Wrong(pub &'static str);

pub struct Job<'a> {
    pub target: &'a [i64],
    pub key: &'a [i64],
    pub size: &'a [i64],
    pub work: &'a [i64],
    pub disk: &'a [i64],
    pub ram: &'a [i64],
    pub connect: &'a [i64],
    pub send: &'a [i64],
    pub close: &'a [i64],
    pub weight: &'a [i64],
    pub rule: &'a [i64],
    pub first: &'a [i64],
    pub option: &'a [i64],
    pub pinned: &'a [i64],
    pub send_unit: i64,
    pub disks: i64,
    pub seek: i64,
    pub again: i64,
    pub block: i64,
    pub transfer: i64,
    pub transfer_unit: i64,
    pub memory: i64,
    pub largest: i64,
    pub front: i64,
    pub front_connect: i64,
    pub front_send: i64,
    pub limit: i64,
    pub idle_below: i64,
    pub warm: i64,
    pub backlog_unit: i64,
    pub low: i64,
    pub high: i64,
    pub patience: i64,
    pub bound: i64,
    pub interval: i64,
    pub margin: i64,
    pub cpu_share: i64,
}

impl Job<'_> {
    pub fn nodes(&self) -> usize {
        self.ram.len()
    }

    pub fn targets(&self) -> usize {
        self.size.len()
    }

    pub fn keys(&self) -> usize {
        self.rule.len()
    }

    /// The nodes that may be asked for a key.
    pub fn set(&self, key: usize) -> &[i64] {
        &self.option[self.first[key] as usize..self.first[key + 1] as usize]
    }

    pub fn is_pinned(&self, target: usize, node: usize) -> bool {
        !self.pinned.is_empty() && self.pinned[target * self.nodes() + node] != 0
    }

    /// What a node's processor spends on sending so many bytes.
    pub fn sending(&self, node: usize, bytes: i64) -> i64 {
        units(bytes, self.send_unit).saturating_mul(self.send[node])
    }

    /// What a disk spends on reading so many bytes that stand together, without finding them.
    pub fn transferring(&self, bytes: i64) -> i64 {
        units(bytes, self.transfer_unit).saturating_mul(self.transfer)
    }

    /// Everything that is indexed later is in range afterwards, and every divisor is positive. So many rules are known.
    pub fn check(&self, rules: usize, serial: bool) -> Result<(), Wrong> {
        let (nodes, targets, keys) = (self.nodes(), self.targets(), self.keys());
        let checks = [
            (nodes > 0, "there is no node"),
            (self.target.len() == self.key.len(), "targets and keys are not equally many"),
            (below(self.target, targets.min(u32::MAX as usize - 8)), "a target is out of range"),
            (below(self.key, keys), "a key is out of range"),
            (self.work.len() == targets && self.disk.len() == targets, "targets are not described alike"),
            (self.disks > 0 && below(self.disk, self.disks as usize), "a disk is out of range"),
            (below(self.rule, rules), "a rule is out of range"),
            (self.first.len() == keys + 1 && self.first.first() == Some(&0), "keys have no sets"),
            (self.first.windows(2).all(|pair| pair[0] < pair[1]), "a key has no node"),
            (self.first.last().is_some_and(|last| *last as usize == self.option.len()), "sets end elsewhere"),
            (below(self.option, nodes), "a set names a node that is not there"),
            (self.pinned.is_empty() || self.pinned.len() == targets * nodes, "what is pinned does not fit"),
            ([self.connect, self.send, self.close, self.weight].iter().all(|c| c.len() == nodes), "nodes differ"),
            (self.weight.iter().all(|weight| *weight > 0), "a node has no weight"),
            (self.size.iter().all(|size| *size >= 0), "a size is negative"),
            (self.positive(), "a unit or a limit is not positive"),
            (self.warm == 0 || !serial && (1..self.target.len() as i64).contains(&self.warm), "nothing is counted"),
        ];
        checks.iter().find(|(holds, _)| !holds).map_or(Ok(()), |(_, what)| Err(Wrong(what)))
    }

    fn positive(&self) -> bool {
        [self.send_unit, self.block, self.transfer_unit, self.limit, self.backlog_unit, self.interval]
            .iter()
            .all(|number| *number > 0)
            && self.margin >= 0
    }
}

fn below(values: &[i64], end: usize) -> bool {
    values.iter().all(|value| usize::try_from(*value).is_ok_and(|value| value < end))
}

fn units(bytes: i64, unit: i64) -> i64 {
    bytes / unit + i64::from(bytes % unit != 0)
}
