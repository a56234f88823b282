//! What JSON, a line and a transcript are, said once more: slow, obvious, and sharing no code with the crate.
//!
//! The tests and the fuzz targets hold the crate against it. Where the crate decides something that a full parse could
//! not tell (what is read behind damage, which lines are let pass unread), the rule stands here in its own words.

/// Bytes `start..end`.
pub type Span = (usize, usize);

/// A whole value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    /// The place behind it.
    pub end: usize,
    /// Of an object every member, in their order: decoded key, place of the value.
    pub members: Option<Vec<(String, Span)>>,
    /// Of a list every element.
    pub elements: Option<Vec<Span>>,
}

impl Value {
    /// Where the value of the last member of that name is.
    pub fn member(&self, name: &str) -> Option<Span> {
        self.members.iter().flatten().rev().find(|(key, _)| key == name).map(|&(_, span)| span)
    }
}

const LITERALS: [&str; 6] = ["true", "false", "null", "NaN", "Infinity", "-Infinity"];

/// The end of the string, number, literal or mark that begins at `at`; None when none does that is whole.
fn token_end(text: &[u8], at: usize) -> Option<usize> {
    let rest = &text[at..];
    if let Some(word) = LITERALS.iter().find(|word| rest.starts_with(word.as_bytes())) {
        return Some(at + word.len());
    }
    match rest.first()? {
        b'{' | b'}' | b'[' | b']' | b':' | b',' => Some(at + 1),
        b'"' => string_end(text, at + 1),
        b'-' | b'0'..=b'9' => number_length(rest).map(|length| at + length),
        _ => None,
    }
}

fn string_end(text: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at += match text.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => match text.get(at + 1)? {
                b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => 2,
                b'u' if text.get(at + 2..at + 6)?.iter().all(u8::is_ascii_hexdigit) => 6,
                _ => return None,
            },
            _ => 1,
        };
    }
}

/// As many bytes as can belong to one number; None when they are none.
fn number_length(rest: &[u8]) -> Option<usize> {
    let digits = |at: usize| rest[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut at = usize::from(rest[0] == b'-');
    at += match rest.get(at)? {
        b'0' => 1,
        _ => Some(digits(at)).filter(|&count| count > 0)?,
    };
    if rest.get(at) == Some(&b'.') {
        at += 1 + Some(digits(at + 1)).filter(|&count| count > 0)?;
    }
    if let Some(b'e' | b'E') = rest.get(at) {
        at += 1 + usize::from(matches!(rest.get(at + 1), Some(b'+' | b'-')));
        at += Some(digits(at)).filter(|&count| count > 0)?;
    }
    Some(at)
}

/// A container that is open.
struct Open {
    start: usize,
    is_object: bool,
    /// Of an object: the key whose value comes next or came last.
    key: Option<String>,
    /// What may come next.
    due: Due,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Due {
    /// A key, or an element; or else, at the begin, the end.
    FirstItem,
    Item,
    Colon,
    Value,
    CommaOrEnd,
}

/// The value that begins at `at`, or where the next object is looked for when none does that is whole.
pub fn value(text: &[u8], at: usize) -> Result<Value, usize> {
    let mut open: Vec<Open> = Vec::new();
    let (mut members, mut elements) = (Vec::new(), Vec::new());
    let (mut place, mut last_good) = (at, at);
    let mut closed: Option<usize> = None; // where the object began that the last token closed
    loop {
        while !open.is_empty() && text.get(place).is_some_and(|byte| b" \t\r\n".contains(byte)) {
            place += 1;
        }
        if place == text.len() {
            return Err(closed.unwrap_or(last_good.max(at + 1)));
        }
        let broken = Err(last_good.max(at + 1));
        let Some(end) = token_end(text, place) else { return broken };
        let Some(top) = open.last_mut() else {
            match text[place] {
                byte @ (b'{' | b'[') => open.push(begun(place, byte)),
                b'}' | b']' | b':' | b',' => return broken,
                _ => return Ok(Value { end, members: None, elements: None }),
            }
            (last_good, place) = (place, end);
            continue;
        };
        closed = None;
        let mut whole = None; // the value that ended here
        match (text[place], top.due) {
            (b'"', Due::FirstItem | Due::Item) if top.is_object => {
                top.key = Some(decode(&text[place + 1..end - 1]));
                top.due = Due::Colon;
            }
            (b':', Due::Colon) => top.due = Due::Value,
            (b',', Due::CommaOrEnd) => top.due = Due::Item,
            (mark @ (b'}' | b']'), Due::FirstItem | Due::CommaOrEnd) if top.is_object == (mark == b'}') => {
                let (start, is_object) = (top.start, top.is_object);
                open.pop();
                if open.is_empty() {
                    let (members, elements) = (is_object.then_some(members), (!is_object).then_some(elements));
                    return Ok(Value { end, members, elements });
                }
                closed = is_object.then_some(start);
                whole = Some((start, end));
            }
            (b':' | b',' | b'}' | b']', _) => return broken,
            (byte, due) => {
                let is_due = if top.is_object { due == Due::Value } else { matches!(due, Due::FirstItem | Due::Item) };
                if !is_due {
                    return broken;
                }
                if byte == b'{' || byte == b'[' {
                    open.push(begun(place, byte));
                } else {
                    whole = Some((place, end));
                }
            }
        }
        if let Some(span) = whole {
            let depth = open.len();
            let top = open.last_mut().expect("a container is open");
            top.due = Due::CommaOrEnd;
            match (depth, top.key.take()) {
                (1, Some(key)) => members.push((key, span)),
                (1, None) => elements.push(span),
                _ => {}
            }
        }
        (last_good, place) = (place, end);
    }
}

fn begun(start: usize, mark: u8) -> Open {
    Open { start, is_object: mark == b'{', key: None, due: Due::FirstItem }
}

/// The text between the quotes of a whole string; what is no text becomes U+FFFD.
pub fn decode(inside: &[u8]) -> String {
    let mut units: Vec<u16> = Vec::new();
    let mut at = 0;
    while at < inside.len() {
        if inside[at] == b'\\' {
            let (unit, length) = match inside[at + 1] {
                b'u' => {
                    let digits = std::str::from_utf8(&inside[at + 2..at + 6]).expect("four digits");
                    (u16::from_str_radix(digits, 16).expect("four digits"), 6)
                }
                b'b' => (8, 2),
                b'f' => (12, 2),
                b'n' => (10, 2),
                b'r' => (13, 2),
                b't' => (9, 2),
                other => (u16::from(other), 2),
            };
            units.push(unit);
            at += length;
        } else {
            let end = inside[at..].iter().position(|&byte| byte == b'\\').map_or(inside.len(), |length| at + length);
            units.extend(String::from_utf8_lossy(&inside[at..end]).encode_utf16());
            at = end;
        }
    }
    String::from_utf16_lossy(&units)
}

/// The text of a value that is a string; None for any other.
pub fn string(raw: &[u8]) -> Option<String> {
    (raw.first() == Some(&b'"')).then(|| decode(&raw[1..raw.len() - 1]))
}

/// A whole value's integer, if it is one within 64 bits.
pub fn integer(raw: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(raw).ok().filter(|text| !text.starts_with('+'))?;
    text.parse::<i128>().ok().and_then(|number| i64::try_from(number).ok())
}

/// A complete line: where it begins, where its content begins, the content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'f> {
    /// Where the physical line begins.
    pub offset: usize,
    /// Where the content begins: behind a byte order mark.
    pub content_offset: usize,
    /// The content, without the line's ending.
    pub content: &'f [u8],
}

impl Line<'_> {
    /// Nothing but white space and NUL bytes.
    pub fn is_blank(&self) -> bool {
        self.content.iter().all(|byte| b" \t\r\0".contains(byte))
    }

    /// Whether the content holds these bytes behind its second byte.
    pub fn holds(&self, needle: &[u8]) -> bool {
        self.content.windows(needle.len()).skip(2).any(|window| window == needle)
    }
}

