//! The LARD paper's nodes, with queues for processor and disks: see reference_queued in flex/sim/python_engine.py.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use hashbrown::HashMap;

use super::job::{DISTRIBUTORS, FETCHING, FRONT_END, Job};
use super::memory::Memories;
use super::rules::Rules;
use super::rules::rule::{Asked, View};
use super::served::{FETCHED, HIT, READ, Served, WAITED};
use crate::cache::policy::Cache;

const ARRIVED: u8 = 0;
const CONNECTED: u8 = 1;
const BLOCK_READ: u8 = 2;
const BLOCK_SENT: u8 = 3;
const HANDED_OVER: u8 = 4;
const DONE: u8 = 5;

/// When, a number that tells events of one moment apart, what, and which access.
type Event = Reverse<(i64, u64, u8, u32)>;

struct Queued<'a, C> {
    job: &'a Job<'a>,
    run: Served,
    memories: Memories<C>,
    rules: Rules,
    now: i64,
    events: BinaryHeap<Event>,
    pushed: u64,
    admitted: usize,
    outstanding: i64,
    load: Vec<i64>,
    idle_since: Vec<i64>,
    /// What processors and disks had been given to do when counting began.
    before: (Vec<i64>, Vec<i64>),
    front_free: i64,
    processor_free: Vec<i64>,
    disk_free: Vec<i64>,
    /// How much of its file an access has read.
    offset: Vec<i64>,
    /// Who waits for a file that a node is reading.
    waiting: HashMap<(usize, usize), Vec<u32>>,
}

pub fn queued<C: Cache + 'static>(job: &Job) -> Served {
    let nodes = job.nodes();
    let mut queued = Queued::<C> {
        job,
        run: Served::new(job.target.len(), nodes),
        memories: Memories::new(job),
        rules: Rules::new::<C>(job),
        now: 0,
        events: BinaryHeap::new(),
        pushed: 0,
        admitted: 0,
        outstanding: 0,
        load: vec![0; nodes],
        idle_since: vec![0; nodes],
        before: (vec![0; nodes], vec![0; nodes]),
        front_free: 0,
        processor_free: vec![0; nodes],
        disk_free: vec![0; nodes * job.disks as usize],
        offset: vec![0; job.target.len()],
        waiting: HashMap::new(),
    };
    queued.admit();
    while let Some(Reverse((time, _, what, access))) = queued.events.pop() {
        queued.now = time;
        queued.happen(what, access as usize);
    }
    queued.run.end = queued.now;
    (0..nodes).for_each(|node| {
        queued.count_idle(node);
        queued.run.busy[node] -= queued.before.0[node];
        queued.run.reading[node] -= queued.before.1[node];
    });
    queued.run
}

