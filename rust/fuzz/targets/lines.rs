//! Complete lines through a buffer of any size, between any two offsets.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rehydrate::lines::{Lines, Piece, content, line_start};
use rehydrate::needles::AnyOf;
use rehydrate_fuzz::{Dice, Stingy, twin};

const NEEDLES: [&[u8]; 4] = [b"CHECKPOINT", b"}{", b"\\u00", b"a"];

fuzz_target!(|file: &[u8]| {
    let mut dice = Dice::of(file);
    for _ in 0..3 {
        let limit = if dice.below(2) == 0 { file.len() } else { dice.below(file.len() + 1) };
        let start = dice.place(&file[..limit]);
        let buffer_bytes = dice.buffer_bytes(limit);
        check(file, start, limit, buffer_bytes);
        check_start(file, start.max(1), limit);
    }
});

/// Every line from `start` on that is complete before `limit`.
fn check(file: &[u8], start: usize, limit: usize, buffer_bytes: usize) {
    let source = Stingy(file);
    let mut lines =
        Lines::new(start as u64, limit as u64, buffer_bytes, NEEDLES.map(|needle| AnyOf::new(&[needle])).to_vec());
    let mut found = Vec::new();
    loop {
        match lines.next(&source).expect("memory can be read") {
            Piece::End => break,
            Piece::Block => {
                let (base, block) = (lines.place(), lines.block().to_vec());
                assert_eq!(block.last(), Some(&b'\n'));
                let mut at = 0;
                for line in block[..block.len() - 1].split(|&byte| byte == b'\n') {
                    let (skipped, inside) = content(line, base + at as u64);
                    let offset = base as usize + at;
                    found.push((offset, offset + skipped, inside.to_vec()));
                    at += line.len() + 1;
                }
                lines.consume(block.len());
            }
            Piece::Long(long) => {
                let (offset, content_offset) = (long.offset as usize, long.content_offset as usize);
                let line = twin::Line { offset, content_offset, content: &file[content_offset..][..long.length] };
                // The `\r` of the ending may still be in the head.
                assert!(long.head.len() >= line.content.len().min(48));
                assert!(long.head.starts_with(&line.content[..line.content.len().min(48)]));
                assert_eq!(long.last, line.content.last().copied());
                assert_eq!(long.is_blank, line.is_blank());
                let holds: Vec<bool> = NEEDLES.iter().map(|needle| line.holds(needle)).collect();
                assert_eq!(long.holds, holds);
                found.push((offset, content_offset, line.content.to_vec()));
            }
        }
    }
    let mut wanted = Vec::new();
    for line in twin::lines(&file[start..limit]) {
        // A byte order mark counts where the file begins, not where the reading does.
        let mark = if start > 0 { line.content_offset - line.offset } else { 0 };
        let (from, end) = (start + line.content_offset - mark, start + line.content_offset + line.content.len());
        wanted.push((start + line.offset, from, file[from..end].to_vec()));
    }
    assert_eq!(found, wanted);
    let end = file[start..limit].iter().rposition(|&byte| byte == b'\n').map_or(start, |at| start + at + 1);
    assert_eq!(lines.place(), end as u64);
}

/// The first line that begins at or behind a place.
fn check_start(file: &[u8], from: usize, limit: usize) {
    let found = line_start(&Stingy(file), from as u64, limit as u64).expect("memory can be read");
    let wanted = (from..=limit).find(|&at| file[at - 1] == b'\n');
    assert_eq!(found, wanted.map(|at| at as u64));
}