/// The complete lines of a file.
pub fn lines(file: &[u8]) -> Vec<Line<'_>> {
    let mut found = Vec::new();
    let mut offset = 0;
    for line in file.split_inclusive(|&byte| byte == b'\n') {
        let Some(content) = line.strip_suffix(b"\n") else { break };
        let content = content.strip_suffix(b"\r").unwrap_or(content);
        let mark = if offset == 0 && content.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        found.push(Line { offset, content_offset: offset + mark, content: &content[mark..] });
        offset += line.len();
    }
    found
}

/// The objects of a line, each with its place, and whether anything else is on it.
pub fn objects(content: &[u8]) -> (Vec<(usize, Value)>, bool) {
    let (mut found, mut is_damaged, mut at) = (Vec::new(), false, 0);
    while let Some(skipped) = content[at..].iter().position(|byte| !b" \t\r\n\0".contains(byte)) {
        at += skipped;
        match value(content, at) {
            Ok(value) => {
                let end = value.end;
                if value.members.is_some() {
                    found.push((at, value));
                } else {
                    is_damaged = true;
                }
                at = end;
            }
            Err(next) => {
                is_damaged = true;
                let Some(skipped) = content[next..].iter().position(|&byte| byte == b'{') else { break };
                at = next + skipped;
            }
        }
    }
    (found, is_damaged)
}

/// The step that a line claims in the one way that is believed without a look at the rest: `{"step_index":N` and a
/// comma or a brace at the very beginning, a brace at the very end, and nothing on the line that could say otherwise.
pub fn claimed_step(line: &Line<'_>) -> Option<i64> {
    let rest = line.content.strip_prefix(b"{\"step_index\":")?;
    let length = rest.iter().position(|byte| b",}".contains(byte))?;
    let number = &rest[..length];
    let doubts: [&[u8]; 4] = [b"CHECKPOINT", b"\\u00", b"\"step_index\"", b"}{"];
    let is_proven = line.content_offset == line.offset
        && line.content.ends_with(b"}")
        && !doubts.iter().any(|doubt| line.holds(doubt))
        && !number.is_empty()
        && number_length(number) == Some(length);
    if is_proven { integer(number) } else { None }
}

/// CRC-32 as zlib has it.
pub fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0xEDB8_8320 } else { crc >> 1 })
    })
}
