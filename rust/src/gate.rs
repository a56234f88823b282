//! The hook's first question: is there anything to do at all?
//!
//! [`decide`] reads the payload, the state beside the transcript and the transcript's new bytes, and says *nothing to
//! do* only on proof. Anything unusual is a *no*: then the whole program looks. It writes nothing and takes no lock.

use std::collections::HashSet;
use std::io;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::cursor::Cursor;
use crate::lines::ReadAt;
use crate::members::{elements, only_object};
use crate::open::{Opened, open_nofollow};
use crate::tail::scan_tail;
use crate::text;
use crate::walker::{Fed, Keys, Walker};
use crate::watch::GoOn;

/// The payload is given up after this time, whatever came of it.
const PAYLOAD_TIME: Duration = Duration::from_secs(1);
/// How long a wait for more of it lasts before it is asked whether to go on.
const PAYLOAD_WAIT: Duration = Duration::from_millis(50);
const PAYLOAD_BYTES_MAX: usize = 1024 * 1024;
const STATE_BYTES_MAX: u64 = 1024 * 1024;
/// More new bytes than this are read where the cursor is saved afterwards.
const NEW_BYTES_MAX: u64 = 1024 * 1024;
const STATE_NAME: &str = "rehydrate_state.json";
const FULL_NAME: &str = "transcript_full.jsonl";
const CUT_NAME: &str = "transcript.jsonl";

/// Reads the payload from a descriptor and decides; gives what was read, too. The only error is that of `go_on`.
pub fn gate(descriptor: BorrowedFd<'_>, go_on: &GoOn<'_>) -> io::Result<(bool, Vec<u8>)> {
    let payload = read_payload(descriptor, go_on)?;
    let is_nothing = decide(&payload);
    Ok((is_nothing, payload))
}

/// Reads until the first JSON value is complete, or to the end, 1 MiB, an error or one second from now.
pub fn read_payload(descriptor: BorrowedFd<'_>, go_on: &GoOn<'_>) -> io::Result<Vec<u8>> {
    let deadline = Instant::now() + PAYLOAD_TIME;
    let mut payload = Vec::new();
    let mut chunk = vec![0; 64 * 1024];
    let mut first = FirstValue::new();
    while payload.len() < PAYLOAD_BYTES_MAX && !first.is_over(&payload) {
        go_on()?;
        let left = deadline.saturating_duration_since(Instant::now());
        let Ok(wait) = Timespec::try_from(left.min(PAYLOAD_WAIT)) else { break };
        match poll(&mut [PollFd::new(&descriptor, PollFlags::IN)], Some(&wait)) {
            Err(Errno::INTR) => continue,
            Ok(0) if !left.is_zero() => continue,
            Ok(count) if count > 0 => {}
            _ => break,
        }
        let room = chunk.len().min(PAYLOAD_BYTES_MAX - payload.len());
        match rustix::io::read(descriptor, &mut chunk[..room]) {
            Err(Errno::INTR | Errno::AGAIN) => {}
            Ok(count) if count > 0 => payload.extend_from_slice(&chunk[..count]),
            _ => break,
        }
    }
    Ok(payload)
}

/// How far the first value of the payload has come.
struct FirstValue {
    walker: Walker,
    keys: Keys,
    seen: usize,
    has_begun: bool,
}

impl FirstValue {
    fn new() -> Self {
        Self { walker: Walker::new(), keys: Keys::new(&[]), seen: 0, has_begun: false }
    }

    /// True when the value is whole, or can no longer become so.
    fn is_over(&mut self, payload: &[u8]) -> bool {
        if !self.has_begun {
            self.seen = begin_of_value(payload);
            self.has_begun = self.seen < payload.len();
            self.walker.begin(&self.keys, self.seen);
        }
        let fed = self.walker.feed(&self.keys, &payload[self.seen..], self.seen);
        self.seen = payload.len();
        fed != Fed::More
    }
}

