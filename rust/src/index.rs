//! The records of a transcript whose records name their parents, in little memory, and how they hang together.
//!
//! An identifier that is a UUID as it is usually written takes 16 bytes, any other its text. A record takes about 60
//! bytes; who follows whom is worked out when it is first asked for, and takes 20 to 25 more.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::ops::Range;
use std::sync::OnceLock;

use crate::records::Damage;
use crate::{signs, uuid};

/// No place: so many records would not fit into any memory.
const NOWHERE: u32 = u32::MAX;

/// An identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Id<'t> {
    /// A UUID in lower case, with its hyphens.
    Uuid(u128),
    /// Any other text.
    Text(&'t str),
}

impl<'t> Id<'t> {
    /// What a text is: texts that differ are different identifiers.
    #[must_use]
    pub fn new(text: &'t str) -> Self {
        uuid::parse(text.as_bytes()).map_or(Self::Text(text), Self::Uuid)
    }

    /// The text, written to `spare` where it is not kept.
    pub fn text<'s>(self, spare: &'s mut [u8; uuid::BYTES]) -> &'s str
    where
        't: 's,
    {
        match self {
            Self::Uuid(number) => uuid::write(number, spare),
            Self::Text(text) => text,
        }
    }
}

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

/// The identifiers of some records, one after another.
#[derive(Clone, Debug, Default)]
struct Ids {
    /// The UUID, or the place of the text.
    values: Vec<u128>,
    forms: Vec<Form>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    None,
    Uuid,
    Text,
}

impl Ids {
    fn push(&mut self, id: Option<Id<'_>>, texts: &mut Texts) {
        let (value, form) = match id {
            None => (0, Form::None),
            Some(Id::Uuid(number)) => (number, Form::Uuid),
            Some(Id::Text(text)) => (texts.push(text) as u128, Form::Text),
        };
        self.values.push(value);
        self.forms.push(form);
    }

    /// Adds those of other records, whose texts stand behind so many others now.
    fn append(&mut self, next: &Self, texts: usize) {
        let moved = next.values.iter().zip(&next.forms);
        self.values.extend(moved.map(|(value, form)| value + u128::from(*form == Form::Text) * texts as u128));
        self.forms.extend_from_slice(&next.forms);
    }

    fn get<'t>(&self, place: usize, texts: &'t Texts) -> Option<Id<'t>> {
        let value = self.values[place];
        match self.forms[place] {
            Form::None => None,
            Form::Uuid => Some(Id::Uuid(value)),
            Form::Text => Some(Id::Text(texts.get(value as usize))),
        }
    }
}

/// Many short texts in one piece of memory.
#[derive(Clone, Debug, Default)]
struct Texts {
    all: String,
    ends: Vec<usize>,
}

impl Texts {
    fn get(&self, place: usize) -> &str {
        let start = place.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.all[start..self.ends[place]]
    }

    fn push(&mut self, text: &str) -> usize {
        self.all.push_str(text);
        self.ends.push(self.all.len());
        self.ends.len() - 1
    }

    fn append(&mut self, next: &Self) {
        let before = self.all.len();
        self.all.push_str(&next.all);
        self.ends.extend(next.ends.iter().map(|end| before + end));
    }
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
            parent: self.parents.get(place, &self.texts),
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

    fn uuid(&self, place: usize) -> Option<Id<'_>> {
        self.uuids.get(place, &self.texts)
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
        for ids in [&mut self.uuids, &mut self.parents] {
            ids.values.truncate(count);
            ids.forms.truncate(count);
        }
    }

    /// Adds the records of lines further on.
    pub fn append(&mut self, next: Self) {
        let texts = self.texts.ends.len();
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
        for ids in [&mut self.uuids, &mut self.parents] {
            ids.values.shrink_to_fit();
            ids.forms.shrink_to_fit();
        }
        self.texts.all.shrink_to_fit();
        self.texts.ends.shrink_to_fit();
    }
}

/// Records, and how they hang together. A record is named by its place in the file's order.
#[derive(Debug)]
pub struct Index {
    /// The records.
    pub rows: Rows,
    links: OnceLock<Links>,
}

