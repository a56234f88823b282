//! `read_tree` against a full parse of every line, and the fast walk of one object against the slow one.
#![allow(missing_docs)]

mod naive;

use std::cell::Cell;

use naive::{Folder, Shrinking, member, mixed, parse, twin};
use rehydrate::ids::Id;
use rehydrate::index::{Index, Rows};
use rehydrate::lines::ReadAt;
use rehydrate::signs;
use rehydrate::tree::{Reader, read_in_parts, read_tree};
use rehydrate::uuid;
use rehydrate::walker::{Keys, Span};
use rehydrate::whole::Objects;

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

fn rows(rows: &Rows) -> Vec<Row> {
    let text = |id: Option<Id<'_>>| id.map(|id| id.text(&mut [0; uuid::BYTES]).to_owned());
    let row = |place| {
        let entry = rows.get(place);
        let kind = entry.kind.map(|kind| rows.kinds()[kind].clone());
        (text(entry.uuid), text(entry.parent), kind, entry.offset, entry.length)
    };
    (0..rows.len()).map(row).collect()
}

/// The fast walk of the object that a line begins with.
fn whole_object(line: &[u8], keys: &Keys, spans: &mut Vec<Option<Span>>) -> Option<usize> {
    Objects::new(line).end(0, keys, spans)
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
        b" \t \0\0    \t\0\0\0\0 \r",
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

fn read_all(file: &[u8], buffer_bytes: usize) -> Rows {
    let size = file.len() as u64;
    Reader::new(size, buffer_bytes).read(&file, 0, size).expect("memory can be read").0
}

/// Records, lines and damaged lines of all parts together.
fn read_by_parts(file: &[u8], parts: u64) -> (Vec<Row>, u64, u64) {
    let all = read_in_parts(&file, file.len() as u64, 64, parts).expect("memory can be read");
    (rows(&all), all.lines, all.damage.count)
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
fn an_error_ends_the_read() {
    struct Broken<'f>(&'f [u8]);
    impl ReadAt for Broken<'_> {
        fn read_at(&self, buffer: &mut [u8], offset: u64) -> std::io::Result<usize> {
            let half = self.0.len() as u64 / 2;
            if offset > half { Err(std::io::ErrorKind::Other.into()) } else { self.0.read_at(buffer, offset) }
        }
    }
    let file = session().repeat(30);
    assert!(read_in_parts(&Broken(&file), file.len() as u64, 64, 20).is_err());
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
    let source = Cut(&file);
    let found = rows(&read_in_parts(&source, file.len() as u64, 64, 6).expect("no error"));
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
fn a_type_is_kept_once() {
    let kinds = ["summary", "user", "assistant", "attachment", "b", ""];
    assert_eq!(read_all(&session(), 4096).kinds(), kinds);
    let all = read_in_parts(&&session().repeat(9)[..], session().len() as u64 * 9, 64, 7).expect("memory can be read");
    assert_eq!(all.kinds(), kinds);
}

#[test]
fn types_without_number_are_told_all_the_same() {
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
    let rows = read_tree(&folder.open("session", &session())).expect("can be read").rows;
    assert_eq!((rows.len(), rows.lines, rows.damage.count), (13, 14, 3));
}

#[test]
fn a_line_that_only_the_slow_walk_takes_does_not_disturb_the_next_one() {
    let good = br#"{"parentUuid":"a","message":"x\n\"y\"","type":"user","uuid":"b"}"#;
    let odd: [&[u8]; 8] = [b"", b"\\", b"\"\\", b"{\"a\":\"x", b"{\"a\":\"\\\\\\", b" {}", b"{}\r\r", b"{\"a\":\"\0\\"];
    for before in 0..70 {
        for odd in odd {
            let file = [&b" ".repeat(before)[..], odd, b"\n", good, b"\n", odd, b"\r\n", good, b"\n"].concat();
            for buffer_bytes in [50, 10_000] {
                let tree = read_all(&file, buffer_bytes);
                assert_eq!((rows(&tree), tree.lines, tree.damage.count), full_parse(&file));
            }
        }
    }
}

#[test]
fn records_hang_together_as_when_they_are_looked_up_one_by_one() {
    let names = ["a", "b", "", "01234567-89ab-cdef-0246-8ace13579bdf", "01234567-89AB-CDEF-0246-8ACE13579BDF"];
    let mut seed = 1_u32;
    let mut next = |count: usize| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 16) as usize % count
    };
    for count in (0..70).chain([200]) {
        let said: Vec<_> = (0..count).map(|_| [names.get(next(6)), names.get(next(6))]).collect();
        let line = |[uuid, parent]: &[Option<&&str>; 2]| {
            let member = |name: &str, said: Option<&&str>| said.map(|said| format!("\"{name}\":\"{said}\","));
            format!(
                "{{{}{}\"type\":\"t\"}}\n",
                member("uuid", *uuid).unwrap_or_default(),
                member("parentUuid", *parent).unwrap_or_default()
            )
        };
        let file: String = said.iter().map(line).collect();
        let index = Index::new(read_all(file.as_bytes(), 500));
        let find = |name: &str| said.iter().position(|[uuid, _]| uuid.is_some_and(|uuid| *uuid == name));
        for name in names {
            assert_eq!(index.find(name), find(name));
        }
        let is_first = |place: usize| said[place][0].is_some_and(|uuid| find(uuid) == Some(place));
        let parent = |place: usize| said[place][1].and_then(|parent| find(parent));
        for place in 0..count {
            assert_eq!(index.is_first(place), is_first(place));
            assert_eq!(index.parent(place), parent(place));
            let children = (0..count).filter(|&at| is_first(at) && parent(at) == Some(place) && at != place);
            assert!(index.children(place).eq(children.filter(|_| is_first(place))));
        }
        let all = (0..count).filter(|&place| said[place][0].is_none() || is_first(place));
        assert!(index.of_type("t", 0..count).into_iter().eq(all));
    }
}

