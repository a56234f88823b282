//! One line, seen piece by piece: in a buffer as a whole, or on disk through a buffer that is smaller than the line.

use std::io;
use std::ops::Range;

use memchr::memchr;

use crate::lines::ReadAt;

/// The bytes of one line, by their place in it.
pub trait Window {
    /// Bytes from `at` on, as many as are at hand; none only at the end of the line.
    fn from(&mut self, at: usize) -> io::Result<&[u8]>;

    /// The bytes `start..end`, all of them; `spare` holds them when they are not at hand in one piece.
    fn get<'w>(&'w mut self, start: usize, end: usize, spare: &'w mut Vec<u8>) -> io::Result<&'w [u8]>;
}

impl Window for &[u8] {
    fn from(&mut self, at: usize) -> io::Result<&[u8]> {
        Ok(&self[at.min(self.len())..])
    }

    fn get<'w>(&'w mut self, start: usize, end: usize, _spare: &'w mut Vec<u8>) -> io::Result<&'w [u8]> {
        Ok(&self[start..end])
    }
}

/// A line that is read again from its file, through a fixed buffer.
#[derive(Debug)]
pub struct OnDisk<'s, S> {
    source: &'s S,
    offset: u64,
    length: usize,
    buffer: &'s mut [u8],
    /// What the buffer holds: from which place of the line on, and how many bytes.
    held: (usize, usize),
}

impl<'s, S: ReadAt> OnDisk<'s, S> {
    /// The line of `length` bytes at `offset`; `buffer` is where its pieces are put and must not be empty.
    pub fn new(source: &'s S, offset: u64, length: usize, buffer: &'s mut [u8]) -> Self {
        Self { source, offset, length, buffer, held: (0, 0) }
    }
}

impl<S: ReadAt> Window for OnDisk<'_, S> {
    fn from(&mut self, at: usize) -> io::Result<&[u8]> {
        if at >= self.length {
            return Ok(&[]);
        }
        let (start, held) = self.held;
        if at < start || at >= start + held {
            let count = self.buffer.len().min(self.length - at);
            // Cleared first: after an error the buffer holds nothing that may be used.
            self.held = (0, 0);
            read_all(self.source, &mut self.buffer[..count], self.offset + at as u64)?;
            self.held = (at, count);
        }
        let (start, held) = self.held;
        Ok(&self.buffer[at - start..held])
    }

    fn get<'w>(&'w mut self, start: usize, end: usize, spare: &'w mut Vec<u8>) -> io::Result<&'w [u8]> {
        spare.clear();
        spare.try_reserve_exact(end - start)?;
        spare.resize(end - start, 0);
        read_all(self.source, spare, self.offset + start as u64)?;
        Ok(spare)
    }
}

/// A line whose end is not known yet, on its way through a fixed buffer. What has no end is an `UnexpectedEof`.
#[derive(Debug)]
pub(crate) struct Passing<'s, S> {
    source: &'s S,
    /// Where in the file the line begins, and what must not be read.
    pub offset: u64,
    limit: u64,
    buffer: &'s mut [u8],
    /// Where in the buffer its bytes are, and which place of the line the first of them is.
    held: Range<usize>,
    start: usize,
    /// Bytes in the line; None while its end was not seen.
    pub length: Option<usize>,
}

impl<'s, S: ReadAt> Passing<'s, S> {
    /// Of the line that begins at an offset and does not end in the bytes that the buffer holds of it.
    pub fn new(source: &'s S, (offset, limit): (u64, u64), buffer: &'s mut [u8], held: Range<usize>) -> Self {
        Self { source, offset, limit, buffer, held, start: 0, length: None }
    }

    fn read(&mut self, at: usize) -> io::Result<()> {
        let offset = self.offset + at as u64;
        let count = (self.buffer.len() as u64).min(self.limit.saturating_sub(offset)) as usize;
        // Cleared first: after an error the buffer holds nothing that may be used.
        self.held = 0..0;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        read_all(self.source, &mut self.buffer[..count], offset)?;
        let end = memchr(b'\n', &self.buffer[..count]);
        self.length = end.map(|end| at + end).or(self.length);
        self.held = 0..end.unwrap_or(count);
        self.start = at;
        Ok(())
    }
}

impl<S: ReadAt> Window for Passing<'_, S> {
    fn from(&mut self, at: usize) -> io::Result<&[u8]> {
        let is_held = at >= self.start && at - self.start < self.held.len();
        if !is_held && self.length.is_none_or(|length| at < length) {
            self.read(at)?;
        }
        let from = self.held.start + at.saturating_sub(self.start);
        Ok(self.buffer.get(from..self.held.end).unwrap_or_default())
    }

    fn get<'w>(&'w mut self, start: usize, end: usize, spare: &'w mut Vec<u8>) -> io::Result<&'w [u8]> {
        spare.resize(end - start, 0);
        read_all(self.source, spare, self.offset + start as u64)?;
        Ok(spare)
    }
}

/// Fills a buffer; `UnexpectedEof` when the file no longer reaches that far.
pub(crate) fn read_all(source: &impl ReadAt, buffer: &mut [u8], offset: u64) -> io::Result<()> {
    let mut held = 0;
    while held < buffer.len() {
        match source.read_at(&mut buffer[held..], offset + held as u64)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => held += count,
        }
    }
    Ok(())
}
