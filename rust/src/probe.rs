//! The ends of a transcript, and one step in it, without reading the middle.
//!
//! Lines are in the order of completion: steps go backwards, repeat and skip. So a step that is not in the tail window
//! is looked for in the whole file before it is called absent.

use std::io;
use std::path::{Path, PathBuf};

use memchr::memmem::Finder;
use memchr::{memchr, memrchr};

use crate::best::{Best, ESCAPE_NEEDLE, Head, STEP_NEEDLE, Sought, keys, needles};
use crate::error::Error;
use crate::lines::{Aligned, BUFFER_BYTES, Lines, ReadAt, SMALL_BUFFER_BYTES, line_start};
use crate::needles::AnyOf;
use crate::open::{Opened, open};
use crate::records::{Records, claimed_step};
use crate::threads;
use crate::watch::GoOn;

/// The first record with a step is looked for in this many lines that are not blank.
const HEAD_LINES: u64 = 16;
/// The window at the end of the file, doubled while no complete record lies in it.
const WINDOW_BYTES: u64 = 64 * 1024;
/// The buffer of a search through a whole file is so many times that of a look at its ends.
const SEARCH_TIMES: usize = BUFFER_BYTES / SMALL_BUFFER_BYTES;

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
    let looker = || {
        let mut looker = Looker::new(u64::MAX, SMALL_BUFFER_BYTES);
        move |path: &PathBuf| looker.candidate(&open(path).ok()?.watched(go_on), step, slack).ok()?
    };
    threads::look_at_each(paths, looker, go_on)
}

/// [`probe`] over many files, each opened once; None where a file cannot be read. In the order of the paths; `open` is
/// what opens them. The only error is that of `go_on`.
pub fn probe_many(
    paths: &[PathBuf],
    open: impl Fn(&Path) -> Result<Opened, Error> + Sync,
    go_on: &GoOn<'_>,
) -> io::Result<Vec<Option<Probe>>> {
    let looker = || {
        let (mut looker, open) = (Looker::new(u64::MAX, SMALL_BUFFER_BYTES), &open);
        move |path: &PathBuf| {
            let opened = open(path).ok()?.watched(go_on);
            looker.begin(opened.size);
            looker.probe(&opened.file).ok()
        }
    };
    threads::look_at_each(paths, looker, go_on)
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
    needles: [Finder<'static>; 2],
    /// The end of the file is put here, a byte more than the window has: what stands before its first line.
    buffer: Aligned,
    /// How many bytes that is; None before they were read.
    held: Option<usize>,
}

impl Looker {
    /// Looks at the first `size` bytes, through a buffer of that many bytes. A search of the whole file takes a larger
    /// one.
    #[must_use]
    pub fn new(size: u64, buffer_bytes: usize) -> Self {
        let lines = Lines::new(0, size, buffer_bytes, Vec::new());
        let buffer = Aligned::new(size.min(WINDOW_BYTES + 1) as usize);
        let records = Records::new(lines, keys());
        Self { size, records, buffer_bytes, needles: needles(), buffer, held: None }
    }

    /// Begins with another file, of at most the size that was given first.
    fn begin(&mut self, size: u64) {
        (self.size, self.held) = (size, None);
    }

    fn candidate(&mut self, opened: &Opened<impl ReadAt>, step: i64, slack: u64) -> io::Result<Option<Candidate>> {
        self.begin(opened.size);
        let first = self.first(&opened.file)?.filter(|first| first.step <= step);
        let Some(first) = first else { return Ok(None) };
        let window = self.window(&opened.file, step, slack)?;
        let last = window.last.clone();
        let place = self.search(&opened.file, step, slack, window)?;
        Ok(place.map(|place| Candidate { first, place, last, size: opened.size }))
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
        if self.size > WINDOW_BYTES {
            return first(&mut self.records, source, self.size);
        }
        let (held, records, _) = self.hold(source)?;
        first(records, &held, held.bytes.len() as u64)
    }

    fn window(&mut self, source: &impl ReadAt, step: i64, slack: u64) -> io::Result<TailWindow> {
        let (held, records, needles) = self.hold(source)?;
        if let Some(found) = last_window(records, &held, needles, Best::new(step, slack))? {
            return Ok(found);
        }
        let mut bytes = WINDOW_BYTES;
        loop {
            bytes *= 2;
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
        }
    }

    /// The end of the file, read once, and what it is walked with.
    fn hold(&mut self, source: &impl ReadAt) -> io::Result<(Held<'_>, &mut Records, &[Finder<'static>; 2])> {
        let base = self.size.saturating_sub(WINDOW_BYTES + 1);
        let wanted = (self.size - base) as usize;
        let mut count = self.held.unwrap_or(0);
        while self.held.is_none() && count < wanted {
            match source.read_at(&mut self.buffer.get_mut()[count..wanted], base + count as u64)? {
                0 => break, // cut short since it was opened
                read => count += read,
            }
        }
        self.held = Some(count);
        let held = Held { bytes: &self.buffer.get()[..count], base, is_all: self.size <= WINDOW_BYTES };
        Ok((held, &mut self.records, &self.needles))
    }

    /// The wanted record: from the window when nothing can be better, else from all of the file.
    fn search(&self, source: &impl ReadAt, step: i64, slack: u64, window: TailWindow) -> io::Result<Option<Place>> {
        if window.start == 0 || window.wanted.as_ref().is_some_and(|found| found.step == step) {
            return Ok(window.wanted);
        }
        let needles = AnyOf::new(&[STEP_NEEDLE, ESCAPE_NEEDLE].map(str::as_bytes));
        let lines = Lines::new(0, window.start, self.buffer_bytes * SEARCH_TIMES, vec![needles]);
        let mut records = Records::new(lines, keys());
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

/// The end of a file, as it was read.
struct Held<'b> {
    bytes: &'b [u8],
    /// Where in the file it begins.
    base: u64,
    /// Nothing stands before it, and its first byte is that of a line. Else that byte is only there to tell whether a
    /// line begins behind it.
    is_all: bool,
}

impl ReadAt for Held<'_> {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.bytes.read_at(buffer, offset - self.base)
    }
}

