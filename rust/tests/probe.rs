//! `probe`, `find_step` and `probe_candidates`: the order of lines decides nothing too early.
#![allow(missing_docs)]

mod naive;

use std::fmt::Write;
use std::path::PathBuf;

use naive::{ALWAYS, Folder};
use rehydrate::open::{open, open_nofollow};
use rehydrate::probe::{Looker, find_step, probe, probe_candidates, probe_many};

fn line(step: i64, pad: usize) -> String {
    format!("{{\"step_index\":{step},\"created_at\":\"t{step}\",\"content\":\"{}\"}}\n", "x".repeat(pad))
}

fn file(steps: impl IntoIterator<Item = i64>, pad: usize) -> Vec<u8> {
    steps.into_iter().map(|step| line(step, pad)).collect::<String>().into_bytes()
}

fn found(bytes: &[u8], step: i64, slack: u64) -> Option<(i64, u64, Option<i64>)> {
    // The smallest buffer, so that in a search, whose buffer is larger, most lines are long ones, too.
    let looker = &mut Looker::new(bytes.len() as u64, 4);
    let found = looker.find(&bytes, step, slack).expect("memory can be read")?;
    Some((found.place.step, found.place.offset, found.last_step))
}

#[test]
fn the_ends_of_a_file() {
    let folder = Folder::new();
    let opened = folder.open("a", &file([5, 9, 7, 8], 10));
    let ends = probe(&opened).expect("readable");
    let (first, last) = (ends.first.expect("a first"), ends.last.expect("a last"));
    assert_eq!((first.step, first.created_at.as_deref(), first.offset), (5, Some("t5"), 0));
    assert_eq!((last.step, last.created_at.as_deref(), ends.size), (9, Some("t9"), opened.size));
}

#[test]
fn an_empty_or_unfinished_file_has_no_ends() {
    for bytes in [&b""[..], b"\n\n", b"{\"step_index\":1}", b"{}\n", b"null\n"] {
        let ends = Looker::new(bytes.len() as u64, 64).probe(&bytes).expect("memory can be read");
        assert_eq!((ends.first, ends.last), (None, None), "{bytes:?}");
    }
}

#[test]
fn the_first_step_is_among_the_first_16_lines_that_are_not_blank() {
    for (before, wanted) in [(15, Some(3)), (16, None)] {
        let bytes = format!("{}{}", "\n{}\n".repeat(before), line(3, 0)).into_bytes();
        let ends = Looker::new(bytes.len() as u64, 64).probe(&bytes.as_slice()).expect("memory can be read");
        assert_eq!(ends.first.map(|first| first.step), wanted);
    }
}

#[test]
fn the_window_grows_until_a_record_lies_in_it() {
    let bytes = [file([1, 2], 0), file([3], 300_000), file([4], 200_000)].concat();
    let ends = Looker::new(bytes.len() as u64, 4096).probe(&bytes.as_slice()).expect("memory can be read");
    assert_eq!(ends.last.map(|last| last.step), Some(4));
    let torn = [bytes, b"{\"step_index\":5".to_vec()].concat();
    let ends = Looker::new(torn.len() as u64, 4096).probe(&torn.as_slice()).expect("memory can be read");
    assert_eq!(ends.last.map(|last| last.step), Some(4));
}

#[test]
fn a_number_cut_by_the_window_is_not_read() {
    // The window begins in the middle of the only line's number, or near it: it grows until the line lies in it.
    let short = line(12_345, 0).len();
    for before in 0..40 {
        let bytes = file([12_345], 65_536 + before - short);
        let ends = Looker::new(bytes.len() as u64, 64).probe(&bytes.as_slice()).expect("memory can be read");
        assert_eq!(ends.last.map(|last| last.step), Some(12_345), "{before}");
    }
}

#[test]
fn of_equal_steps_the_last_line_wins() {
    let bytes = file([1, 2, 2, 3, 2], 0);
    let (step, offset, last) = found(&bytes, 2, 0).expect("there");
    assert_eq!((step, last), (2, Some(3)));
    assert_eq!(offset as usize, bytes.len() - line(2, 0).len());
    let far = [file([1, 2], 0), file([7], 0), file([2], 0), file([9; 50], 4000)].concat();
    assert_eq!(found(&far, 2, 0).expect("there").1 as usize, file([1, 2, 7], 0).len());
}

#[test]
fn a_step_outside_the_window_is_found_whatever_stands_in_it() {
    let bytes = [file([3, 1, 2], 0), file(10..60, 4000)].concat();
    assert_eq!(found(&bytes, 3, 0).map(|found| found.0), Some(3));
    assert_eq!(found(&bytes, 4, 0), None);
    assert_eq!(found(&bytes, 5, 2).map(|found| found.0), Some(3));
    assert_eq!(found(&bytes, 100, 100).map(|found| found.0), Some(59));
}

#[test]
fn a_better_step_before_the_window_beats_one_within_the_slack_in_it() {
    let bytes = [file([1, 50], 0), file(10..49, 4000), file([49], 0)].concat();
    assert_eq!(found(&bytes, 50, 3), Some((50, line(1, 0).len() as u64, Some(49))));
    assert_eq!(found(&bytes, 51, 3).map(|found| found.0), Some(50));
}

