//! Every record of a transcript whose records name their parents: identifier, parent, type and place.
//!
//! Exact, damage included: each line is walked in full, most of them by [`Objects`] while they lie in the buffer.
//! Only the three members are kept ([`crate::index`]), so the memory is that of the answer. Several threads read the
//! parts of a large file; what comes out is the same.

use std::borrow::Cow;
use std::io;
use std::mem;

use crate::error::Error;
use crate::ids::Id;
use crate::index::{File, Index, Rows};
use crate::lines::{Ahead, Lines, ReadAt};
use crate::open::Opened;
use crate::parts::{borders, read_in_order};
use crate::records::{Record, Records, Sift, Unread};
use crate::signs::{self, Look, Named};
use crate::text;
use crate::threads;
use crate::uuid;
use crate::walker::{Keys, Span};
use crate::whole::Objects;

/// What of a file is in memory: longer lines take the slow walk, and more is slower where a processor's near memory
/// does not hold it.
const BUFFER_BYTES: usize = 256 * 1024;
/// About the bytes of a part: some hundred times the cost of handing it over.
const PART_BYTES: u64 = 8 * 1024 * 1024;

const UUID: usize = 0;
const PARENT: usize = 1;
const TYPE: usize = 2;
const MESSAGE: usize = 3;
const TOLD: usize = 4;
const SESSION: usize = 5;
const OTHER_SESSION: usize = 6;
const REQUEST_SESSION: usize = 7;
const FORKED_FROM: usize = 8;
const SIDECHAIN: usize = 9;
const META: usize = 10;
const TEAM: usize = 11;
const SUMMARY: usize = 12;
const KEYS: [&[u8]; 13] = [
    b"uuid",
    b"parentUuid",
    b"type",
    b"message",
    b"toolUseResult",
    b"sessionId",
    b"session_id",
    b"requestSessionId",
    b"forkedFrom",
    b"isSidechain",
    b"isMeta",
    b"teamName",
    b"isCompactSummary",
];

/// Reads every complete line.
pub fn read_tree(opened: &Opened<impl ReadAt + Sync>) -> Result<Index, Error> {
    let Opened { file, path, size } = opened;
    let rows = read_in_parts(file, *size, BUFFER_BYTES, size.div_ceil(PART_BYTES)).map_err(Error::reading(path, 0))?;
    Ok(Index::new(rows))
}

/// As [`read_tree`], of anything that can be read, with a buffer of that many bytes for each of so many parts.
pub fn read_in_parts(source: &(impl ReadAt + Sync), size: u64, buffer_bytes: usize, parts: u64) -> io::Result<Rows> {
    let borders = borders(source, 0, size, parts)?;
    let new_reader = || Reader::new(size, buffer_bytes);
    let read = |reader: &mut Reader, start, end| reader.read(source, start, end);
    let mut rows = Rows::default();
    read_in_order(source, &borders, threads::count(borders.len() - 1), new_reader, read, |found| {
        rows.append(found?);
        Ok::<_, io::Error>(())
    })?;
    Ok(rows)
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
    pub fn read(&mut self, source: &impl ReadAt, start: u64, limit: u64) -> io::Result<(Rows, u64)> {
        let Self { records, keys, spans } = self;
        records.restart(start, limit);
        let look = Look::new(MESSAGE, TOLD);
        let mut sieve = Sieve { rows: Rows::default(), look };
        loop {
            match records.look(source)? {
                Ahead::Block => {
                    let (block, base) = records.block();
                    let (bytes, lines) = sieve.read(block, base, keys, spans);
                    let is_all = bytes == block.len();
                    records.skip(bytes, lines);
                    if !is_all {
                        records.read_short(&mut sieve)?; // damaged, or otherwise not as most are
                    }
                }
                Ahead::Long(held) if records.walk_long(source, held, &mut sieve)? => {}
                Ahead::Long(_) | Ahead::End => break,
            }
        }
        let (mut rows, end) = (sieve.rows, records.end());
        rows.cut(end); // what was taken of a line that was cut short while it was read
        (rows.lines, rows.damage) = (records.count, mem::take(&mut records.damage));
        Ok((rows, end))
    }
}

struct Sieve {
    rows: Rows,
    look: Look,
}

