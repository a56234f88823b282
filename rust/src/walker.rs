//! Walks one JSON value without keeping it, and notes where the wanted members of an object are.
//!
//! # A whole value
//! RFC 8259's grammar, plus the literals `NaN`, `Infinity` and `-Infinity`. Raw control characters (NUL too) and
//! invalid UTF-8 are accepted inside strings; outside of them a NUL is an error. A bad escape (`\x`, `\u12`), a bad
//! number (`01`, `1.`, `+1`) or a comma too many is an error. There is no limit to depth and no recursion. A key
//! compares equal to its plain form however it was escaped; the last of duplicate keys wins.

use std::io;

use memchr::{memchr, memchr2};

use crate::number::Number;
use crate::text;
use crate::whole::text_end;
use crate::window::Window;

/// Bytes `start..end` of a line.
pub type Span = (usize, usize);

/// The names of the members that a walk looks for.
#[derive(Clone, Debug)]
pub struct Keys {
    names: Vec<Vec<u8>>,
    /// Only an escape can be another way to write any of them.
    are_ascii: bool,
    /// A longer key is none of them, however it is escaped (a byte takes at most six).
    longest: usize,
}

impl Keys {
    /// Looks for these names (UTF-8); the places in `Walker::spans` follow their order.
    #[must_use]
    pub fn new(names: &[&[u8]]) -> Self {
        let longest = names.iter().map(|name| name.len() * 6).max().unwrap_or(0);
        let are_ascii = names.iter().all(|name| name.is_ascii());
        Self { names: names.iter().map(|name| name.to_vec()).collect(), are_ascii, longest }
    }

    /// How many there are.
    pub(crate) const fn count(&self) -> usize {
        self.names.len()
    }

    /// Which of them a key says, given as it is written between its quotes, and whether it may hold a backslash.
    #[inline]
    pub(crate) fn place(&self, raw: &[u8], may_have_escapes: bool) -> Option<usize> {
        let place = self.names.iter().position(|name| raw == name);
        if place.is_some() || (self.are_ascii && !may_have_escapes) {
            return place;
        }
        self.names.iter().position(|name| text::equals(raw, name))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// A value is due; at a list's begin its end will do as well.
    Value,
    ValueOrEnd,
    /// A key is due; at an object's begin its end will do as well.
    Key,
    KeyOrEnd,
    Colon,
    /// A value is complete: a comma or the container's end is due.
    After,
    Text,
    Escape,
    /// That many hex digits are missing.
    Hex(u8),
    Number(Number),
    /// The rest of a literal that is still to come.
    Literal(&'static [u8]),
}

/// What became of one piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fed {
    /// The value goes on in the next piece.
    More,
    /// The value is whole and ends before this place.
    Whole(usize),
    /// No value can begin this way.
    Broken,
}

/// What one walk found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Walked {
    Whole(usize),
    /// The next object is looked for from here.
    Broken(usize),
}

/// Walks one value, in one piece or in several, and notes where the wanted members of an object are.
///
/// It keeps nothing of the data but a short key, so a string of any length passes through. Reused from value to value,
/// it allocates only while the nesting gets deeper than ever before.
#[derive(Debug)]
pub struct Walker {
    state: State,
    /// One bit a level, set for an object.
    levels: Vec<u64>,
    depth: usize,
    /// The value itself is an object, so its members count.
    is_object: bool,
    in_key: bool,
    /// The top-level key being read, no more of it than could match.
    key: Vec<u8>,
    member: Option<usize>,
    member_start: usize,
    token: usize,
    good: usize,
    good_is_brace: bool,
    /// Where the last container opened that lies this deep; see rule 4 of [`crate::members`].
    watched: usize,
    watched_start: usize,
    /// Where the wanted members' values are, in the order of the keys. Complete once the value is whole.
    pub spans: Vec<Option<Span>>,
}

impl Default for Walker {
    fn default() -> Self {
        Self::new()
    }
}

impl Walker {
    /// A walker that has seen nothing.
    #[must_use]
    pub fn new() -> Self {
        Self {
            state: State::Value,
            levels: Vec::new(),
            depth: 0,
            is_object: false,
            in_key: false,
            key: Vec::new(),
            member: None,
            member_start: 0,
            token: 0,
            good: 0,
            good_is_brace: false,
            watched: usize::MAX,
            watched_start: 0,
            spans: Vec::new(),
        }
    }

