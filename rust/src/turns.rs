//! Every turn of an Antigravity transcript by its place, and with the same read all that [`crate::tail`] finds.
//!
//! Of a turn only its step, its place and what [`crate::calls`] sees is kept, so the memory is that of the answer.
//! What is found is exactly what [`crate::tail`] and [`crate::steps`] find, damage included: most lines are walked by
//! [`Objects`], and on the others it is asked which of the two would have passed them over. Several threads read the
//! parts of a large file; what comes out is the same.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::mem;
use std::sync::LazyLock;

use crate::calls::{self, Kind};
use crate::error::Error;
use crate::lines::{Ahead, Lines, ReadAt};
use crate::needles::AnyOf;
use crate::open::Opened;
use crate::parts::{borders, read_in_order};
use crate::records::{Record, Records, Sift, Unread, leading_step};
use crate::tail::Mark;
use crate::text;
use crate::threads;
use crate::walker::{Keys, Span};
use crate::whole::Objects;

/// As for [`crate::tree`].
const BUFFER_BYTES: usize = 256 * 1024;
const PART_BYTES: u64 = 8 * 1024 * 1024;

const STEP: usize = 0;
const TYPE: usize = 1;
const SOURCE: usize = 2;
const STATUS: usize = 3;
const CONTENT: usize = 4;
const CALLS: usize = 5;
const KEYS: [&[u8]; 6] = [b"step_index", b"type", b"source", b"status", b"content", b"tool_calls"];

/// A line that holds none of the first has no turn; one that holds none of the second may be passed over by
/// [`crate::tail`].
static NEEDLES: LazyLock<[AnyOf; 2]> = LazyLock::new(|| {
    [
        AnyOf::new(&[b"USER_INPUT", b"PLANNER_RESPONSE", b"\\u00"]),
        AnyOf::new(&[b"\"step_index\"", b"CHECKPOINT", b"\\u00", b"}{"]),
    ]
});
const OF_TURNS: usize = 0;
const OF_TAIL: usize = 1;

/// Of a line that may be longer than 1 MiB, a BOM included, it is not said which record it holds: see
/// `clients/antigravity/preceding.py`.
const LONG_BYTES: usize = 1024 * 1024 - 3;

const UNDER_WAY: [&[u8]; 3] = [b"RUNNING", b"PENDING", b"IN_PROGRESS"];

/// It is a request, as far as its type says.
pub const USER: u8 = 1;
/// It is a response that says something.
pub const SAID: u8 = 1 << 1;
/// It is a response that calls tools.
pub const CALLED: u8 = 1 << 2;
/// What its calls name is not known.
pub const UNSEEN: u8 = 1 << 3;

/// A record that is a turn by its type; with no sign it says nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Its step.
    pub step: i64,
    /// Where its `{` is.
    pub offset: u64,
    /// Bytes from its `{` to its `}`, both included.
    pub length: usize,
    /// What it is.
    pub signs: u8,
    /// Where its touches end; they begin where those of the row before it do.
    touches_end: usize,
}

/// A file that a call names: the number of the call in its row, and the place of what is told of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Touch {
    /// From 0.
    pub call: u32,
    /// In [`Turns::told`].
    pub told: u32,
}

/// What calls say of files, each once.
#[derive(Clone, Debug, Default)]
struct Told {
    places: HashMap<(Kind, String), u32>,
    all: Vec<(Kind, String)>,
}

impl Told {
    fn place(&mut self, kind: Kind, told: &str) -> u32 {
        let key = (kind, told.to_owned());
        if let Some(&place) = self.places.get(&key) {
            return place;
        }
        let place = self.all.len() as u32;
        self.all.push(key.clone());
        self.places.insert(key, place);
        place
    }
}

/// The record that begins before a place, the last one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Before {
    /// None in the bytes that were read.
    #[default]
    None,
    /// It begins there and is so long.
    At(u64, usize),
    /// A line so long stands there that it is not said what it holds.
    Long,
}

/// What was found in a file.
#[derive(Clone, Debug, Default)]
pub struct Turns {
    /// In file order.
    pub rows: Vec<Row>,
    touches: Vec<Touch>,
    told: Told,
    /// The values of arguments are encoded once more, so that what they name is unseen.
    is_cut: bool,
    /// For each record with a step: that, and whether it is the finished result of a tool.
    results: Vec<(i64, bool)>,
    /// Every record of type CHECKPOINT, in file order.
    pub boundaries: Vec<Mark>,
    /// For each of them the record before it.
    pub before: Vec<Before>,
    newest: Before,
    /// The highest step; None when there is none.
    pub last_step: Option<i64>,
    /// Damaged lines among those that may hold a turn.
    pub damaged: u64,
}

