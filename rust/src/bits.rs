//! Where in a text the bytes are that can end it: a bit for each byte, the first one of a block lowest.
//!
//! Next to [`crate::needles`] the only module with `unsafe`, for the instructions that turn a comparison of 16 or 32
//! bytes into bits: by `benches/tree.py` the former save a quarter of what `read_tree` takes, and the latter another
//! seventh. The narrow ones belong to every x86-64 processor, the wide ones are asked for. Elsewhere the compiler makes
//! of [`portable`] what it can.
#![allow(unsafe_code)]

/// Bytes in a block.
pub(crate) const BLOCK: usize = 64;

/// What a block holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Bits {
    /// `"`
    quotes: u64,
    /// `\`
    slashes: u64,
    /// The ends of lines.
    newlines: u64,
    /// `n`, `r`, `t` and `\`: what else than a quote stands behind a backslash most often.
    common: u64,
}

/// Blocks that are looked at in one go: a bit for each of them.
pub(crate) const BLOCKS: usize = 64;

/// What was found in some blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ends {
    /// Of each block: the quotes that no backslash stands before, the ends of lines, and the backslashes whose escape is
    /// not one of the most common ones.
    pub places: [u64; BLOCKS],
    /// The blocks in which there are any,
    pub any: u64,
    /// and those in which there is a backslash.
    pub slashes: u64,
    /// An escape's backslash stands before the first byte, and then before the one behind the blocks.
    pub is_escaped: bool,
}

impl Ends {
    /// Of no blocks.
    pub const fn new() -> Self {
        Self { places: [0; BLOCKS], any: 0, slashes: 0, is_escaped: false }
    }