    /// Gets ready for a value that begins at `at`.
    pub fn begin(&mut self, keys: &Keys, at: usize) {
        self.state = State::Value;
        self.depth = 0;
        self.is_object = false;
        self.member = None;
        self.good = at;
        self.good_is_brace = false;
        self.watched = usize::MAX;
        self.spans.clear();
        self.spans.resize(keys.names.len(), None);
    }

    /// True when the value that was walked is an object.
    #[must_use]
    pub const fn is_object(&self) -> bool {
        self.is_object
    }

    /// Walks on through a piece whose first byte has the place `base`.
    pub fn feed(&mut self, keys: &Keys, piece: &[u8], base: usize) -> Fed {
        let mut at = 0;
        while let Some(&byte) = piece.get(at) {
            let used = match self.state {
                State::Text => Some(self.feed_text(keys, &piece[at..], base + at)),
                State::Escape => self.feed_escape(keys, byte),
                State::Hex(missing) => self.feed_hex(keys, byte, missing),
                State::Number(number) => self.feed_number(byte, number, base + at),
                State::Literal(rest) => self.feed_literal(byte, rest, base + at),
                _ if matches!(byte, b' ' | b'\t' | b'\r' | b'\n') => Some(1),
                _ => self.begin_token(byte, base + at).then_some(1),
            };
            let Some(used) = used else { return Fed::Broken };
            at += used;
            if self.depth == 0 && self.state == State::After {
                return Fed::Whole(base + at);
            }
        }
        Fed::More
    }

    /// Up to the end of the string, to behind a backslash whose escape is broken or not yet there, or to the end of the
    /// piece.
    fn feed_text(&mut self, keys: &Keys, rest: &[u8], place: usize) -> usize {
        let mut end = memchr2(b'"', b'\\', rest).unwrap_or(rest.len());
        if rest.get(end) == Some(&b'\\') {
            end += text_end(&rest[end..]);
        }
        self.keep(keys, &rest[..end]);
        match rest.get(end) {
            None => return end,
            Some(b'"') => self.end_text(keys, place + end + 1),
            Some(_) => {
                self.keep(keys, b"\\");
                self.state = State::Escape;
            }
        }
        end + 1
    }

    fn feed_escape(&mut self, keys: &Keys, byte: u8) -> Option<usize> {
        self.state = match byte {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => State::Text,
            b'u' => State::Hex(4),
            _ => return None,
        };
        self.keep(keys, &[byte]);
        Some(1)
    }

    fn feed_hex(&mut self, keys: &Keys, byte: u8, missing: u8) -> Option<usize> {
        self.keep(keys, &[byte]);
        self.state = if missing == 1 { State::Text } else { State::Hex(missing - 1) };
        byte.is_ascii_hexdigit().then_some(1)
    }

    fn feed_number(&mut self, byte: u8, number: Number, place: usize) -> Option<usize> {
        match number.next(byte) {
            Some(next) => self.state = State::Number(next),
            None if number == Number::Minus && byte == b'I' => self.state = State::Literal(b"nfinity"),
            None if number.is_whole() => {
                self.end_value(place);
                return Some(0);
            }
            None => return None,
        }
        Some(1)
    }

    fn feed_literal(&mut self, byte: u8, rest: &'static [u8], place: usize) -> Option<usize> {
        let rest = rest.strip_prefix(&[byte])?;
        self.state = State::Literal(rest);
        if rest.is_empty() {
            self.end_value(place + 1);
        }
        Some(1)
    }

    /// A byte where a token begins; false when none may begin so.
    fn begin_token(&mut self, byte: u8, place: usize) -> bool {
        self.token = place;
        match (self.state, byte) {
            (State::Key | State::KeyOrEnd, b'"') => {
                self.in_key = true;
                self.key.clear();
                self.state = State::Text;
                true
            }
            (State::Colon, b':') => self.pass(State::Value),
            (State::After, b',') => {
                let next = if self.in_object() { State::Key } else { State::Value };
                self.pass(next)
            }
            (State::After | State::KeyOrEnd, b'}') if self.in_object() => self.close(place + 1, true),
            (State::After | State::ValueOrEnd, b']') if !self.in_object() => self.close(place + 1, false),
            (State::Value | State::ValueOrEnd, _) => self.begin_value(byte, place),
            _ => false,
        }
    }

