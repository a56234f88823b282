//! The top-level members of the JSON objects on one line, found without parsing the rest.
//!
//! # The objects of a line
//! [`walk_line`] reads a line as a sequence of values ([`crate::walker`]) with filler (space, tab, `\r`, NUL) between
//! them:
//! 1. A whole object is a record. Several of them (`}{`) are several records, and the line is not damaged.
//! 2. A whole value of another kind is passed over, and the line is damaged: what an array or a string holds is no
//!    record.
//! 3. Otherwise the line is damaged, and reading goes on at the next `{` that the failed walk did not take for a part
//!    of its own structure: at or after the start of the last good token before the token that failed (a torn string
//!    takes the next object's `{` and first quote for its own end), but after the place where the walk began. So a
//!    broken prefix yields the whole object behind it and nothing that was nested in it.
//! 4. A line that ends between two tokens, with containers still open and a `}` as its last token, may have been cut
//!    right before the object that this `}` closes: that object is a record.
//!
//! No byte is walked more than a few times, whatever the line holds.

use std::io;

use memchr::memchr;

use crate::walker::{Fed, Keys, Span, Walked, Walker};
use crate::whole::Objects;
use crate::window::Window;

/// True for what may stand between the values of a line.
#[must_use]
pub const fn is_filler(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | 0)
}

/// How far a line was walked, and what was met so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Where the walk goes on.
    pub at: usize,
    /// Something is not part of a whole object.
    pub is_damaged: bool,
}

/// Visits the whole objects of a line in their order, with the place of each and of its wanted members, from where
/// `progress` says.
///
/// Gives true at the end of the line, and false when the visitor did: a later walk then offers it the same object
/// again.
pub fn walk_line(
    window: &mut impl Window,
    walker: &mut Walker,
    keys: &Keys,
    progress: &mut Progress,
    mut visit: impl FnMut(&mut dyn Window, Span, &[Option<Span>]) -> io::Result<bool>,
) -> io::Result<bool> {
    loop {
        let Some(start) = find(window, progress.at, |piece| piece.iter().position(|&byte| !is_filler(byte)))? else {
            return Ok(true);
        };
        progress.at = start;
        match walker.walk(window, keys, start)? {
            Walked::Whole(end) => {
                if !walker.is_object() {
                    progress.is_damaged = true;
                } else if !visit(window, (start, end), &walker.spans)? {
                    return Ok(false);
                }
                progress.at = end;
            }
            Walked::Broken(resume) => {
                progress.is_damaged = true;
                match find(window, resume, |piece| memchr(b'{', piece))? {
                    None => return Ok(true),
                    Some(brace) => progress.at = brace,
                }
            }
        }
    }
}

/// As [`walk_line`], for a line that lies in memory. Most are one object and nothing else.
pub(crate) fn walk_held(
    mut line: &[u8],
    walker: &mut Walker,
    keys: &Keys,
    progress: &mut Progress,
    mut visit: impl FnMut(&mut dyn Window, Span, &[Option<Span>]) -> io::Result<bool>,
) -> io::Result<bool> {
    let length = line.len();
    if progress.at == 0 && Objects::new(line).end(0, keys, &mut walker.spans) == Some(length) {
        return visit(&mut line, (0, length), &walker.spans);
    }
    walk_line(&mut line, walker, keys, progress, visit)
}

fn find(window: &mut impl Window, mut at: usize, search: impl Fn(&[u8]) -> Option<usize>) -> io::Result<Option<usize>> {
    loop {
        let piece = window.from(at)?;
        if piece.is_empty() {
            return Ok(None);
        }
        if let Some(place) = search(piece) {
            return Ok(Some(at + place));
        }
        at += piece.len();
    }
}

/// The place of the one object that `raw` holds and nothing else, white space and NUL bytes apart; `walker.spans` has
/// its members. None when it is no such thing.
pub fn only_object(raw: &[u8], keys: &Keys, walker: &mut Walker) -> Option<Span> {
    let mut found = None;
    let mut count = 0;
    let mut window = raw;
    let mut progress = Progress::default();
    let is_read = walk_line(&mut window, walker, keys, &mut progress, |_, span, _| {
        found = Some(span);
        count += 1;
        Ok(true)
    });
    if is_read.is_ok() && !progress.is_damaged && count == 1 { found } else { None }
}

/// The elements of a whole JSON array; None when `raw` is none.
#[must_use]
pub fn elements(raw: &[u8]) -> Option<Vec<&[u8]>> {
    let (mut walker, keys) = (Walker::new(), Keys::new(&[]));
    let mut found = Vec::new();
    let mut rest = raw.strip_prefix(b"[")?.trim_ascii_start();
    if rest.starts_with(b"]") {
        return Some(found);
    }
    loop {
        found.push(value(&mut rest, &mut walker, &keys)?);
        match rest.split_first()? {
            (b',', more) => rest = more.trim_ascii_start(),
            (b']', _) => return Some(found),
            _ => return None,
        }
    }
}

/// The members of a whole JSON object in their order: the keys as they are written between their quotes, and their
/// values; None when `raw` is none.
#[must_use]
pub fn pairs(raw: &[u8]) -> Option<Vec<(&[u8], &[u8])>> {
    let (mut walker, keys) = (Walker::new(), Keys::new(&[]));
    let mut found = Vec::new();
    let mut rest = raw.strip_prefix(b"{")?.trim_ascii_start();
    if rest.starts_with(b"}") {
        return Some(found);
    }
    loop {
        let key = value(&mut rest, &mut walker, &keys)?.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
        rest = rest.strip_prefix(b":")?.trim_ascii_start();
        found.push((key, value(&mut rest, &mut walker, &keys)?));
        match rest.split_first()? {
            (b',', more) => rest = more.trim_ascii_start(),
            (b'}', _) => return Some(found),
            _ => return None,
        }
    }
}

/// The value that `rest` begins with, which it is then what follows of.
fn value<'r>(rest: &mut &'r [u8], walker: &mut Walker, keys: &Keys) -> Option<&'r [u8]> {
    walker.begin(keys, 0);
    let Fed::Whole(end) = walker.feed(keys, rest, 0) else { return None };
    let (found, more) = rest.split_at(end);
    *rest = more.trim_ascii_start();
    Some(found)
}
