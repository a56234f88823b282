//! The ends of a transcript, and one step in it, without reading the middle.
//!
//! Lines are in the order of completion: steps go backwards, repeat and skip. So a step that is not in the tail window
//! is looked for in the whole file before it is called absent.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use memchr::memmem::Finder;

use crate::error::Error;
use crate::lines::{BUFFER_BYTES, Lines, ReadAt, SMALL_BUFFER_BYTES, line_start};
use crate::open::{Opened, open};
use crate::records::{Record, Records, Sift, Unread, leading_step};
use crate::threads;
use crate::walker::Keys;
use crate::watch::{GoOn, receive};

/// The first record with a step is looked for in this many lines that are not blank.
const HEAD_LINES: u64 = 16;
/// The window at the end of the file, doubled while no complete record lies in it.
const WINDOW_BYTES: u64 = 64 * 1024;
/// Fewer files than this are not worth a thread.
const FILES_PER_THREAD: usize = 4;
/// The buffer of a search through a whole file is so many times that of a look at its ends.
const SEARCH_TIMES: usize = BUFFER_BYTES / SMALL_BUFFER_BYTES;

const STEP: usize = 0;
const CREATED_AT: usize = 1;

/// A record with a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its step.
    pub step: i64,
    /// Its time as it is written; None when it has none.
    pub created_at: Option<String>,
    /// Where its `{` is.
    pub offset: u64,
}

/// The ends of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// The first record with a step among the first 16 lines.
    pub first: Option<Place>,
    /// The record with the highest step in the tail window, the last one of several.
    pub last: Option<Place>,
    /// Bytes in the file.
    pub size: u64,
}

/// A step that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The record: of several with this step the last one.
    pub place: Place,
    /// The highest step in the tail window.
    pub last_step: Option<i64>,
}

/// A file that may be a parent: it begins no later than the step and holds it, or one within the slack below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Its first record with a step.
    pub first: Place,
    /// The record looked for.
    pub place: Place,
    /// As in [`Probe`].
    pub last: Option<Place>,
    /// Bytes in the file.
    pub size: u64,
}

/// The first and the highest step of a file.
pub fn probe(opened: &Opened<impl ReadAt>) -> Result<Probe, Error> {
    let mut looker = Looker::new(opened.size, SMALL_BUFFER_BYTES);
    looker.probe(&opened.file).map_err(Error::reading(&opened.path, 0))
}

/// The record with the largest step in `step - slack ..= step`.
pub fn find_step(opened: &Opened<impl ReadAt>, step: i64, slack: u64) -> Result<Option<Found>, Error> {
    let mut looker = Looker::new(opened.size, SMALL_BUFFER_BYTES);
    looker.find(&opened.file, step, slack).map_err(Error::reading(&opened.path, 0))
}

/// [`probe`] and [`find_step`] over many files, each opened once; None where a file cannot be a parent or cannot be
/// read. In the order of the paths. The only error is that of `go_on`.
pub fn probe_candidates(
    paths: &[PathBuf],
    step: i64,
    slack: u64,
    go_on: &GoOn<'_>,
) -> io::Result<Vec<Option<Candidate>>> {
    let threads = threads::count(paths.len() / FILES_PER_THREAD);
    let next = AtomicUsize::new(0);
    let work = || {
        let mut found = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(path) = paths.get(at) else { return Ok::<_, io::Error>(found) };
            let candidate = candidate(path, step, slack, go_on);
            go_on()?;
            found.push((at, candidate));
        }
    };
    let mut all = vec![None; paths.len()];
    thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        // Where the system gives no thread, the others do its share.
        let start = |_| {
            let sender = sender.clone();
            thread::Builder::new().spawn_scoped(scope, move || drop(sender.send(work()))).ok()
        };
        let others = (1..threads).filter_map(start).count();
        drop(sender);
        let mut keep = |found: Vec<_>| found.into_iter().for_each(|(at, candidate)| all[at] = candidate);
        keep(work()?);
        for _ in 0..others {
            // None: it panicked, and so does the end of the scope.
            keep(receive(&receiver, go_on)?.unwrap_or(Ok(Vec::new()))?);
        }
        Ok(all)
    })
}

fn candidate(path: &Path, step: i64, slack: u64, go_on: &GoOn<'_>) -> Option<Candidate> {
    let opened = open(path).ok()?.watched(go_on);
    let mut looker = Looker::new(opened.size, SMALL_BUFFER_BYTES);
    let first = looker.first(&opened.file).ok()?.filter(|first| first.step <= step)?;
    let window = looker.window(&opened.file, step, slack).ok()?;
    let last = window.last.clone();
    let place = looker.search(&opened.file, step, slack, window).ok()??;
    Some(Candidate { first, place, last, size: opened.size })
}

