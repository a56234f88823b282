//! The files that the tool calls of a response name, told from the bytes of its `tool_calls`.
//!
//! The rules are those of `clients/antigravity/records.py`. What they ask a second decoding for is left to it: such
//! calls are unseen.

use crate::members::{elements, pairs};
use crate::text;

const READING: [&str; 2] = ["read_file", "view_file"];
const WRITING: [&str; 5] =
    ["edit_file", "write_file", "replace_file_content", "multi_replace_file_content", "write_to_file"];
const ENDINGS: [&str; 4] = ["path", "file", "uri", "filename"];

/// Nested deeper is no value.
const DEPTH_MAX: usize = 511;
/// Of a call with more arguments it is not told which of them name files.
const ARGUMENTS_MAX: usize = 256;

/// How a call names a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// It writes it.
    Modified,
    /// It reads it.
    Read,
    /// In any other way.
    Named,
}

impl Kind {
    fn of(tool: &str) -> Self {
        if READING.contains(&tool) {
            Self::Read
        } else if WRITING.contains(&tool) {
            Self::Modified
        } else {
            Self::Named
        }
    }

    /// The arguments that name the file, the first that does so counts.
    const fn keys(self) -> &'static [&'static str] {
        match self {
            Self::Modified => &["Path", "TargetFile"],
            Self::Read => &["Path", "AbsolutePath"],
            Self::Named => &[],
        }
    }

    /// As `FileTouch` has it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Modified => "modified",
            Self::Read => "read",
            Self::Named => "named",
        }
    }
}

/// What was seen of a response's calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    /// There are any.
    pub any: bool,
    /// What they name was not told, and what was is void.
    pub is_unseen: bool,
}

/// Looks at a whole value, and tells `touch` of each file as it is named: the number of the call, how, and by what.
pub(crate) fn look(raw: &[u8], mut touch: impl FnMut(u32, Kind, &str)) -> Seen {
    let mut seen = Seen::default();
    if is_deep(raw) {
        return seen;
    }
    let mut number = 0;
    for item in elements(raw).unwrap_or_default() {
        let (mut name, mut arguments) = (None, None);
        for (key, value) in pairs(item).unwrap_or_default() {
            if text::equals(key, b"name") {
                name = text::string(value);
            } else if text::equals(key, b"args") {
                arguments = Some(value);
            }
        }
        let Some(name) = name.filter(|name| !name.is_empty()) else { continue };
        seen.any = true;
        let kind = Kind::of(&name);
        seen.is_unseen |= !look_at_arguments(arguments, kind, |told| touch(number, kind, told));
        number += 1;
    }
    seen
}

/// False when only a second decoding tells.
fn look_at_arguments(raw: Option<&[u8]>, kind: Kind, mut touch: impl FnMut(&str)) -> bool {
    let raw = match raw {
        Some(raw) if raw.starts_with(b"\"") => return false,
        Some(raw) if raw.starts_with(b"{") => raw,
        _ => return true,
    };
    // Of duplicate keys the first gives the place and the last the value.
    let mut named: Vec<(_, &[u8])> = Vec::new();
    for (key, value) in pairs(raw).unwrap_or_default() {
        let key = text::inside(key);
        if kind.keys().contains(&&*key) || ends_as_path(&key) {
            match named.iter().position(|(known, _)| *known == key) {
                Some(known) => named[known].1 = value,
                None if named.len() == ARGUMENTS_MAX => return false,
                None => named.push((key, value)),
            }
        }
    }
    let own = kind.keys().iter().find_map(|own| {
        let (_, value) = named.iter().find(|(key, _)| key == own)?;
        text::string(value).filter(|told| !text::is_blank(told))
    });
    if let Some(told) = own {
        touch(&told);
        return true;
    }
    for (key, value) in named {
        if let Some(told) = text::string(value).filter(|told| ends_as_path(&key) && begins_a_path(told)) {
            touch(&told);
        }
    }
    true
}

/// Every character that a lower case letter of these endings is the lower case of is ASCII, too.
fn ends_as_path(key: &str) -> bool {
    let key = key.as_bytes();
    ENDINGS.iter().any(|ending| {
        key.len().checked_sub(ending.len()).is_some_and(|start| key[start..].eq_ignore_ascii_case(ending.as_bytes()))
    })
}

fn begins_a_path(told: &str) -> bool {
    match told.as_bytes() {
        [b'/', ..] | [b'\\', b'\\', ..] => true,
        [drive, b':', b'/' | b'\\', ..] => drive.is_ascii_alphabetic(),
        told => told.get(..5).is_some_and(|start| start.eq_ignore_ascii_case(b"file:")),
    }
}

fn is_deep(raw: &[u8]) -> bool {
    let openings = |raw: &[u8]| raw.iter().filter(|byte| matches!(byte, b'{' | b'[')).count();
    if raw.len() <= DEPTH_MAX || openings(raw) <= DEPTH_MAX {
        return false;
    }
    let (mut depth, mut in_text, mut is_escaped) = (0_usize, false, false);
    for byte in raw {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => in_text = !in_text,
            b'{' | b'[' if !in_text => {
                depth += 1;
                if depth > DEPTH_MAX {
                    return true;
                }
            }
            b'}' | b']' if !in_text => depth -= 1,
            _ => {}
        }
    }
    false
}