impl Turns {
    /// The files that the calls of a row name, in their order.
    #[must_use]
    pub fn touches(&self, row: usize) -> &[Touch] {
        let start = row.checked_sub(1).map_or(0, |before| self.rows[before].touches_end);
        &self.touches[start..self.rows[row].touches_end]
    }

    /// How calls name files, and by what.
    #[must_use]
    pub fn told(&self) -> &[(Kind, String)] {
        &self.told.all
    }

    /// The steps in a range, ascending, whose last record is the finished result of a tool.
    #[must_use]
    pub fn finished(&self, first: i64, last: i64) -> Vec<i64> {
        let within = self.results.iter().filter(|(step, _)| (first..=last).contains(step)).copied();
        let last: BTreeMap<i64, bool> = within.collect();
        last.into_iter().filter_map(|(step, is_finished)| is_finished.then_some(step)).collect()
    }

    /// Adds what the next part of the file holds.
    fn append(&mut self, next: Self) {
        let moved: Vec<u32> = next.told.all.iter().map(|(kind, told)| self.told.place(*kind, told)).collect();
        let before = self.touches.len();
        self.touches.extend(next.touches.iter().map(|touch| Touch { told: moved[touch.told as usize], ..*touch }));
        self.rows.extend(next.rows.iter().map(|row| Row { touches_end: row.touches_end + before, ..*row }));
        self.results.extend(next.results);
        self.boundaries.extend(next.boundaries);
        let before = next.before.into_iter();
        self.before.extend(before.map(|before| if before == Before::None { self.newest } else { before }));
        if next.newest != Before::None {
            self.newest = next.newest;
        }
        self.last_step = self.last_step.max(next.last_step);
        self.damaged += next.damaged;
    }

    /// Takes a record: of the members the bytes. `of_tail`: [`crate::tail`] would walk its line; `of_turns`: it may be
    /// a turn.
    fn take(&mut self, values: &[Option<&[u8]>; 6], place: (u64, usize), (of_tail, of_turns): (bool, bool)) {
        let step = values[STEP].and_then(text::integer);
        let is_checkpoint = says(values[TYPE], b"CHECKPOINT");
        if of_tail {
            self.last_step = self.last_step.max(step);
            if is_checkpoint {
                self.boundaries.push(Mark { step, offset: place.0, length: place.1 });
                self.before.push(self.newest);
            }
        }
        self.newest = Before::At(place.0, place.1);
        let Some(step) = step else { return };
        let is_answer = says(values[TYPE], b"PLANNER_RESPONSE");
        let is_under_way = || UNDER_WAY.iter().any(|name| says(values[STATUS], name));
        self.results.push((step, !is_answer && says(values[SOURCE], b"MODEL") && !is_under_way()));
        if !of_turns {
            return;
        }
        let signs = if is_answer {
            let said = values[CONTENT].is_some_and(says_something);
            self.called(values[CALLS]) | if said { SAID } else { 0 }
        } else if says(values[TYPE], b"USER_INPUT") {
            USER
        } else {
            return;
        };
        let (offset, length) = place;
        self.rows.push(Row { step, offset, length, signs, touches_end: self.touches.len() });
    }

    fn called(&mut self, raw: Option<&[u8]>) -> u8 {
        let before = self.touches.len();
        let Self { told, touches, .. } = self;
        let seen = raw.map_or_else(calls::Seen::default, |raw| {
            calls::look(raw, |call, kind, name| touches.push(Touch { call, told: told.place(kind, name) }))
        });
        let is_unseen = seen.is_unseen || self.is_cut && seen.any;
        if is_unseen {
            touches.truncate(before);
        }
        (if seen.any { CALLED } else { 0 }) | if is_unseen { UNSEEN } else { 0 }
    }

    /// Drops what begins at an offset or behind it: the last records of a line that was cut short while it was read.
    fn cut(&mut self, end: u64) {
        self.rows.truncate(self.rows.partition_point(|row| row.offset < end));
        self.touches.truncate(self.rows.last().map_or(0, |row| row.touches_end));
        self.boundaries.truncate(self.boundaries.partition_point(|mark| mark.offset < end));
        self.before.truncate(self.boundaries.len());
    }
}

fn says(raw: Option<&[u8]>, name: &[u8]) -> bool {
    let inside = raw.and_then(|raw| raw.strip_prefix(b"\"")).and_then(|rest| rest.strip_suffix(b"\""));
    inside.is_some_and(|inside| text::equals(inside, name))
}

/// Whether a value is a string that is not blank.
fn says_something(raw: &[u8]) -> bool {
    match raw {
        [b'"', first, ..] if first.is_ascii_graphic() && !matches!(first, b'"' | b'\\') => true,
        raw => text::string(raw).is_some_and(|text| !text::is_blank(&text)),
    }
}