    /// Looks at the blocks that `bytes` begins with, that many of them. Behind the end of `bytes` nothing is found.
    pub fn find(&mut self, bytes: &[u8], blocks: usize) {
        #[cfg(target_arch = "x86_64")]
        {
            if std::arch::is_x86_feature_detected!("avx2") {
                // SAFETY: the processor has these instructions.
                unsafe { x86::find_wide(self, bytes, blocks) };
            } else {
                self.find_by(bytes, blocks, x86::narrow);
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        self.find_by(bytes, blocks, portable);
    }

    #[inline(always)] // so that it is compiled for the instructions of its caller
    #[allow(clippy::inline_always)]
    fn find_by(&mut self, bytes: &[u8], blocks: usize, look: impl Fn(&[u8; BLOCK]) -> Bits) {
        let (whole, rest) = bytes.as_chunks::<BLOCK>();
        let mut last = [0; BLOCK];
        last[..rest.len()].copy_from_slice(rest);
        let mut carried = u64::from(self.is_escaped);
        (self.any, self.slashes) = (0, 0);
        for (place, block) in whole.iter().chain([&last]).take(blocks).enumerate() {
            let bits = look(block);
            let (escapes, behind) = escapes(bits.slashes & !carried);
            // What stands behind the last byte is not known here.
            let common = escapes & ((bits.quotes | bits.common) >> 1);
            let ends = bits.quotes & !(behind | carried) | bits.newlines | escapes & !common;
            self.places[place] = ends;
            self.any |= u64::from(ends != 0) << place;
            self.slashes |= u64::from(bits.slashes != 0) << place;
            carried = escapes >> (BLOCK - 1);
        }
        self.is_escaped = carried == 1;
    }
}

/// Which of the backslashes begin an escape, and which bytes are behind one of these.
///
/// What one byte means for the next is worked out for all of a block with a few operations on its bits, as a branch for
/// each escape would be guessed wrong too often.
const fn escapes(slashes: u64) -> (u64, u64) {
    const ODD: u64 = 0xAAAA_AAAA_AAAA_AAAA;
    // Of a run of backslashes every other one begins an escape. A subtraction carries through each run; whether the run
    // began at an odd place says which bits of it are wanted.
    let carried = ((slashes << 1) | ODD).wrapping_sub(slashes) ^ ODD;
    (carried & slashes, carried ^ slashes)
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        __m128i, __m256i, _mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_or_si128, _mm_set1_epi8,
        _mm_setr_epi8, _mm256_broadcastsi128_si256, _mm256_cmpeq_epi8, _mm256_loadu_si256, _mm256_movemask_epi8,
        _mm256_set1_epi8, _mm256_shuffle_epi8,
    };

    use super::{BLOCK, Bits, Ends};

    #[target_feature(enable = "avx2")]
    pub(super) fn find_wide(ends: &mut Ends, bytes: &[u8], blocks: usize) {
        ends.find_by(bytes, blocks, |block| wide(block));
    }

    /// Looks at 32 bytes at a time.
    #[target_feature(enable = "avx2")]
    #[inline]
    #[allow(clippy::cast_ptr_alignment)] // what is loaded needs none
    pub(super) fn wide(block: &[u8; BLOCK]) -> Bits {
        // By the lower half of a byte, which the upper halves must follow: the bytes that are looked for; elsewhere what
        // is none, as its lower half is another.
        const NONE: i8 = -1;
        const N: i8 = b'n'.cast_signed();
        const R: i8 = b'r'.cast_signed();
        const T: i8 = b't'.cast_signed();
        const SLASH: i8 = b'\\'.cast_signed();
        let common =
            _mm_setr_epi8(NONE, NONE, R, NONE, T, NONE, NONE, NONE, NONE, NONE, NONE, NONE, SLASH, NONE, N, NONE);
        let common = _mm256_broadcastsi128_si256(common);
        let mut bits = Bits::default();
        for (place, part) in block.chunks_exact(32).enumerate() {
            // SAFETY: `part` has the 32 bytes that are read, at no special boundary.
            let part = unsafe { _mm256_loadu_si256(part.as_ptr().cast::<__m256i>()) };
            let is = |byte: u8| _mm256_cmpeq_epi8(part, _mm256_set1_epi8(byte.cast_signed()));
            let at = |hits| u64::from(_mm256_movemask_epi8(hits).cast_unsigned()) << (place * 32);
            bits.quotes |= at(is(b'"'));
            bits.slashes |= at(is(b'\\'));
            bits.newlines |= at(is(b'\n'));
            bits.common |= at(_mm256_cmpeq_epi8(_mm256_shuffle_epi8(common, part), part));
        }
        bits
    }

    /// Looks at 16 bytes at a time.
    #[inline]
    #[allow(clippy::cast_ptr_alignment)] // what is loaded needs none
    pub(super) fn narrow(block: &[u8; BLOCK]) -> Bits {
        let mut bits = Bits::default();
        for (place, part) in block.chunks_exact(16).enumerate() {
            // SAFETY: SSE2 is part of x86-64, and `part` has the 16 bytes that are read, at no special boundary.
            unsafe {
                let part = _mm_loadu_si128(part.as_ptr().cast::<__m128i>());
                let is = |byte: u8| _mm_cmpeq_epi8(part, _mm_set1_epi8(byte.cast_signed()));
                let at = |hits| u64::from(_mm_movemask_epi8(hits).cast_unsigned()) << (place * 16);
                bits.quotes |= at(is(b'"'));
                bits.slashes |= at(is(b'\\'));
                bits.newlines |= at(is(b'\n'));
                bits.common |= at(_mm_or_si128(_mm_or_si128(is(b'n'), is(b'r')), _mm_or_si128(is(b't'), is(b'\\'))));
            }
        }
        bits
    }
}

/// Looks at a block on any processor.
#[cfg(any(test, not(target_arch = "x86_64")))]
fn portable(block: &[u8; BLOCK]) -> Bits {
    /// Moves the lowest bit of each of eight bytes into the highest byte, in their order.
    const GATHER: u64 = 0x0102_0408_1020_4080;
    let gather = |hits: [u8; BLOCK]| {
        let words =
            hits.chunks_exact(8).map(|word| u64::from_le_bytes([0, 1, 2, 3, 4, 5, 6, 7].map(|byte| word[byte])));
        words.enumerate().fold(0, |bits, (place, word)| bits | (word.wrapping_mul(GATHER) >> 56) << (place * 8))
    };
    Bits {
        quotes: gather(block.map(|byte| u8::from(byte == b'"'))),
        slashes: gather(block.map(|byte| u8::from(byte == b'\\'))),
        newlines: gather(block.map(|byte| u8::from(byte == b'\n'))),
        common: gather(block.map(|byte| u8::from(matches!(byte, b'n' | b'r' | b't' | b'\\')))),
    }
}

#[cfg(test)]
mod tests {
    use super::{BLOCK, BLOCKS, Bits, Ends, portable};

