//! Every record of a transcript whose records name their parents: identifier, parent, type and place.
//!
//! Exact, damage included: each line is walked in full, most of them by [`Objects`] while they lie in the buffer.
//! Only the three members are kept ([`crate::index`]), so the memory is that of the answer. Several threads read the
//! parts of a large file; what comes out is the same.

use std::borrow::Cow;
use std::io;
use std::mem;

use crate::error::Error;
use crate::index::{Id, Index, Rows};
use crate::lines::{Ahead, Lines, ReadAt};
use crate::open::Opened;
use crate::parts::{borders, read_in_order};
use crate::records::{Record, Records, Sift, Unread};
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
const KEYS: [&[u8]; 3] = [b"uuid", b"parentUuid", b"type"];

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
        let mut sieve = Sieve { rows: Rows::default() };
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
}

impl Sieve {
    /// Reads lines from a block's beginning on while each is one object and nothing else: their bytes and their number.
    fn read(&mut self, block: &[u8], base: u64, keys: &Keys, spans: &mut Vec<Option<Span>>) -> (usize, u64) {
        let mut objects = Objects::new(block);
        let (mut start, mut count) = (0, 0);
        while let Some(end) = objects.end(start, keys, spans) {
            let ending = match block[end..] {
                [b'\n', ..] => 1,
                [b'\r', b'\n', ..] => 2,
                _ => break,
            };
            let raw = |key: usize| spans[key].map(|(start, end)| &block[start..end]);
            self.add([raw(UUID), raw(PARENT), raw(TYPE)], (base + start as u64, end - start));
            count += 1;
            start = end + ending;
        }
        (start, count)
    }

    /// A record's members as they are written, and its place.
    fn add(&mut self, [uuid, parent, kind]: [Option<&[u8]>; 3], place: (u64, usize)) {
        let (uuid, parent) = (uuid.and_then(Said::new), parent.and_then(Said::new));
        let kind = kind.and_then(text::string);
        self.rows.push(uuid.as_ref().map(Said::id), parent.as_ref().map(Said::id), kind.as_deref(), place);
    }
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
        self.add(values.each_ref().map(Option::as_deref), (record.offset(), record.length()));
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