impl Sieve {
    /// Reads lines from a block's beginning on while each is one object and nothing else: their bytes and their number.
    fn read(&mut self, block: &[u8], base: u64, keys: &Keys, spans: &mut Vec<Option<Span>>) -> (usize, u64) {
        let mut objects = Objects::new(block);
        let (mut start, mut count) = (0, 0);
        loop {
            self.look.begin();
            let Some(end) = objects.end_seen(start, keys, spans, &mut self.look) else { break };
            let ending = match block[end..] {
                [b'\n', ..] => 1,
                [b'\r', b'\n', ..] => 2,
                _ => break,
            };
            let raw = |key: usize| spans[key].map(|(start, end)| &block[start..end]);
            let (signs, named) = self.look.signs();
            let signs = signs | signs_of(raw);
            let named = match named {
                Named::None => File::None,
                Named::One((start, end)) => File::One(&block[start..end]),
                Named::Several => File::Several,
            };
            self.add([raw(UUID), raw(PARENT), raw(TYPE)], (base + start as u64, end - start), signs, named);
            count += 1;
            start = end + ending;
        }
        (start, count)
    }

    /// A record's members as they are written, and its place.
    fn add(&mut self, [uuid, parent, kind]: [Option<&[u8]>; 3], place: (u64, usize), signs: u8, file: File<'_>) {
        let (uuid, parent) = (uuid.and_then(Said::new), parent.and_then(Said::new));
        let kind = kind.and_then(text::string);
        let spoken = match kind.as_deref() {
            Some("user") => signs::USER,
            Some("assistant") => signs::ASSISTANT,
            _ => 0,
        };
        self.rows.push(uuid.as_ref().map(Said::id), parent.as_ref().map(Said::id), kind.as_deref(), place);
        self.rows.note(signs | spoken, file);
    }
}

/// What the members of a record itself show.
fn signs_of<'r>(raw: impl Fn(usize) -> Option<&'r [u8]>) -> u8 {
    let is_there = |key: usize| raw(key).is_some_and(|value| value != b"null" && value != b"false");
    let names_source = is_there(FORKED_FROM)
        || is_there(REQUEST_SESSION)
        || is_there(OTHER_SESSION) && raw(OTHER_SESSION) != raw(SESSION);
    let is_aside = is_there(SIDECHAIN) || is_there(META) || is_there(TEAM);
    let is_summary = raw(SUMMARY) == Some(b"true");
    (if names_source { signs::SOURCE } else { 0 })
        | (if is_aside { signs::ASIDE } else { 0 })
        | (if is_summary { signs::QUIET } else { 0 })
}

impl Sift for Sieve {
    fn passes(&mut self, _line: &mut Unread<'_>) -> bool {
        false
    }

    fn take(&mut self, record: &mut Record<'_>) -> io::Result<bool> {
        let mut values = [None, None, None];
        for (key, value) in values.iter_mut().enumerate() {
            *value = record.value(key, usize::MAX)?.map(<[u8]>::to_vec);
        }
        let is_there = |keys: &[usize]| keys.iter().any(|&key| record.span(key).is_some());
        let source = if is_there(&[OTHER_SESSION, REQUEST_SESSION, FORKED_FROM]) { signs::SOURCE } else { 0 };
        let aside = if is_there(&[SIDECHAIN, META, TEAM]) { signs::ASIDE } else { 0 };
        let signs = signs::UNSEEN | source | aside;
        let place = (record.offset(), record.length());
        self.add(values.each_ref().map(Option::as_deref), place, signs, File::Several);
        Ok(true)
    }
}

/// What a value says that may be an identifier.
enum Said<'r> {
    Uuid(u128),
    Text(Cow<'r, str>),
}

impl<'r> Said<'r> {
    /// None when it is no string.
    fn new(raw: &'r [u8]) -> Option<Self> {
        let number = match raw {
            [b'"', inside @ .., b'"'] => uuid::parse(inside),
            _ => None,
        };
        number.map(Self::Uuid).or_else(|| text::string(raw).map(Self::Text))
    }

    fn id(&self) -> Id<'_> {
        match self {
            Self::Uuid(number) => Id::Uuid(*number),
            Self::Text(text) => Id::new(text),
        }
    }
}