/// Who follows whom.
#[derive(Debug)]
struct Links {
    hasher: RandomState,
    /// The places of the first records with their uuid, by its digest, and [`NOWHERE`]; a power of two of them.
    table: Vec<u32>,
    /// A bit for each record, set for those.
    firsts: Vec<u64>,
    /// For each record the place that its parent names.
    parents: Vec<u32>,
    /// Where in `children` those of each record begin, and the end.
    starts: Vec<u32>,
    children: Vec<u32>,
}

impl Links {
    fn new(rows: &Rows) -> Self {
        let count = rows.len();
        // Never full, so that a search ends.
        let size = (count + count / 2 + 1).next_power_of_two();
        let mut links = Self {
            hasher: RandomState::new(),
            table: vec![NOWHERE; size],
            firsts: vec![0; count.div_ceil(64)],
            parents: vec![NOWHERE; count],
            starts: vec![0; count + 1],
            children: Vec::new(),
        };
        for place in 0..count {
            let Some(uuid) = rows.uuid(place) else { continue };
            let slot = links.slot(rows, uuid);
            if links.table[slot] == NOWHERE {
                links.table[slot] = place as u32;
                links.firsts[place / 64] |= 1 << (place % 64);
            }
        }
        for place in 0..count {
            let parent = rows.parents.get(place, &rows.texts);
            links.parents[place] = parent.map_or(NOWHERE, |parent| links.table[links.slot(rows, parent)]);
        }
        links.gather();
        links
    }

    /// Makes lists of children of the parents.
    fn gather(&mut self) {
        let is_child = |links: &Self, place: usize| {
            let parent = links.parents[place];
            (links.is_first(place) && parent != NOWHERE && parent != place as u32).then_some(parent as usize)
        };
        for place in 0..self.parents.len() {
            if let Some(parent) = is_child(self, place) {
                self.starts[parent + 1] += 1;
            }
        }
        for place in 1..self.starts.len() {
            self.starts[place] += self.starts[place - 1];
        }
        self.children = vec![0; *self.starts.last().unwrap_or(&0) as usize];
        // Backwards, from the ends down: then a list's end has become its begin, and the next one's its end.
        let mut ends = self.starts[1..].to_vec();
        for place in (0..self.parents.len()).rev() {
            if let Some(parent) = is_child(self, place) {
                ends[parent] -= 1;
                self.children[ends[parent] as usize] = place as u32;
            }
        }
    }

    /// The slot of the table that has an identifier's first record, or would have it.
    fn slot(&self, rows: &Rows, id: Id<'_>) -> usize {
        let last = self.table.len() - 1;
        let mut slot = self.hasher.hash_one(id) as usize & last;
        while self.table[slot] != NOWHERE && rows.uuid(self.table[slot] as usize) != Some(id) {
            slot = (slot + 1) & last;
        }
        slot
    }

    fn is_first(&self, place: usize) -> bool {
        self.firsts[place / 64] >> (place % 64) & 1 == 1
    }
}

/// As a place; None for [`NOWHERE`].
fn somewhere(place: u32) -> Option<usize> {
    (place != NOWHERE).then_some(place as usize)
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
        let links = self.links();
        somewhere(links.table[links.slot(&self.rows, Id::new(uuid))])
    }

    /// The first record with the uuid that this one names as its parent; panics when there is no such place.
    #[must_use]
    pub fn parent(&self, place: usize) -> Option<usize> {
        somewhere(self.links().parents[place])
    }

    /// The records that name this one as their parent, in file order: firsts with their uuid, and none for a record
    /// that is not. Panics when there is no such place.
    pub fn children(&self, place: usize) -> impl Iterator<Item = usize> {
        let links = self.links();
        let range = links.starts[place] as usize..links.starts[place + 1] as usize;
        links.children[range].iter().map(|&child| child as usize)
    }

    /// Whether it is the first record with its uuid; false where it has none, too. Panics when there is no such place.
    #[must_use]
    pub fn is_first(&self, place: usize) -> bool {
        self.links().is_first(place)
    }

    /// For each record the place that its parent names; `u32::MAX` where it names none that is there.
    #[must_use]
    pub fn parents(&self) -> &[u32] {
        &self.links().parents
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
        let is_replay = |place: usize| rows.uuids.forms[place] != Form::None && !links.is_first(place);
        range.filter(|&place| rows.kinds_of[place] == kind && !is_replay(place)).collect()
    }
}
