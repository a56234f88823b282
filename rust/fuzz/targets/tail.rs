//! `scan_tail`: any buffer, any cut into parts, any cursor.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rehydrate::cursor::Cursor;
use rehydrate::records::Damage;
use rehydrate::tail::{Mark, Tail, scan, scan_in_parts};
use rehydrate_fuzz::{Dice, Stingy, twin};

fuzz_target!(|file: &[u8]| {
    let mut dice = Dice::of(file);
    let source = Stingy(file);
    let size = file.len() as u64;
    for round in 0..3 {
        let (cursor, start, restarted) = match (round, dice.below(4)) {
            (0, _) => (None, 0, false),
            (_, 0) => {
                // Of another file, or of this one when it was longer.
                let offset = dice.below(2 * file.len() + 2);
                let crc = twin::crc(proof(file, offset)) ^ 1;
                (Some(Cursor { offset: offset as u64, crc }), 0, true)
            }
            _ => {
                let offset = dice.place(file);
                let crc = twin::crc(proof(file, offset));
                (Some(Cursor { offset: offset as u64, crc }), offset, false)
            }
        };
        let wanted = Tail { restarted, ..read(file, start) };
        let buffer_bytes = dice.buffer_bytes(file.len());
        let found = scan(&source, size, cursor, buffer_bytes).expect("memory can be read");
        assert_eq!(found, wanted, "buffer of {buffer_bytes}");
        let parts = 1 + dice.below(8) as u64;
        let found = scan_in_parts(&source, size, cursor, buffer_bytes, parts).expect("memory can be read");
        assert_eq!(found, wanted, "buffer of {buffer_bytes}, {parts} parts");
    }
});

/// The bytes that prove an offset.
fn proof(file: &[u8], offset: usize) -> &[u8] {
    let offset = offset.min(file.len());
    &file[offset.saturating_sub(4096)..offset]
}

/// What is new behind `start`, line by line.
fn read(file: &[u8], start: usize) -> Tail {
    let (mut boundaries, mut last_step, mut damage, mut count) = (Vec::new(), None, Damage::default(), 0);
    let mut end = start;
    for line in twin::lines(&file[start..]) {
        let is_first = start == 0 && line.offset == 0;
        // A byte order mark counts where the file begins, not where the reading does.
        let mark = if is_first { 0 } else { line.content_offset - line.offset };
        let content_offset = start + line.content_offset - mark;
        let content = &file[content_offset..start + line.content_offset + line.content.len()];
        let line = twin::Line { offset: start + line.offset, content_offset, content };
        end = line.offset + 1 + file[line.offset..].iter().position(|&byte| byte == b'\n').expect("a complete line");
        if line.is_blank() {
            continue;
        }
        count += 1;
        if let Some(step) = twin::claimed_step(&line) {
            last_step = last_step.max(Some(step));
            continue;
        }
        let (objects, is_damaged) = twin::objects(line.content);
        if is_damaged {
            damage.count += 1;
            if damage.offsets.len() < 16 {
                damage.offsets.push(line.offset as u64);
            }
        }
        for (at, value) in objects {
            let raw = |name: &str| value.member(name).map(|(from, to)| &line.content[from..to]);
            let step = raw("step_index").and_then(twin::integer);
            last_step = last_step.max(step);
            if raw("type").and_then(twin::string).as_deref() == Some("CHECKPOINT") {
                boundaries.push(Mark { step, offset: (content_offset + at) as u64, length: value.end - at });
            }
        }
    }
    let crc = twin::crc(proof(file, end));
    let cursor = Cursor { offset: end as u64, crc };
    Tail { cursor, boundaries, last_step, lines: count, damage, restarted: false }
}