/// The first record with a step among the first lines.
fn first(records: &mut Records, source: &impl ReadAt, size: u64) -> io::Result<Option<Place>> {
    let mut head = Head(None);
    records.restart(0, size);
    while head.0.is_none() && records.count < HEAD_LINES {
        if records.next_line(source, &mut head)?.is_none() {
            break;
        }
    }
    Ok(head.0)
}

/// The tail window where it is the end that was read; None when it has to begin further ahead.
///
/// The last line comes first, for steps mostly ascend: the lines before it then provably hold nothing better.
fn last_window(
    records: &mut Records,
    held: &Held<'_>,
    needles: &[Finder<'_>; 2],
    mut best: Best,
) -> io::Result<Option<TailWindow>> {
    let Held { bytes, base, is_all } = *held;
    let start = if is_all { Some(0) } else { memchr(b'\n', bytes).map(|at| at + 1) };
    let Some(start) = start else { return Ok(None) };
    let has_escape = needles[1].find(bytes).is_some(); // seldom: then no line is asked for one
    let mut end = memrchr(b'\n', bytes).map_or(start, |at| at + 1);
    while end > start {
        let line = memrchr(b'\n', &bytes[start..end - 1]).map_or(start, |at| start + at + 1);
        let content = bytes[line..end - 1].strip_suffix(b"\r").unwrap_or(&bytes[line..end - 1]);
        let claim = claimed_step(content, content.last().copied());
        let spared = claim.is_some_and(|step| !best.is_better(step))
            && needles[0].find(&content[2..]).is_none()
            && !(has_escape && needles[1].find(content).is_some());
        if !spared {
            let mut found = best.anew();
            records.restart(base + line as u64, base + end as u64);
            while records.next_line(held, &mut found)?.is_some() {}
            best.add_earlier(found);
        }
        end = line;
    }
    let found = TailWindow { start: base + start as u64, last: best.last, wanted: best.wanted };
    Ok((best.has_records || is_all).then_some(found))
}
