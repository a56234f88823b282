//! Chosen records: what is picked, where a later read goes on, and what is not collected.
#![allow(missing_docs)]

mod naive;

use naive::{ALWAYS, Folder, Shrinking, mixed};
use rehydrate::cursor::Cursor;
use rehydrate::records::Damage;
use rehydrate::steps::{Batch, Choice, Filter, Inner, Reader};
use rehydrate::text;

fn names(all: &[&str]) -> Vec<Vec<u8>> {
    all.iter().map(|name| name.as_bytes().to_vec()).collect()
}

fn read(file: &[u8], choice: &Choice, is_closed: bool, buffer_bytes: usize) -> (Batch, Damage, u64) {
    let mut inner = Inner::new(choice.clone(), 0, file.len() as u64, is_closed, buffer_bytes);
    let mut all = Batch::default();
    loop {
        let before = all.rows.len();
        inner.batch(&file, &mut all).expect("memory can be read");
        if all.rows.len() == before {
            return (all, inner.damage().clone(), inner.end());
        }
    }
}

fn steps(file: &[u8], choice: &Choice) -> Vec<Option<i64>> {
    read(file, choice, false, 4096).0.rows.iter().map(|row| row.step).collect()
}

#[test]
fn every_record_in_file_order_with_its_exact_bytes() {
    let file = mixed();
    for buffer_bytes in [7, 33, 100, 4096] {
        let (batch, damage, end) = read(&file, &Choice::steps(None, None), false, buffer_bytes);
        let found: Vec<Option<i64>> = batch.rows.iter().map(|row| row.step).collect();
        let wanted = [0, 3, 2, 5, 4, 6, 7, 9, 11, 12].map(Some);
        assert_eq!(found[..10], wanted);
        assert_eq!(found[10..], [None, None, Some(-5)]);
        assert_eq!(
            (damage.count, end as usize),
            (3, file.iter().rposition(|&byte| byte == b'\n').expect("a line") + 1)
        );
        for row in &batch.rows {
            assert_eq!(batch.bytes[row.raw.0..row.raw.1], file[row.offset as usize..][..row.length]);
        }
    }
}

#[test]
fn types_and_steps_choose() {
    let file = mixed();
    let some = |types: &[&str]| Choice::steps(Some(names(types)), None);
    assert_eq!(steps(&file, &some(&["CHECKPOINT"])), [Some(2), Some(5), Some(4), Some(7), Some(9), Some(11), None]);
    assert_eq!(steps(&file, &some(&["PLANNER", "USER_INPUT"])), [Some(0), Some(3)]);
    assert_eq!(steps(&file, &some(&["\u{fffd}\u{fffd}"])), [Some(12)]);
    assert_eq!(steps(&file, &some(&[])), []);
    assert_eq!(steps(&file, &Choice::steps(None, Some((4, 7)))), [Some(5), Some(4), Some(6), Some(7)]);
    assert_eq!(steps(&file, &Choice::steps(Some(names(&["CHECKPOINT"])), Some((4, 7)))), [Some(5), Some(4), Some(7)]);
}

