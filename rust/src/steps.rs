//! Chosen records of a file, in batches: Antigravity steps, or any named members.
//!
//! One read of the file. A line is let pass when it provably cannot hold a wanted name ([`Filter`]); all others are
//! walked, and what is handed out is exact for them. A record that is not wanted is never collected, however long.

use std::fs::File;
use std::io;
use std::mem;
use std::path::PathBuf;

use crate::cursor::{Cursor, begin};
use crate::error::Error;
use crate::lines::{BUFFER_BYTES, Lines, ReadAt};
use crate::needles::AnyOf;
use crate::open::Opened;
use crate::records::{Damage, Record, Records, Sift, Unread};
use crate::text;
use crate::walker::{Keys, Span};
use crate::watch::{GoOn, Watched};

/// A batch ends with so many records,
const BATCH_ROWS: usize = 512;
/// or with the record that brings it to so many bytes, even if there are more on a line.
const BATCH_BYTES: usize = 1024 * 1024;
const ESCAPE_NEEDLE: &[u8] = b"\\u00";

/// Place of `step_index` among the members of [`Choice::steps`].
pub const INDEX: usize = 0;
const TYPE: usize = 1;
const STEP_MEMBERS: [&[u8]; 5] = [b"step_index", b"type", b"source", b"status", b"created_at"];

/// A record passes when this member is a string that says one of the names.
#[derive(Clone, Debug)]
pub struct Filter {
    /// Which of the members that are read.
    pub member: usize,
    /// The names, UTF-8.
    pub names: Vec<Vec<u8>>,
}

/// Which records are wanted, and what of them.
#[derive(Clone, Debug)]
pub struct Choice {
    members: Vec<Vec<u8>>,
    filters: Vec<Filter>,
    /// The steps wanted, both ends included; records without one are not.
    range: Option<(i64, i64)>,
    /// The whole record is handed out, not only its members.
    is_whole: bool,
}

impl Choice {
    /// Steps: `step_index`, `type`, `source`, `status`, `created_at` and the whole record, of these types and steps.
    #[must_use]
    pub fn steps(types: Option<Vec<Vec<u8>>>, range: Option<(i64, i64)>) -> Self {
        let filters = types.map(|names| Filter { member: TYPE, names }).into_iter().collect();
        Self { members: STEP_MEMBERS.map(<[u8]>::to_vec).to_vec(), filters, range, is_whole: true }
    }

    /// The named members (no name twice) of any record that passes all filters.
    #[must_use]
    pub fn members(members: Vec<Vec<u8>>, filters: Vec<Filter>) -> Self {
        Self { members, filters, range: None, is_whole: false }
    }

    /// What proves a line free of wanted names, for each filter whose names can be proven: none of them is in it, and
    /// not the escape that could hide one.
    fn needles(&self) -> Vec<AnyOf> {
        let is_provable = |filter: &&Filter| filter.names.iter().all(|name| text::is_provable(name));
        let with_escape = |filter: &Filter| {
            let names = filter.names.iter().map(Vec::as_slice);
            AnyOf::new(&names.chain([ESCAPE_NEEDLE]).collect::<Vec<_>>())
        };
        self.filters.iter().filter(is_provable).map(with_escape).collect()
    }
}

/// One record of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Its step, where steps were asked for.
    pub step: Option<i64>,
    /// Where its `{` is.
    pub offset: u64,
    /// Bytes from its `{` to its `}`, both included.
    pub length: usize,
    /// Where its bytes are in the batch; empty unless whole records were asked for.
    pub raw: Span,
    /// Where a later read goes on once this record was handed out: the end of its line, or the line's beginning while
    /// more of that line are to come.
    pub next: u64,
}

/// Some records.
#[derive(Debug, Default)]
pub struct Batch {
    /// What the records' places count in.
    pub bytes: Vec<u8>,
    /// The records, in file order.
    pub rows: Vec<Row>,
    /// For each record where its members' values are, in the order they were named.
    pub spans: Vec<Option<Span>>,
}

impl Batch {
    /// The value of a record's member, as it is written; None when it has none.
    #[must_use]
    pub fn value(&self, row: usize, member: usize) -> Option<&[u8]> {
        let members = self.spans.len() / self.rows.len();
        let (start, end) = self.spans[row * members + member]?;
        Some(&self.bytes[start..end])
    }

