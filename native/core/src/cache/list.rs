//! Queues of targets, oldest first. A target is in one of them or in none.

/// Where the links of a target lead that is in no queue; nothing stands there.
const NOWHERE: usize = 0;

#[derive(Clone, Copy, Default)]
struct Link {
    older: u32,
    newer: u32,
}

/// `N` queues in one array of links: queue q begins and ends at place q + 1, and target t stands at place t + N + 1.
pub struct Lists<const N: usize> {
    links: Vec<Link>,
}

impl<const N: usize> Lists<N> {
    pub fn new(targets: usize) -> Lists<N> {
        let mut lists = Lists { links: vec![Link::default(); targets + N + 1] };
        (0..N).for_each(|queue| lists.close(queue));
        lists
    }

    /// Forget the queue's targets.
    pub fn clear(&mut self, queue: usize) {
        while let Some(target) = self.oldest(queue) {
            self.remove(target);
        }
    }

    #[inline(always)]
    pub fn has(&self, target: usize) -> bool {
        self.links[Self::place(target)].newer as usize != NOWHERE
    }

    #[inline(always)]
    pub fn push(&mut self, queue: usize, target: usize) {
        let (end, place) = (queue + 1, Self::place(target));
        let newest = self.links[end].older;
        self.links[place] = Link { older: newest, newer: end as u32 };
        self.links[newest as usize].newer = place as u32;
        self.links[end].older = place as u32;
    }

    #[inline(always)]
    pub fn remove(&mut self, target: usize) {
        let place = Self::place(target);
        let Link { older, newer } = std::mem::take(&mut self.links[place]);
        self.links[older as usize].newer = newer;
        self.links[newer as usize].older = older;
    }

    /// To the newest end of the queue it is in.
    #[inline(always)]
    pub fn renew(&mut self, queue: usize, target: usize) {
        if self.links[Self::place(target)].newer as usize != queue + 1 {
            self.remove(target);
            self.push(queue, target);
        }
    }

    #[inline(always)]
    pub fn oldest(&self, queue: usize) -> Option<usize> {
        Self::target(self.links[queue + 1].newer)
    }

    #[inline(always)]
    pub fn newer(&self, target: usize) -> Option<usize> {
        Self::target(self.links[Self::place(target)].newer)
    }

    fn close(&mut self, queue: usize) {
        let end = queue as u32 + 1;
        self.links[queue + 1] = Link { older: end, newer: end };
    }

    #[inline(always)]
    fn place(target: usize) -> usize {
        target + N + 1
    }

    #[inline(always)]
    fn target(place: u32) -> Option<usize> {
        (place as usize).checked_sub(N + 1)
    }
}
