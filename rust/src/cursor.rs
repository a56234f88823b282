//! A place in a file, and what proves later that the file is still the same up to there.

use std::io;

use crate::error::Error;
use crate::lines::ReadAt;
use crate::open::Opened;

/// How many bytes before the offset go into the proof.
const PROOF_BYTES: u64 = 4096;

/// An offset and the CRC-32 (zlib) of the up to 4,096 bytes before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// Bytes from the start of the file: the end of a complete line.
    pub offset: u64,
    /// Checksum of the bytes before it.
    pub crc: u32,
}

impl Cursor {
    /// The cursor for an offset in a file. Where the file is shorter than that, the checksum is of what is there: such
    /// a cursor proves nothing later, so that the next read starts over.
    pub fn at(source: &impl ReadAt, offset: u64) -> io::Result<Self> {
        let mut bytes = [0_u8; PROOF_BYTES as usize];
        let wanted = &mut bytes[..offset.min(PROOF_BYTES) as usize];
        let from = offset - wanted.len() as u64;
        let mut held = 0;
        while held < wanted.len() {
            match source.read_at(&mut wanted[held..], from + held as u64)? {
                0 => break,
                count => held += count,
            }
        }
        Ok(Self { offset, crc: crc32fast::hash(&wanted[..held]) })
    }

    /// True when a file of `size` bytes still holds what this cursor was taken from.
    pub fn holds(self, source: &impl ReadAt, size: u64) -> io::Result<bool> {
        Ok(self.offset <= size && Self::at(source, self.offset)? == self)
    }
}

/// The cursor for any offset in a file, to begin a read at a known record.
pub fn cursor_at(opened: &Opened<impl ReadAt>, offset: u64) -> Result<Cursor, Error> {
    if offset > opened.size {
        return Err(Error::Beyond { path: opened.path.clone(), offset, size: opened.size });
    }
    Cursor::at(&opened.file, offset).map_err(Error::reading(&opened.path, offset))
}

/// Where a read begins: the cursor's offset, or 0 and `true` when the cursor does not fit the file.
pub fn begin(source: &impl ReadAt, size: u64, cursor: Option<Cursor>) -> io::Result<(u64, bool)> {
    match cursor {
        None => Ok((0, false)),
        Some(cursor) if cursor.holds(source, size)? => Ok((cursor.offset, false)),
        Some(_) => Ok((0, true)),
    }
}