/// True when the hook has nothing to do, proven: the payload tells nothing, or everything that could ask for a delivery
/// was looked at and does not.
#[must_use]
pub fn decide(payload: &[u8]) -> bool {
    first_object(payload).is_none_or(|payload| is_quiet(payload).unwrap_or(false))
}

/// Where the white space and the byte order mark end that may stand before a value.
fn begin_of_value(payload: &[u8]) -> usize {
    let is_before = |byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | 0xef | 0xbb | 0xbf);
    payload.iter().position(|&byte| !is_before(byte)).unwrap_or(payload.len())
}

/// The first value, when it is a whole object.
fn first_object(payload: &[u8]) -> Option<&[u8]> {
    let payload = &payload[begin_of_value(payload)..];
    let keys = Keys::new(&[]);
    let mut walker = Walker::new();
    walker.begin(&keys, 0);
    match walker.feed(&keys, payload, 0) {
        Fed::Whole(end) if walker.is_object() => Some(&payload[..end]),
        _ => None,
    }
}

/// Some(true) on proof; None or Some(false) is no proof.
fn is_quiet(payload: &[u8]) -> Option<bool> {
    let [transcript, workspaces] = members(payload, [b"transcriptPath", b"workspacePaths"])?;
    let transcript = exact(transcript?)?;
    let opened = open_transcript(&transcript)?;
    let state = read_state(&opened.path.with_file_name(STATE_NAME))?;
    let cursor = settled_cursor(&state, opened.path.to_str()?, workspaces)?;
    if opened.size.checked_sub(cursor.offset)? > NEW_BYTES_MAX {
        return None;
    }
    let tail = scan_tail(&opened, Some(cursor)).ok()?;
    Some(tail.boundaries.is_empty() && !tail.restarted)
}

/// Every member that a state has; of the last two only that they are there counts here.
const STATE_MEMBERS: [&[u8]; 12] = [
    b"version",
    b"client",
    b"conversation",
    b"transcript",
    b"writes",
    b"cursor",
    b"done",
    b"delivery",
    b"workspaces",
    b"error",
    b"last_checkpoint",
    b"lineage",
];

/// The cursor of a state that is whole and of this transcript, knows the payload's workspaces, has no delivery under way
/// and no error that may still be one.
fn settled_cursor(state: &[u8], transcript: &str, workspaces: Option<&[u8]>) -> Option<Cursor> {
    // As it is written: one line of printable ASCII.
    let state = state.strip_suffix(b"\n").unwrap_or(state);
    if !state.iter().all(|byte| matches!(byte, b' '..=b'~')) {
        return None;
    }
    let [version, client, conversation, path, writes, cursor, done, delivery, known, error, kept @ ..] =
        members(state, STATE_MEMBERS)?;
    let is_settled = version? == b"2"
        && exact(client?)? == "antigravity"
        && exact(conversation?)? == conversation_of(transcript)?
        && exact(path?)? == transcript
        && is_done(done?)?
        && is_sent(delivery?)?
        && are_known(workspaces, known?)?
        && text::integer(writes?).is_some()
        && is_over(error?)?
        && kept.iter().all(Option::is_some);
    if is_settled { read_cursor(cursor?) } else { None }
}

/// The uncut transcript beside the named one where there is one, else the named one.
fn open_transcript(named: &str) -> Option<Opened> {
    let (folder, name) = named.rsplit_once('/')?;
    let is_transcript = name == CUT_NAME || name == FULL_NAME;
    // Where it is not there, the payload's other members may lead elsewhere.
    if !named.starts_with('/') || !is_transcript || !is_regular(Path::new(named)) {
        return None;
    }
    if name == CUT_NAME {
        let full = PathBuf::from(format!("{}/{FULL_NAME}", folder.trim_end_matches('/')));
        if is_regular(&full) {
            return open_nofollow(&full).ok();
        }
    }
    open_nofollow(Path::new(named)).ok()
}

fn is_regular(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|status| status.is_file())
}

