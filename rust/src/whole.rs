//! One whole object that lies in memory, walked fast.
//!
//! [`Objects`] accepts nothing that [`crate::walker`] would not, and finds the same members; what it does not
//! accept (an error, an unusual depth, an object cut short) is for the walker to judge. It looks at every byte that is
//! not text, and of text only at its quotes and backslashes.

use std::ops::Range;

use crate::bits::{BLOCK, BLOCKS, Ends};
use crate::walker::{Keys, Span};

/// What looks on while an object is walked. It is told of a key, then that a value begins, then the value where that
/// is a string; of none that lies deeper than `DEPTH`. What it has seen counts only where the object turns out whole.
pub(crate) trait See {
    /// As deep as it looks; what lies in the object itself lies 1 deep.
    const DEPTH: u32;
    /// A key as it is written between its quotes, and of the object itself which of the wanted ones it is.
    fn key(&mut self, depth: u32, raw: &[u8], member: Option<usize>);
    /// The first byte of a value.
    fn value(&mut self, depth: u32, first: u8);
    /// A string that is a value, as it is written between its quotes, and where that begins.
    fn text(&mut self, depth: u32, raw: &[u8], start: usize);
}

/// Nobody looks on.
impl See for () {
    const DEPTH: u32 = 0;
    fn key(&mut self, _: u32, _: &[u8], _: Option<usize>) {}
    fn value(&mut self, _: u32, _: u8) {}
    fn text(&mut self, _: u32, _: &[u8], _: usize) {}
}

/// Walks whole objects that lie in memory, one a line.
#[derive(Debug)]
pub struct Objects<'b> {
    bytes: &'b [u8],
    marks: Marks<'b>,
}

impl<'b> Objects<'b> {
    /// Of these lines.
    #[must_use]
    pub const fn new(bytes: &'b [u8]) -> Self {
        Self { bytes, marks: Marks::new(bytes, BLOCKS) }
    }

    /// Where the whole object ends that begins at `start`, on the same line, and in `spans` where the values of the
    /// wanted members are; None when there is none, or when only a walk can tell. `start` is where a line begins, and
    /// not before the last one that was given.
    pub fn end(&mut self, start: usize, keys: &Keys, spans: &mut Vec<Option<Span>>) -> Option<usize> {
        self.end_seen(start, keys, spans, &mut ())
    }

    /// As [`Objects::end`], while `see` looks on.
    pub(crate) fn end_seen<S: See>(
        &mut self,
        start: usize,
        keys: &Keys,
        spans: &mut Vec<Option<Span>>,
        see: &mut S,
    ) -> Option<usize> {
        let Self { bytes, marks } = self;
        if bytes.get(start) != Some(&b'{') {
            return None;
        }
        spans.clear();
        spans.resize(keys.count(), None);
        // One bit a level, the innermost one lowest, set for an object.
        let (mut levels, mut depth) = (1_u64, 1);
        let (mut member, mut member_start) = (None, 0);
        let mut is_empty = true;
        let mut at = start + 1;
        loop {
            let mut byte = token(bytes, &mut at)?;
            if is_empty && byte == closing(levels) {
                at += 1;
                levels >>= 1;
                depth -= 1;
                if depth == 0 {
                    return Some(at);
                }
            } else {
                if levels & 1 == 1 {
                    let key = at + 1;
                    at = marks.string_end(at)?;
                    if depth == 1 {
                        member = keys.place(&bytes[key..at - 1], marks.may_have_escapes(key, at - 1));
                    }
                    if depth <= S::DEPTH {
                        see.key(depth, &bytes[key..at - 1], member);
                    }
                    if token(bytes, &mut at)? != b':' {
                        return None;
                    }
                    at += 1;
                    byte = token(bytes, &mut at)?;
                }
                if depth == 1 {
                    member_start = at;
                }
                if depth <= S::DEPTH {
                    see.value(depth, byte);
                }
                match byte {
                    b'"' => {
                        let text = at + 1;
                        at = marks.string_end(at)?;
                        if depth <= S::DEPTH {
                            see.text(depth, &bytes[text..at - 1], text);
                        }
                    }
                    b'{' | b'[' => {
                        if depth == u64::BITS {
                            return None;
                        }
                        levels = levels << 1 | u64::from(byte == b'{');
                        depth += 1;
                        is_empty = true;
                        at += 1;
                        continue;
                    }
                    b'-' | b'0'..=b'9' => at = number_end(bytes, at)?,
                    _ => at = literal_end(bytes, at)?,
                }
            }
            // A value ends here, and perhaps containers with it.
            loop {
                if depth == 1
                    && let Some(member) = member.take()
                {
                    spans[member] = Some((member_start, at));
                }
                byte = token(bytes, &mut at)?;
                at += 1;
                if byte == b',' {
                    is_empty = false;
                    break;
                }
                if byte != closing(levels) {
                    return None;
                }
                levels >>= 1;
                depth -= 1;
                if depth == 0 {
                    return Some(at);
                }
            }
        }
    }
}

