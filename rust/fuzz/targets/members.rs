//! The objects of a line and their members: the walk, in one piece and in many, and the fast walk of a whole object.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rehydrate::members::{Progress, elements, only_object, walk_line};
use rehydrate::text;
use rehydrate::walker::{Keys, Span, Walker};
use rehydrate::whole::Objects;
use rehydrate::window::{OnDisk, Window};
use rehydrate_fuzz::{Dice, Stingy, twin};

const NAMES: [&str; 6] = ["step_index", "type", "uuid", "a", "", "\u{e9}"];

type Found = Vec<(Span, Vec<Option<Span>>)>;

fuzz_target!(|line: &[u8]| {
    let keys = Keys::new(&NAMES.map(str::as_bytes));
    let (objects, is_damaged) = twin::objects(line);
    let members = |value: &twin::Value| NAMES.map(|name| value.member(name)).to_vec();
    let wanted: Found = objects.iter().map(|(at, value)| ((*at, value.end), members(value))).collect();

    let mut window = line;
    assert_eq!(walk(&mut window, &keys, usize::MAX), (wanted.clone(), is_damaged));
    let mut dice = Dice::of(line);
    for _ in 0..2 {
        let mut buffer = vec![0; dice.buffer_bytes(line.len()).max(1)];
        let source = Stingy(line);
        let mut window = OnDisk::new(&source, 0, line.len(), &mut buffer);
        assert_eq!(walk(&mut window, &keys, 1 + dice.below(3)), (wanted.clone(), is_damaged));
    }

    let only = if is_damaged || wanted.len() != 1 { None } else { Some(wanted[0].0) };
    assert_eq!(only_object(line, &keys, &mut Walker::new()), only);

    let mut spans = Vec::new();
    if let Some(end) = Objects::new(line).end(0, &keys, &mut spans) {
        let value = twin::value(line, 0).expect("a whole object");
        assert_eq!((end, spans), (value.end, members(&value)));
    }
    for (_, value) in &objects {
        check_members(line, value);
    }
});

/// What a walk visits, when the visitor has no room for more than `room` objects at once.
fn walk(window: &mut impl Window, keys: &Keys, room: usize) -> (Found, bool) {
    let (mut found, mut progress, mut walker) = (Vec::new(), Progress::default(), Walker::new());
    loop {
        let full = found.len().saturating_add(room);
        let is_read = walk_line(window, &mut walker, keys, &mut progress, |_, span, spans| {
            let is_taken = found.len() < full;
            if is_taken {
                found.push((span, spans.to_vec()));
            }
            Ok(is_taken)
        });
        if is_read.expect("memory can be read") {
            return (found, progress.is_damaged);
        }
    }
}

/// What the bytes of a value say.
fn check_members(line: &[u8], object: &twin::Value) {
    for &(_, (start, end)) in object.members.iter().flatten() {
        let raw = &line[start..end];
        let value = twin::value(line, start).expect("a whole value");
        assert_eq!(value.end, end);
        assert_eq!(text::integer(raw), twin::integer(raw));
        let string = twin::string(raw);
        assert_eq!(text::string(raw).as_deref(), string.as_deref());
        if let Some(string) = string {
            assert!(text::equals(&raw[1..raw.len() - 1], string.as_bytes()));
        }
        let wanted = value.elements.map(|all| all.iter().map(|&(from, to)| &line[from..to]).collect::<Vec<_>>());
        assert_eq!(elements(raw), wanted);
    }
}
