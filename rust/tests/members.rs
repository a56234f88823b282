//! Members and objects of one line, held against a recursive parser.
#![allow(missing_docs)]

mod naive;

use naive::{parse, walk, walk_in_pieces};
use rehydrate::members::{Progress, elements, only_object, walk_line};
use rehydrate::text;
use rehydrate::walker::{Keys, Walker};

const WHOLE: &[&str] = &[
    "{}",
    "{ }",
    r#"{"a":1}"#,
    r#"{"a":-0,"b":0.5,"c":1E+9,"d":-1.25e-3}"#,
    r#"{"a":NaN,"b":Infinity,"c":-Infinity}"#,
    r#"{"a":[],"b":[ ],"c":[1, [2,{"d":{}}] ],"e":null,"f":true,"g":false}"#,
    r#"{"a":"\"\\\/\b\f\n\r\t\u00e9\ud800"}"#,
    "{\"a\":\"raw \u{1} control \u{0} and é\"}",
    "{\t\"a\" :\r 1 }",
    r#"{"a":"}{","b":"[{"}"#,
];

const BROKEN: &[&str] = &[
    r#"{"a":01}"#,
    r#"{"a":1.}"#,
    r#"{"a":.5}"#,
    r#"{"a":+1}"#,
    r#"{"a":1e}"#,
    r#"{"a":--1}"#,
    r#"{"a":-}"#,
    r#"{"a":nul}"#,
    r#"{"a":nulll}"#,
    r#"{"a":-Inf}"#,
    r#"{"a":"\x"}"#,
    r#"{"a":"\u12g4"}"#,
    r#"{"a":1,}"#,
    r#"{,"a":1}"#,
    r#"{"a" 1}"#,
    r#"{"a":}"#,
    "{a:1}",
    r#"{"a":[1,]}"#,
    r#"{"a":[1 2]}"#,
    r#"{"a":[}]}"#,
    r#"{"a":(1)}"#,
    "{\"a\":\u{0}1}",
    "{\"a\":1\u{feff}}",
    r#"{"a":1"#,
    r#"{"a":"b"#,
    "{",
];

#[test]
fn a_whole_object_is_one_record() {
    for line in WHOLE {
        assert_eq!(walk(line.as_bytes()), (vec![(0, line.len())], false), "{line}");
        assert_eq!(parse(line.as_bytes(), 0).map(|found| found.0), Some(line.len()), "{line}");
    }
}

#[test]
fn a_broken_object_is_damage_and_no_record() {
    for line in BROKEN {
        assert_eq!(walk(line.as_bytes()), (vec![], true), "{line}");
        assert!(parse(line.as_bytes(), 0).is_none_or(|found| found.0 < line.len()), "{line}");
    }
}

