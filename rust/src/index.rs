//! The records of a transcript whose records name their parents, in little memory, and how they hang together.
//!
//! A record takes about 60 bytes; who follows whom is worked out when it is first asked for, and takes 20 to 25 more.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::OnceLock;

use crate::ids::{Id, Ids, Texts};
use crate::links::{Links, NOWHERE, somewhere};
use crate::records::Damage;
use crate::signs;

/// A record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'t> {
    /// Its `uuid`.
    pub uuid: Option<Id<'t>>,
    /// Its `parentUuid`.
    pub parent: Option<Id<'t>>,
    /// The place of its `type` in [`Rows::kinds`].
    pub kind: Option<usize>,
    /// Where its `{` is.
    pub offset: u64,
    /// Bytes from its `{` to its `}`, both included.
    pub length: usize,
}

/// So many types are looked through before they are looked up.
const FEW: usize = 16;

/// The types that records have, each once.
#[derive(Clone, Debug, Default)]
struct Kinds {
    names: Vec<String>,
    places: HashMap<String, u32>,
}

impl Kinds {
    fn place(&mut self, name: &str) -> u32 {
        let near = self.names.iter().take(FEW).position(|known| known == name).map(|place| place as u32);
        near.or_else(|| self.places.get(name).copied()).unwrap_or_else(|| {
            let place = self.names.len() as u32;
            self.names.push(name.to_owned());
            self.places.insert(name.to_owned(), place);
            place
        })
    }
}

/// The file that a record's calls name, as far as it was looked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum File<'r> {
    /// None.
    None,
    /// One, by its path as it is written between quotes.
    One(&'r [u8]),
    /// More than one, or only reading tells.
    Several,
}

/// Records in file order.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    offsets: Vec<u64>,
    lengths: Vec<usize>,
    uuids: Ids,
    parents: Ids,
    texts: Texts,
    kinds_of: Vec<u32>,
    kinds: Kinds,
    signs: Vec<u8>,
    /// 0 for no file, [`NOWHERE`] for several, and else the file's place in `files` and 1.
    files_of: Vec<u32>,
    files: Kinds,
    /// Complete lines that are not blank.
    pub lines: u64,
    /// Damaged lines.
    pub damage: Damage,
}

impl Rows {
    /// How many there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.offsets.len()
    }

    /// True when there is none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.offsets.is_empty()
    }

    /// The types that records have.
    #[must_use]
    pub fn kinds(&self) -> &[String] {
        &self.kinds.names
    }

    /// The record with that place; panics when there is none.
    #[must_use]
    pub fn get(&self, place: usize) -> Entry<'_> {
        Entry {
            uuid: self.uuid(place),
            parent: self.parent(place),
            kind: self.kind(place),
            offset: self.offsets[place],
            length: self.lengths[place],
        }
    }

    /// The place of a record's type in [`Rows::kinds`]; panics when there is no such record.
    #[must_use]
    pub fn kind(&self, place: usize) -> Option<usize> {
        somewhere(self.kinds_of[place])
    }

    pub(crate) fn uuid(&self, place: usize) -> Option<Id<'_>> {
        self.uuids.get(place, &self.texts)
    }

    pub(crate) fn parent(&self, place: usize) -> Option<Id<'_>> {
        self.parents.get(place, &self.texts)
    }

    /// Adds a record, whose type is given by name.
    pub(crate) fn push(
        &mut self,
        uuid: Option<Id<'_>>,
        parent: Option<Id<'_>>,
        kind: Option<&str>,
        (offset, length): (u64, usize),
    ) {
        self.uuids.push(uuid, &mut self.texts);
        self.parents.push(parent, &mut self.texts);
        self.kinds_of.push(kind.map_or(NOWHERE, |kind| self.kinds.place(kind)));
        self.offsets.push(offset);
        self.lengths.push(length);
    }

    /// What a look at the record that was added last has shown.
    pub(crate) fn note(&mut self, signs: u8, file: File<'_>) {
        self.signs.push(signs);
        self.files_of.push(match file {
            File::None => 0,
            File::One(path) => std::str::from_utf8(path).map_or(NOWHERE, |path| self.files.place(path) + 1),
            File::Several => NOWHERE,
        });
    }

    /// Takes away the records that do not begin before an offset.
    pub(crate) fn cut(&mut self, offset: u64) {
        let count = self.offsets.partition_point(|&begin| begin < offset);
        self.offsets.truncate(count);
        self.lengths.truncate(count);
        self.kinds_of.truncate(count);
        self.signs.truncate(count);
        self.files_of.truncate(count);
        self.uuids.truncate(count);
        self.parents.truncate(count);
    }

    /// Adds the records of lines further on.
    pub fn append(&mut self, next: Self) {
        let texts = self.texts.len();
        self.uuids.append(&next.uuids, texts);
        self.parents.append(&next.parents, texts);
        self.texts.append(&next.texts);
        let kinds: Vec<u32> = next.kinds.names.iter().map(|name| self.kinds.place(name)).collect();
        let moved = next.kinds_of.iter().map(|&kind| kinds.get(kind as usize).copied().unwrap_or(NOWHERE));
        self.kinds_of.extend(moved);
        self.signs.extend_from_slice(&next.signs);
        let files: Vec<u32> = next.files.names.iter().map(|name| self.files.place(name) + 1).collect();
        let moved = |file: u32| files.get((file as usize).wrapping_sub(1)).copied().unwrap_or(file);
        self.files_of.extend(next.files_of.iter().map(|&file| moved(file)));
        self.offsets.extend(next.offsets);
        self.lengths.extend(next.lengths);
        self.lines += next.lines;
        self.damage.append(next.damage);
    }

    /// Gives back the memory that nothing is in.
    fn shrink(&mut self) {
        self.offsets.shrink_to_fit();
        self.lengths.shrink_to_fit();
        self.kinds_of.shrink_to_fit();
        self.signs.shrink_to_fit();
        self.files_of.shrink_to_fit();
        self.uuids.shrink();
        self.parents.shrink();
        self.texts.shrink();
    }
}