fn signs_of(line: &str) -> (u8, u32) {
    let index = Index::new(read_all(format!("{line}\n").as_bytes(), 4096));
    (index.signs()[0], index.files()[0])
}

#[test]
fn only_a_message_that_surely_holds_no_word_of_the_users_is_quiet() {
    let result = r#"{"tool_use_id":"1","type":"tool_result","content":[{"type":"text","text":"out"}]}"#;
    let quiet = |line: &str| signs_of(line).0 & signs::QUIET != 0;
    let of = |content: &str| format!(r#"{{"type":"user","message":{{"role":"user","content":{content}}},"uuid":"a"}}"#);
    assert!(quiet(&of(&format!("[{result}]"))));
    assert!(quiet(&of(&format!("[ {result} , {result} ]"))));
    assert!(quiet(r#"{"type":"user","isCompactSummary":true,"message":{"content":"So far."}}"#));
    let says_more = [
        String::from("[]"),
        String::from(r#""Go.""#),
        format!(r#"[{result},{{"type":"text","text":"Go."}}]"#),
        format!(r#"[{{"type":"text","text":"Go."}},{result}]"#),
        format!(r#"[{result},"Go."]"#),
        format!(r#"[{result},{{"text":"Go."}}]"#),
        format!(r#"[{{"text":"Go."}},{result}]"#),
        format!("[{result},[]]"),
        format!(r#"{{"0":{result}}}"#),
        format!(r#"[{result}],"content":"Go.""#),
        format!(r#"[{result}],"\u0063ontent":"Go.""#),
        String::from(r#"[{"type":"tool_result","type":"text","text":"Go."}]"#),
        String::from(r#"[{"type":"tool_result","\u0074ype":"text","text":"Go."}]"#),
        String::from(r#"[{"type":["tool_result"],"text":"Go."}]"#),
    ];
    for content in says_more {
        assert!(!quiet(&of(&content)), "{content}");
    }
    assert!(!quiet(&format!(r#"{{"type":"user","message":{{"content":[{result}]}},"message":"Go."}}"#)));
    assert!(!quiet(&format!(r#"{{"type":"user","x":{{"content":[{result}]}},"message":{{"content":"Go."}}}}"#)));
}

#[test]
fn records_that_name_the_same_file_have_the_same_number() {
    let call = |name: &str, path: &str| {
        format!(r#"{{"type":"tool_use","id":"1","name":"{name}","input":{{"file_path":"{path}"}}}}"#)
    };
    let of = |blocks: &str| format!(r#"{{"type":"assistant","message":{{"content":[{blocks}]}}}}"#);
    let lines = [
        of(&call("Read", "/a")),
        of(&call("Edit", "/b")),
        of(&call("Write", "/a")),
        of(&call("Bash", "/b")).replace("file_path", "command"),
        of(&format!("{},{}", call("Read", "/a"), call("Read", "/b"))),
        of(&call("Read", "/a")).replace("file_path", "\\u0066ile_path"),
    ];
    let file = lines.map(|line| line + "\n").concat();
    for parts in [1, 3] {
        let rows = read_in_parts(&file.as_bytes(), file.len() as u64, 4096, parts).expect("memory can be read");
        assert_eq!(Index::new(rows).files(), [1, 2, 1, 0, u32::MAX, u32::MAX]);
    }
}

#[test]
fn a_record_that_was_walked_in_pieces_is_unseen() {
    let line = format!(r#"{{"uuid":"a","isSidechain":true,"forkedFrom":null,"x":"{}"}}"#, "x".repeat(300));
    let rows = read_all(format!("{line}\n").as_bytes(), 64);
    let wanted = signs::FIRST | signs::UNSEEN | signs::ASIDE | signs::SOURCE;
    assert_eq!((Index::new(rows.clone()).signs(), Index::new(rows).files()), (vec![wanted], &[u32::MAX][..]));
}

#[test]
fn what_may_start_or_end_a_task_or_name_a_source_is_marked() {
    let lines = [
        (r#"{"toolUseResult":{"backgroundTaskId":"x"}}"#, signs::TASK),
        (r#"{"toolUseResult":{"stdout":{"agentId":"x"}}}"#, 0),
        (r#"{"message":{"content":[{"type":"tool_use","name":"KillShell"}]}}"#, signs::TASK),
        (r#"{"sessionId":"s","session_id":"s"}"#, 0),
        (r#"{"sessionId":"s","session_id":"t"}"#, signs::SOURCE),
        (r#"{"forkedFrom":{},"isMeta":false,"teamName":null}"#, signs::SOURCE),
        (r#"{"isMeta":true,"type":"user"}"#, signs::ASIDE | signs::USER),
    ];
    for (line, wanted) in lines {
        assert_eq!(signs_of(line).0, wanted, "{line}");
    }
}
