//! One whole object that lies in memory, walked fast.
//!
//! [`whole_object`] accepts nothing that [`crate::walker`] would not, and finds the same members; what it does not
//! accept (an error, an unusual depth, an object cut short) is for the walker to judge. It looks at every byte that is
//! not text, and of text only at its quotes and backslashes.

use crate::bits::{BLOCK, Bits, bits};
use crate::walker::{Keys, Span};

/// Where the whole object ends that `bytes` begins with, and in `spans` where the values of the wanted members are;
/// None when there is none, or when only a walk can tell.
pub fn whole_object(bytes: &[u8], keys: &Keys, spans: &mut Vec<Option<Span>>) -> Option<usize> {
    if bytes.first() != Some(&b'{') {
        return None;
    }
    spans.clear();
    spans.resize(keys.count(), None);
    // One bit a level, the innermost one lowest, set for an object.
    let (mut levels, mut depth) = (1_u64, 1);
    let (mut member, mut member_start) = (None, 0);
    let mut is_empty = true;
    let mut marks = Marks::new(bytes);
    let mut at = 1;
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
                    member = keys.place(&bytes[key..at - 1]);
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
            match byte {
                b'"' => at = marks.string_end(at)?,
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

/// The next byte that is no white space, which `at` then is the place of.
fn token(bytes: &[u8], at: &mut usize) -> Option<u8> {
    loop {
        let byte = *bytes.get(*at)?;
        if !matches!(byte, b' ' | b'\t' | b'\r' | b'\n') {
            return Some(byte);
        }
        *at += 1;
    }
}

const fn closing(levels: u64) -> u8 {
    if levels & 1 == 1 { b'}' } else { b']' }
}

/// The quotes and backslashes of some bytes, a block at a time.
///
/// What one byte means for the next is worked out for all of a block with a few operations on its bits, as a branch
/// for each escape would be guessed wrong too often.
struct Marks<'b> {
    bytes: &'b [u8],
    /// Where the block begins that the bits are about.
    base: usize,
    bits: Bits,
}

impl<'b> Marks<'b> {
    fn new(bytes: &'b [u8]) -> Self {
        let mut marks = Self { bytes, base: 0, bits: Bits::default() };
        marks.hold(0);
        marks
    }

    fn hold(&mut self, base: usize) {
        let rest = self.bytes.get(base..).unwrap_or_default();
        self.base = base;
        self.bits = rest.first_chunk().map_or_else(
            || {
                let mut block = [0; BLOCK];
                block[..rest.len()].copy_from_slice(rest);
                bits(&block)
            },
            bits,
        );
    }

    /// The place, from `at` on, of the quote that ends a string's text, or of a backslash that begins no whole escape;
    /// None when there is neither. `at` is not before the last place that was given.
    fn text_end(&mut self, mut at: usize) -> Option<usize> {
        loop {
            if at - self.base >= BLOCK {
                self.hold(at / BLOCK * BLOCK);
            }
            let from = u64::MAX << (at % BLOCK);
            let (mut quotes, slashes) = (self.bits.quotes & from, self.bits.slashes & from);
            at = self.base + BLOCK;
            if slashes != 0 {
                let (escapes, behind) = escapes(slashes);
                quotes &= !behind;
                // Below the lowest bit; all where there is none.
                let before = quotes.wrapping_sub(1) & !quotes;
                // What stands behind the others is looked at byte by byte.
                let common = escapes & ((self.bits.quotes | self.bits.slashes | self.bits.letters) >> 1);
                if let Some(place) = self.find_broken(escapes & before & !common) {
                    return Some(place);
                }
                at += (escapes >> (BLOCK - 1)) as usize;
            }
            if quotes != 0 {
                return Some(self.base + quotes.trailing_zeros() as usize);
            }
            if at >= self.bytes.len() {
                return None;
            }
        }
    }

    /// The place of the first of the escapes that is none, or not whole.
    fn find_broken(&self, mut escapes: u64) -> Option<usize> {
        while escapes != 0 {
            let place = self.base + escapes.trailing_zeros() as usize;
            let digits = || self.bytes.get(place + 2..place + 6);
            let is_whole = match self.bytes.get(place + 1) {
                Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => true,
                Some(b'u') => digits().is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)),
                _ => false,
            };
            if !is_whole {
                return Some(place);
            }
            escapes &= escapes - 1;
        }
        None
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

/// Which of the backslashes begin an escape, and which bytes are behind one of these; the first byte is behind none.
fn escapes(slashes: u64) -> (u64, u64) {
    const ODD: u64 = 0xAAAA_AAAA_AAAA_AAAA;
    // Of a run of backslashes every other one begins an escape. A subtraction carries through each run; whether the run
    // began at an odd place says which bits of it are wanted.
    let carried = ((slashes << 1) | ODD).wrapping_sub(slashes) ^ ODD;
    (carried & slashes, carried ^ slashes)
}

/// The place in `bytes` of the quote that ends a string's text, of a backslash that begins no whole escape, or their
/// end.
pub(crate) fn text_end(bytes: &[u8]) -> usize {
    Marks::new(bytes).text_end(0).unwrap_or(bytes.len())
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
