//! What the tests share: the twin in the forms that they compare with, the walk of a line, odd sources, folders.
#![allow(dead_code, missing_docs)] // each test file takes what it needs

use std::fs;
use std::path::PathBuf;

use rehydrate::lines::ReadAt;
use rehydrate::members::{Progress, walk_line};
use rehydrate::open::{Opened, open};
use rehydrate::walker::{Keys, Walker};
use rehydrate::window::{OnDisk, Window};

pub mod twin;

/// An object's members: decoded key, bytes of the value.
pub type Members = Vec<(String, Vec<u8>)>;

/// The end of the JSON value that begins at `at`, and its members when it is an object.
pub fn parse(text: &[u8], at: usize) -> Option<(usize, Option<Members>)> {
    let value = twin::value(text, at).ok()?;
    let bytes = |(key, (start, end)): (String, twin::Span)| (key, text[start..end].to_vec());
    Some((value.end, value.members.map(|members| members.into_iter().map(bytes).collect())))
}

/// The last member of that name.
pub fn member<'m>(members: &'m Members, name: &str) -> Option<&'m [u8]> {
    members.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value.as_slice())
}

/// Complete lines as (offset, content).
pub fn lines(file: &[u8]) -> Vec<(usize, &[u8])> {
    twin::lines(file).into_iter().map(|line| (line.offset, line.content)).collect()
}

/// What the walk says of a line: the objects' places and whether the line is damaged.
pub fn walk(line: &[u8]) -> (Vec<(usize, usize)>, bool) {
    walk_in(&mut &line[..])
}

/// The same through a buffer of a few bytes.
pub fn walk_in_pieces(line: &[u8], buffer_bytes: usize) -> (Vec<(usize, usize)>, bool) {
    let mut buffer = vec![0; buffer_bytes];
    walk_in(&mut OnDisk::new(&line, 0, line.len(), &mut buffer))
}

fn walk_in(window: &mut impl Window) -> (Vec<(usize, usize)>, bool) {
    let mut found = Vec::new();
    let mut progress = Progress::default();
    let is_read = walk_line(window, &mut Walker::new(), &Keys::new(&[b"step_index"]), &mut progress, |_, span, _| {
        found.push(span);
        Ok(true)
    });
    assert!(is_read.expect("memory can be read"));
    (found, progress.is_damaged)
}

/// A file that loses its end after a number of reads.
pub struct Shrinking<'f> {
    pub file: &'f [u8],
    pub kept: usize,
    pub reads_left: std::cell::Cell<usize>,
}

impl ReadAt for Shrinking<'_> {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> std::io::Result<usize> {
        let left = self.reads_left.get();
        self.reads_left.set(left.saturating_sub(1));
        let file = if left == 0 { &self.file[..self.kept] } else { self.file };
        file.read_at(buffer, offset)
    }
}

/// A folder for a test's files, gone afterwards.
pub struct Folder(tempfile::TempDir);

impl Folder {
    pub fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"))
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, bytes).expect("a written file");
        path
    }

    pub fn open(&self, name: &str, bytes: &[u8]) -> Opened {
        open(&self.write(name, bytes)).expect("an open file")
    }
}

/// A transcript with something of everything, long lines for small buffers.
pub fn mixed() -> Vec<u8> {
    let lines: [&[u8]; 16] = [
        br#"{"step_index":0,"type":"USER_INPUT","created_at":"t0","content":"say \"type\":\"CHECKPOINT\""}"#,
        br#"{"step_index":3,"type":"PLANNER","created_at":"t3","tool_calls":[{"type":"CHECKPOINT","step_index":99}]}"#,
        br#"{"step_index":2,"type":"CHECKPOINT","created_at":"t2","content":"a }{ b"}"#,
        b"",
        b" \t \0\0",
        br#"{ "type" : "CHECKPOINT" , "step\u005findex" : 5 }"#,
        br#"{"step_index":4,"type":"CHECK\u0050OINT"}"#,
        br#"{"step_index":6,"type":"A"}{"step_index":7,"type":"CHECKPOINT"}"#,
        br#"{"step_index":8,"type":"CHECKPOINT","content":"torn{"step_index":9,"type":"CHECKPOINT"}"#,
        br#"{"step_index":10,"step_index":11,"type":"A","type":"CHECKPOINT"}"#,
        br#"[{"step_index":90,"type":"CHECKPOINT"}]"#,
        b"\0\0\0{\"step_index\":12,\"type\":\"\xff\xfe\"}\r",
        br#"{"step_index":13.0,"type":"CHECKPOINT"}"#,
        br#"{"step_index":9223372036854775808,"type":"A"}"#,
        br#"{"step_index":-5,"type":"A","n":NaN,"m":[-Infinity,1e999]}"#,
        b"null",
    ];
    lines.join(&b'\n').into_iter().chain(*b"\n{\"step_index\":14,\"type\":\"CHECKPOINT\"").collect()
}

/// Never tells a read to end.
pub const ALWAYS: fn() -> std::io::Result<()> = || Ok(());
