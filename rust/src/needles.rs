//! Several needles that are looked for at once.
//!
//! Next to [`crate::bits`] the only module with `unsafe`, for the instructions that compare 32 bytes at a time: by
//! `benches/scan.py` one search for each of four needles is half of what `scan_tail` takes, and this one search takes a
//! quarter of these. Where a processor has no such instructions, or the needles no fitting pairs of bytes, they are
//! looked for one after another.
#![allow(unsafe_code)]

use memchr::memmem::Finder;

/// Where the first of some words begins.
#[must_use]
pub fn find_any(bytes: &[u8], words: &[&[u8]]) -> Option<usize> {
    words.iter().filter_map(|word| memchr::memmem::find(bytes, word)).min()
}

/// Needles, none of which is empty.
#[derive(Clone, Debug)]
pub struct AnyOf {
    finders: Vec<Finder<'static>>,
    /// Bytes in the longest one.
    longest: usize,
    #[cfg(target_arch = "x86_64")]
    pairs: Option<pairs::Pairs>,
}

impl AnyOf {
    /// Looks for these.
    #[must_use]
    pub fn new(needles: &[&[u8]]) -> Self {
        Self {
            finders: needles.iter().map(|needle| Finder::new(needle).into_owned()).collect(),
            longest: needles.iter().map(|needle| needle.len()).max().unwrap_or(0),
            #[cfg(target_arch = "x86_64")]
            pairs: pairs::Pairs::new(needles),
        }
    }

    pub(crate) const fn longest(&self) -> usize {
        self.longest
    }

    /// Where one of the needles begins: on the first line that holds any.
    #[must_use]
    pub fn find(&self, bytes: &[u8]) -> Option<usize> {
        #[cfg(target_arch = "x86_64")]
        if let Some(pairs) = &self.pairs
            && std::arch::is_x86_feature_detected!("avx2")
        {
            // SAFETY: the processor has these instructions.
            return unsafe { pairs.find(&self.finders, bytes) };
        }
        self.find_each(bytes)
    }

    /// As [`AnyOf::find`], one needle after another, each only where it would come before those that were found.
    fn find_each(&self, bytes: &[u8]) -> Option<usize> {
        let mut first: Option<usize> = None;
        for finder in &self.finders {
            let end = first.map_or(bytes.len(), |first| bytes.len().min(first + self.longest));
            let found = finder.find(&bytes[..end]);
            first = found.map(|found| first.map_or(found, |first| first.min(found))).or(first);
        }
        first
    }
}

#[cfg(target_arch = "x86_64")]
mod pairs {
    use std::arch::x86_64::{
        __m128i, __m256i, _mm_loadu_si128, _mm256_and_si256, _mm256_broadcastsi128_si256, _mm256_cmpeq_epi8,
        _mm256_loadu_si256, _mm256_movemask_epi8, _mm256_or_si256, _mm256_shuffle_epi8, _mm256_testz_si256,
    };

    use memchr::memmem::Finder;

    /// Bytes that are looked at in one go, and a byte more: the second one of the last pair.
    const STEP: usize = 64;

    /// Of each needle two bytes that stand side by side. No two needles' first bytes have the same lower half: by that
    /// half a table says which byte is looked for, and another one which byte must follow it.
    #[derive(Clone, Debug)]
    pub(super) struct Pairs {
        first: [u8; 16],
        second: [u8; 16],
        /// The needle, and where in it its pair is.
        needles: [Option<(usize, usize)>; 16],
    }

    impl Pairs {
        /// None where one needle is found as fast by itself, or where there are no such pairs.
        pub(super) fn new(needles: &[&[u8]]) -> Option<Self> {
            if needles.len() < 2 {
                return None;
            }
            // Of a free half a byte with another half, which is none that is looked for.
            let first = std::array::from_fn(|half| half as u8 ^ 1);
            let mut pairs = Self { first, second: [0; 16], needles: [None; 16] };
            for (place, needle) in needles.iter().enumerate() {
                let is_free = |byte: u8| byte.is_ascii() && pairs.needles[half(byte)].is_none();
                let free = needle.windows(2).enumerate().rev().filter(|(_, pair)| is_free(pair[0]));
                let (at, pair) = free.min_by_key(|(_, pair)| how_common(pair[0]) + how_common(pair[1]))?;
                let half = half(pair[0]);
                (pairs.first[half], pairs.second[half]) = (pair[0], pair[1]);
                pairs.needles[half] = Some((place, at));
            }
            Some(pairs)
        }

