//! The records of a file, line by line: what the operations share.
//!
//! An operation is a [`Sift`]: it says which lines it can do without (on proof, from their beginning and the needles
//! they hold) and takes the records of the others, which are walked. Either way the line is counted; only a walked one
//! can turn out to be damaged.

use std::io;

use memchr::memchr;

use crate::lines::{self, Ahead, Lines, Long, Piece, ReadAt};
use crate::members::{Progress, is_filler, walk_held, walk_line};
use crate::needles::AnyOf;
use crate::text;
use crate::walker::{Keys, Span, Walker};
use crate::window::{OnDisk, Window};

/// How many damaged lines are remembered by their place.
const OFFSETS_MAX: usize = 16;

/// Damaged lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Damage {
    /// How many there are.
    pub count: u64,
    /// Where the first 16 of them begin.
    pub offsets: Vec<u64>,
}

impl Damage {
    /// Adds the damage of lines further on.
    pub fn append(&mut self, next: Self) {
        self.count += next.count;
        self.offsets.extend(next.offsets);
        self.offsets.truncate(OFFSETS_MAX);
    }

    fn add(&mut self, offset: u64) {
        self.count += 1;
        if self.offsets.len() < OFFSETS_MAX {
            self.offsets.push(offset);
        }
    }
}

/// A line before anything of it was walked.
#[derive(Debug)]
pub struct Unread<'l> {
    /// The beginning of its content: 48 bytes at least, or all of it.
    pub head: &'l [u8],
    /// Where in the file its content begins,
    pub offset: u64,
    /// and how many bytes that is.
    pub length: usize,
    /// The last byte of its content; None where there is none.
    pub last: Option<u8>,
    /// A BOM was taken off.
    pub had_bom: bool,
    needles: Needles<'l>,
}

#[derive(Debug)]
enum Needles<'l> {
    /// For each needle, whether the line holds it.
    Known(&'l [bool]),
    /// They are looked for in the block that holds the line at `start..end`; `ahead` has, for each needle, the file's
    /// offset of the next place that is known to hold it.
    Sought { needles: &'l [AnyOf], ahead: &'l mut [u64], block: &'l [u8], base: u64, start: usize, end: usize },
}

impl Unread<'_> {
    /// True when the line holds a needle behind the second byte of its content.
    pub fn holds(&mut self, needle: usize) -> bool {
        match &mut self.needles {
            Needles::Known(known) => known[needle],
            Needles::Sought { needles, ahead, block, base, start, end } => {
                let from = (*start + 2).min(*end);
                if ahead[needle] < *base + from as u64 {
                    // Once for a whole stretch of lines without it, not once a line.
                    let found = needles[needle].find(&block[from..]).map_or(block.len(), |at| from + at);
                    ahead[needle] = *base + found as u64;
                }
                ahead[needle] < *base + *end as u64
            }
        }
    }
}

/// A record that was found.
pub struct Record<'r> {
    window: &'r mut dyn Window,
    spare: &'r mut Vec<u8>,
    spans: &'r [Option<Span>],
    span: Span,
    content_offset: u64,
    /// Where the physical line begins that holds it.
    pub line_offset: u64,
}