#[test]
fn other_values_are_damage_and_hide_what_they_hold() {
    for line in ["null", "12", "1.5e3", "\"x{}\"", "[]", r#"[{"a":1}]"#, "NaN", "{}x", "x", "}", ",", "12 {}x"] {
        let (found, is_damaged) = walk(line.as_bytes());
        assert!(is_damaged, "{line}");
        assert!(found.iter().all(|span| span.1 - span.0 == 2), "{line}: {found:?}");
    }
    assert_eq!(walk(br#"[{"a":1}]"#).0, []);
    assert_eq!(walk(b"\"x{}\"").0, []);
}

#[test]
fn filler_between_objects_is_skipped() {
    for line in ["", " ", "\0\0", " \t\r\0 "] {
        assert_eq!(walk(line.as_bytes()), (vec![], false), "{line:?}");
    }
    assert_eq!(walk(b"\0\0 {} \0{}\0"), (vec![(3, 5), (7, 9)], false));
}

#[test]
fn whole_objects_are_found_behind_and_before_broken_ones() {
    let cases: &[(&str, &[&str])] = &[
        (r#"{"s":1}{"s":2}"#, &[r#"{"s":1}"#, r#"{"s":2}"#]),
        (r#"{"a":"torn{"s":2}"#, &[r#"{"s":2}"#]),
        (r#"{"a":"torn\{"s":2}"#, &[r#"{"s":2}"#]),
        (r#"{"a":"torn\u00{"s":2}"#, &[r#"{"s":2}"#]),
        (r#"{"m":{"x":1}{"s":2}"#, &[r#"{"s":2}"#]),
        (r#"{"m":{"x":1}"s""#, &[]),
        (r#"{"m":[{"x":1},{"x":2}],"t{"s":2,"m":{"y":1}}"#, &[r#"{"s":2,"m":{"y":1}}"#]),
        (r#"{"a":{"s":2}"#, &[r#"{"s":2}"#]),
        (r#"{"a":[{"s":2}"#, &[r#"{"s":2}"#]),
        (r#"{"a":[{"x":1},{"s":{"y":2}}"#, &[r#"{"s":{"y":2}}"#]),
        (r#"{{"s":1}"#, &[r#"{"s":1}"#]),
        (r#"{"a":1}junk"#, &[r#"{"a":1}"#]),
        (r#"junk{"a":1}junk"#, &[r#"{"a":1}"#]),
        (r#"{"a":{"b":1},"c"#, &[]),
        (r#"{"a":{"b":1},"c":"#, &[]),
        (r#"{"a":"x{}"#, &["{}"]),
        (r#"{"bad":"x{"s":1}{"s":2}"#, &[r#"{"s":1}"#, r#"{"s":2}"#]),
        (r#"tent":"x"}{"s":3}"#, &[r#"{"s":3}"#]),
    ];
    for (line, wanted) in cases {
        let (found, is_damaged) = walk(line.as_bytes());
        let found: Vec<&str> = found.iter().map(|&(start, end)| &line[start..end]).collect();
        assert_eq!(&found, wanted, "{line}");
        assert_eq!(is_damaged, !line.starts_with(r#"{"s":1}{"#), "{line}");
    }
}

#[test]
fn a_line_torn_anywhere_yields_just_the_object_written_behind_it() {
    let torn =
        r#"{"step_index": 1, "m": [{"x": 1}, {"y": [1, "a\n{\"b\""]}], "n": {"z": {}}, "t": "a\u00e9", "e": -1.5e3}"#;
    for next in [r#"{"step_index":2,"type":"A","m":{"a":[{}]}}"#, r#"{ "s" : "}{" }"#] {
        for cut in 1..torn.len() {
            let line = format!("{}{next}", &torn[..cut]);
            let wanted = (vec![(cut, line.len())], true);
            assert_eq!(walk(line.as_bytes()), wanted, "{line}");
        }
    }
}

#[test]
fn pieces_of_any_size_give_the_same() {
    let mut lines: Vec<Vec<u8>> = WHOLE.iter().chain(BROKEN).map(|line| line.as_bytes().to_vec()).collect();
    lines.extend(naive::mixed().split(|&byte| byte == b'\n').map(<[u8]>::to_vec));
    for line in lines {
        let wanted = walk(&line);
        for buffer_bytes in 1..=7 {
            assert_eq!(walk_in_pieces(&line, buffer_bytes), wanted, "{}", String::from_utf8_lossy(&line));
        }
    }
}

#[test]
fn every_truncation_says_what_the_recursive_parser_says() {
    for line in WHOLE {
        for end in 0..line.len() {
            let cut = &line.as_bytes()[..end];
            let is_whole = parse(cut, 0).is_some_and(|found| found.0 == end && found.1.is_some());
            let (found, _) = walk(cut);
            assert_eq!(found.contains(&(0, end)), is_whole, "{line} cut at {end}");
        }
    }
}

#[test]
fn depth_has_no_limit_and_costs_no_more_than_its_length() {
    let deep = format!("{{\"a\":{}{}}}", "[".repeat(200_000), "]".repeat(200_000));
    assert_eq!(walk(deep.as_bytes()), (vec![(0, deep.len())], false));
    for unclosed in ["{\"a\":", "{", "[", "{\"{", "{ ", "\"{"] {
        let line = unclosed.repeat(200_000);
        assert!(walk(line.as_bytes()).1, "{unclosed}");
    }
}

fn members(line: &str, names: &[&[u8]]) -> Vec<Option<String>> {
    let mut window = line.as_bytes();
    let mut found = Vec::new();
    walk_line(&mut window, &mut Walker::new(), &Keys::new(names), &mut Progress::default(), |_, _, spans| {
        found = spans.iter().map(|span| span.map(|(start, end)| line[start..end].to_owned())).collect();
        Ok(true)
    })
    .expect("memory can be read");
    found
}

#[test]
fn only_top_level_members_count_and_the_last_of_a_name() {
    let line = r#"{"b":{"a":1},"c":[{"a":2}],"x":"\"a\":3","a":4,"a" : [5, 6] , "d":7}"#;
    assert_eq!(members(line, &[b"a", b"d", b"e"]), [Some("[5, 6]".into()), Some("7".into()), None]);
}

#[test]
fn an_escaped_key_is_the_same_key() {
    for key in [
        "step_index",
        r"step\u005findex",
        r"\u0073tep_inde\u0078",
        r"\u0073\u0074\u0065\u0070\u005F\u0069\u006e\u0064\u0065\u0078",
    ] {
        assert_eq!(members(&format!(r#"{{"{key}":1}}"#), &[b"step_index"]), [Some("1".into())], "{key}");
    }
    for key in ["step_inde", "step_indexx", r"step\\u005findex", "", &"step_index".repeat(50)] {
        assert_eq!(members(&format!(r#"{{"{key}":1}}"#), &[b"step_index"]), [None], "{key}");
    }
    assert_eq!(
        members("{\"\u{e9}\":1,\"\\u00e9x\":2}", &["\u{e9}".as_bytes(), "\u{e9}x".as_bytes()]),
        [Some("1".into()), Some("2".into())]
    );
}

#[test]
fn integers_are_what_json_gives_as_integers_within_64_bits() {
    let cases: &[(&str, Option<i64>)] = &[
        ("7", Some(7)),
        ("-3", Some(-3)),
        ("-0", Some(0)),
        ("9223372036854775807", Some(i64::MAX)),
        ("-9223372036854775808", Some(i64::MIN)),
        ("9223372036854775808", None),
        ("7.0", None),
        ("1e3", None),
        ("\"7\"", None),
        ("true", None),
        ("null", None),
        ("", None),
        ("-", None),
    ];
    for (raw, wanted) in cases {
        assert_eq!(text::integer(raw.as_bytes()), *wanted, "{raw}");
    }
}

#[test]
fn text_is_decoded_with_replacement() {
    let cases: &[(&[u8], &str)] = &[
        (br#""a\"\\\/\b\f\n\r\tb""#, "a\"\\/\u{8}\u{c}\n\r\tb"),
        (br#""\ud83d\ude00""#, "😀"),
        (br#""\ud83d""#, "\u{fffd}"),
        (br#""\ude00\ud83d""#, "\u{fffd}\u{fffd}"),
        (br#""\ud83d\ud83d\ude00x""#, "\u{fffd}😀x"),
        (br#""\ud83d\n""#, "\u{fffd}\n"),
        (b"\"a\xffb\xe2\x82\"", "a\u{fffd}b\u{fffd}"),
        (b"\"\xed\xa0\x80\"", "\u{fffd}\u{fffd}\u{fffd}"),
    ];
    for (raw, wanted) in cases {
        assert_eq!(text::string(raw).as_deref(), Some(*wanted));
    }
    assert_eq!(text::string(b"7"), None);
}

#[test]
fn the_elements_of_an_array() {
    let raw: &[u8] = br#"[1, "a,]" ,[2,3],{"b":[]} ]"#;
    let wanted: [&[u8]; 4] = [b"1", br#""a,]""#, b"[2,3]", br#"{"b":[]}"#];
    assert_eq!(elements(raw).as_deref(), Some(&wanted[..]));
    assert_eq!(elements(b"[ ]"), Some(vec![]));
    assert_eq!(elements(b"{}"), None);
}

#[test]
fn the_ends_of_lines_in_a_text_are_text_and_end_no_walk() {
    for text in [&b"\n"[..], b"\\n\n", b"\\\"\n\n\\\\", b"x\\n\n\nx\\u00e9\n"] {
        for count in [1, 30, 300] {
            let raw = [b"{\"a\":\"", &text.repeat(count)[..], b"\",\n\"b\":[\n1]\n}"].concat();
            let (keys, mut walker) = (Keys::new(&[b"b"]), Walker::new());
            assert_eq!(only_object(&raw, &keys, &mut walker), Some((0, raw.len())));
            assert_eq!(walker.spans, [Some((raw.len() - 6, raw.len() - 2))]);
        }
    }
}