impl<C: Cache> Queued<'_, C> {
    fn happen(&mut self, what: u8, access: usize) {
        match what {
            ARRIVED => self.arrive(access),
            CONNECTED => self.connected(access),
            BLOCK_READ => self.block_read(access),
            BLOCK_SENT => self.read_block(access),
            HANDED_OVER => self.handed_over(access),
            _ => self.done(access),
        }
    }

    fn admit(&mut self) {
        while self.outstanding < self.job.limit && self.admitted < self.job.target.len() {
            let access = self.admitted;
            if access as i64 == self.job.warm {
                self.run.began = self.now;
                self.before = (self.run.busy.clone(), self.run.reading.clone());
            }
            self.admitted += 1;
            self.outstanding += 1;
            self.run.delay[access] = self.now;
            let size = self.job.size[self.target(access)];
            let units = size / self.job.send_unit + i64::from(size % self.job.send_unit != 0);
            let cost = self.job.front_connect + units.saturating_mul(self.job.front_send);
            match self.job.front {
                FRONT_END => {
                    self.front_free = self.front_free.max(self.now) + cost;
                    self.push(self.front_free, ARRIVED, access);
                }
                DISTRIBUTORS => {
                    let ready = self.compute(access % self.job.nodes(), cost);
                    self.push(ready, ARRIVED, access);
                }
                _ => self.arrive(access),
            }
        }
    }

    fn arrive(&mut self, access: usize) {
        let asked = Asked { access, key: self.job.key[access] as usize, target: self.target(access) };
        let view = View { load: &self.load, now: self.now, busy: &self.run.busy, reading: &self.run.reading };
        let node = self.rules.choose(self.job, &asked, &view);
        self.run.node[access] = node as i64;
        self.count_idle(node);
        self.load[node] += 1;
        let ready = self.compute(node, self.job.connect[node]);
        self.push(ready, CONNECTED, access);
    }

    fn connected(&mut self, access: usize) {
        let (node, target) = (self.node(access), self.target(access));
        if self.job.is_pinned(target, node) {
            return self.answer(access, HIT);
        }
        if let Some(waiting) = self.waiting.get_mut(&(node, target)) {
            self.run.outcome[access] = WAITED;
            return waiting.push(access as u32);
        }
        let holder = (self.job.memory == FETCHING).then(|| self.memories.elsewhere(node, target)).flatten();
        if self.memories.ask(node, target, self.job.size) {
            return self.answer(access, HIT);
        }
        if let Some(holder) = holder {
            self.run.outcome[access] = FETCHED;
            let ready = self.compute(holder, self.job.sending(holder, self.job.size[target]));
            return self.push(ready, HANDED_OVER, access);
        }
        self.run.outcome[access] = READ;
        self.waiting.insert((node, target), Vec::new());
        self.read_block(access);
    }

    fn answer(&mut self, access: usize, outcome: i64) {
        self.run.outcome[access] = outcome;
        self.send_all(access, 0);
    }

    /// Send the whole answer and close the connection, after so much other work.
    fn send_all(&mut self, access: usize, before: i64) {
        let (node, target) = (self.node(access), self.target(access));
        let sending = self.job.sending(node, self.job.size[target]);
        let ready = self.compute(node, before + sending + self.job.work[target] + self.job.close[node]);
        self.push(ready, DONE, access);
    }

    /// What another node handed over is taken in at the cost of sending it.
    fn handed_over(&mut self, access: usize) {
        let node = self.node(access);
        let taking = self.job.sending(node, self.job.size[self.target(access)]);
        self.send_all(access, taking);
    }

    fn block_bytes(&self, access: usize) -> i64 {
        (self.job.size[self.target(access)] - self.offset[access]).min(self.job.block)
    }

    fn read_block(&mut self, access: usize) {
        let (node, target) = (self.node(access), self.target(access));
        let finding = if self.offset[access] == 0 { self.job.seek } else { self.job.again };
        let cost = finding + self.job.transferring(self.block_bytes(access));
        let disk = &mut self.disk_free[node * self.job.disks as usize + self.job.disk[target] as usize];
        *disk = self.now.max(*disk) + cost;
        let ready = *disk;
        self.run.reading[node] += cost;
        self.push(ready, BLOCK_READ, access);
    }

    fn block_read(&mut self, access: usize) {
        let (node, target) = (self.node(access), self.target(access));
        let bytes = self.block_bytes(access);
        self.offset[access] += bytes;
        let sending = self.job.sending(node, bytes);
        if self.offset[access] < self.job.size[target] {
            let ready = self.compute(node, sending);
            return self.push(ready, BLOCK_SENT, access);
        }
        let ready = self.compute(node, sending + self.job.work[target] + self.job.close[node]);
        self.push(ready, DONE, access);
        for waiter in self.waiting.remove(&(node, target)).unwrap_or_default() {
            self.send_all(waiter as usize, 0);
        }
    }

    fn done(&mut self, access: usize) {
        let node = self.node(access);
        self.count_idle(node);
        self.load[node] -= 1;
        self.outstanding -= 1;
        self.run.delay[access] = self.now - self.run.delay[access];
        self.admit();
    }

    /// When the node's processor, which does one thing after the other, will have done this too.
    fn compute(&mut self, node: usize, cost: i64) -> i64 {
        self.processor_free[node] = self.now.max(self.processor_free[node]) + cost;
        self.run.busy[node] += cost;
        self.processor_free[node]
    }

    fn count_idle(&mut self, node: usize) {
        if self.load[node] < self.job.idle_below {
            self.run.idle[node] += self.now - self.idle_since[node];
        }
        self.idle_since[node] = self.now;
    }

    fn push(&mut self, time: i64, what: u8, access: usize) {
        self.pushed += 1;
        self.events.push(Reverse((time, self.pushed, what, access as u32)));
    }

    fn target(&self, access: usize) -> usize {
        self.job.target[access] as usize
    }

    fn node(&self, access: usize) -> usize {
        self.run.node[access] as usize
    }
}
