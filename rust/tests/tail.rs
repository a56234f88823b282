//! `scan_tail` against a full parse of every line.
#![allow(missing_docs)]

mod naive;

use std::cell::Cell;
use std::fs;
use std::io;

use naive::{Folder, Shrinking, mixed, parse, twin};
use rehydrate::cursor::Cursor;
use rehydrate::error::Error;
use rehydrate::open::open;
use rehydrate::tail::{Mark, Tail, scan, scan_in_parts, scan_tail};

/// Boundaries, highest step and lines as a full parse gives them.
fn full_parse(file: &[u8], start: usize) -> (Vec<Mark>, Option<i64>, u64) {
    let (mut marks, mut last, mut count) = (Vec::new(), None, 0);
    for (offset, line) in naive::lines(file).into_iter().filter(|(offset, _)| *offset >= start) {
        let content = if offset == 0 && file.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        let (objects, is_damaged) = twin::objects(line);
        count += u64::from(is_damaged || !objects.is_empty());
        for (from, object) in objects {
            let raw = |name: &str| object.member(name).map(|(start, end)| &line[start..end]);
            let step = raw("step_index").and_then(twin::integer);
            last = last.max(step);
            if raw("type").and_then(twin::string).as_deref() == Some("CHECKPOINT") {
                marks.push(Mark { step, offset: (offset + content + from) as u64, length: object.end - from });
            }
        }
    }
    (marks, last, count)
}

fn read(file: &[u8], cursor: Option<Cursor>, buffer_bytes: usize) -> Tail {
    scan(&file, file.len() as u64, cursor, buffer_bytes).expect("memory can be read")
}

#[test]
fn every_truncation_and_buffer_size_says_what_a_full_parse_says() {
    for bom in [&b""[..], b"\xef\xbb\xbf"] {
        let file = [bom, &mixed()].concat();
        for size in 0..=file.len() {
            let (marks, last, lines) = full_parse(&file[..size], 0);
            for buffer_bytes in [7, 11, 32, 61, 200, 100_000] {
                let tail = read(&file[..size], None, buffer_bytes);
                assert_eq!(
                    (&tail.boundaries, tail.last_step, tail.lines),
                    (&marks, last, lines),
                    "{size} {buffer_bytes}"
                );
                let end = file[..size].iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
                assert_eq!(tail.cursor.offset, end as u64);
            }
        }
    }
}

#[test]
fn parts_put_together_are_the_whole() {
    let file = mixed().repeat(3);
    for size in (0..=file.len()).step_by(17) {
        let whole = read(&file[..size], None, 64);
        for parts in 1..9 {
            let found = scan_in_parts(&&file[..size], size as u64, None, 64, parts).expect("memory can be read");
            assert_eq!(found, whole, "{size} {parts}");
        }
    }
    let middle = naive::lines(&file)[20].0 as u64;
    let cursor = Cursor::at(&file.as_slice(), middle).expect("memory can be read");
    let found = scan_in_parts(&file.as_slice(), file.len() as u64, Some(cursor), 64, 3).expect("memory can be read");
    assert_eq!(found, read(&file, Some(cursor), 64));
}

#[test]
fn what_the_mixed_file_holds() {
    let tail = read(&mixed(), None, 4096);
    let steps: Vec<Option<i64>> = tail.boundaries.iter().map(|mark| mark.step).collect();
    assert_eq!(steps, [Some(2), Some(5), Some(4), Some(7), Some(9), Some(11), None]);
    assert_eq!((tail.last_step, tail.lines, tail.damage.count), (Some(12), 14, 3));
    for mark in &tail.boundaries {
        let object = &mixed()[mark.offset as usize..][..mark.length];
        assert_eq!(parse(object, 0).map(|found| found.0), Some(mark.length));
    }
}

#[test]
fn a_cursor_at_any_line_goes_on_there() {
    let file = mixed();
    for (offset, _) in naive::lines(&file) {
        let cursor = Cursor::at(&file.as_slice(), offset as u64).expect("memory can be read");
        let tail = read(&file, Some(cursor), 64);
        let (marks, last, lines) = full_parse(&file, offset);
        assert_eq!((tail.boundaries, tail.last_step, tail.lines, tail.restarted), (marks, last, lines, false));
    }
}

#[test]
fn a_cursor_that_does_not_fit_restarts() {
    let file = mixed();
    let whole = read(&file, None, 4096);
    let mut rewritten = file.clone();
    rewritten[whole.cursor.offset as usize - 2] ^= 1;
    assert!(read(&rewritten, Some(whole.cursor), 4096).restarted);
    assert!(read(&file[..file.len() / 2], Some(whole.cursor), 4096).restarted);
    let again = read(&file, Some(whole.cursor), 4096);
    assert!(!again.restarted);
    assert_eq!((again.lines, again.cursor), (0, whole.cursor));
}

#[test]
fn the_proof_is_zlib_crc_of_the_4096_bytes_before() {
    let file = b"x".repeat(5000);
    let cursor = Cursor::at(&file.as_slice(), 9).expect("memory can be read");
    assert_eq!(cursor.crc, crc32fast::hash(b"xxxxxxxxx"));
    let cursor = Cursor::at(&file.as_slice(), 5000).expect("memory can be read");
    assert_eq!(cursor.crc, crc32fast::hash(&file[..4096]));
}

#[test]
fn a_file_cut_short_under_the_reader_gives_what_was_complete() {
    let file = mixed();
    for kept in (0..file.len()).step_by(13) {
        for reads in 1..40 {
            let source = Shrinking { file: &file, kept, reads_left: Cell::new(reads) };
            let tail = scan(&source, file.len() as u64, None, 32).expect("no error");
            assert!(tail.cursor.offset == 0 || file[tail.cursor.offset as usize - 1] == b'\n');
        }
    }
}

#[test]
fn damage_is_counted_once_a_line_and_remembered_16_times() {
    let file = b"junk{\"a\":1}junk\n".repeat(20);
    let tail = read(&file, None, 64);
    assert_eq!((tail.damage.count, tail.lines), (20, 20));
    assert_eq!(tail.damage.offsets, (0..16).map(|line| line * 16).collect::<Vec<u64>>());
}

#[test]
fn utf_16_is_damage_line_by_line() {
    let text = "{\"step_index\":1}\n{\"step_index\":2}\n";
    for order in [u16::to_le_bytes, u16::to_be_bytes] {
        let file: Vec<u8> = text.encode_utf16().flat_map(order).collect();
        let tail = read(&file, None, 4096);
        assert_eq!((tail.last_step, tail.damage.count), (None, 2));
    }
}

#[test]
fn ten_million_empty_lines_are_no_lines() {
    let file = b"\n".repeat(10_000_000);
    let tail = read(&file, None, 256 * 1024);
    assert_eq!((tail.lines, tail.cursor.offset), (0, 10_000_000));
}

#[test]
fn errors_name_the_file_and_keep_the_systems_number() {
    let folder = Folder::new();
    let error = open(&folder.path("missing")).expect_err("no such file");
    assert!(error.to_string().contains("missing"), "{error}");
    let Error::Io { source, .. } = error else { panic!("another kind of error") };
    assert_eq!(source.kind(), io::ErrorKind::NotFound);
    let opened = folder.open("there", &mixed());
    fs::remove_file(folder.path("there")).expect("removed");
    assert_eq!(scan_tail(&opened, None).expect("still open").last_step, Some(12));
}
