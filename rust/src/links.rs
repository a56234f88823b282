//! How the records of a transcript hang together: worked out once, in 20 to 25 bytes a record.

use std::hash::{BuildHasher, RandomState};

use crate::ids::Id;
use crate::index::Rows;

/// No place: so many records would not fit into any memory.
pub(crate) const NOWHERE: u32 = u32::MAX;

/// As a place; None for [`NOWHERE`].
pub(crate) fn somewhere(place: u32) -> Option<usize> {
    (place != NOWHERE).then_some(place as usize)
}

/// Who follows whom.
#[derive(Debug)]
pub(crate) struct Links {
    hasher: RandomState,
    /// The places of the first records with their uuid, by its digest, and [`NOWHERE`]; a power of two of them.
    table: Vec<u32>,
    /// A bit for each record, set for those.
    firsts: Vec<u64>,
    /// For each record the place that its parent names.
    parents: Vec<u32>,
    /// Where in `children` those of each record begin, and the end.
    starts: Vec<u32>,
    children: Vec<u32>,
}

impl Links {
    /// Of these records.
    pub(crate) fn new(rows: &Rows) -> Self {
        let count = rows.len();
        // Never full, so that a search ends.
        let size = (count + count / 2 + 1).next_power_of_two();
        let mut links = Self {
            hasher: RandomState::new(),
            table: vec![NOWHERE; size],
            firsts: vec![0; count.div_ceil(64)],
            parents: vec![NOWHERE; count],
            starts: vec![0; count + 1],
            children: Vec::new(),
        };
        for place in 0..count {
            let Some(uuid) = rows.uuid(place) else { continue };
            let slot = links.slot(rows, uuid);
            if links.table[slot] == NOWHERE {
                links.table[slot] = place as u32;
                links.firsts[place / 64] |= 1 << (place % 64);
            }
        }
        for place in 0..count {
            let parent = rows.parent(place);
            links.parents[place] = parent.map_or(NOWHERE, |parent| links.table[links.slot(rows, parent)]);
        }
        links.gather();
        links
    }

    /// Makes lists of children of the parents.
    fn gather(&mut self) {
        let is_child = |links: &Self, place: usize| {
            let parent = links.parents[place];
            (links.is_first(place) && parent != NOWHERE && parent != place as u32).then_some(parent as usize)
        };
        for place in 0..self.parents.len() {
            if let Some(parent) = is_child(self, place) {
                self.starts[parent + 1] += 1;
            }
        }
        for place in 1..self.starts.len() {
            self.starts[place] += self.starts[place - 1];
        }
        self.children = vec![0; *self.starts.last().unwrap_or(&0) as usize];
        // Backwards, from the ends down: then a list's end has become its begin, and the next one's its end.
        let mut ends = self.starts[1..].to_vec();
        for place in (0..self.parents.len()).rev() {
            if let Some(parent) = is_child(self, place) {
                ends[parent] -= 1;
                self.children[ends[parent] as usize] = place as u32;
            }
        }
    }

    /// The slot of the table that has an identifier's first record, or would have it.
    fn slot(&self, rows: &Rows, id: Id<'_>) -> usize {
        let last = self.table.len() - 1;
        let mut slot = self.hasher.hash_one(id) as usize & last;
        while self.table[slot] != NOWHERE && rows.uuid(self.table[slot] as usize) != Some(id) {
            slot = (slot + 1) & last;
        }
        slot
    }

    /// Whether it is the first record with its uuid.
    pub(crate) fn is_first(&self, place: usize) -> bool {
        self.firsts[place / 64] >> (place % 64) & 1 == 1
    }

    /// The first record with an identifier.
    pub(crate) fn find(&self, rows: &Rows, id: Id<'_>) -> Option<usize> {
        somewhere(self.table[self.slot(rows, id)])
    }

    /// The place that a record's parent names.
    pub(crate) fn parent(&self, place: usize) -> Option<usize> {
        somewhere(self.parents[place])
    }

    /// The same of every record; [`NOWHERE`] where it names none that is there.
    pub(crate) fn parents(&self) -> &[u32] {
        &self.parents
    }

    /// The places of a record's children, in file order.
    pub(crate) fn children(&self, place: usize) -> &[u32] {
        &self.children[self.starts[place] as usize..self.starts[place + 1] as usize]
    }
}
