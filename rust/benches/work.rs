//! The kernels that are measured and counted, each with a plain way to the same answer.

use std::env;
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use memchr::{memchr, memchr_iter, memmem};
use rehydrate::lines::{BUFFER_BYTES, Lines, Piece};
use rehydrate::members::only_object;
use rehydrate::open::{Opened, open};
use rehydrate::probe;
use rehydrate::steps::{Choice, Reader};
use rehydrate::tail;
use rehydrate::walker::{Keys, Walker};
use rehydrate::whole::Objects;

const PAGE_BYTES: usize = 4096;

/// A transcript, on disk and in memory.
pub struct Input {
    path: PathBuf,
    pub bytes: Vec<u8>,
}

impl Input {
    pub fn read(path: &Path) -> Self {
        Self { path: path.to_owned(), bytes: fs::read(path).expect("the transcript can be read") }
    }

    /// The transcript that `benches/kernels.py` names.
    pub fn named() -> Self {
        let path =
            env::var_os("REHYDRATE_BENCH_FILE").expect("run `python -m benches.kernels`, which makes a transcript");
        Self::read(Path::new(&path))
    }

    fn open(&self) -> Opened {
        open(&self.path).expect("it can be opened")
    }

    /// Where each line begins, and its bytes.
    fn lines(&self) -> impl Iterator<Item = (usize, &[u8])> {
        let mut at = 0;
        std::iter::from_fn(move || {
            let (start, rest) = (at, &self.bytes[at..]);
            let end = memchr(b'\n', rest)?;
            at += end + 1;
            Some((start, &rest[..end]))
        })
    }
}

type Kernel = (&'static str, fn(&Input) -> u64, fn(&Input) -> u64);

/// Name, work, and what the work must come to.
pub const KERNELS: &[Kernel] = &[
    ("lines", lines, newlines),
    ("whole objects", whole_objects, newlines),
    ("walk", walks, newlines),
    ("scan_tail", scan_tail, newlines),
    ("scan_tail, one thread", scan_tail_alone, newlines),
    ("iter_steps", iter_steps, requests),
    ("probe", probe_ends, last_steps),
    ("read, aligned", read_aligned, length),
    ("read, 16 bytes into a page", read_shifted, length),
];

/// That one.
pub fn kernel(name: &str) -> Kernel {
    *KERNELS.iter().find(|kernel| kernel.0 == name).expect("a kernel of that name")
}

fn lines(input: &Input) -> u64 {
    let Opened { file, size, .. } = input.open();
    let mut lines = Lines::new(0, size, BUFFER_BYTES, Vec::new());
    let mut count = 0;
    loop {
        match lines.next(&file).expect("it can be read") {
            Piece::Block => {
                let length = lines.block().len();
                count += memchr_iter(b'\n', lines.block()).count() as u64;
                lines.consume(length);
            }
            Piece::Long(_) => count += 1,
            Piece::End => return count,
        }
    }
}

fn keys() -> Keys {
    Keys::new(&[b"step_index", b"type"])
}

fn whole_objects(input: &Input) -> u64 {
    let (keys, mut spans) = (keys(), Vec::new());
    let mut objects = Objects::new(&input.bytes);
    let mut is_whole = |start, length| objects.end(start, &keys, &mut spans) == Some(start + length);
    input.lines().filter(|(start, line)| is_whole(*start, line.len())).count() as u64
}

fn walks(input: &Input) -> u64 {
    let (keys, mut walker) = (keys(), Walker::new());
    input.lines().filter(|(_, line)| only_object(line, &keys, &mut walker) == Some((0, line.len()))).count() as u64
}

fn scan_tail(input: &Input) -> u64 {
    tail::scan_tail(&input.open(), None).expect("it can be read").lines
}

fn scan_tail_alone(input: &Input) -> u64 {
    let Opened { file, size, .. } = input.open();
    tail::scan(&file, size, None, BUFFER_BYTES).expect("it can be read").lines
}

fn iter_steps(input: &Input) -> u64 {
    let choice = Choice::steps(Some(vec![b"USER_INPUT".to_vec()]), None);
    let mut reader = Reader::new(input.open(), choice, None, false).expect("it can be read");
    let mut count = 0;
    loop {
        let found = reader.batch(&|| Ok(())).expect("it can be read").rows.len();
        if found == 0 {
            return count;
        }
        count += found as u64;
    }
}

/// Twenty times, as it is short.
fn probe_ends(input: &Input) -> u64 {
    let ends = || probe::probe(&input.open()).expect("it can be read");
    (0..20).map(|_| ends().last.map_or(0, |last| last.step.unsigned_abs())).sum()
}

fn read_aligned(input: &Input) -> u64 {
    read(input, 0)
}

fn read_shifted(input: &Input) -> u64 {
    read(input, 16)
}

/// All of the file into a buffer that begins so many bytes into a page.
fn read(input: &Input, shift: usize) -> u64 {
    let mut room = vec![0; BUFFER_BYTES + 2 * PAGE_BYTES];
    let start = room.as_ptr().align_offset(PAGE_BYTES) + shift;
    let file = input.open().file;
    let mut at = 0;
    loop {
        match file.read_at(&mut room[start..start + BUFFER_BYTES], at).expect("it can be read") {
            0 => return at,
            count => at += count as u64,
        }
    }
}

fn newlines(input: &Input) -> u64 {
    memchr_iter(b'\n', &input.bytes).count() as u64
}

fn requests(input: &Input) -> u64 {
    memmem::find_iter(&input.bytes, "\"type\":\"USER_INPUT\"").count() as u64
}

fn last_steps(input: &Input) -> u64 {
    let last = tail::scan_tail(&input.open(), None).expect("it can be read").last_step;
    20 * last.map_or(0, i64::unsigned_abs)
}

fn length(input: &Input) -> u64 {
    input.bytes.len() as u64
}
