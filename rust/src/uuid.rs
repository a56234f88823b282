//! UUIDs as they are usually written: 32 hexadecimal digits in lower case, in groups of 8, 4, 4, 4 and 12.

/// Bytes in one that is written.
pub const BYTES: usize = 36;

const HYPHENS: [usize; 4] = [8, 13, 18, 23];
/// In each of eight bytes the same.
const ONES: u64 = 0x0101_0101_0101_0101;

/// The number that a text says; None for anything that [`write`] would not write.
#[must_use]
pub fn parse(text: &[u8]) -> Option<u128> {
    let text: &[u8; BYTES] = text.try_into().ok()?;
    if HYPHENS.iter().any(|&at| text[at] != b'-') {
        return None;
    }
    let four = |at: usize| u64::from(u32::from_be_bytes([text[at], text[at + 1], text[at + 2], text[at + 3]]));
    let groups =
        [four(0) << 32 | four(4), four(9) << 32 | four(14), four(19) << 32 | four(24), four(28) << 32 | four(32)];
    let mut number = 0;
    for group in groups {
        number = number << 32 | u128::from(digits(group)?);
    }
    Some(number)
}

/// The number that eight digits say.
fn digits(text: u64) -> Option<u32> {
    let is_letter = text >> 6 & ONES;
    let values = (text & (ONES * 0x0F)) + is_letter * 9;
    // What is no digit is written in another way, or is more than 15.
    if values & (ONES * 0xF0) != 0 || spell(values) != text {
        return None;
    }
    let pairs = (values >> 4 | values) & 0x00FF_00FF_00FF_00FF;
    let fours = (pairs >> 8 | pairs) & 0x0000_FFFF_0000_FFFF;
    Some((fours >> 16 | fours) as u32)
}

/// Eight digits from their values.
const fn spell(values: u64) -> u64 {
    let is_letter = (values + ONES * 6) >> 4 & ONES;
    values + ONES * 0x30 + is_letter * 0x27
}

/// Writes a number as a UUID.
pub fn write(number: u128, text: &mut [u8; BYTES]) -> &str {
    let mut at = 0;
    for place in (0..32).rev() {
        if HYPHENS.contains(&at) {
            text[at] = b'-';
            at += 1;
        }
        text[at] = b"0123456789abcdef"[(number >> (place * 4)) as usize & 0xF];
        at += 1;
    }
    str::from_utf8(text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{BYTES, parse, write};

    #[test]
    fn what_is_parsed_is_written_as_it_was() {
        for number in [0, 1, u128::MAX, 0x0123_4567_89ab_cdef_0246_8ace_1357_9bdf, 1 << 127, 0xF0 << 60] {
            let mut text = [0; BYTES];
            let text = write(number, &mut text);
            assert_eq!(parse(text.as_bytes()), Some(number));
        }
        let mut text = [0; BYTES];
        assert_eq!(write(0x0123_4567_89ab_cdef_0246_8ace_1357_9bdf, &mut text), "01234567-89ab-cdef-0246-8ace13579bdf");
    }

    #[test]
    fn any_byte_at_any_place_is_judged_by_what_would_be_written() {
        let text = *b"01234567-89ab-cdef-0246-8ace13579bdf";
        for place in 0..BYTES {
            for byte in 0..=u8::MAX {
                let mut text = text;
                text[place] = byte;
                let is_good = if matches!(place, 8 | 13 | 18 | 23) {
                    byte == b'-'
                } else {
                    matches!(byte, b'0'..=b'9' | b'a'..=b'f')
                };
                let found = parse(&text);
                assert_eq!(found.is_some(), is_good, "{byte} {place}");
                assert!(found.is_none_or(|number| write(number, &mut [0; BYTES]).as_bytes() == text));
            }
        }
        assert_eq!((parse(&text[1..]), parse(b""), parse(&[&text[..], b"0"].concat())), (None, None, None));
    }
}