/// Records, and how they hang together. A record is named by its place in the file's order.
#[derive(Debug)]
pub struct Index {
    /// The records.
    pub rows: Rows,
    links: OnceLock<Links>,
}

impl Index {
    /// Of these records.
    #[must_use]
    pub fn new(mut rows: Rows) -> Self {
        rows.shrink();
        Self { rows, links: OnceLock::new() }
    }

    fn links(&self) -> &Links {
        self.links.get_or_init(|| Links::new(&self.rows))
    }

    /// The first record with that uuid.
    #[must_use]
    pub fn find(&self, uuid: &str) -> Option<usize> {
        self.links().find(&self.rows, Id::new(uuid))
    }

    /// The first record with the uuid that this one names as its parent; panics when there is no such place.
    #[must_use]
    pub fn parent(&self, place: usize) -> Option<usize> {
        self.links().parent(place)
    }

    /// The records that name this one as their parent, in file order: firsts with their uuid, and none for a record
    /// that is not. Panics when there is no such place.
    pub fn children(&self, place: usize) -> impl Iterator<Item = usize> {
        self.links().children(place).iter().map(|&child| child as usize)
    }

    /// Whether it is the first record with its uuid; false where it has none, too. Panics when there is no such place.
    #[must_use]
    pub fn is_first(&self, place: usize) -> bool {
        self.links().is_first(place)
    }

    /// For each record the place that its parent names; `u32::MAX` where it names none that is there.
    #[must_use]
    pub fn parents(&self) -> &[u32] {
        self.links().parents()
    }

    /// For each record what a look has shown of it: see [`crate::signs`].
    #[must_use]
    pub fn signs(&self) -> Vec<u8> {
        let links = self.links();
        let sign = |(place, &seen)| seen | if links.is_first(place) { signs::FIRST } else { 0 };
        self.rows.signs.iter().enumerate().map(sign).collect()
    }

    /// For each record a number for the file that its calls name: 0 for none, `u32::MAX` for several, or where only
    /// reading tells, and another one for each path as it is written.
    #[must_use]
    pub fn files(&self) -> &[u32] {
        &self.rows.files_of
    }

    /// The records of a type in a range of places, those left out whose uuid an earlier one has. Panics when the range
    /// is not one of theirs.
    #[must_use]
    pub fn of_type(&self, kind: &str, range: Range<usize>) -> Vec<usize> {
        let (rows, links) = (&self.rows, self.links());
        let Some(&kind) = rows.kinds.places.get(kind) else { return Vec::new() };
        let is_replay = |place: usize| rows.uuids.has(place) && !links.is_first(place);
        range.filter(|&place| rows.kinds_of[place] == kind && !is_replay(place)).collect()
    }
}