    const fn lengths(&self) -> (usize, usize, usize) {
        (self.rows.len(), self.bytes.len(), self.spans.len())
    }

    fn truncate(&mut self, (rows, bytes, spans): (usize, usize, usize)) {
        self.rows.truncate(rows);
        self.bytes.truncate(bytes);
        self.spans.truncate(spans);
    }
}

/// Reads a file's chosen records.
#[derive(Debug)]
pub struct Reader {
    path: PathBuf,
    /// None once it is closed.
    file: Option<File>,
    inner: Inner,
    failed: Option<Error>,
    /// What was complete when a read was ended.
    left: Batch,
    /// Where reading began.
    pub start: u64,
    /// The cursor did not fit the file: it is read from the start.
    pub restarted: bool,
}

impl Reader {
    /// Reads what stands behind the cursor. `is_closed`: nobody writes the file any more, so an unfinished tail that is
    /// one whole object is a record, too.
    pub fn new(opened: Opened, choice: Choice, cursor: Option<Cursor>, is_closed: bool) -> Result<Self, Error> {
        let (start, restarted) = begin(&opened.file, opened.size, cursor).map_err(Error::reading(&opened.path, 0))?;
        let inner = Inner::new(choice, start, opened.size, is_closed, BUFFER_BYTES);
        let Opened { file, path, .. } = opened;
        Ok(Self { path, file: Some(file), inner, failed: None, left: Batch::default(), start, restarted })
    }

    /// The next records; none at the end. What was complete before an error comes first, then the error; only what
    /// `go_on` says comes at once, and the next call goes on from there.
    pub fn batch(&mut self, go_on: &GoOn<'_>) -> Result<Batch, Error> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        let mut batch = mem::take(&mut self.left);
        let Some(file) = &self.file else { return Ok(Batch::default()) };
        if let Err(source) = self.inner.batch(&Watched { source: file, go_on }, &mut batch) {
            let is_ended = source.kind() == io::ErrorKind::Interrupted;
            let error = Error::reading(&self.path, self.inner.end())(source);
            if is_ended {
                self.left = batch;
                return Err(error);
            }
            if batch.rows.is_empty() {
                return Err(error);
            }
            self.failed = Some(error);
        }
        Ok(batch)
    }

    /// The end of the last complete line that was read.
    #[must_use]
    pub const fn end(&self) -> u64 {
        self.inner.end()
    }

    /// The damaged lines that were read.
    #[must_use]
    pub const fn damage(&self) -> &Damage {
        &self.inner.records.damage
    }

    /// Lets go of the file and the buffers; nothing more is read.
    pub fn close(&mut self) {
        self.file = None;
        let end = self.inner.end();
        let none = Choice { members: Vec::new(), filters: Vec::new(), range: None, is_whole: false };
        let damage = mem::take(&mut self.inner.records.damage);
        self.inner = Inner::new(none, end, end, false, 0);
        self.inner.records.damage = damage;
    }

    /// The cursor for an offset. An error once the reader is closed.
    pub fn cursor(&self, offset: u64) -> Result<Cursor, Error> {
        let found = match &self.file {
            Some(file) => Cursor::at(file, offset),
            None => Err(io::Error::other("the reader is closed")),
        };
        found.map_err(Error::reading(&self.path, offset))
    }
}

/// The same for anything that can be read at an offset.
#[derive(Debug)]
pub struct Inner {
    records: Records,
    choice: Choice,
    needles: usize,
    limit: u64,
    is_closed: bool,
    is_done: bool,
}

impl Inner {
    /// The chosen records between two offsets, through a buffer of that many bytes.
    #[must_use]
    pub fn new(choice: Choice, start: u64, limit: u64, is_closed: bool, buffer_bytes: usize) -> Self {
        let needles = choice.needles();
        let count = needles.len();
        let members: Vec<&[u8]> = choice.members.iter().map(Vec::as_slice).collect();
        let records = Records::new(Lines::new(start, limit, buffer_bytes, needles), Keys::new(&members));
        Self { records, choice, needles: count, limit, is_closed, is_done: false }
    }

