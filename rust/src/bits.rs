//! Where in a block of text the bytes are that mean something: a bit for each byte, the first one lowest.
//!
//! The only module with `unsafe`, for the three instructions that turn a comparison of sixteen bytes into bits:
//! without them `benches/tree.py` takes a third longer. They belong to every x86-64 processor. Elsewhere the compiler
//! makes of [`portable`] what it can.
#![allow(unsafe_code)]

/// Bytes in a block.
pub(crate) const BLOCK: usize = 64;

/// What a block holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bits {
    /// `"`
    pub quotes: u64,
    /// `\`
    pub slashes: u64,
    /// `n`, `r` and `t`: what else stands behind a backslash most often.
    pub letters: u64,
}

/// Looks at a block.
#[cfg(target_arch = "x86_64")]
#[allow(clippy::cast_ptr_alignment)] // what is loaded needs none
pub(crate) fn bits(block: &[u8; BLOCK]) -> Bits {
    use std::arch::x86_64::{__m128i, _mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_or_si128, _mm_set1_epi8};
    let mut found = Bits::default();
    for (place, part) in block.chunks_exact(16).enumerate() {
        // SAFETY: SSE2 is part of x86-64, and `part` has the 16 bytes that are read, at no special boundary.
        let [quotes, slashes, letters] = unsafe {
            let part = _mm_loadu_si128(part.as_ptr().cast::<__m128i>());
            let is = |byte: u8| _mm_cmpeq_epi8(part, _mm_set1_epi8(byte.cast_signed()));
            let letters = _mm_or_si128(_mm_or_si128(is(b'n'), is(b'r')), is(b't'));
            [is(b'"'), is(b'\\'), letters].map(|hits| u64::from(_mm_movemask_epi8(hits).cast_unsigned()))
        };
        found.quotes |= quotes << (place * 16);
        found.slashes |= slashes << (place * 16);
        found.letters |= letters << (place * 16);
    }
    found
}

/// Looks at a block.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn bits(block: &[u8; BLOCK]) -> Bits {
    portable(block)
}

/// As [`bits`], on any processor.
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
        letters: gather(block.map(|byte| u8::from(matches!(byte, b'n' | b'r' | b't')))),
    }
}

#[cfg(test)]
mod tests {
    use super::{BLOCK, bits, portable};

    #[test]
    fn both_ways_see_every_byte_at_every_place() {
        for byte in 0..=u8::MAX {
            for place in 0..BLOCK {
                let mut block = [b'n' ^ b'\\' ^ byte; BLOCK];
                block[place] = byte;
                let found = bits(&block);
                assert_eq!(found, portable(&block));
                let seen = [found.quotes, found.slashes, found.letters].map(|bits| bits >> place & 1 == 1);
                assert_eq!(seen, [byte == b'"', byte == b'\\', matches!(byte, b'n' | b'r' | b't')]);
            }
        }
    }
}