    fn begin_value(&mut self, byte: u8, place: usize) -> bool {
        if self.depth == 1 {
            self.member_start = place;
        }
        self.state = match byte {
            b'"' => {
                self.in_key = false;
                State::Text
            }
            b'{' | b'[' => return self.open(byte == b'{', place),
            b'-' => State::Number(Number::Minus),
            b'0' => State::Number(Number::Zero),
            b'1'..=b'9' => State::Number(Number::Integer),
            b't' => State::Literal(b"rue"),
            b'f' => State::Literal(b"alse"),
            b'n' => State::Literal(b"ull"),
            b'N' => State::Literal(b"aN"),
            b'I' => State::Literal(b"nfinity"),
            _ => return false,
        };
        true
    }

    fn pass(&mut self, next: State) -> bool {
        self.good = self.token;
        self.good_is_brace = false;
        self.state = next;
        true
    }

    fn open(&mut self, is_object: bool, place: usize) -> bool {
        if self.depth == self.watched {
            self.watched_start = place;
        }
        if self.depth == 0 {
            self.is_object = is_object;
        }
        let (word, bit) = (self.depth / 64, 1_u64 << (self.depth % 64));
        if word == self.levels.len() {
            self.levels.push(0);
        }
        if is_object {
            self.levels[word] |= bit;
        } else {
            self.levels[word] &= !bit;
        }
        self.depth += 1;
        self.pass(if is_object { State::KeyOrEnd } else { State::ValueOrEnd })
    }

    fn close(&mut self, end: usize, is_brace: bool) -> bool {
        self.depth -= 1;
        self.end_value(end);
        self.good_is_brace = is_brace;
        true
    }

    fn in_object(&self) -> bool {
        let Some(level) = self.depth.checked_sub(1) else { return false };
        self.levels[level / 64] >> (level % 64) & 1 == 1
    }

    fn end_text(&mut self, keys: &Keys, end: usize) {
        if !self.in_key {
            self.end_value(end);
            return;
        }
        self.in_key = false;
        if self.depth == 1 {
            self.member = if self.key.len() <= keys.longest {
                keys.place(&self.key, memchr(b'\\', &self.key).is_some())
            } else {
                None
            };
        }
        self.pass(State::Colon);
    }

    fn end_value(&mut self, end: usize) {
        self.pass(State::After);
        if self.depth == 1
            && let Some(member) = self.member.take()
        {
            self.spans[member] = Some((self.member_start, end));
        }
    }

    fn keep(&mut self, keys: &Keys, bytes: &[u8]) {
        if self.in_key && self.depth == 1 && self.key.len() <= keys.longest {
            let room = keys.longest + 1 - self.key.len();
            self.key.extend_from_slice(&bytes[..bytes.len().min(room)]);
        }
    }

    /// Walks one value that begins at `at`; [`crate::members`] has the rules for what follows a broken one.
    pub(crate) fn walk(&mut self, window: &mut impl Window, keys: &Keys, at: usize) -> io::Result<Walked> {
        self.begin(keys, at);
        let mut place = at;
        loop {
            let piece = window.from(place)?;
            if piece.is_empty() {
                break;
            }
            match self.feed(keys, piece, place) {
                Fed::More => place += piece.len(),
                Fed::Whole(end) => return Ok(Walked::Whole(end)),
                Fed::Broken => return Ok(Walked::Broken(self.good.max(at + 1))),
            }
        }
        match self.state {
            State::Number(number) if self.depth == 0 && number.is_whole() => Ok(Walked::Whole(place)),
            State::After if self.good_is_brace => self.find_last_opened(window, keys, at).map(Walked::Broken),
            _ => Ok(Walked::Broken(self.good.max(at + 1))),
        }
    }

    /// Walks a line's rest again to learn where the object began that its last token closes: rule 4 of
    /// [`crate::members`].
    fn find_last_opened(&mut self, window: &mut impl Window, keys: &Keys, at: usize) -> io::Result<usize> {
        let depth = self.depth;
        self.begin(keys, at);
        self.watched = depth;
        let mut place = at;
        loop {
            let piece = window.from(place)?;
            if piece.is_empty() {
                return Ok(self.watched_start);
            }
            self.feed(keys, piece, place);
            place += piece.len();
        }
    }
}