    /// The end of the last complete line that was read.
    #[must_use]
    pub const fn end(&self) -> u64 {
        self.records.end()
    }

    /// The damaged lines that were read.
    #[must_use]
    pub const fn damage(&self) -> &Damage {
        &self.records.damage
    }

    /// Adds the next records; none at the end.
    pub fn batch(&mut self, source: &impl ReadAt, batch: &mut Batch) -> io::Result<()> {
        while !self.is_done && batch.rows.len() < BATCH_ROWS && batch.bytes.len() < BATCH_BYTES {
            let before = batch.lengths();
            let mut pick =
                Pick { choice: &self.choice, needles: self.needles, batch, rows_max: BATCH_ROWS, objects: 0 };
            match self.records.next_line(source, &mut pick) {
                Ok(Some(line)) => {
                    if let Some(last) = batch.rows[before.0..].last_mut() {
                        last.next = line.end;
                    }
                }
                Ok(None) => {
                    if self.is_closed {
                        self.take_tail(source, batch)?;
                    }
                    self.is_done = true;
                }
                Err(error) => {
                    if error.kind() == io::ErrorKind::Interrupted {
                        batch.truncate(before); // the line is read again
                    }
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// Takes the unfinished tail when it is one whole object.
    fn take_tail(&mut self, source: &impl ReadAt, batch: &mut Batch) -> io::Result<()> {
        let before = batch.lengths();
        let mut pick = Pick { choice: &self.choice, needles: 0, batch, rows_max: before.0 + 1, objects: 0 };
        let is_read = self.records.read_tail(source, self.limit, &mut pick);
        if !matches!(is_read, Ok(true)) || pick.objects != 1 {
            batch.truncate(before);
        }
        is_read.map(|_| ())
    }
}

struct Pick<'p> {
    choice: &'p Choice,
    /// How many there are, any of which can prove that a line can be done without.
    needles: usize,
    batch: &'p mut Batch,
    /// No more records than this are taken.
    rows_max: usize,
    /// Objects seen, wanted or not.
    objects: usize,
}

impl Sift for Pick<'_> {
    fn passes(&mut self, line: &mut Unread<'_>) -> bool {
        (0..self.needles).any(|needle| !line.holds(needle))
    }

    fn take(&mut self, record: &mut Record<'_>) -> io::Result<bool> {
        self.objects += 1;
        for filter in &self.choice.filters {
            let mut is_wanted = false;
            for name in &filter.names {
                is_wanted = is_wanted || record.says(filter.member, name)?;
            }
            if !is_wanted {
                return Ok(true);
            }
        }
        let step = if self.choice.is_whole { record.step(INDEX)? } else { None };
        if self.choice.range.is_none_or(|(first, last)| step.is_some_and(|step| first <= step && step <= last)) {
            if self.batch.rows.len() >= self.rows_max || self.batch.bytes.len() >= BATCH_BYTES {
                return Ok(false);
            }
            self.keep(record, step)?;
        }
        Ok(true)
    }
}

impl Pick<'_> {
    fn keep(&mut self, record: &mut Record<'_>, step: Option<i64>) -> io::Result<()> {
        let Batch { bytes, rows, spans } = &mut *self.batch;
        let start = bytes.len();
        if self.choice.is_whole {
            let raw = record.raw()?;
            bytes.try_reserve(raw.len())?;
            bytes.extend_from_slice(raw);
            spans.extend(
                (0..self.choice.members.len())
                    .map(|member| record.span(member).map(|(from, to)| (start + from, start + to))),
            );
        } else {
            for member in 0..self.choice.members.len() {
                let from = bytes.len();
                let value = record.value(member, usize::MAX)?;
                bytes.try_reserve(value.map_or(0, <[u8]>::len))?;
                bytes.extend_from_slice(value.unwrap_or_default());
                spans.push(value.map(|value| (from, from + value.len())));
            }
        }
        let raw = (start, if self.choice.is_whole { bytes.len() } else { start });
        rows.push(Row { step, offset: record.offset(), length: record.length(), raw, next: record.line_offset });
        Ok(())
    }
}
