//! Lists that the search keeps: of numbers that come and go, and of a few changes.

pub const NONE: usize = usize::MAX;

/// At most three items, each with the node it goes to, or was on.
#[derive(Clone, Copy, Default)]
pub struct Changes {
    pub count: usize,
    each: [(usize, usize); 3],
}

impl Changes {
    pub fn of(list: &[(usize, usize)]) -> Changes {
        let mut changes = Changes::default();
        list.iter().for_each(|change| changes.add(*change));
        changes
    }

    pub fn add(&mut self, change: (usize, usize)) {
        self.each[self.count] = change;
        self.count += 1;
    }

    pub fn list(&self) -> &[(usize, usize)] {
        &self.each[..self.count]
    }
}

/// Several lists, each number in one of them at most.
pub struct Lists {
    pub members: Vec<Vec<usize>>,
    place: Vec<usize>,
}

impl Lists {
    pub fn new(lists: usize, count: usize) -> Lists {
        Lists { members: vec![Vec::new(); lists], place: vec![NONE; count] }
    }

    pub fn contains(&self, member: usize) -> bool {
        self.place[member] != NONE
    }

    pub fn add(&mut self, at: usize, member: usize) {
        self.place[member] = self.members[at].len();
        self.members[at].push(member);
    }

    /// The last one takes the place that becomes free.
    pub fn drop(&mut self, at: usize, member: usize) {
        let place = std::mem::replace(&mut self.place[member], NONE);
        self.members[at].swap_remove(place);
        if let Some(last) = self.members[at].get(place) {
            self.place[*last] = place;
        }
    }
}
