//! Every record of a transcript whose records name their parents: identifier, parent, type and place.
//!
//! Exact, damage included: each line is walked in full, most of them by [`whole_object`] while they lie in the buffer.
//! Only the three members are kept, so the memory is that of the answer. Several threads read the parts of a large file,
//! while the caller makes what it needs of those that were read; what comes out is the same.

use std::io;
use std::mem;

use crate::error::Error;
use crate::lines::{Lines, ReadAt};
use crate::members::is_filler;
use crate::open::Opened;
use crate::parts::{borders, read_in_order};
use crate::records::{Damage, Record, Records, Sift, Unread};
use crate::text;
use crate::threads;
use crate::walker::{Keys, Span};
use crate::whole::whole_object;

/// Longer lines are read twice.
const BUFFER_BYTES: usize = 1024 * 1024;
/// About the bytes of a part: some hundred times the cost of handing it over.
const PART_BYTES: u64 = 8 * 1024 * 1024;

const UUID: usize = 0;
const PARENT: usize = 1;
const TYPE: usize = 2;
const KEYS: [&[u8]; 3] = [b"uuid", b"parentUuid", b"type"];

/// Types are kept once each, but for what a part has beyond so many,
const KINDS_MAX: usize = 64;
/// and a record's parent once with the identifier that it names, where that is one of so many texts before it.
const RECENT: usize = 4;

/// A record. Its texts are places in [`Part::texts`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its `uuid`.
    pub uuid: Option<usize>,
    /// Its `parentUuid`; the same place as an entry's `uuid` where that was near.
    pub parent: Option<usize>,
    /// The place of its `type` in [`Part::kinds`].
    pub kind: Option<usize>,
    /// Where its `{` is.
    pub offset: u64,
    /// Bytes from its `{` to its `}`, both included.
    pub length: usize,
}

/// What a part of a file holds.
#[derive(Clone, Debug, Default)]
pub struct Part {
    /// The records, in file order.
    pub entries: Vec<Entry>,
    /// The types that records have.
    pub kinds: Vec<String>,
    /// Identifiers of entries and of parents.
    pub texts: Texts,
    /// Complete lines that are not blank.
    pub lines: u64,
    /// Damaged lines.
    pub damage: Damage,
}

/// Reads every complete line and gives the parts of the file in their order to `take`, whose error ends the read.
pub fn read_tree<E: From<Error>>(
    opened: &Opened<impl ReadAt + Sync>,
    mut take: impl FnMut(Part) -> Result<(), E>,
) -> Result<(), E> {
    let Opened { file, path, size } = opened;
    read_in_parts(file, *size, BUFFER_BYTES, size.div_ceil(PART_BYTES), |found| {
        take(found.map_err(Error::reading(path, 0))?)
    })
}

/// As [`read_tree`], of anything that can be read, with a buffer of that many bytes for each of so many parts. `take`
/// is given what went wrong, too.
pub fn read_in_parts<E>(
    source: &(impl ReadAt + Sync),
    size: u64,
    buffer_bytes: usize,
    parts: u64,
    mut take: impl FnMut(io::Result<Part>) -> Result<(), E>,
) -> Result<(), E> {
    let borders = match borders(source, 0, size, parts) {
        Ok(borders) => borders,
        Err(error) => return take(Err(error)),
    };
    let new_reader = || Reader::new(size, buffer_bytes);
    let read = |reader: &mut Reader, start, end| reader.read(source, start, end);
    read_in_order(source, &borders, threads::count(borders.len() - 1), new_reader, read, take)
}

/// Reads parts of a file, one after another with the same buffers.
#[derive(Debug)]
pub struct Reader {
    records: Records,
    keys: Keys,
    spans: Vec<Option<Span>>,
}