impl Record<'_> {
    /// Where in the file its `{` is.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.content_offset + self.span.0 as u64
    }

    /// Bytes from its `{` to its `}`, both included.
    #[must_use]
    pub const fn length(&self) -> usize {
        self.span.1 - self.span.0
    }

    /// Where member `key` is, counted from the record's `{`.
    #[must_use]
    pub fn span(&self, key: usize) -> Option<Span> {
        self.spans[key].map(|(start, end)| (start - self.span.0, end - self.span.0))
    }

    /// The bytes of member `key`; None when there is none or when it is longer than `longest`.
    pub fn value(&mut self, key: usize, longest: usize) -> io::Result<Option<&[u8]>> {
        match self.spans[key] {
            Some((start, end)) if end - start <= longest => self.window.get(start, end, self.spare).map(Some),
            _ => Ok(None),
        }
    }

    /// The record's bytes.
    pub fn raw(&mut self) -> io::Result<&[u8]> {
        self.window.get(self.span.0, self.span.1, self.spare)
    }

    /// Member `key` as a step.
    pub fn step(&mut self, key: usize) -> io::Result<Option<i64>> {
        Ok(self.value(key, 20)?.and_then(text::integer))
    }

    /// Member `key` as text; None when it is no string.
    pub fn text(&mut self, key: usize) -> io::Result<Option<String>> {
        let Some(raw) = self.value(key, usize::MAX)? else { return Ok(None) };
        let mut text = String::new();
        text.try_reserve_exact(raw.len())?; // for as much as the text can have
        Ok(text::string(raw).map(|found| {
            text.push_str(&found);
            text
        }))
    }

    /// True when member `key` is a string that says `name`.
    pub fn says(&mut self, key: usize, name: &[u8]) -> io::Result<bool> {
        let raw = self.value(key, name.len() * 6 + 2)?;
        let inside = raw.and_then(|raw| raw.strip_prefix(b"\"")).and_then(|rest| rest.strip_suffix(b"\""));
        Ok(inside.is_some_and(|inside| text::equals(inside, name)))
    }
}

/// What an operation does with lines and records.
pub trait Sift {
    /// True when the line can be done without: nothing in it could be of interest, proven.
    fn passes(&mut self, line: &mut Unread<'_>) -> bool;

    /// A record of a line that did not pass. False when there is no room for it: it is offered again by the next call
    /// that reads a line.
    fn take(&mut self, record: &mut Record<'_>) -> io::Result<bool>;
}

/// A line that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// Where it begins.
    pub offset: u64,
    /// Where the next one begins; where this one does while records of it are left.
    pub end: u64,
}

/// Goes through the lines of a file, one at a time.
#[derive(Debug)]
pub struct Records {
    lines: Lines,
    walker: Walker,
    keys: Keys,
    ahead: Vec<u64>,
    spare: Vec<u8>,
    /// How far the next line was read by an earlier call that had no room for all of its records,
    progress: Progress,
    /// and what is known of it when it is a long one.
    long: Option<Long>,
    /// The damaged lines so far.
    pub damage: Damage,
    /// Complete lines so far that are not blank.
    pub count: u64,
}

impl Records {
    /// The records of these lines, with the members that `keys` names.
    #[must_use]
    pub fn new(lines: Lines, keys: Keys) -> Self {
        let ahead = vec![0; lines.needles().len()];
        Self {
            lines,
            walker: Walker::new(),
            keys,
            ahead,
            spare: Vec::new(),
            progress: Progress::default(),
            long: None,
            damage: Damage::default(),
            count: 0,
        }
    }

    /// Begins again with other offsets and the same buffers.
    pub fn restart(&mut self, start: u64, limit: u64) {
        self.lines.restart(start, limit);
        self.ahead.fill(0);
        self.progress = Progress::default();
        self.long = None;
        self.damage = Damage::default();
        self.count = 0;
    }

    /// The end of the last complete line that was read.
    #[must_use]
    pub const fn end(&self) -> u64 {
        self.lines.place()
    }

    /// Sees to it that lines lie in memory, or tells what else comes next. Not for who calls [`Records::next_line`].
    pub(crate) fn look<S: ReadAt>(&mut self, source: &S) -> io::Result<Ahead> {
        self.lines.look(source)
    }

    /// The lines that lie in memory, and where in the file they begin. What the caller reads of them itself it says by
    /// [`Records::skip`].
    pub(crate) fn block(&self) -> (&[u8], u64) {
        (self.lines.block(), self.lines.place())
    }

    /// Takes that many bytes off the block, whole lines that are not blank and so many.
    pub(crate) fn skip(&mut self, bytes: usize, lines: u64) {
        self.lines.consume(bytes);
        self.count += lines;
    }

