//! Chosen records: any filter, any range, any buffer, from any line, of an open or a closed file.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rehydrate::records::Damage;
use rehydrate::steps::{Batch, Choice, Filter, Inner};
use rehydrate_fuzz::{Dice, Stingy, twin};

const MEMBERS: [&str; 5] = ["step_index", "type", "source", "status", "created_at"];

/// What is asked for.
struct Question {
    /// Member and the names it may say, for each filter.
    filters: Vec<(usize, Vec<&'static str>)>,
    range: Option<(i64, i64)>,
    /// Whole steps, not only their members.
    is_whole: bool,
    is_closed: bool,
}

/// A record: its step, place, bytes, members, and where a later read goes on.
#[derive(Debug, PartialEq)]
struct Row {
    step: Option<i64>,
    offset: usize,
    raw: Vec<u8>,
    members: Vec<Option<Vec<u8>>>,
    next: usize,
}

fuzz_target!(|file: &[u8]| {
    let mut dice = Dice::of(file);
    for _ in 0..3 {
        let question = ask(&mut dice);
        let lines = twin::lines(file);
        let first = dice.below(lines.len() + 1);
        let start = lines.get(first).map_or(0, |line| line.offset);
        let buffer_bytes = dice.buffer_bytes(file.len());
        let found = read(file, &question, start, buffer_bytes);
        let wanted = read_naively(file, &question, start);
        assert_eq!(found, wanted, "buffer of {buffer_bytes}, from {start}");
    }
});

fn ask(dice: &mut Dice) -> Question {
    let mut names = |few: usize| {
        let all = ["CHECKPOINT", "A", "user", "\u{e9}", "", "a/b", "\u{fffd}"];
        (0..dice.below(few)).map(|_| all[dice.below(all.len())]).collect::<Vec<_>>()
    };
    let filters = [(1, names(4)), (3, names(2))];
    let count = dice.below(3);
    let filters = filters.into_iter().take(count).collect();
    let range = [None, None, Some((0, 5)), Some((-3, i64::MAX))][dice.below(4)];
    let is_whole = dice.below(2) == 0;
    Question { filters, range: range.filter(|_| is_whole), is_whole, is_closed: dice.below(2) == 0 }
}

fn read(file: &[u8], question: &Question, start: usize, buffer_bytes: usize) -> (Vec<Row>, Damage, usize) {
    let bytes = |name: &&str| name.as_bytes().to_vec();
    let choice = if question.is_whole {
        let types = question.filters.iter().find(|(member, _)| *member == 1).map(|(_, names)| names.iter().map(bytes));
        Choice::steps(types.map(Iterator::collect), question.range)
    } else {
        let filters = question.filters.iter();
        let filters =
            filters.map(|(member, names)| Filter { member: *member, names: names.iter().map(bytes).collect() });
        Choice::members(MEMBERS.iter().map(bytes).collect(), filters.collect())
    };
    let source = Stingy(file);
    let mut inner = Inner::new(choice, start as u64, file.len() as u64, question.is_closed, buffer_bytes);
    let mut rows = Vec::new();
    loop {
        let mut batch = Batch::default();
        inner.batch(&source, &mut batch).expect("memory can be read");
        if batch.rows.is_empty() {
            return (rows, inner.damage().clone(), inner.end() as usize);
        }
        for (at, row) in batch.rows.iter().enumerate() {
            let members = (0..MEMBERS.len()).map(|member| batch.value(at, member).map(<[u8]>::to_vec)).collect();
            let offset = row.offset as usize;
            let raw = file[offset..offset + row.length].to_vec();
            if question.is_whole {
                assert_eq!(batch.bytes[row.raw.0..row.raw.1], raw);
            }
            rows.push(Row { step: row.step, offset, raw, members, next: row.next as usize });
        }
    }
}

fn read_naively(file: &[u8], question: &Question, start: usize) -> (Vec<Row>, Damage, usize) {
    let (mut rows, mut damage) = (Vec::new(), Damage::default());
    // Of whole steps only the type is asked.
    let filters: Vec<_> = question.filters.iter().filter(|(member, _)| !question.is_whole || *member == 1).collect();
    let mut end = start;
    for line in twin::lines(file).iter().filter(|line| line.offset >= start) {
        end = line.offset + 1 + file[line.offset..].iter().position(|&byte| byte == b'\n').expect("a complete line");
        if line.is_blank() || filters.iter().any(|(_, names)| says_none(line, names)) {
            continue;
        }
        let (objects, is_damaged) = twin::objects(line.content);
        if is_damaged {
            damage.count += 1;
            if damage.offsets.len() < 16 {
                damage.offsets.push(line.offset as u64);
            }
        }
        let before = rows.len();
        rows.extend(objects.iter().filter_map(|object| pick(line, object, question, &filters, line.offset)));
        if let Some(last) = rows[before..].last_mut() {
            last.next = end;
        }
    }
    if question.is_closed {
        let rest = [&file[end..], b"\n"].concat();
        let mark = if end == 0 && rest.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        // Nothing is taken off its end: it has none.
        let line = twin::Line { offset: end, content_offset: end + mark, content: &file[end + mark..] };
        if let (objects, false) = twin::objects(line.content)
            && let [object] = &objects[..]
        {
            rows.extend(pick(&line, object, question, &filters, end));
        }
    }
    (rows, damage, end)
}

/// Whether a line provably says none of these names: none of them could be written otherwise than by `\u00` escapes.
fn says_none(line: &twin::Line<'_>, names: &[&str]) -> bool {
    let is_plain = |name: &&str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric());
    names.iter().all(is_plain) && !names.iter().any(|name| line.holds(name.as_bytes())) && !line.holds(b"\\u00")
}

fn pick(
    line: &twin::Line<'_>,
    (at, value): &(usize, twin::Value),
    question: &Question,
    filters: &[&(usize, Vec<&'static str>)],
    next: usize,
) -> Option<Row> {
    let raw = |name: &str| value.member(name).map(|(from, to)| line.content[from..to].to_vec());
    for (member, names) in filters {
        let said = raw(MEMBERS[*member]).and_then(|raw| twin::string(&raw))?;
        if !names.contains(&said.as_str()) {
            return None;
        }
    }
    let step = raw("step_index").and_then(|raw| twin::integer(&raw)).filter(|_| question.is_whole);
    if question.range.is_some_and(|(first, last)| !step.is_some_and(|step| (first..=last).contains(&step))) {
        return None;
    }
    let members = MEMBERS.map(raw).to_vec();
    Some(Row { step, offset: line.content_offset + at, raw: line.content[*at..value.end].to_vec(), members, next })
}