impl Reader {
    /// A reader with a buffer of that many bytes, or of the size of the file where that is less.
    #[must_use]
    pub fn new(size: u64, buffer_bytes: usize) -> Self {
        let lines = Lines::new(0, size, buffer_bytes, Vec::new());
        let keys = Keys::new(&KEYS);
        Self { records: Records::new(lines, keys.clone()), keys, spans: Vec::new() }
    }

    /// The lines between two offsets, and the end of the last complete one.
    pub fn read(&mut self, source: &impl ReadAt, start: u64, limit: u64) -> io::Result<(Part, u64)> {
        let Self { records, keys, spans } = self;
        records.restart(start, limit);
        let mut sieve = Sieve { part: Part::default(), keys, spans };
        while records.next_line(source, &mut sieve)?.is_some() {}
        let (mut part, end) = (sieve.part, records.end());
        // What was taken of a line that was cut short while it was read.
        while part.entries.pop_if(|entry| entry.offset >= end).is_some() {}
        (part.lines, part.damage) = (records.count, mem::take(&mut records.damage));
        Ok((part, end))
    }
}

impl Part {
    /// The place of an identifier, given as it is written; None when it is no string.
    fn place(&mut self, raw: &[u8], is_new: bool) -> Option<usize> {
        let text = text::string(raw)?;
        let known = if is_new { None } else { self.texts.find_recent(&text) };
        Some(known.unwrap_or_else(|| self.texts.push(&text)))
    }

    /// The same for a type.
    fn kind(&mut self, raw: &[u8]) -> Option<usize> {
        let text = text::string(raw)?;
        let known = self.kinds.iter().take(KINDS_MAX).position(|kind| *kind == text);
        Some(known.unwrap_or_else(|| {
            self.kinds.push(text.into());
            self.kinds.len() - 1
        }))
    }
}

/// Many short texts in one piece of memory.
#[derive(Clone, Debug, Default)]
pub struct Texts {
    all: String,
    ends: Vec<usize>,
}

impl Texts {
    /// All of them, by their places.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.ends.len()).map(|place| self.get(place))
    }

    /// The one with that place.
    #[must_use]
    pub fn get(&self, place: usize) -> &str {
        let start = place.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.all[start..self.ends[place]]
    }

    fn push(&mut self, text: &str) -> usize {
        self.all.push_str(text);
        self.ends.push(self.all.len());
        self.ends.len() - 1
    }

    fn find_recent(&self, text: &str) -> Option<usize> {
        let count = self.ends.len();
        (count.saturating_sub(RECENT)..count).rev().find(|&place| self.get(place) == text)
    }
}

struct Sieve<'r> {
    part: Part,
    keys: &'r Keys,
    spans: &'r mut Vec<Option<Span>>,
}

impl Sift for Sieve<'_> {
    fn passes(&mut self, line: &mut Unread<'_>) -> bool {
        if line.head.len() < line.length {
            return false;
        }
        let Some(length) = whole_object(line.head, self.keys, self.spans) else { return false };
        if !line.head[length..].iter().all(|&byte| is_filler(byte)) {
            return false;
        }
        let raw = |key: usize| self.spans[key].map(|(start, end)| &line.head[start..end]);
        let parent = raw(PARENT).and_then(|raw| self.part.place(raw, false));
        let uuid = raw(UUID).and_then(|raw| self.part.place(raw, true));
        let kind = raw(TYPE).and_then(|raw| self.part.kind(raw));
        self.part.entries.push(Entry { uuid, parent, kind, offset: line.offset, length });
        true
    }

    fn take(&mut self, record: &mut Record<'_>) -> io::Result<bool> {
        let parent = record.value(PARENT, usize::MAX)?.and_then(|raw| self.part.place(raw, false));
        let uuid = record.value(UUID, usize::MAX)?.and_then(|raw| self.part.place(raw, true));
        let kind = record.value(TYPE, usize::MAX)?.and_then(|raw| self.part.kind(raw));
        let (offset, length) = (record.offset(), record.length());
        self.part.entries.push(Entry { uuid, parent, kind, offset, length });
        Ok(true)
    }
}
