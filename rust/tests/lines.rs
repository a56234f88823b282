//! Lines through buffers of every small size, held against splitting.
#![allow(missing_docs)]

mod naive;

use std::cell::Cell;
use std::io;

use memchr::memmem::find;
use naive::Shrinking;
use rehydrate::lines::{Lines, Long, Piece, ReadAt, content};
use rehydrate::needles::AnyOf;

/// All lines as (offset, content, came as a long one); what is known of a long line is checked on the way.
fn read(source: &impl ReadAt, file: &[u8], start: u64, limit: u64, buffer_bytes: usize) -> Vec<(usize, Vec<u8>)> {
    let needles = [&b"CHECKPOINT"[..], b"}{", b"\\u00"];
    let mut lines = Lines::new(start, limit, buffer_bytes, needles.map(|needle| AnyOf::new(&[needle])).to_vec());
    let mut found = Vec::new();
    loop {
        match lines.next(source).expect("memory can be read") {
            Piece::End => return found,
            Piece::Block => {
                let (base, block) = (lines.place(), lines.block().to_vec());
                assert!(block.ends_with(b"\n"));
                let mut at = 0;
                for line in block[..block.len() - 1].split(|&byte| byte == b'\n') {
                    found.push(((base as usize) + at, content(line, base + at as u64).1.to_vec()));
                    at += line.len() + 1;
                }
                lines.consume(block.len());
            }
            Piece::Long(long) => {
                let line = &file[long.content_offset as usize..][..long.length];
                check(&long, line, &needles);
                found.push((long.offset as usize, line.to_vec()));
            }
        }
    }
}

fn check(long: &Long, line: &[u8], needles: &[&[u8]]) {
    assert!(line.starts_with(&long.head[..long.head.len().min(line.len())]));
    assert_eq!(long.last, line.last().copied());
    assert_eq!(long.is_blank, line.iter().all(|byte| b" \t\r\0".contains(byte)));
    for (held, needle) in long.holds.iter().zip(needles) {
        assert_eq!(*held, line.len() > 2 && find(&line[2..], needle).is_some(), "{}", String::from_utf8_lossy(line));
    }
}

fn wanted(file: &[u8], limit: usize) -> Vec<(usize, Vec<u8>)> {
    naive::lines(&file[..limit]).into_iter().map(|(at, line)| (at, line.to_vec())).collect()
}

#[test]
fn every_buffer_size_gives_the_same_lines() {
    let file = naive::mixed();
    for buffer_bytes in (1..80).chain([100, 1000, 10_000]) {
        let found = read(&file.as_slice(), &file, 0, file.len() as u64, buffer_bytes);
        assert_eq!(found, wanted(&file, file.len()), "buffer of {buffer_bytes}");
    }
}

#[test]
fn nothing_behind_the_size_at_the_start_is_read() {
    let file = naive::mixed();
    for limit in 0..=file.len() {
        for buffer_bytes in [7, 64] {
            let found = read(&file.as_slice(), &file, 0, limit as u64, buffer_bytes);
            assert_eq!(found, wanted(&file, limit), "limit {limit}");
        }
    }
}

#[test]
fn a_file_cut_short_under_the_reader_ends_with_what_was_complete() {
    let file = naive::mixed();
    for kept in (0..file.len()).step_by(7) {
        for reads in 0..30 {
            let source = Shrinking { file: &file, kept, reads_left: Cell::new(reads) };
            let found = read(&source, &file, 0, file.len() as u64, 32);
            assert!(wanted(&file, file.len()).starts_with(&found), "kept {kept}, {reads} reads");
        }
    }
}

#[test]
fn a_return_belongs_to_the_ending_once_and_newline_alone_ends() {
    let file = b"a\r\nb\rc\nd\r\r\n\r\n\n";
    let wanted: [(usize, &[u8]); 5] = [(0, b"a"), (3, b"b\rc"), (7, b"d\r"), (11, b""), (13, b"")];
    for buffer_bytes in [7, 100] {
        let found = read(&&file[..], file, 0, file.len() as u64, buffer_bytes);
        assert_eq!(found.len(), wanted.len());
        assert!(found.iter().zip(wanted).all(|(found, wanted)| (found.0, found.1.as_slice()) == wanted));
    }
}

#[test]
fn a_byte_order_mark_counts_at_offset_0_only() {
    let file = b"\xef\xbb\xbfabcdefghijk\n\xef\xbb\xbfx\n";
    for buffer_bytes in [7, 8, 9, 100] {
        let found = read(&&file[..], file, 0, file.len() as u64, buffer_bytes);
        assert_eq!(found, [(0, b"abcdefghijk".to_vec()), (15, b"\xef\xbb\xbfx".to_vec())]);
        let found = read(&&file[..], file, 15, file.len() as u64, buffer_bytes);
        assert_eq!(found, [(15, b"\xef\xbb\xbfx".to_vec())]);
    }
}

/// A disk that can be read up to an offset, and fails from there on.
struct Failing<'a> {
    file: &'a [u8],
    from: u64,
}

impl ReadAt for Failing<'_> {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        if offset >= self.from {
            return Err(io::Error::from_raw_os_error(5));
        }
        (&self.file[..self.from as usize]).read_at(buffer, offset)
    }
}

#[test]
fn f15_a_read_that_fails_is_an_error_behind_the_lines_that_were_read() {
    let file = b"{\"step_index\":1}\n".repeat(40);
    for from in (0..file.len() as u64).step_by(7) {
        let source = Failing { file: &file, from };
        let mut lines = Lines::new(0, file.len() as u64, 64, Vec::new());
        let mut end = 0;
        let error = loop {
            match lines.next(&source) {
                Ok(Piece::Block) => {
                    let count = lines.block().len();
                    assert_eq!(lines.block(), &file[end..end + count]);
                    end += count;
                    lines.consume(count);
                }
                Ok(Piece::Long(_)) => panic!("no line is longer than the buffer"),
                Ok(Piece::End) => panic!("the end was never read"),
                Err(error) => break error,
            }
        };
        assert_eq!(error.raw_os_error(), Some(5));
        assert!(end as u64 <= from && end % 17 == 0);
        assert!(rehydrate::tail::scan(&source, file.len() as u64, None, 64).is_err());
    }
}
