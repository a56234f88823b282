//! Which records a look at a transcript takes: the first with a step, the highest ones.

use std::io;

use memchr::memmem::Finder;

use crate::probe::Place;
use crate::records::{Record, Sift, Unread, leading_step};
use crate::walker::Keys;

const STEP: usize = 0;
const CREATED_AT: usize = 1;

pub(crate) const STEP_NEEDLE: &str = "\"step_index\"";
pub(crate) const ESCAPE_NEEDLE: &str = "\\u00";

/// What a record with a step says, and what an escape that may say it begins with.
pub(crate) fn needles() -> [Finder<'static>; 2] {
    [STEP_NEEDLE, ESCAPE_NEEDLE].map(Finder::new)
}

/// The members that a look takes.
pub(crate) fn keys() -> Keys {
    Keys::new(&[b"step_index", b"created_at"])
}

fn place(record: &mut Record<'_>, step: i64) -> io::Result<Place> {
    Ok(Place { step, created_at: record.text(CREATED_AT)?, offset: record.offset() })
}

/// Takes the first record with a step.
pub(crate) struct Head(pub(crate) Option<Place>);

impl Sift for Head {
    fn passes(&mut self, _line: &mut Unread<'_>) -> bool {
        false
    }

    fn take(&mut self, record: &mut Record<'_>) -> io::Result<bool> {
        if self.0.is_none()
            && let Some(step) = record.step(STEP)?
        {
            self.0 = Some(place(record, step)?);
        }
        Ok(true)
    }
}

/// Takes the last of the highest steps, and the last of the highest within a range.
pub(crate) struct Best {
    range: (i64, i64),
    pub(crate) has_records: bool,
    pub(crate) last: Option<Place>,
    pub(crate) wanted: Option<Place>,
}

impl Best {
    /// Looks for the highest step in `step - slack ..= step`, and the highest of all.
    pub(crate) fn new(step: i64, slack: u64) -> Self {
        Self { range: (step.saturating_sub_unsigned(slack), step), has_records: false, last: None, wanted: None }
    }

    /// Looks for the same, with nothing found.
    pub(crate) fn anew(&self) -> Self {
        Self { range: self.range, has_records: false, last: None, wanted: None }
    }

    /// Whether a record with this step, further ahead in the file than all so far, would be taken.
    pub(crate) fn is_better(&self, step: i64) -> bool {
        let beats = |best: &Option<Place>| best.as_ref().is_none_or(|best| best.step < step);
        beats(&self.last) || ((self.range.0..=self.range.1).contains(&step) && beats(&self.wanted))
    }

    /// Adds what was found further ahead in the file.
    pub(crate) fn add_earlier(&mut self, found: Self) {
        self.has_records |= found.has_records;
        for (best, found) in [(&mut self.last, found.last), (&mut self.wanted, found.wanted)] {
            let step = |place: &Option<Place>| place.as_ref().map(|place| place.step);
            if step(&found) > step(best) {
                *best = found;
            }
        }
    }
}

impl Sift for Best {
    fn passes(&mut self, _line: &mut Unread<'_>) -> bool {
        false
    }

    fn take(&mut self, record: &mut Record<'_>) -> io::Result<bool> {
        self.has_records = true;
        let Some(step) = record.step(STEP)? else { return Ok(true) };
        if self.last.as_ref().is_none_or(|last| last.step <= step) {
            self.last = Some(place(record, step)?);
        }
        if (self.range.0..=self.range.1).contains(&step) && self.wanted.as_ref().is_none_or(|best| best.step <= step) {
            self.wanted = Some(place(record, step)?);
        }
        Ok(true)
    }
}

/// As [`Best`], for a long read: lines that provably hold no better step go by.
pub(crate) struct Sought(pub(crate) Best);

impl Sift for Sought {
    fn passes(&mut self, line: &mut Unread<'_>) -> bool {
        let Some(step) = leading_step(line) else { return false };
        let (low, high) = self.0.range;
        let low = self.0.wanted.as_ref().map_or(low, |best| best.step);
        !(low..=high).contains(&step) && !line.holds(0)
    }

    fn take(&mut self, record: &mut Record<'_>) -> io::Result<bool> {
        self.0.take(record)
    }
}
