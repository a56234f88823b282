//! `read_turns` against `scan_tail` and the records of the types of turns, and its parts against the whole.
#![allow(missing_docs)]

mod naive;

use std::sync::Arc;

use naive::mixed;
use rehydrate::fold::{Fold, Part};
use rehydrate::steps::{Batch, Choice, Inner};
use rehydrate::tail::scan;
use rehydrate::turns::{Before, Turns, read_in_parts};

/// Turns as a client writes them, and what accidents make of them.
fn session() -> Vec<u8> {
    let lines: [&[u8]; 15] = [
        br#"{"step_index":0,"source":"USER_EXPLICIT","type":"USER_INPUT","status":"DONE","content":"go"}"#,
        br#"{"step_index":1,"source":"MODEL","type":"PLANNER_RESPONSE","status":"DONE","content":"a\n\"b\"","tool_calls":[{"name":"view_file","args":{"AbsolutePath":"/a.py"}},{"name":"","args":{}},{"name":"edit_file","args":{"TargetFile":"/b.py","CodeContent":"x y"}}]}"#,
        br#"{"step_index":2,"source":"MODEL","type":"VIEW_FILE","status":"DONE","content":"words words words words words words"}"#,
        br#"{"content":" ","tool_calls":[{"args":{"OtherPath":"/a.py","TheFile":"/c","ThePath":"/b.py","ThePath":"d"},"name":"grep"}],"step_index":4,"type":"PLANNER_RESPONSE"}"#,
        br#"{"step_index":3,"source":"MODEL","type":"EDIT_FILE","status":"RUNNING"}"#,
        br#"{"step_index":3,"source":"MODEL","type":"EDIT_FILE","status":"DONE"}"#,
        br#"{"step_index":5,"type":"PLANNER_RESPONSE","tool_calls":[{"name":"view_file","args":"{\"Path\":\"/a.py\"}"}]}"#,
        br#"{"step_index":6,"type":"CHECKPOINT","status":"DONE","content":"x"}{"step_index":7,"type":"CHECKPOINT"}"#,
        br#"{"step_index":8,"type":"PLANNER_RESPONSE","content":"torn"#,
        br#"{"step_index":9,"type":"RUN_COMMAND" broken}"#,
        br#"garbage {"step_index":10,"type":"\u0055SER_INPUT","content":""} rest"#,
        b"",
        br#"{"type":"CHECKPOINT"}"#,
        br#"{"step_index":11,"type":"USER_INPUT","content":{"a":[1,2]}} "#,
        br#"{"step_index":1,"type":"PLANNER_RESPONSE","content":"again","step_index":12}"#,
    ];
    let mut file = lines.join(&b'\n');
    file.extend_from_slice(b"\r\n");
    file
}

fn read(file: &[u8], buffer_bytes: usize, parts: u64) -> Turns {
    read_in_parts(&file, file.len() as u64, buffer_bytes, parts, false).expect("memory can be read")
}

/// Step, offset and length of records of these types, and the damaged lines met.
fn records(file: &[u8], types: Option<&[&str]>) -> (Vec<(Option<i64>, u64, usize)>, u64) {
    let names = types.map(|types| types.iter().map(|name| name.as_bytes().to_vec()).collect());
    let mut inner = Inner::new(Choice::steps(names, None), 0, file.len() as u64, false, 1000);
    let mut all = Vec::new();
    loop {
        let mut batch = Batch::default();
        inner.batch(&file, &mut batch).expect("memory can be read");
        if batch.rows.is_empty() {
            return (all, inner.damage().count);
        }
        all.extend(batch.rows.iter().map(|row| (row.step, row.offset, row.length)));
    }
}

fn check(file: &[u8], turns: &Turns) {
    let tail = scan(&file, file.len() as u64, None, 1000).expect("memory can be read");
    assert_eq!((&turns.boundaries, turns.last_step), (&tail.boundaries, tail.last_step));
    let (mut rows, damaged) = records(file, Some(&["USER_INPUT", "PLANNER_RESPONSE"]));
    rows.retain(|(step, ..)| step.is_some());
    let found: Vec<_> = turns.rows.iter().map(|row| (Some(row.step), row.offset, row.length)).collect();
    assert_eq!((found, turns.damaged), (rows, damaged));
    let (all, _) = records(file, None);
    let before = turns.boundaries.iter().map(|mark| {
        let earlier = all.iter().filter(|(_, offset, _)| *offset < mark.offset).max_by_key(|(_, offset, _)| *offset);
        earlier.map_or(Before::None, |&(_, offset, length)| Before::At(offset, length))
    });
    assert_eq!(turns.before, before.collect::<Vec<_>>());
}

#[test]
fn every_truncation_and_buffer_size_says_what_the_other_reads_say() {
    for file in [session(), [&b"\xef\xbb\xbf"[..], &session()].concat(), mixed()] {
        for size in 0..=file.len() {
            for buffer_bytes in [32, 200, 100_000] {
                check(&file[..size], &read(&file[..size], buffer_bytes, 1));
            }
        }
    }
}

#[test]
fn parts_put_together_are_the_whole() {
    let file = session().repeat(3);
    let told = |turns: Turns| {
        let results = turns.finished(i64::MIN, i64::MAX);
        let rows = turns.rows.clone();
        let fold = Fold::new(vec![Part { turns: Arc::new(turns), last: i64::MAX, void: vec![0] }]);
        let touches: Vec<_> =
            fold.touches().iter().map(|each| (each.kind.name(), each.told.to_owned(), each.first, each.last)).collect();
        (results, rows, touches, fold.users().collect::<Vec<_>>(), fold.stretches(fold.len()))
    };
    for size in (0..=file.len()).step_by(31) {
        let whole = told(read(&file[..size], 100_000, 1));
        for parts in [0, 2, 3, 8, 30] {
            let turns = read(&file[..size], 64, parts);
            check(&file[..size], &turns);
            assert_eq!(told(turns), whole, "{size} {parts}");
        }
    }
}

#[test]
fn a_call_names_a_file_by_its_own_argument_or_by_all_that_look_so() {
    let fold = Fold::new(vec![Part { turns: Arc::new(read(&session(), 1000, 1)), last: 5, void: Vec::new() }]);
    let touches = fold.touches();
    let told: Vec<_> = touches.iter().map(|each| (each.kind.name(), each.told, each.first)).collect();
    let wanted = [
        ("read", "/a.py", (1, 0, 0)),
        ("modified", "/b.py", (1, 1, 1)),
        ("named", "/a.py", (2, 0, 0)),
        ("named", "/c", (2, 0, 1)),
    ];
    assert_eq!(told, wanted);
    assert_eq!(fold.unseen().collect::<Vec<_>>(), [3]);
}