/// The next byte that is no white space, which `at` then is the place of.
fn token(bytes: &[u8], at: &mut usize) -> Option<u8> {
    loop {
        let byte = *bytes.get(*at)?;
        if !matches!(byte, b' ' | b'\t' | b'\r') {
            return Some(byte);
        }
        *at += 1;
    }
}

const fn closing(levels: u64) -> u8 {
    if levels & 1 == 1 { b'}' } else { b']' }
}

/// Where a string may end in some bytes, some blocks at a time.
#[derive(Debug)]
struct Marks<'b> {
    bytes: &'b [u8],
    /// Where the blocks lie that `ends` is about; at first there are none.
    held: Range<usize>,
    ends: Ends,
    /// As many are looked at next.
    blocks: usize,
}

impl<'b> Marks<'b> {
    const fn new(bytes: &'b [u8], blocks: usize) -> Self {
        Self { bytes, held: 0..0, ends: Ends::new(), blocks }
    }

    fn hold(&mut self, start: usize) {
        // What was passed over is no text and so has no backslashes.
        self.ends.is_escaped &= start == self.held.end;
        self.held = start..start + self.blocks * BLOCK;
        self.ends.find(&self.bytes[start..], self.blocks);
        self.blocks = (self.blocks * 4).min(BLOCKS);
    }

    /// The place, from `at` on, of the quote that ends a string's text, of a backslash that begins no whole escape, or
    /// of the end of the line; None when there is none of these. `at` is not before the last place that was given.
    fn text_end(&mut self, mut at: usize) -> Option<usize> {
        loop {
            if at >= self.held.end {
                if at >= self.bytes.len() {
                    return None;
                }
                self.hold(at / BLOCK * BLOCK);
            }
            let mut block = (at - self.held.start) / BLOCK;
            let mut ends = self.ends.places[block] & u64::MAX << (at % BLOCK);
            if ends == 0 {
                let behind = self.ends.any & (u64::MAX << block) & !(1 << block);
                if behind == 0 {
                    at = self.held.end;
                    continue;
                }
                block = behind.trailing_zeros() as usize;
                ends = self.ends.places[block];
            }
            at = self.held.start + block * BLOCK + ends.trailing_zeros() as usize;
            match self.bytes[at] {
                b'\\' if self.is_escape(at) => at += 2,
                _ => return Some(at),
            }
        }
    }

    /// False when there is no backslash in a text that ended just now.
    fn may_have_escapes(&self, start: usize, end: usize) -> bool {
        let Some(start) = start.checked_sub(self.held.start) else { return true };
        let (first, last) = (start / BLOCK, (end - self.held.start) / BLOCK);
        self.ends.slashes & u64::MAX << first & u64::MAX >> (BLOCKS - 1 - last) != 0
    }

    /// Whether a backslash begins a whole escape.
    fn is_escape(&self, place: usize) -> bool {
        let digits = || self.bytes.get(place + 2..place + 6);
        match self.bytes.get(place + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => true,
            Some(b'u') => digits().is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)),
            _ => false,
        }
    }

    /// The place behind the string that begins at `at`; None when none does that is whole.
    fn string_end(&mut self, at: usize) -> Option<usize> {
        if self.bytes.get(at) != Some(&b'"') {
            return None;
        }
        let end = self.text_end(at + 1)?;
        (self.bytes[end] == b'"').then_some(end + 1)
    }
}

/// The place in `bytes` of the quote that ends a string's text, of a backslash that begins no whole escape, or their
/// end.
pub(crate) fn text_end(bytes: &[u8]) -> usize {
    // Most texts with a backslash are short.
    let mut marks = Marks::new(bytes, 2);
    let mut at = 0;
    loop {
        match marks.text_end(at) {
            Some(place) if bytes[place] == b'\n' => at = place + 1,
            place => return place.unwrap_or(bytes.len()),
        }
    }
}

fn number_end(bytes: &[u8], mut at: usize) -> Option<usize> {
    let digits = |at: usize| bytes[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    if bytes.get(at) == Some(&b'-') {
        at += 1;
        if bytes.get(at) == Some(&b'I') {
            return literal_end(bytes, at);
        }
    }
    match digits(at) {
        0 => return None,
        count if count > 1 && bytes[at] == b'0' => return None,
        count => at += count,
    }
    if bytes.get(at) == Some(&b'.') {
        match digits(at + 1) {
            0 => return None,
            count => at += 1 + count,
        }
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        at += 1 + usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
        match digits(at) {
            0 => return None,
            count => at += count,
        }
    }
    Some(at)
}

fn literal_end(bytes: &[u8], at: usize) -> Option<usize> {
    let word: &[u8] = match bytes.get(at)? {
        b't' => b"true",
        b'f' => b"false",
        b'n' => b"null",
        b'N' => b"NaN",
        b'I' => b"Infinity",
        _ => return None,
    };
    bytes[at..].starts_with(word).then_some(at + word.len())
}
