//! `read_tree` against a full parse of every line, and the fast walk of one object against the slow one.
#![allow(missing_docs)]

mod naive;

use std::cell::Cell;

use naive::{Folder, Shrinking, member, mixed, parse, twin};
use rehydrate::error::Error;
use rehydrate::lines::ReadAt;
use rehydrate::tree::{Part, Reader, read_in_parts, read_tree};
use rehydrate::walker::Keys;
use rehydrate::whole::whole_object;

const NAMES: [&str; 3] = ["uuid", "parentUuid", "type"];

/// What a record says, and where it is.
type Row = (Option<String>, Option<String>, Option<String>, u64, usize);

/// Records, lines and damaged lines as a full parse gives them.
fn full_parse(file: &[u8]) -> (Vec<Row>, u64, u64) {
    let (mut rows, mut lines, mut damaged) = (Vec::new(), 0, 0);
    for (offset, line) in naive::lines(file) {
        let content = if offset == 0 && file.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        let (objects, is_damaged) = twin::objects(line);
        lines += u64::from(is_damaged || !objects.is_empty());
        damaged += u64::from(is_damaged);
        for (from, object) in objects {
            let says = |name| object.member(name).and_then(|(start, end)| twin::string(&line[start..end]));
            let [uuid, parent, kind] = NAMES.map(says);
            rows.push((uuid, parent, kind, (offset + content + from) as u64, object.end - from));
        }
    }
    (rows, lines, damaged)
}

fn rows(part: &Part) -> Vec<Row> {
    let text = |place: Option<usize>| place.map(|place| part.texts.get(place).to_owned());
    let kind = |place: Option<usize>| place.map(|place| part.kinds[place].clone());
    let entries = part.entries.iter();
    entries.map(|entry| (text(entry.uuid), text(entry.parent), kind(entry.kind), entry.offset, entry.length)).collect()
}

/// Records as a client writes them, and what other writers and accidents make of them; long texts for small blocks.
fn session() -> Vec<u8> {
    let lines: [&[u8]; 16] = [
        br#"{"type":"summary","summary":"so far","leafUuid":"a1"}"#,
        br#"{"parentUuid":null,"isSidechain":false,"type":"user","message":{"role":"user","content":"say \"uuid\":\"no\""},"uuid":"a1","cwd":"/w"}"#,
        br#"{"parentUuid":"a1","message":{"type":"message","uuid":"no","content":[{"type":"text","text":"a\n\tb\\\\"}]},"type":"assistant","uuid":"b2"}"#,
        br#"{"parentUuid":"b2","attachment":{"type":"date","parentUuid":"no","n":[1,-2.5e+3,true,null,{},[]]},"type":"attachment","uuid":"c3"}"#,
        br#"{"parentUuid":"a1","type":"user","toolUseResult":{"stdout":"\u001b[1m\"x\"\u00e9 \\u0041 \\\"type\\\"","stderr":""},"uuid":"d4"}"#,
        b"",
        b" \t \0\0",
        br#"{ "type" : "user" , "\u0075uid" : "\u0065\u0035" , "parentUuid":7 } "#,
        br#"{"uuid":"f6","type":"a","type":"b","uuid":"f7"}"#,
        br#"{"uuid":"g7"}{"uuid":"g8","parentUuid":"g7"}"#,
        br#"{"parentUuid":"d4","message":"torn{"parentUuid":"a1","type":"user","uuid":"h9"}"#,
        br#"{"parentUuid":"d4","message":{"a":{"uuid":"no"},"b"#,
        br#"[{"uuid":"no"}]"#,
        b"\0\0\0{\"uuid\":\"\xff\xfe\",\"type\":\"\"}\r",
        br#"{"uuid":"j1","m":"0123456789012345678901234567890123456789012345678901234567890123456789\\\\\\\\\\\\\\\\\\\\\\\\\\\\"}"#,
        br#"{"uuid":"k1","m":{"a":[[[[[[[[[[{"b":"c"}]]]]]]]]]]},"type":["user"]}"#,
    ];
    lines.join(&b'\n').into_iter().chain(*b"\n{\"uuid\":\"unfinished\"}").collect()
}

fn read_all(file: &[u8], buffer_bytes: usize) -> Part {
    let size = file.len() as u64;
    Reader::new(size, buffer_bytes).read(&file, 0, size).expect("memory can be read").0
}

/// Records, lines and damaged lines of all parts together.
fn read_by_parts(file: &[u8], parts: u64) -> (Vec<Row>, u64, u64) {
    let mut all = (Vec::new(), 0, 0);
    let taken = read_in_parts(&file, file.len() as u64, 64, parts, |found| {
        let part = found?;
        all.0.extend(rows(&part));
        (all.1, all.2) = (all.1 + part.lines, all.2 + part.damage.count);
        Ok::<_, std::io::Error>(())
    });
    taken.expect("memory can be read");
    all
}

#[test]
fn every_truncation_and_buffer_size_says_what_a_full_parse_says() {
    for file in [session(), [&b"\xef\xbb\xbf"[..], &session()].concat(), mixed()] {
        for size in 0..=file.len() {
            let wanted = full_parse(&file[..size]);
            for buffer_bytes in [7, 32, 61, 200, 100_000] {
                let tree = read_all(&file[..size], buffer_bytes);
                assert_eq!((rows(&tree), tree.lines, tree.damage.count), wanted, "{size} {buffer_bytes}");
            }
        }
    }
}