#[test]
fn the_long_search_walks_lines_that_could_hide_a_step() {
    let hidden = [
        r#"{"content":"first","step_index":7}"#,
        r#"{"step_index":1,"step_index":7}"#,
        r#"{"step_index":1,"st\u0065p_index":7}"#,
        r#"{"step_index":1,"content":"torn{"step_index":7}"#,
        r#"{"step_index":1}{"step_index":7}"#,
        r#" {"step_index":7}"#,
        r#"{"step_index":7 }"#,
    ];
    for each in hidden {
        let bytes = [format!("{each}\n").into_bytes(), file(10..60, 4000)].concat();
        assert_eq!(found(&bytes, 7, 0).map(|found| found.0), Some(7), "{each}");
    }
    let nested = [b"{\"step_index\":1,\"a\":{\"step_index\":7}}\n".to_vec(), file(10..60, 4000)].concat();
    assert_eq!(found(&nested, 7, 0), None);
}

#[test]
fn every_small_file_agrees_with_looking_at_every_line() {
    let steps = [4, 1, 3, 3, 2, 9, 0, 5];
    for pad in [0, 9000] {
        let bytes = file(steps, pad);
        for step in -1..11 {
            for slack in 0..4 {
                let wanted = steps.into_iter().filter(|each| step - slack <= *each && *each <= step).max();
                assert_eq!(found(&bytes, step, slack.unsigned_abs()).map(|found| found.0), wanted, "{step} {slack}");
            }
        }
    }
}

#[test]
fn candidates_come_in_order_and_none_for_what_cannot_be_a_parent() {
    let folder = Folder::new();
    let mut paths: Vec<PathBuf> = Vec::new();
    for at in 0..40_i64 {
        paths.push(folder.write(&format!("fits{at}"), &file([0, at, 50 + at], 0)));
        paths.push(folder.path("missing"));
        paths.push(folder.write("later", &file([60, 61], 0)));
        paths.push(folder.write("empty", b""));
        paths.push(folder.path(""));
    }
    let all = probe_candidates(&paths, 51, 2, &ALWAYS).expect("never told to end");
    for (at, found) in all.iter().enumerate() {
        let (number, kind) = (i64::try_from(at / 5).expect("small"), at % 5);
        if kind == 0 && number <= 1 {
            let found = found.as_ref().expect("a candidate");
            assert_eq!((found.first.step, found.place.step), (0, 50 + number));
            assert_eq!(found.last.as_ref().map(|last| last.step), Some(50 + number));
        } else {
            assert_eq!(found, &None, "{at}");
        }
    }
}

#[test]
fn candidates_agree_with_the_operations_one_by_one() {
    let folder = Folder::new();
    let mut text = String::new();
    for step in [3, 1, 8, 2] {
        write!(text, "{}", line(step, 5000)).expect("a string");
    }
    let path = folder.write("one", text.as_bytes());
    let opened = folder.open("two", text.as_bytes());
    let all = probe_candidates(&[path], 5, 4, &ALWAYS).expect("never told to end");
    let found = find_step(&opened, 5, 4).expect("readable").expect("there");
    let ends = probe(&opened).expect("readable");
    let candidate = all[0].as_ref().expect("a candidate");
    assert_eq!(candidate.place, found.place);
    assert_eq!((Some(&candidate.first), &candidate.last, candidate.size), (ends.first.as_ref(), &ends.last, ends.size));
}

#[test]
fn one_file_after_another_is_probed_as_each_alone() {
    let folder = Folder::new();
    let mut paths = Vec::new();
    for at in 0..60_i64 {
        // Smaller and larger than the window, and around it; what was read of one shows in no other.
        let pad = [0, 9000, 40_000, 65_400 - 40, 65_536 - 40, 200_000][usize::try_from(at % 6).expect("small")];
        paths.push(folder.write(&format!("file{at}"), &file([at % 9, 50 + at, at % 5], pad)));
        paths.push(folder.write(&format!("short{at}"), &file([at], 0)));
        paths.push(folder.path("missing"));
    }
    let all = probe_many(&paths, open, &ALWAYS).expect("never told to end");
    for (path, found) in paths.iter().zip(&all) {
        let alone = open(path).ok().map(|opened| probe(&opened).expect("readable"));
        assert_eq!(found, &alone, "{}", path.display());
    }
    std::os::unix::fs::symlink(&paths[0], folder.path("link")).expect("a link");
    let paths = vec![folder.path("link"), paths[0].clone()];
    let found = probe_many(&paths, open_nofollow, &ALWAYS).expect("never told to end");
    assert_eq!((&found[0], &found[1]), (&None, &all[0]));
}

#[test]
fn the_window_begins_with_the_line_that_begins_at_its_border() {
    for spare in 0..3 {
        // The last line is as long as the window, one byte shorter or one longer.
        let length = 64 * 1024 - 1 + spare;
        let bytes = [file([9], 0), line(7, length - line(7, 0).len()).into_bytes()].concat();
        let ends = Looker::new(bytes.len() as u64, 64).probe(&bytes.as_slice()).expect("memory can be read");
        assert_eq!(ends.last.map(|last| last.step), Some(if spare == 2 { 9 } else { 7 }), "{spare}");
    }
}
