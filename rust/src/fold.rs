//! The turns of a conversation, which may lie in several files, in the order of their steps.

use std::collections::HashMap;
use std::sync::Arc;

use crate::calls::Kind;
use crate::turns::{Row, SAID, Turns, UNSEEN, USER};

/// What of a file belongs to a conversation.
#[derive(Clone, Debug)]
pub struct Part {
    /// The file's turns.
    pub turns: Arc<Turns>,
    /// The last step that counts.
    pub last: i64,
    /// The rows of requests that ask nothing, ascending.
    pub void: Vec<usize>,
}

/// A touch of a file: the place of its turn, the number of its call there, and its own among those of the turn.
pub type At = (usize, u32, usize);

/// A file as calls name it, and the first and the last time that they do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends<'f> {
    /// How.
    pub kind: Kind,
    /// By what.
    pub told: &'f str,
    /// Of several touches by one call the first counts, here
    pub first: At,
    /// and here.
    pub last: At,
}

/// The turns of some files.
#[derive(Clone, Debug)]
pub struct Fold {
    parts: Vec<Part>,
    /// Of each turn its part and its row there.
    order: Vec<(usize, usize)>,
}

impl Fold {
    /// Of the records of one step the last one of the last part counts; one that says nothing is then no turn.
    #[must_use]
    pub fn new(parts: Vec<Part>) -> Self {
        let mut all = Vec::new();
        for (at, part) in parts.iter().enumerate() {
            let rows = part.turns.rows.iter().enumerate().filter(|(_, row)| row.step <= part.last);
            all.extend(rows.map(|(row, Row { step, .. })| (*step, at, row)));
        }
        all.sort_unstable();
        let mut order = Vec::with_capacity(all.len());
        for (place, &(step, at, row)) in all.iter().enumerate() {
            let is_last = all.get(place + 1).is_none_or(|next| next.0 != step);
            if is_last && parts[at].turns.rows[row].signs != 0 && parts[at].void.binary_search(&row).is_err() {
                order.push((at, row));
            }
        }
        Self { parts, order }
    }

    /// How many turns there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.order.len()
    }

    /// True when there is none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// The part that a turn lies in, the number of its row there, and the row; None when there is no such turn.
    #[must_use]
    pub fn get(&self, place: usize) -> Option<(usize, usize, &Row)> {
        let &(part, row) = self.order.get(place)?;
        Some((part, row, &self.parts[part].turns.rows[row]))
    }

    /// The places of the requests.
    pub fn users(&self) -> impl Iterator<Item = usize> {
        self.places(USER)
    }

    /// The places of the turns of whose calls it is not known what they name.
    pub fn unseen(&self) -> impl Iterator<Item = usize> {
        self.places(UNSEEN)
    }

    fn places(&self, sign: u8) -> impl Iterator<Item = usize> {
        let rows = self.order.iter().enumerate();
        rows.filter(move |&(_, &(part, row))| self.parts[part].turns.rows[row].signs & sign != 0)
            .map(|(place, _)| place)
    }

    /// The responses before a place that say something, as stretches that no request divides and no change of parts:
    /// the place of the first one, and how many there are.
    #[must_use]
    pub fn stretches(&self, stop: usize) -> Vec<(usize, usize)> {
        let mut found: Vec<(usize, usize)> = Vec::new();
        let mut begun = None; // the part of the stretch that goes on
        for (place, &(part, row)) in self.order.iter().enumerate().take(stop) {
            let signs = self.parts[part].turns.rows[row].signs;
            if signs & USER != 0 {
                begun = None;
            } else if signs & SAID != 0 {
                match found.last_mut().filter(|_| begun == Some(part)) {
                    Some((_, count)) => *count += 1,
                    None => found.push((place, 1)),
                }
                begun = Some(part);
            }
        }
        found
    }

    /// The files that calls name.
    #[must_use]
    pub fn touches(&self) -> Vec<Ends<'_>> {
        let mut ends: Vec<Ends<'_>> = Vec::new();
        let mut known: HashMap<(Kind, &str), usize> = HashMap::new();
        // Where in `ends` is what a part tells of files.
        let mut places: Vec<Vec<Option<usize>>> =
            self.parts.iter().map(|part| vec![None; part.turns.told().len()]).collect();
        for (place, &(part, row)) in self.order.iter().enumerate() {
            let turns = &self.parts[part].turns;
            for (number, touch) in turns.touches(row).iter().enumerate() {
                let at = (place, touch.call, number);
                let found = &mut places[part][touch.told as usize];
                let (kind, told) = &turns.told()[touch.told as usize];
                let end = *found.get_or_insert_with(|| {
                    *known.entry((*kind, told)).or_insert_with(|| {
                        ends.push(Ends { kind: *kind, told, first: at, last: at });
                        ends.len() - 1
                    })
                });
                let last = &mut ends[end].last;
                if (last.0, last.1) != (place, touch.call) {
                    *last = at;
                }
            }
        }
        ends
    }
}
