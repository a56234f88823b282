//! Complete lines of a growing file, from a byte offset, through one fixed buffer.
//!
//! # What a line is
//! A line ends at `\n`; one `\r` before it belongs to the ending ([`content`]). What stands behind the last `\n`, or
//! behind the size that was given, is unfinished and never handed out. A UTF-8 BOM at offset 0 is taken off, anywhere
//! else it is data. A line of nothing but white space and NUL bytes is blank.
//!
//! # How they come
//! As many whole lines as the buffer holds come as one block. A line that is longer than the buffer passes through it
//! without being collected: what comes is a [`Long`] that says where it is, how it begins and ends, and which of the
//! wanted needles it holds, so that most are done with; the others are read again. Who wants every line walks it on its
//! way ([`crate::records::Records::walk_long`]).
//!
//! Plain reads at an offset, never a memory map: another process may cut the file short at any time. Then the read
//! ends with what was complete.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use memchr::{memchr, memrchr};

use crate::members::is_filler;
use crate::needles::AnyOf;
use crate::window::Passing;

/// Something that can be read at any offset.
pub trait ReadAt {
    /// Reads some bytes at an offset; 0 at the end.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Asked while other threads read; an error ends the read.
    fn go_on(&self) -> io::Result<()> {
        Ok(())
    }
}

impl ReadAt for File {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        loop {
            match FileExt::read_at(self, buffer, offset) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => return other,
            }
        }
    }
}

impl<S: ReadAt> ReadAt for &S {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        (**self).read_at(buffer, offset)
    }

    fn go_on(&self) -> io::Result<()> {
        (**self).go_on()
    }
}

impl ReadAt for &[u8] {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let rest = usize::try_from(offset).ok().and_then(|start| self.get(start..)).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }
}

/// The buffer of a read through a whole file.
pub const BUFFER_BYTES: usize = 256 * 1024;
/// The buffer of a look at a few lines.
pub const SMALL_BUFFER_BYTES: usize = 16 * 1024;
/// How much of a long line's beginning is kept.
const HEAD_BYTES: usize = 48;
const BOM: &[u8] = b"\xef\xbb\xbf";
/// A BOM is looked for in what the buffer holds.
const BUFFER_MIN: usize = BOM.len();

/// Bytes that begin at a 64-byte boundary: where reads go a few bytes past a page border, some processors copy at a
/// quarter of their speed, and that is just where a large allocation lies.
#[derive(Debug)]
pub(crate) struct Aligned {
    bytes: Vec<u8>,
    range: Range<usize>,
}

impl Aligned {
    pub(crate) fn new(length: usize) -> Self {
        let bytes = vec![0; length + 64];
        let start = bytes.as_ptr().align_offset(64).min(64);
        Self { bytes, range: start..start + length }
    }

    pub(crate) fn get(&self) -> &[u8] {
        &self.bytes[self.range.clone()]
    }

    pub(crate) fn get_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.range.clone()]
    }
}

/// What a line that is longer than the buffer is known to be.
#[derive(Clone, Debug)]
pub struct Long {
    /// Where the physical line begins.
    pub offset: u64,
    /// Where its content begins: behind a BOM.
    pub content_offset: u64,
    /// Bytes of content, the line ending not counted.
    pub length: usize,
    /// The content's first bytes, at most 48.
    pub head: Vec<u8>,
    /// The content's last byte.
    pub last: Option<u8>,
    /// It holds nothing but white space and NUL bytes.
    pub is_blank: bool,
    /// For each of the needles, whether the content holds any of them behind its second byte.
    pub holds: Vec<bool>,
}

/// What comes next.
#[derive(Clone, Debug)]
pub enum Piece {
    /// [`Lines::block`] holds complete lines.
    Block,
    /// One line that does not fit the buffer.
    Long(Long),
    /// No complete line is left.
    End,
}

/// The same of a line that does not fit: how many bytes of it the buffer holds.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ahead {
    Block,
    Long(usize),
    End,
}

/// The lines of a file between two offsets.
#[derive(Debug)]
pub struct Lines {
    buffer: Aligned,
    /// The part of the buffer whose lines were not handed out yet.
    ready: Range<usize>,
    /// Where in the file `ready` begins: every line before it was handed out.
    place: u64,
    limit: u64,
    needles: Vec<AnyOf>,
}

