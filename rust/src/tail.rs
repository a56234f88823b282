//! What is new in a transcript: the boundaries and the highest step of every complete line behind a cursor.
//!
//! Exact for every line that is a whole object, and one read of the new bytes: a line's leading step is proven by four
//! needles that it does not hold, looked for at once, and only the lines that hold one are walked. Many new bytes are
//! read by several threads; what comes out is the same.

use std::convert::Infallible;
use std::io;
use std::iter;
use std::panic::resume_unwind;
use std::sync::{LazyLock, mpsc};
use std::thread;

use crate::cursor::{Cursor, begin};
use crate::error::Error;
use crate::lines::{BUFFER_BYTES, Lines, ReadAt};
use crate::needles::AnyOf;
use crate::open::Opened;
use crate::parts::borders;
use crate::records::{Damage, Record, Records, Sift, Unread, leading_step};
use crate::threads;
use crate::walker::Keys;
use crate::watch::receive;

/// A line that holds none of these has no CHECKPOINT, no other step than its leading one, and no second object.
static NEEDLES: LazyLock<AnyOf> = LazyLock::new(|| AnyOf::new(&[b"\"step_index\"", b"CHECKPOINT", b"\\u00", b"}{"]));

/// A thread reads at least so many bytes: a start costs as much as reading some hundred KiB.
const PART_BYTES: u64 = 16 * 1024 * 1024;

const STEP: usize = 0;
const TYPE: usize = 1;

/// A record of type CHECKPOINT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Its step; None when it has none.
    pub step: Option<i64>,
    /// Where its `{` is.
    pub offset: u64,
    /// Bytes from its `{` to its `}`, both included.
    pub length: usize,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tail {
    /// The end of the last complete line.
    pub cursor: Cursor,
    /// Every record of type CHECKPOINT, in file order.
    pub boundaries: Vec<Mark>,
    /// The highest step; None when there is none.
    pub last_step: Option<i64>,
    /// Complete lines that are not blank.
    pub lines: u64,
    /// Damaged lines, as far as they were looked at.
    pub damage: Damage,
    /// The cursor did not fit the file: it was read from the start.
    pub restarted: bool,
}

/// Reads every complete line behind the cursor, or from the start where there is none or where it does not fit.
pub fn scan_tail(opened: &Opened<impl ReadAt + Sync>, cursor: Option<Cursor>) -> Result<Tail, Error> {
    let new_bytes = opened.size.saturating_sub(cursor.map_or(0, |cursor| cursor.offset));
    let parts = threads::count(usize::try_from(new_bytes / PART_BYTES).unwrap_or(usize::MAX));
    let found = if parts < 2 {
        scan(&opened.file, opened.size, cursor, BUFFER_BYTES)
    } else {
        scan_in_parts(&opened.file, opened.size, cursor, BUFFER_BYTES, parts as u64)
    };
    found.map_err(Error::reading(&opened.path, cursor.map_or(0, |cursor| cursor.offset)))
}

/// As [`scan_tail`], of anything that can be read, with a buffer of that many bytes.
pub fn scan(source: &impl ReadAt, size: u64, cursor: Option<Cursor>, buffer_bytes: usize) -> io::Result<Tail> {
    let (start, restarted) = begin(source, size, cursor)?;
    let part = Part::read(source, start, size, buffer_bytes)?;
    part.into_tail(source, restarted)
}

/// As [`scan`], with a thread for each of so many parts of about equal size; where the system gives none, the caller's
/// reads the part.
pub fn scan_in_parts(
    source: &(impl ReadAt + Sync),
    size: u64,
    cursor: Option<Cursor>,
    buffer_bytes: usize,
    parts: u64,
) -> io::Result<Tail> {
    let (start, restarted) = begin(source, size, cursor)?;
    let borders = borders(source, start, size, parts)?;
    let read = |ends: &[u64]| Part::read(source, ends[0], ends[1], buffer_bytes);
    let read_parts: Vec<io::Result<Part>> = thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel::<Infallible>();
        let start = |ends| {
            let sender = sender.clone();
            let work = move || {
                let _until_it_ends = sender;
                read(ends)
            };
            (ends, thread::Builder::new().spawn_scoped(scope, work))
        };
        let others: Vec<_> = borders.windows(2).skip(1).map(start).collect();
        drop(sender);
        let first = read(&borders[..2]);
        receive(&receiver, || source.go_on())?;
        let others = others.into_iter().map(|(ends, other)| match other {
            Ok(other) => other.join().unwrap_or_else(|panic| resume_unwind(panic)),
            Err(_) => read(ends),
        });
        Ok::<_, io::Error>(iter::once(first).chain(others).collect())
    })?;
    let mut all = Part::new(start);
    for part in read_parts {
        all.append(part?);
    }
    all.into_tail(source, restarted)
}

/// What was found between two offsets.
struct Part {
    start: u64,
    end: u64,
    sieve: Sieve,
    lines: u64,
    damage: Damage,
}

impl Part {
    fn new(start: u64) -> Self {
        let sieve = Sieve { boundaries: Vec::new(), last_step: None };
        Self { start, end: start, sieve, lines: 0, damage: Damage::default() }
    }

    fn read(source: &impl ReadAt, start: u64, limit: u64, buffer_bytes: usize) -> io::Result<Self> {
        let lines = Lines::new(start, limit, buffer_bytes, vec![NEEDLES.clone()]);
        let mut records = Records::new(lines, Keys::new(&[b"step_index", b"type"]));
        let mut part = Self::new(start);
        while records.next_line(source, &mut part.sieve)?.is_some() {}
        Ok(Self { end: records.end(), lines: records.count, damage: records.damage, ..part })
    }

    /// Adds what the next part found, unless this one ended early because the file was cut short.
    fn append(&mut self, next: Self) {
        if self.end == next.start {
            self.end = next.end;
            self.sieve.boundaries.extend(next.sieve.boundaries);
            self.sieve.last_step = self.sieve.last_step.max(next.sieve.last_step);
            self.lines += next.lines;
            self.damage.append(next.damage);
        }
    }

    fn into_tail(self, source: &impl ReadAt, restarted: bool) -> io::Result<Tail> {
        let Self { end, sieve: Sieve { boundaries, last_step }, lines, damage, .. } = self;
        Ok(Tail { cursor: Cursor::at(source, end)?, boundaries, last_step, lines, damage, restarted })
    }
}

struct Sieve {
    boundaries: Vec<Mark>,
    last_step: Option<i64>,
}

impl Sift for Sieve {
    fn passes(&mut self, line: &mut Unread<'_>) -> bool {
        let Some(step) = leading_step(line) else { return false };
        if line.holds(0) {
            return false;
        }
        self.last_step = self.last_step.max(Some(step));
        true
    }

    fn take(&mut self, record: &mut Record<'_>) -> io::Result<bool> {
        let step = record.step(STEP)?;
        self.last_step = self.last_step.max(step);
        if record.says(TYPE, b"CHECKPOINT")? {
            self.boundaries.push(Mark { step, offset: record.offset(), length: record.length() });
        }
        Ok(true)
    }
}