/// The state's bytes, when it is a file that only we could have written.
fn read_state(path: &Path) -> Option<Vec<u8>> {
    let opened = open_nofollow(path).ok()?;
    let status = rustix::fs::fstat(&opened.file).ok()?;
    let is_ours = status.st_uid == rustix::process::geteuid().as_raw()
        && status.st_nlink == 1
        && status.st_mode & 0o022 == 0
        && opened.size <= STATE_BYTES_MAX;
    if !is_ours {
        return None;
    }
    read_whole(&opened).ok()
}

fn read_whole(opened: &Opened) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; opened.size as usize];
    let mut held = 0;
    while held < bytes.len() {
        match opened.file.read_at(&mut bytes[held..], held as u64)? {
            0 => break,
            count => held += count,
        }
    }
    bytes.truncate(held);
    Ok(bytes)
}

/// The values of an object's members; None when `raw` is not one object.
fn members<'r, const N: usize>(raw: &'r [u8], names: [&[u8]; N]) -> Option<[Option<&'r [u8]>; N]> {
    let mut walker = Walker::new();
    only_object(raw, &Keys::new(&names), &mut walker)?;
    let mut values = [None; N];
    for (value, span) in values.iter_mut().zip(&walker.spans) {
        *value = span.map(|(start, end)| &raw[start..end]);
    }
    Some(values)
}

/// A string's text; None when it is no string or not exact (bytes that are no UTF-8, lone surrogates).
fn exact(raw: &[u8]) -> Option<String> {
    std::str::from_utf8(raw).ok()?;
    let text = text::string(raw)?;
    // U+FFFD may stand for a lone surrogate; to ask is cheaper than to know.
    if text.contains(char::REPLACEMENT_CHARACTER) { None } else { Some(text.into_owned()) }
}

/// The id of the conversation whose transcript this is, by its folder.
fn conversation_of(transcript: &str) -> Option<&str> {
    let mut names = transcript.rsplit('/').skip(1);
    match (names.next()?, names.next(), names.next()) {
        ("logs", Some(".system_generated"), Some(folder)) => Some(folder),
        (name, ..) => Some(name),
    }
}

/// True for what is written about the last boundary that needs nothing more.
fn is_done(raw: &[u8]) -> Option<bool> {
    if raw == b"null" {
        return Some(true);
    }
    let [step, id] = members(raw, [b"step", b"id"])?;
    Some(text::integer(step?).is_some() && (id? == b"null" || exact(id?).is_some()))
}

/// True for a delivery that needs nothing more: none, or one that was sent.
fn is_sent(raw: &[u8]) -> Option<bool> {
    if raw == b"null" {
        return Some(true);
    }
    let [status, id, step, tries] = members(raw, [b"status", b"id", b"step", b"tries"])?;
    let are_whole = text::integer(step?).is_some() && text::integer(tries?).is_some();
    Some(are_whole && exact(id?).is_some() && exact(status?)? == "sent")
}

/// True for an error that a later invocation did not meet, or none.
fn is_over(raw: &[u8]) -> Option<bool> {
    if raw == b"null" {
        return Some(true);
    }
    let [over_s] = members(raw, [b"over_s"])?;
    Some(text::integer(over_s?).is_some())
}

/// True when the payload names no workspace that the state does not have.
fn are_known(named: Option<&[u8]>, known: &[u8]) -> Option<bool> {
    let texts = |raw| elements(raw)?.into_iter().map(exact).collect::<Option<HashSet<_>>>();
    let known = texts(known)?;
    match named {
        None | Some(b"null") => Some(true),
        Some(named) => Some(texts(named)?.is_subset(&known)),
    }
}

/// `[1, offset, "crc"]`.
fn read_cursor(raw: &[u8]) -> Option<Cursor> {
    let [version, offset, crc] = elements(raw)?.try_into().ok()?;
    let offset = u64::try_from(text::integer(offset)?).ok()?;
    let crc = exact(crc)?;
    let is_hex = crc.len() == 8 && crc.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if version != b"1" || !is_hex {
        return None;
    }
    Some(Cursor { offset, crc: u32::from_str_radix(&crc, 16).ok()? })
}
