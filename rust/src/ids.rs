//! Identifiers of records, in little memory: one that is a UUID as it is usually written takes 16 bytes, any other its
//! text.

use crate::uuid;

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

/// The identifiers of some records, one after another.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ids {
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
    pub(crate) fn push(&mut self, id: Option<Id<'_>>, texts: &mut Texts) {
        let (value, form) = match id {
            None => (0, Form::None),
            Some(Id::Uuid(number)) => (number, Form::Uuid),
            Some(Id::Text(text)) => (texts.push(text) as u128, Form::Text),
        };
        self.values.push(value);
        self.forms.push(form);
    }

    /// Adds those of other records, whose texts stand behind so many others now.
    pub(crate) fn append(&mut self, next: &Self, texts: usize) {
        let moved = next.values.iter().zip(&next.forms);
        self.values.extend(moved.map(|(value, form)| value + u128::from(*form == Form::Text) * texts as u128));
        self.forms.extend_from_slice(&next.forms);
    }

    pub(crate) fn get<'t>(&self, place: usize, texts: &'t Texts) -> Option<Id<'t>> {
        let value = self.values[place];
        match self.forms[place] {
            Form::None => None,
            Form::Uuid => Some(Id::Uuid(value)),
            Form::Text => Some(Id::Text(texts.get(value as usize))),
        }
    }

    /// Whether the record with that place has one.
    pub(crate) fn has(&self, place: usize) -> bool {
        self.forms[place] != Form::None
    }

    /// Keeps so many.
    pub(crate) fn truncate(&mut self, count: usize) {
        self.values.truncate(count);
        self.forms.truncate(count);
    }

    /// Gives back the memory that nothing is in.
    pub(crate) fn shrink(&mut self) {
        self.values.shrink_to_fit();
        self.forms.shrink_to_fit();
    }
}

/// Many short texts in one piece of memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Texts {
    all: String,
    ends: Vec<usize>,
}

impl Texts {
    pub(crate) fn get(&self, place: usize) -> &str {
        let start = place.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.all[start..self.ends[place]]
    }

    pub(crate) fn push(&mut self, text: &str) -> usize {
        self.all.push_str(text);
        self.ends.push(self.all.len());
        self.ends.len() - 1
    }

    pub(crate) fn append(&mut self, next: &Self) {
        let before = self.all.len();
        self.all.push_str(&next.all);
        self.ends.extend(next.ends.iter().map(|end| before + end));
    }

    /// How many there are.
    pub(crate) const fn len(&self) -> usize {
        self.ends.len()
    }

    /// Gives back the memory that nothing is in.
    pub(crate) fn shrink(&mut self) {
        self.all.shrink_to_fit();
        self.ends.shrink_to_fit();
    }
}