/// Reads every complete line. `is_cut`: of the shortened copy, whose arguments are encoded once more.
pub fn read_turns(opened: &Opened<impl ReadAt + Sync>, is_cut: bool) -> Result<Turns, Error> {
    let Opened { file, path, size } = opened;
    read_in_parts(file, *size, BUFFER_BYTES, size.div_ceil(PART_BYTES), is_cut).map_err(Error::reading(path, 0))
}

/// As [`read_turns`], of anything that can be read, with a buffer of that many bytes for each of so many parts.
pub fn read_in_parts(
    source: &(impl ReadAt + Sync),
    size: u64,
    buffer_bytes: usize,
    parts: u64,
    is_cut: bool,
) -> io::Result<Turns> {
    let borders = borders(source, 0, size, parts)?;
    let new_reader = || Reader::new(size, buffer_bytes);
    let read = |reader: &mut Reader, start, end| reader.read(source, start, end, is_cut);
    let mut turns = Turns::default();
    read_in_order(source, &borders, threads::count(borders.len() - 1), new_reader, read, |found| {
        turns.append(found?);
        Ok::<_, io::Error>(())
    })?;
    Ok(turns)
}

/// Reads parts of a file, one after another with the same buffers.
struct Reader {
    records: Records,
    keys: Keys,
    spans: Vec<Option<Span>>,
}

impl Reader {
    fn new(size: u64, buffer_bytes: usize) -> Self {
        let needles = NEEDLES.to_vec();
        let keys = Keys::new(&KEYS);
        Self {
            records: Records::new(Lines::new(0, size, buffer_bytes, needles), keys.clone()),
            keys,
            spans: Vec::new(),
        }
    }

    /// The lines between two offsets, and the end of the last complete one.
    fn read(&mut self, source: &impl ReadAt, start: u64, limit: u64, is_cut: bool) -> io::Result<(Turns, u64)> {
        let Self { records, keys, spans } = self;
        records.restart(start, limit);
        let turns = Turns { is_cut, ..Turns::default() };
        let mut sieve = Sieve { turns, of_tail: true, of_turns: true, is_long: false };
        loop {
            match records.look(source)? {
                Ahead::Block => {
                    let (block, base) = records.block();
                    let (bytes, lines) = sieve.read(block, base, keys, spans);
                    let is_all = bytes == block.len();
                    records.skip(bytes, lines);
                    if is_all {
                        continue;
                    }
                }
                Ahead::Long(_) => {}
                Ahead::End => break,
            }
            // Damaged, long, or otherwise not as most are.
            let before = records.damage.count;
            if records.next_line(source, &mut sieve)?.is_none() {
                break;
            }
            if sieve.of_turns {
                sieve.turns.damaged += records.damage.count - before;
            }
        }
        let mut turns = mem::take(&mut sieve.turns);
        turns.cut(records.end());
        Ok((turns, records.end()))
    }
}

struct Sieve {
    turns: Turns,
    /// Of the line that is read: [`crate::tail`] would walk it,
    of_tail: bool,
    /// and it may hold a turn.
    of_turns: bool,
    is_long: bool,
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
            let mut values = [None; 6];
            for (value, span) in values.iter_mut().zip(&*spans) {
                *value = span.map(|(from, to)| &block[from..to]);
            }
            self.turns.take(&values, (base + start as u64, end - start), (true, true));
            count += 1;
            start = end + ending;
        }
        (start, count)
    }
}

impl Sift for Sieve {
    fn passes(&mut self, line: &mut Unread<'_>) -> bool {
        self.of_turns = line.holds(OF_TURNS);
        let step = leading_step(line).filter(|_| !line.holds(OF_TAIL));
        self.of_tail = step.is_none();
        self.is_long = line.length > LONG_BYTES;
        if self.is_long {
            self.turns.newest = Before::Long;
        }
        self.turns.last_step = self.turns.last_step.max(step);
        false
    }

    fn take(&mut self, record: &mut Record<'_>) -> io::Result<bool> {
        let mut held: [Option<Vec<u8>>; 6] = Default::default();
        for (key, value) in held.iter_mut().enumerate().take(CONTENT) {
            *value = record.value(key, usize::MAX)?.map(<[u8]>::to_vec);
        }
        if says(held[TYPE].as_deref(), b"PLANNER_RESPONSE") {
            for key in [CONTENT, CALLS] {
                held[key] = record.value(key, usize::MAX)?.map(<[u8]>::to_vec);
            }
        }
        let place = (record.offset(), record.length());
        self.turns.take(&held.each_ref().map(Option::as_deref), place, (self.of_tail, self.of_turns));
        if self.is_long {
            self.turns.newest = Before::Long;
        }
        Ok(true)
    }
}