        #[target_feature(enable = "avx2")]
        pub(super) fn find(&self, finders: &[Finder<'_>], bytes: &[u8]) -> Option<usize> {
            let (first, second) = (table(&self.first), table(&self.second));
            let mut at = 0;
            while let Some(part) = bytes.get(at..at + STEP + 1) {
                let low = hits(part[..33].try_into().ok()?, first, second);
                let high = hits(part[32..].try_into().ok()?, first, second);
                let both = _mm256_or_si256(low, high);
                if _mm256_testz_si256(both, both) == 0 {
                    let mut places = mask(low) | mask(high) << 32;
                    while places != 0 {
                        let found = self.begin(finders, bytes, at + places.trailing_zeros() as usize);
                        if found.is_some() {
                            return found;
                        }
                        places &= places - 1;
                    }
                }
                at += STEP;
            }
            (at..bytes.len()).find_map(|at| self.begin(finders, bytes, at))
        }

        /// Where the needle begins whose pair stands there.
        fn begin(&self, finders: &[Finder<'_>], bytes: &[u8], at: usize) -> Option<usize> {
            let (needle, before) = self.needles[half(bytes[at])]?;
            let start = at.checked_sub(before)?;
            bytes[start..].starts_with(finders[needle].needle()).then_some(start)
        }
    }

    const fn half(byte: u8) -> usize {
        (byte & 0xF) as usize
    }

    /// How often a byte stands in the text of a transcript, roughly.
    const fn how_common(byte: u8) -> u8 {
        match byte {
            b'a'..=b'z' | b'0'..=b'9' | b' ' => 2,
            b'A'..=b'Z' => 0,
            _ => 1,
        }
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    #[allow(clippy::cast_ptr_alignment)] // what is loaded needs none
    fn table(bytes: &[u8; 16]) -> __m256i {
        // SAFETY: these are the 16 bytes that are read, at no special boundary.
        _mm256_broadcastsi128_si256(unsafe { _mm_loadu_si128(bytes.as_ptr().cast::<__m128i>()) })
    }

    /// At which of 32 bytes a pair stands.
    #[target_feature(enable = "avx2")]
    #[inline]
    #[allow(clippy::cast_ptr_alignment)] // what is loaded needs none
    fn hits(bytes: &[u8; 33], first: __m256i, second: __m256i) -> __m256i {
        // SAFETY: there are 32 bytes from the first one on and from the second one on; they need no special boundary.
        let (these, next) = unsafe {
            (
                _mm256_loadu_si256(bytes.as_ptr().cast::<__m256i>()),
                _mm256_loadu_si256(bytes[1..].as_ptr().cast::<__m256i>()),
            )
        };
        let is_first = _mm256_cmpeq_epi8(_mm256_shuffle_epi8(first, these), these);
        _mm256_and_si256(is_first, _mm256_cmpeq_epi8(_mm256_shuffle_epi8(second, these), next))
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn mask(hits: __m256i) -> u64 {
        u64::from(_mm256_movemask_epi8(hits).cast_unsigned())
    }
}

#[cfg(test)]
mod tests {
    use super::AnyOf;

    const SETS: [&[&[u8]]; 5] = [
        &[b"\"step_index\"", b"CHECKPOINT", b"\\u00", b"}{"],
        &[b"USER_INPUT", b"PLANNER_RESPONSE", b"\\u00"],
        &[b"aab", b"ba"],
        &[b"ab"],
        &[b"b", b"ab", b"\\u00"], // one has no pair of bytes
    ];

    fn line_of(bytes: &[u8], at: usize) -> usize {
        memchr::memchr_iter(b'\n', &bytes[..at]).count()
    }

    /// Asserts that one is found where one is, on the first line that holds any, however they are looked for.
    fn check(needles: &AnyOf, set: &[&[u8]], bytes: &[u8]) {
        let begins = |at: usize| set.iter().any(|needle| bytes[at..].starts_with(needle));
        let first = (0..bytes.len()).find(|&at| begins(at)).map(|at| line_of(bytes, at));
        for found in [needles.find(bytes), needles.find_each(bytes)] {
            assert!(found.is_none_or(begins));
            assert_eq!(found.map(|at| line_of(bytes, at)), first, "{:?}", String::from_utf8_lossy(bytes));
        }
    }

    #[test]
    fn a_needle_is_found_at_every_place() {
        for set in SETS {
            let needles = AnyOf::new(set);
            for needle in set {
                for length in [needle.len(), 63, 64, 65, 66, 129, 200] {
                    for at in 0..=length.saturating_sub(needle.len()) {
                        let mut bytes = vec![b'\x80'; length.max(needle.len())];
                        bytes[at..at + needle.len()].copy_from_slice(needle);
                        check(&needles, set, &bytes);
                        bytes[at] ^= 1; // nearly one
                        check(&needles, set, &bytes);
                    }
                }
            }
        }
    }

    #[test]
    fn pieces_of_needles_in_any_order_say_what_a_look_at_every_place_says() {
        let mut random = 1_u64;
        for round in 0..20_000 {
            let set = SETS[round % SETS.len()];
            let mut bytes = Vec::new();
            while bytes.len() < round % 170 {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let [.., from, pick, length] = random.to_be_bytes().map(usize::from);
                let needle = set[(random >> 40) as usize % set.len()];
                let piece = &needle[from % needle.len()..];
                match pick % 4 {
                    0 => bytes.extend(&piece[..piece.len().min(length % 9)]),
                    1 => bytes.extend(&needle[..needle.len() - 1]),
                    2 => bytes.push(b"\n\\}Pu0 x"[length % 8]),
                    _ => bytes.resize(bytes.len() + length % 40, b'\xff'),
                }
            }
            check(&AnyOf::new(set), set, &bytes);
        }
    }
}