    /// Reads one line, or on in the one whose records did not all have room; None when no complete one is left. A file
    /// that was cut short under the reader has none left.
    pub fn next_line<S: ReadAt>(&mut self, source: &S, sift: &mut impl Sift) -> io::Result<Option<Line>> {
        let long = match self.long.take() {
            Some(long) => long,
            None if !self.lines.block().is_empty() => return self.read_short(sift).map(Some),
            None => match self.lines.next(source)? {
                Piece::End => return Ok(None),
                Piece::Block => return self.read_short(sift).map(Some),
                Piece::Long(long) => long,
            },
        };
        let before = self.progress;
        match self.read_long(source, &long, sift) {
            Ok(line) => {
                self.long = (line.end == line.offset).then_some(long);
                Ok(Some(line))
            }
            // The reader was told to end, and may go on with this line later.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                (self.progress, self.long) = (before, Some(long));
                Err(error)
            }
            Err(error) => {
                self.progress = Progress::default();
                if error.kind() != io::ErrorKind::UnexpectedEof {
                    return Err(error);
                }
                self.lines.restart(long.offset, long.offset);
                Ok(None)
            }
        }
    }

    /// Reads one line of those that lie in memory.
    pub(crate) fn read_short(&mut self, sift: &mut impl Sift) -> io::Result<Line> {
        let base = self.lines.place();
        let block = self.lines.block();
        let line_length = memchr(b'\n', block).unwrap_or(block.len());
        let (skipped, content) = lines::content(&block[..line_length], base);
        let line = Line { offset: base, end: base + line_length as u64 + 1 };
        if content.iter().all(|&byte| is_filler(byte)) {
            self.lines.consume(line_length + 1);
            return Ok(line);
        }
        let (start, end) = (skipped, skipped + content.len());
        let needles = self.lines.needles();
        let needles = Needles::Sought { needles, ahead: &mut self.ahead, block, base, start, end };
        let (offset, length, last) = (base + skipped as u64, content.len(), content.last().copied());
        let mut unread = Unread { head: content, offset, length, last, had_bom: skipped > 0, needles };
        if self.progress.at > 0 || !sift.passes(&mut unread) {
            let (spare, progress) = (&mut self.spare, &mut self.progress);
            let is_read = walk_held(content, &mut self.walker, &self.keys, progress, |window, span, spans| {
                let content_offset = base + skipped as u64;
                sift.take(&mut Record { window, spare, spans, span, content_offset, line_offset: base })
            })?;
            if !is_read {
                return Ok(Line { end: base, ..line });
            }
        }
        self.lines.consume(line_length + 1);
        self.note(line.offset);
        Ok(line)
    }

    /// Walks a line while it passes through the buffer, which holds that many bytes of it; false when it has no end. What
    /// was taken of it is then void.
    pub(crate) fn walk_long<S: ReadAt>(&mut self, source: &S, held: usize, sift: &mut impl Sift) -> io::Result<bool> {
        let line_offset = self.lines.place();
        let mut window = self.lines.passing(source, held);
        let content_offset = window.offset;
        let (spare, progress) = (&mut self.spare, &mut self.progress);
        let mut is_blank = true;
        let walked = walk_line(&mut window, &mut self.walker, &self.keys, progress, |window, span, spans| {
            is_blank = false;
            sift.take(&mut Record { window, spare, spans, span, content_offset, line_offset })
        });
        let length = window.length;
        match (walked, length) {
            (Ok(_), Some(length)) => self.lines.advance(content_offset + length as u64 + 1),
            (Err(error), _) if error.kind() != io::ErrorKind::UnexpectedEof => return Err(error),
            _ => {
                self.progress = Progress::default();
                return Ok(false);
            }
        }
        if is_blank && !self.progress.is_damaged {
            self.progress = Progress::default();
        } else {
            self.note(line_offset);
        }
        Ok(true)
    }