#[test]
fn a_line_is_let_pass_only_on_proof() {
    let cases: &[(&str, bool)] = &[
        (r#"{"type":"A\u0042"}"#, true),
        (r#"{"type":"A\/B"}"#, false),
        (r#"{"x":"AB","type":"C"}"#, false),
        (r#"{"type":"C"}{"type":"AB"}"#, true),
    ];
    for (line, is_found) in cases {
        let found = steps(format!("{line}\n").as_bytes(), &Choice::steps(Some(names(&["AB"])), None));
        assert_eq!(found.len(), usize::from(*is_found), "{line}");
    }
    let slash = "{\"type\":\"A\\/B\"}\n{\"type\":\"\\u00e9\"}\n{\"type\":\"\u{e9}\"}\n";
    assert_eq!(steps(slash.as_bytes(), &Choice::steps(Some(names(&["A/B", "\u{e9}"])), None)).len(), 3);
}

#[test]
fn a_record_waits_for_the_rest_of_its_line() {
    let file = b"{\"a\":1}\n{\"type\":\"A\"} {\"type\":\"B\"}{\"type\":\"A\"}\n\n{\"type\":\"C\"}\n";
    let nexts = |choice| read(file, &choice, false, 64).0.rows.iter().map(|row| row.next).collect::<Vec<_>>();
    assert_eq!(nexts(Choice::steps(None, None)), [8, 8, 8, 46, 60]);
    assert_eq!(nexts(Choice::steps(Some(names(&["B"])), None)), [46]);
}

#[test]
fn a_closed_files_tail_is_a_record_when_it_is_one_whole_object() {
    let cases: &[(&str, usize)] = &[
        ("{\"step_index\":1}", 1),
        ("  {\"step_index\":1} \0\r", 1),
        ("{\"step_index\":1", 0),
        ("{\"step_index\":1}{}", 0),
        ("{\"step_index\":1}x", 0),
        ("", 0),
        ("[1]", 0),
        ("\u{feff}{\"step_index\":1}", 1),
    ];
    for before in ["", "{\"step_index\":0}\n"] {
        for (tail, wanted) in cases {
            if tail.starts_with('\u{feff}') && !before.is_empty() {
                continue;
            }
            let file = format!("{before}{tail}");
            let lines = usize::from(!before.is_empty());
            for buffer_bytes in [7, 64] {
                let (batch, damage, end) = read(file.as_bytes(), &Choice::steps(None, None), true, buffer_bytes);
                assert_eq!((batch.rows.len(), damage.count), (lines + wanted, 0), "{file}");
                assert_eq!(end as usize, before.len());
                assert!(batch.rows.iter().all(|row| row.next as usize == before.len()));
                assert_eq!(read(file.as_bytes(), &Choice::steps(None, None), false, 64).0.rows.len(), lines);
            }
        }
    }
}

#[test]
fn named_members_of_any_record() {
    let file = b"{\"type\":\"user\",\"n\":{\"a\":[1]},\"f\":1.50}\n{\"type\":\"x\"}\n{\"n\":\"q\",\"n\":null}\n";
    let choice = Choice::members(names(&["n", "type", "f"]), vec![]);
    for buffer_bytes in [7, 64] {
        let (batch, _, _) = read(file, &choice, false, buffer_bytes);
        let found: Vec<_> = (0..9).map(|at| batch.value(at / 3, at % 3)).collect();
        let wanted: [Option<&[u8]>; 9] = [
            Some(b"{\"a\":[1]}"),
            Some(b"\"user\""),
            Some(b"1.50"),
            None,
            Some(b"\"x\""),
            None,
            Some(b"null"),
            None,
            None,
        ];
        assert_eq!(found, wanted);
    }
    let filters = vec![Filter { member: 1, names: names(&["x", "user"]) }, Filter { member: 0, names: names(&["q"]) }];
    assert!(read(file, &Choice::members(names(&["n", "type"]), filters), false, 64).0.rows.is_empty());
}

#[test]
fn long_records_that_nobody_wants_are_not_collected() {
    let long = |kind: &str| format!("{{\"content\":\"{}\",\"type\":\"{kind}\"}}\n", "A\\u0041 ".repeat(30_000));
    let file = format!("{}{}{}", long("B"), long("A"), long("B"));
    let (batch, _, _) = read(file.as_bytes(), &Choice::steps(Some(names(&["A"])), None), false, 1024);
    assert_eq!(batch.rows.len(), 1);
    assert_eq!(batch.bytes.len(), long("A").len() - 1);
    assert_eq!(batch.value(0, 1).and_then(text::string).as_deref(), Some("A"));
}

#[test]
fn a_reader_goes_on_from_a_cursor_and_ends_in_batches() {
    let folder = Folder::new();
    let lines: Vec<String> = (0..5000).map(|step| format!("{{\"step_index\":{step}}}\n")).collect();
    let file = lines.concat();
    let mut reader =
        Reader::new(folder.open("a", file.as_bytes()), Choice::steps(None, None), None, false).expect("open");
    let mut seen = 0;
    let mut middle = 0;
    loop {
        let batch = reader.batch(&ALWAYS).expect("readable");
        if batch.rows.is_empty() {
            break;
        }
        assert!(batch.rows.len() < 5000);
        seen += batch.rows.len();
        middle = if middle == 0 { batch.rows[99].next } else { middle };
    }
    assert_eq!((seen, reader.end()), (5000, file.len() as u64));
    let cursor = reader.cursor(middle).expect("readable");
    let opened = folder.open("b", file.as_bytes());
    let mut rest = Reader::new(opened, Choice::steps(None, None), Some(cursor), false).expect("open");
    assert_eq!(
        (rest.batch(&ALWAYS).expect("readable").rows[0].step, rest.restarted, rest.start),
        (Some(100), false, middle)
    );
    let wrong = Cursor { crc: cursor.crc ^ 1, ..cursor };
    let opened = folder.open("c", file.as_bytes());
    let again = Reader::new(opened, Choice::steps(None, None), Some(wrong), false).expect("open");
    assert_eq!((again.restarted, again.start), (true, 0));
    reader.close();
    assert!(reader.batch(&ALWAYS).expect("closed").rows.is_empty());
    assert!(reader.cursor(middle).is_err());
}

#[test]
fn a_line_of_many_records_comes_in_batches() {
    let file = format!("{}7\n{{\"step_index\":9}}\n", "{\"step_index\":1}".repeat(1500));
    for buffer_bytes in [100, 1 << 20] {
        let mut inner = Inner::new(Choice::steps(None, None), 0, file.len() as u64, false, buffer_bytes);
        let mut counts = Vec::new();
        let mut last = None;
        loop {
            let mut batch = Batch::default();
            inner.batch(&file.as_bytes(), &mut batch).expect("memory can be read");
            let Some(row) = batch.rows.last() else { break };
            counts.push((batch.rows.len(), inner.damage().count, row.next as usize));
            last = row.step;
        }
        assert_eq!(counts[..2], [(512, 0, 0), (512, 0, 0)]);
        assert_eq!(counts[2], (477, 1, file.len()));
        assert_eq!((counts.len(), last), (3, Some(9)));
        assert_eq!(inner.damage().offsets, [0]);
    }
}

#[test]
fn records_of_a_line_that_is_cut_short_under_the_reader_are_taken_up_at_its_beginning() {
    let front = "{\"step_index\":1}\n";
    let file = format!("{front}{}\n", "{\"step_index\":2}".repeat(100));
    for reads in 0..40 {
        let source = Shrinking { file: file.as_bytes(), kept: 40, reads_left: std::cell::Cell::new(reads) };
        let mut inner = Inner::new(Choice::steps(None, None), 0, file.len() as u64, false, 64);
        let mut batch = Batch::default();
        inner.batch(&source, &mut batch).expect("memory can be read");
        let whole = inner.end() as usize == file.len();
        let rows = batch.rows.len();
        for (at, row) in batch.rows.iter().enumerate() {
            let wanted = if whole && at == rows - 1 { file.len() } else { front.len() };
            assert_eq!(row.next as usize, wanted, "{reads} {at}");
        }
    }
}