#[test]
fn parts_put_together_are_the_whole() {
    let file = session().repeat(3);
    for size in (0..=file.len()).step_by(31) {
        let whole = full_parse(&file[..size]);
        for parts in [0, 1, 2, 3, 8, 30] {
            assert_eq!(read_by_parts(&file[..size], parts), whole, "{size} {parts}");
        }
    }
}

#[test]
fn an_error_of_the_taker_ends_the_read() {
    let file = session().repeat(30);
    let mut taken = 0;
    let ended = read_in_parts(&&file[..], file.len() as u64, 64, 20, |_| {
        taken += 1;
        if taken == 3 { Err("enough") } else { Ok(()) }
    });
    assert_eq!((ended, taken), (Err("enough"), 3));
}

#[test]
fn a_part_that_ends_early_is_the_last() {
    struct Cut<'f>(&'f [u8]);
    impl ReadAt for Cut<'_> {
        fn read_at(&self, buffer: &mut [u8], offset: u64) -> std::io::Result<usize> {
            // A hole in the middle, as if the file had been cut short and had grown again.
            let middle = self.0.len() as u64 / 2;
            if (middle..middle + 700).contains(&offset) { Ok(0) } else { self.0.read_at(buffer, offset) }
        }
    }
    let file = session().repeat(8);
    let mut found = Vec::new();
    let source = Cut(&file);
    let taken = read_in_parts(&source, file.len() as u64, 64, 6, |part| {
        found.extend(rows(&part?));
        Ok::<_, std::io::Error>(())
    });
    taken.expect("no error");
    assert!(found.len() > 10);
    assert_eq!(found, full_parse(&file).0[..found.len()]);
}

#[test]
fn any_byte_at_any_place_is_judged_as_the_slow_walk_judges_it() {
    let keys = Keys::new(&NAMES.map(str::as_bytes));
    let mut spans = Vec::new();
    let mut accepted = 0;
    for (_, line) in naive::lines(&session()) {
        for place in 0..line.len() {
            for byte in *b"\"\\{}[]:,u0n1-.e \0\xff" {
                let mut line = line.to_vec();
                line[place] = byte;
                let Some(end) = whole_object(&line, &keys, &mut spans) else { continue };
                accepted += 1;
                let (parsed, members) = parse(&line, 0).expect("an object");
                assert_eq!(parsed, end);
                let members = members.expect("an object");
                for (name, span) in NAMES.iter().zip(&spans) {
                    assert_eq!(member(&members, name), span.map(|(from, to)| &line[from..to]), "{name}");
                }
            }
        }
    }
    assert!(accepted > 1000, "{accepted}");
}

#[test]
fn the_fast_walk_takes_all_that_a_client_writes() {
    let keys = Keys::new(&NAMES.map(str::as_bytes));
    let file = session();
    for (_, line) in &naive::lines(&file)[..5] {
        assert_eq!(whole_object(line, &keys, &mut Vec::new()), Some(line.len()));
    }
}

#[test]
fn escapes_are_found_wherever_they_lie_in_a_block() {
    let keys = Keys::new(&NAMES.map(str::as_bytes));
    let mut spans = Vec::new();
    for escape in [&br"\\"[..], br#"\""#, br"\n", br"\/", br"\u00e9", br"\\\\\\", br#"\\\""#] {
        for before in 0..140 {
            for count in [1, 2, 31, 32, 33, 70] {
                let text = [&b"x".repeat(before)[..], &escape.repeat(count)].concat();
                let good = [b"{\"m\":\"", &text[..], b"\",\"uuid\":\"a\"}"].concat();
                assert_eq!(whole_object(&good, &keys, &mut spans), Some(good.len()));
                assert_eq!(spans[0], Some((good.len() - 4, good.len() - 1)));
                for end in [&br"\x"[..], br"\u12", br"\u12g4", br"\"] {
                    let bad = [b"{\"m\":\"", &text[..], end, b"\",\"uuid\":\"a\"}"].concat();
                    assert_eq!(whole_object(&bad, &keys, &mut spans), None);
                }
            }
        }
    }
}

#[test]
fn a_parent_near_by_and_a_type_are_kept_once() {
    let tree = read_all(&session(), 4096);
    assert_eq!(tree.entries[2].parent, tree.entries[1].uuid);
    assert_eq!(tree.entries[4].parent, tree.entries[1].uuid);
    assert_eq!(tree.kinds, ["summary", "user", "assistant", "attachment", "b", ""]);
}

#[test]
fn more_types_than_are_kept_once_are_told_all_the_same() {
    let line = |index: usize| format!("{{\"type\":\"kind {index}\"}}\n");
    let file: String = (0..200).chain(0..200).map(line).collect();
    assert_eq!(read_by_parts(file.as_bytes(), 3), full_parse(file.as_bytes()));
}

#[test]
fn a_file_cut_short_under_the_reader_gives_what_was_complete() {
    let file = session();
    let whole = rows(&read_all(&file, 4096));
    for kept in (0..file.len()).step_by(13) {
        for reads in 1..60 {
            let source = Shrinking { file: &file, kept, reads_left: Cell::new(reads) };
            let size = file.len() as u64;
            let found = rows(&Reader::new(size, 32).read(&source, 0, size).expect("no error").0);
            assert_eq!(found, whole[..found.len()]);
        }
    }
}

#[test]
fn a_file_is_read_from_its_path() {
    let folder = Folder::new();
    let mut found = Vec::new();
    let take = |part: Part| {
        found.push((part.entries.len(), part.lines, part.damage.count));
        Ok::<_, Error>(())
    };
    read_tree(&folder.open("session", &session()), take).expect("can be read");
    assert_eq!(found, [(13, 14, 3)]);
}