    fn read_long<S: ReadAt>(&mut self, source: &S, long: &Long, sift: &mut impl Sift) -> io::Result<Line> {
        let line = Line { offset: long.offset, end: self.lines.place() };
        if long.is_blank {
            return Ok(line);
        }
        let had_bom = long.content_offset > long.offset;
        let needles = Needles::Known(&long.holds);
        let (head, offset, length, last) = (&long.head, long.content_offset, long.length, long.last);
        let mut unread = Unread { head, offset, length, last, had_bom, needles };
        if self.progress.at > 0 || !sift.passes(&mut unread) {
            let mut window = OnDisk::new(source, long.content_offset, long.length, self.lines.spare());
            let (spare, progress) = (&mut self.spare, &mut self.progress);
            let is_read = walk_line(&mut window, &mut self.walker, &self.keys, progress, |window, span, spans| {
                let (content_offset, line_offset) = (long.content_offset, long.offset);
                sift.take(&mut Record { window, spare, spans, span, content_offset, line_offset })
            })?;
            if !is_read {
                return Ok(Line { end: long.offset, ..line });
            }
        }
        self.note(line.offset);
        Ok(line)
    }

    /// Walks what stands behind the last complete line, up to `limit`; false when it is damaged, has more records than
    /// there was room for, or is too long for 32 bits. It does not count.
    pub fn read_tail<S: ReadAt>(&mut self, source: &S, limit: u64, sift: &mut impl Sift) -> io::Result<bool> {
        let offset = self.lines.place();
        self.lines.restart(offset, limit);
        let skipped = if offset == 0 { self.lines.bom_bytes(source)? } else { 0 };
        let content_offset = offset + skipped as u64;
        let Ok(length) = usize::try_from(limit.saturating_sub(content_offset)) else { return Ok(false) };
        let mut window = OnDisk::new(source, content_offset, length, self.lines.spare());
        let (spare, mut progress) = (&mut self.spare, Progress::default());
        let walked = walk_line(&mut window, &mut self.walker, &self.keys, &mut progress, |window, span, spans| {
            sift.take(&mut Record { window, spare, spans, span, content_offset, line_offset: offset })
        });
        match walked {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
            other => Ok(other? && !progress.is_damaged),
        }
    }

    /// Counts a line that was read to its end.
    fn note(&mut self, offset: u64) {
        self.count += 1;
        if std::mem::take(&mut self.progress).is_damaged {
            self.damage.add(offset);
        }
    }
}

/// The step of a line that begins with `{"step_index":N` and a comma or the object's end, `N` an integer within 64
/// bits, and that ends with `}`. If the line is a whole object, then this is its only step where it holds neither a
/// second `"step_index"` nor an escape that could spell one.
#[must_use]
pub fn leading_step(line: &Unread<'_>) -> Option<i64> {
    if line.had_bom { None } else { claimed_step(line.head, line.last) }
}

/// The same, by the beginning of a line's content and its last byte.
#[must_use]
pub(crate) fn claimed_step(head: &[u8], last: Option<u8>) -> Option<i64> {
    if last != Some(b'}') {
        return None;
    }
    let rest = head.strip_prefix(b"{\"step_index\":")?;
    let (is_negative, digits) = rest.strip_prefix(b"-").map_or((false, rest), |digits| (true, digits));
    // Negative while it grows: the lowest integer has no positive twin.
    let mut number = 0_i64;
    let mut count = 0;
    for digit in digits.iter().map(|byte| byte.wrapping_sub(b'0')).take_while(|&digit| digit < 10) {
        number = number.checked_mul(10)?.checked_sub(i64::from(digit))?;
        count += 1;
    }
    let is_json = count == 1 || (count > 1 && digits[0] != b'0');
    if !is_json || !matches!(digits.get(count), Some(b',' | b'}')) {
        return None;
    }
    if is_negative { Some(number) } else { number.checked_neg() }
}