impl Lines {
    /// The lines from `start` to `limit`, through a buffer of `buffer_bytes`. The needles are looked for in
    /// long lines.
    #[must_use]
    pub fn new(start: u64, limit: u64, buffer_bytes: usize, needles: Vec<AnyOf>) -> Self {
        let wanted = (limit.saturating_sub(start)).min(buffer_bytes as u64) as usize;
        let buffer = Aligned::new(wanted.max(BUFFER_MIN));
        Self { buffer, ready: 0..0, place: start, limit, needles }
    }

    /// Begins again with other offsets and the same buffer.
    pub fn restart(&mut self, start: u64, limit: u64) {
        (self.ready, self.place, self.limit) = (0..0, start, limit);
    }

    /// Where in the file the next line begins: the end of the last complete line that was consumed.
    #[must_use]
    pub const fn place(&self) -> u64 {
        self.place
    }

    /// The needles that were given.
    #[must_use]
    pub fn needles(&self) -> &[AnyOf] {
        &self.needles
    }

    /// Complete lines, the first of which begins at [`Lines::place`]. Empty unless `next` said so.
    #[must_use]
    pub fn block(&self) -> &[u8] {
        &self.buffer.get()[self.ready.clone()]
    }

    /// Takes that many bytes, whole lines, off the block.
    pub fn consume(&mut self, count: usize) {
        self.ready.start += count;
        self.place += count as u64;
    }

    /// Goes on at an offset. Not while a block is there.
    pub(crate) fn advance(&mut self, offset: u64) {
        self.place = offset;
    }

    /// The buffer, to read a long line through it. Not while a block is there: it would be overwritten.
    pub fn spare(&mut self) -> &mut [u8] {
        debug_assert!(self.ready.is_empty(), "the block would be overwritten");
        self.buffer.get_mut()
    }

    /// Sees to it that a block is there, or tells what else comes next.
    pub fn next(&mut self, source: &impl ReadAt) -> io::Result<Piece> {
        match self.look(source)? {
            Ahead::Block => Ok(Piece::Block),
            Ahead::Long(filled) => Ok(self.pass(source, filled)?.map_or(Piece::End, Piece::Long)),
            Ahead::End => Ok(Piece::End),
        }
    }

    /// As [`Lines::next`], but a line that does not fit the buffer is not let go by: the buffer holds its beginning.
    pub(crate) fn look(&mut self, source: &impl ReadAt) -> io::Result<Ahead> {
        if !self.ready.is_empty() {
            return Ok(Ahead::Block);
        }
        self.ready = 0..0;
        let filled = self.fill(source, self.place)?;
        if let Some(last) = memrchr(b'\n', &self.buffer.get()[..filled]) {
            self.ready = 0..last + 1;
            return Ok(Ahead::Block);
        }
        let is_long = filled == self.buffer.get().len() && self.place + (filled as u64) < self.limit;
        Ok(if is_long { Ahead::Long(filled) } else { Ahead::End })
    }

    /// The line that begins here and whose first bytes are in the buffer, that many of them.
    pub(crate) fn passing<'s, S: ReadAt>(&'s mut self, source: &'s S, filled: usize) -> Passing<'s, S> {
        let bom = self.held_bom();
        let offset = self.place + bom as u64;
        Passing::new(source, (offset, self.limit), self.buffer.get_mut(), bom..filled)
    }

    /// Length of the BOM that is held where the file begins.
    fn held_bom(&self) -> usize {
        if self.place == 0 && self.buffer.get().starts_with(BOM) { BOM.len() } else { 0 }
    }

    /// Length of the BOM that the file begins with; 0 when there is none.
    pub fn bom_bytes(&mut self, source: &impl ReadAt) -> io::Result<usize> {
        self.ready = 0..0;
        let filled = self.fill(source, 0)?;
        Ok(if self.buffer.get()[..filled].starts_with(BOM) { BOM.len() } else { 0 })
    }

    /// Reads at an offset until the buffer is full or nothing comes.
    fn fill(&mut self, source: &impl ReadAt, offset: u64) -> io::Result<usize> {
        let left = self.limit.saturating_sub(offset);
        let buffer = self.buffer.get_mut();
        let wanted = (buffer.len() as u64).min(left) as usize;
        let mut filled = 0;
        while filled < wanted {
            match source.read_at(&mut buffer[filled..wanted], offset + filled as u64)? {
                0 => break,
                count => filled += count,
            }
        }
        Ok(filled)
    }

