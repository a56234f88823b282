//! What the targets share: the twin that they compare with, and how they choose what their input leaves open.
//!
//! An input is the bytes of a file and nothing else, so that any file is a seed. Buffer sizes, parts and cursors are
//! drawn from the bytes themselves: the same input is always read the same ways.

#[path = "../../tests/naive/twin.rs"]
pub mod twin;

use rehydrate::lines::ReadAt;

/// Draws from the bytes of an input.
pub struct Dice(u64);

impl Dice {
    /// Dice for this input.
    pub fn of(input: &[u8]) -> Self {
        Self(
            input
                .iter()
                .fold(0xCBF2_9CE4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)),
        )
    }

    /// A number below `count`, which is not 0.
    pub fn below(&mut self, count: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ mixed >> 31) % count as u64) as usize
    }

    /// A size for a buffer: the smallest ones, about that of the file, and any other.
    pub fn buffer_bytes(&mut self, length: usize) -> usize {
        match self.below(4) {
            0 => self.below(8),
            1 => self.below(80),
            2 => (length + 4).saturating_sub(self.below(8)),
            _ => 1 + self.below(length + 1),
        }
    }

    /// The beginning of a line, mostly; else any place in the file, its end included.
    pub fn place(&mut self, file: &[u8]) -> usize {
        let lines = twin::lines(file);
        match self.below(8) {
            0 => self.below(file.len() + 1),
            _ if lines.is_empty() => 0,
            _ => lines[self.below(lines.len())].offset,
        }
    }
}

/// A file whose reads give fewer bytes than were asked for, now and then.
pub struct Stingy<'f>(pub &'f [u8]);

impl ReadAt for Stingy<'_> {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> std::io::Result<usize> {
        let most = 1 + (offset as usize * 7 + buffer.len()) % 13;
        let length = buffer.len().min(if offset % 3 == 0 { most } else { usize::MAX });
        self.0.read_at(&mut buffer[..length], offset)
    }
}
