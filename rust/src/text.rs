//! What the bytes of a JSON scalar say, and to whom they compare equal.

use std::borrow::Cow;

/// An integer as `json` would give it, within 64 bits: `7` and `-0`, not `7.0`, `1e3`, `"7"` or `true`.
#[must_use]
pub fn integer(raw: &[u8]) -> Option<i64> {
    let is_integer =
        !raw.is_empty() && raw.len() <= 20 && raw.iter().all(|byte| byte.is_ascii_digit() || *byte == b'-');
    if is_integer { std::str::from_utf8(raw).ok()?.parse().ok() } else { None }
}

/// What a JSON value is, other than a string.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scalar {
    /// An integer within 64 bits.
    Integer(i64),
    /// Any other number within a double, written with a fraction or an exponent.
    Float(f64),
    /// `true` or `false`.
    Bool(bool),
    /// `null`, `NaN`, the infinities, and numbers beyond a double.
    Null,
    /// A list, an object, or an integer beyond 64 bits.
    Other,
}

/// Reads a whole JSON value that is no string.
#[must_use]
pub fn scalar(raw: &[u8]) -> Scalar {
    match raw {
        b"true" => Scalar::Bool(true),
        b"false" => Scalar::Bool(false),
        b"null" | b"NaN" | b"Infinity" | b"-Infinity" => Scalar::Null,
        _ => integer(raw).map_or_else(|| float(raw), Scalar::Integer),
    }
}

fn float(raw: &[u8]) -> Scalar {
    let is_float = matches!(raw.first(), Some(b'-' | b'0'..=b'9')) && raw.iter().any(|byte| b".eE".contains(byte));
    let number = std::str::from_utf8(raw).ok().filter(|_| is_float).and_then(|text| text.parse::<f64>().ok());
    match number {
        Some(number) if number.is_finite() => Scalar::Float(number),
        Some(_) => Scalar::Null,
        None => Scalar::Other,
    }
}

/// The text of a whole JSON string, quotes included: bytes that are no UTF-8 and lone surrogates become U+FFFD. None
/// when the value is no string.
#[must_use]
pub fn string(raw: &[u8]) -> Option<Cow<'_, str>> {
    Some(decode(raw.strip_prefix(b"\"")?.strip_suffix(b"\"")?))
}

/// The text of a key or of the inside of a string (no quotes), decoded as [`string`] does.
#[must_use]
pub fn inside(inside: &[u8]) -> Cow<'_, str> {
    decode(inside)
}

/// True for a text of nothing but what Python calls white space.
#[must_use]
pub fn is_blank(text: &str) -> bool {
    text.chars().all(|char| char.is_whitespace() || ('\x1c'..='\x1f').contains(&char))
}

/// True when a key or the inside of a string (no quotes) says `name`, which is UTF-8.
#[must_use]
pub fn equals(inside: &[u8], name: &[u8]) -> bool {
    if inside == name {
        return true;
    }
    let is_plain = inside.is_ascii() && memchr::memchr(b'\\', inside).is_none();
    !is_plain && decode(inside).as_bytes() == name
}

/// The inside of a whole JSON string, decoded.
fn decode(inside: &[u8]) -> Cow<'_, str> {
    let Some(first) = memchr::memchr(b'\\', inside) else { return String::from_utf8_lossy(inside) };
    let mut out = Vec::with_capacity(inside.len());
    let mut rest = inside;
    let mut next = Some(first);
    while let Some(slash) = next {
        out.extend_from_slice(&rest[..slash]);
        let used = escape(&rest[slash..], &mut out);
        rest = &rest[slash + used..];
        next = memchr::memchr(b'\\', rest);
    }
    out.extend_from_slice(rest);
    // Once for all of it: what an escape gives is whole characters, so it completes nothing that was torn before it.
    let text = String::from_utf8(out).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
    Cow::Owned(text)
}

/// Decodes the escape that `rest` begins with, and the second half of a pair with it; gives its length.
fn escape(rest: &[u8], out: &mut Vec<u8>) -> usize {
    let plain = match rest.get(1) {
        Some(b'u') => {
            let unit = hex(rest);
            if (0xD800..0xDC00).contains(&unit) && rest.get(6..8) == Some(b"\\u") {
                let low = hex(&rest[6..]);
                if (0xDC00..0xE000).contains(&low) {
                    let code = 0x1_0000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
                    push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER), out);
                    return 12;
                }
            }
            push(char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER), out);
            return 6.min(rest.len());
        }
        Some(b'b') => b'\x08',
        Some(b'f') => b'\x0c',
        Some(b'n') => b'\n',
        Some(b'r') => b'\r',
        Some(b't') => b'\t',
        Some(&other) => other,
        None => {
            push(char::REPLACEMENT_CHARACTER, out);
            return 1;
        }
    };
    out.push(plain);
    2
}

fn push(character: char, out: &mut Vec<u8>) {
    out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
}

/// The four hex digits of `\uXXXX`; a lone surrogate when there are none, so that the caller replaces it.
fn hex(escape: &[u8]) -> u32 {
    escape
        .get(2..6)
        .and_then(|digits| std::str::from_utf8(digits).ok())
        .and_then(|digits| u32::from_str_radix(digits, 16).ok())
        .unwrap_or(0xD800)
}

/// A longer name is not looked for in lines that were not walked.
const PROVABLE_MAX: usize = 256;

/// True for a name that stands in a line as it is wherever it is not written with `\u00` escapes: a line that holds
/// neither cannot say it.
#[must_use]
pub fn is_provable(name: &[u8]) -> bool {
    (1..=PROVABLE_MAX).contains(&name.len())
        && name.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-'))
}