/// What a look at the tail window gave.
#[derive(Debug)]
struct TailWindow {
    /// Where its first line begins: all before it was not looked at.
    start: u64,
    last: Option<Place>,
    wanted: Option<Place>,
}

/// Looks at one file, whatever can be read at an offset.
#[derive(Debug)]
pub struct Looker {
    size: u64,
    records: Records,
    buffer_bytes: usize,
}

impl Looker {
    /// Looks at the first `size` bytes, through a buffer of that many bytes. A search of the whole file takes a larger
    /// one.
    #[must_use]
    pub fn new(size: u64, buffer_bytes: usize) -> Self {
        let lines = Lines::new(0, size, buffer_bytes, Vec::new());
        Self { size, records: Records::new(lines, keys()), buffer_bytes }
    }

    /// See [`probe`].
    pub fn probe(&mut self, source: &impl ReadAt) -> io::Result<Probe> {
        let first = self.first(source)?;
        let last = self.window(source, i64::MIN, 0)?.last;
        Ok(Probe { first, last, size: self.size })
    }

    /// See [`find_step`].
    pub fn find(&mut self, source: &impl ReadAt, step: i64, slack: u64) -> io::Result<Option<Found>> {
        let window = self.window(source, step, slack)?;
        let last_step = window.last.as_ref().map(|last| last.step);
        let place = self.search(source, step, slack, window)?;
        Ok(place.map(|place| Found { place, last_step }))
    }

    fn first(&mut self, source: &impl ReadAt) -> io::Result<Option<Place>> {
        let mut head = Head(None);
        self.records.restart(0, self.size);
        while head.0.is_none() && self.records.count < HEAD_LINES {
            if self.records.next_line(source, &mut head)?.is_none() {
                break;
            }
        }
        Ok(head.0)
    }

    fn window(&mut self, source: &impl ReadAt, step: i64, slack: u64) -> io::Result<TailWindow> {
        let mut bytes = WINDOW_BYTES;
        loop {
            let from = self.size.saturating_sub(bytes);
            let start = if from == 0 { Some(0) } else { line_start(source, from, self.size)? };
            if let Some(start) = start {
                let mut best = Best::new(step, slack);
                self.records.restart(start, self.size);
                while self.records.next_line(source, &mut best)?.is_some() {}
                if best.has_records || from == 0 {
                    return Ok(TailWindow { start, last: best.last, wanted: best.wanted });
                }
            }
            bytes *= 2;
        }
    }

    /// The wanted record: from the window when nothing can be better, else from all of the file.
    fn search(&self, source: &impl ReadAt, step: i64, slack: u64, window: TailWindow) -> io::Result<Option<Place>> {
        if window.start == 0 || window.wanted.as_ref().is_some_and(|found| found.step == step) {
            return Ok(window.wanted);
        }
        let needles = [STEP_NEEDLE, ESCAPE_NEEDLE].map(Finder::new).to_vec();
        let mut records = Records::new(Lines::new(0, window.start, self.buffer_bytes * SEARCH_TIMES, needles), keys());
        let mut best = Sought(Best::new(step, slack));
        while records.next_line(source, &mut best)?.is_some() {}
        let before = best.0.wanted;
        // Of equal steps the last in the file wins, and the window is its end.
        Ok(if before.as_ref().map(|found| found.step) > window.wanted.as_ref().map(|found| found.step) {
            before
        } else {
            window.wanted
        })
    }
}

const STEP_NEEDLE: &str = "\"step_index\"";
const ESCAPE_NEEDLE: &str = "\\u00";

fn keys() -> Keys {
    Keys::new(&[b"step_index", b"created_at"])
}

fn place(record: &mut Record<'_>, step: i64) -> io::Result<Place> {
    Ok(Place { step, created_at: record.text(CREATED_AT)?, offset: record.offset() })
}

/// Takes the first record with a step.
struct Head(Option<Place>);

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
struct Best {
    range: (i64, i64),
    has_records: bool,
    last: Option<Place>,
    wanted: Option<Place>,
}

impl Best {
    fn new(step: i64, slack: u64) -> Self {
        Self { range: (step.saturating_sub_unsigned(slack), step), has_records: false, last: None, wanted: None }
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
struct Sought(Best);

impl Sift for Sought {
    fn passes(&mut self, line: &mut Unread<'_>) -> bool {
        let Some(step) = leading_step(line) else { return false };
        let (low, high) = self.0.range;
        let low = self.0.wanted.as_ref().map_or(low, |best| best.step);
        !(low..=high).contains(&step) && !line.holds(0) && !line.holds(1)
    }

    fn take(&mut self, record: &mut Record<'_>) -> io::Result<bool> {
        self.0.take(record)
    }
}