    /// Lets a line go by whose first `filled` bytes are in the buffer; None when it has no end.
    fn pass(&mut self, source: &impl ReadAt, mut filled: usize) -> io::Result<Option<Long>> {
        let offset = self.place;
        let bom = self.held_bom();
        let mut passing = Summary::new(&self.needles);
        let mut at = offset;
        loop {
            let piece = &self.buffer.get()[..filled];
            let end = memchr(b'\n', piece);
            let skipped = if at == offset { bom } else { 0 };
            passing.see(&self.needles, &piece[skipped..end.unwrap_or(filled)]);
            if let Some(end) = end {
                self.place = at + end as u64 + 1;
                return Ok(Some(passing.into_long(offset, bom)));
            }
            at += filled as u64;
            filled = self.fill(source, at)?;
            if filled == 0 {
                return Ok(None);
            }
        }
    }
}

/// What is known so far of a long line on its way through the buffer.
struct Summary {
    length: usize,
    head: Vec<u8>,
    /// The last two bytes.
    last: [Option<u8>; 2],
    is_blank: bool,
    holds: Vec<bool>,
    /// The end of what was seen, shorter by one byte than the longest needle: a needle may lie across two pieces.
    carry: Vec<u8>,
    carry_max: usize,
}

impl Summary {
    fn new(needles: &[AnyOf]) -> Self {
        let longest = needles.iter().map(AnyOf::longest).max().unwrap_or(0);
        Self {
            length: 0,
            head: Vec::with_capacity(HEAD_BYTES),
            last: [None, None],
            is_blank: true,
            holds: vec![false; needles.len()],
            carry: Vec::new(),
            carry_max: longest.saturating_sub(1),
        }
    }

    fn see(&mut self, needles: &[AnyOf], piece: &[u8]) {
        // The first two bytes are no part of a match: see `Long::holds`.
        let searched = &piece[piece.len().min(2_usize.saturating_sub(self.length))..];
        let joined = self.carry.len();
        self.carry.extend_from_slice(&searched[..searched.len().min(self.carry_max)]);
        for (held, needle) in self.holds.iter_mut().zip(needles) {
            *held = *held || needle.find(&self.carry).is_some() || needle.find(searched).is_some();
        }
        if searched.len() >= self.carry_max {
            self.carry.clear();
            self.carry.extend_from_slice(&searched[searched.len() - self.carry_max..]);
        } else {
            // All of the piece was joined; `joined` bytes were there before.
            let keep = (joined + searched.len()).min(self.carry_max);
            self.carry.drain(..self.carry.len() - keep);
        }
        let room = HEAD_BYTES - self.head.len();
        self.head.extend_from_slice(&piece[..piece.len().min(room)]);
        self.is_blank = self.is_blank && piece.iter().all(|&byte| is_filler(byte));
        self.last = match piece {
            [] => self.last,
            [only] => [self.last[1], Some(*only)],
            [.., before, last] => [Some(*before), Some(*last)],
        };
        // Beyond what 32 bits can say it stays there: such a line is then cut short, and so damaged.
        self.length = self.length.saturating_add(piece.len());
    }

    fn into_long(self, offset: u64, bom: usize) -> Long {
        let has_return = self.last[1] == Some(b'\r');
        Long {
            offset,
            content_offset: offset + bom as u64,
            length: self.length - usize::from(has_return),
            head: self.head,
            last: if has_return { self.last[0] } else { self.last[1] },
            is_blank: self.is_blank,
            holds: self.holds,
        }
    }
}

/// A line's content: without the `\r` of its ending and without a BOM at offset 0. `line` ends before its `\n`.
///
/// Gives the number of bytes that were taken off at the front, too.
#[must_use]
pub fn content(line: &[u8], offset: u64) -> (usize, &[u8]) {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    match line.strip_prefix(BOM) {
        Some(rest) if offset == 0 => (BOM.len(), rest),
        _ => (0, line),
    }
}

/// Where the first line begins at or after an offset that is not 0; None when none does before `limit`.
pub fn line_start(source: &impl ReadAt, from: u64, limit: u64) -> io::Result<Option<u64>> {
    let mut buffer = vec![0; SMALL_BUFFER_BYTES];
    let mut at = from - 1;
    while at < limit {
        let wanted = (buffer.len() as u64).min(limit - at) as usize;
        let count = source.read_at(&mut buffer[..wanted], at)?;
        if count == 0 {
            break;
        }
        if let Some(end) = memchr(b'\n', &buffer[..count]) {
            return Ok(Some(at + end as u64 + 1));
        }
        at += count as u64;
    }
    Ok(None)
}