    /// Every way to look at a block that this processor has.
    fn all_ways(block: &[u8; BLOCK]) -> Vec<Bits> {
        let mut found = vec![portable(block)];
        #[cfg(target_arch = "x86_64")]
        {
            found.push(super::x86::narrow(block));
            if std::arch::is_x86_feature_detected!("avx2") {
                // SAFETY: the processor has these instructions.
                found.push(unsafe { super::x86::wide(block) });
            }
        }
        found
    }

    #[test]
    fn every_way_sees_every_byte_at_every_place() {
        for byte in 0..=u8::MAX {
            for place in 0..BLOCK {
                let mut block = [b'n' ^ b'\\' ^ byte; BLOCK];
                block[place] = byte;
                for found in all_ways(&block) {
                    assert_eq!(found, portable(&block));
                    let Bits { quotes, slashes, newlines, common } = found;
                    let seen = [quotes, slashes, newlines, common].map(|bits| bits >> place & 1 == 1);
                    assert_eq!(
                        seen,
                        [byte == b'"', byte == b'\\', byte == b'\n', matches!(byte, b'n' | b'r' | b't' | b'\\')]
                    );
                }
            }
        }
    }

    /// What [`find_ends`] finds, byte by byte.
    fn naive(bytes: &[u8], mut is_escaped: bool) -> Vec<usize> {
        let mut ends = Vec::new();
        for (at, &byte) in bytes.iter().enumerate() {
            let was_escaped = std::mem::replace(&mut is_escaped, false);
            match byte {
                b'\n' => ends.push(at),
                b'"' if !was_escaped => ends.push(at),
                b'\\' if !was_escaped => {
                    is_escaped = true;
                    let next = bytes.get(at + 1).filter(|_| at % BLOCK < BLOCK - 1);
                    if !matches!(next, Some(b'"' | b'\\' | b'n' | b'r' | b't')) {
                        ends.push(at);
                    }
                }
                _ => {}
            }
        }
        ends
    }

    #[test]
    fn ends_are_found_across_blocks() {
        let bytes: Vec<u8> = (0..4_000_usize).map(|at| b"\\\\\"nx\n\\\\\\tu"[at * at / 7 % 11]).collect();
        for start in 0..300 {
            for is_escaped in [false, true] {
                let bytes = &bytes[start..start * 7 + 1_000];
                for blocks in [1, 5, BLOCKS] {
                    let (mut ends, mut slow) = (Ends { is_escaped, ..Ends::new() }, Ends { is_escaped, ..Ends::new() });
                    ends.find(bytes, blocks);
                    slow.find_by(bytes, blocks, portable);
                    assert_eq!(ends, slow);
                    let seen = &bytes[..bytes.len().min(blocks * BLOCK)];
                    let bit = |words: &[u64], at: usize| words[at / 64] >> (at % 64) & 1 == 1;
                    let places: Vec<_> = (0..BLOCKS * BLOCK).filter(|&at| bit(&ends.places, at)).collect();
                    assert_eq!(places, naive(seen, is_escaped));
                    for (place, block) in seen.chunks(BLOCK).enumerate() {
                        assert_eq!(bit(&[ends.any], place), ends.places[place] != 0);
                        assert_eq!(bit(&[ends.slashes], place), block.contains(&b'\\'));
                    }
                }
            }
        }
    }
}
