//! `read_tree`: any buffer, any number of parts.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rehydrate::ids::Id;
use rehydrate::tree::read_in_parts;
use rehydrate::uuid;
use rehydrate_fuzz::{Dice, Stingy, twin};

/// What a record says (`uuid`, `parentUuid`, `type`), and where it is.
type Row = ([Option<String>; 3], u64, usize);

#[derive(Debug, Default, PartialEq)]
struct Tree {
    rows: Vec<Row>,
    lines: u64,
    damaged: u64,
    damaged_offsets: Vec<u64>,
}

fuzz_target!(|file: &[u8]| {
    let mut dice = Dice::of(file);
    let wanted = read_naively(file);
    for _ in 0..3 {
        let (buffer_bytes, parts) = (dice.buffer_bytes(file.len()), dice.below(10) as u64);
        assert_eq!(read(file, buffer_bytes, parts), wanted, "buffer of {buffer_bytes}, {parts} parts");
    }
});

fn read(file: &[u8], buffer_bytes: usize, parts: u64) -> Tree {
    let rows = read_in_parts(&Stingy(file), file.len() as u64, buffer_bytes, parts).expect("memory can be read");
    let text = |id: Option<Id<'_>>| id.map(|id| id.text(&mut [0; uuid::BYTES]).to_owned());
    let row = |place| {
        let entry = rows.get(place);
        let kind = entry.kind.map(|kind| rows.kinds()[kind].clone());
        ([text(entry.uuid), text(entry.parent), kind], entry.offset, entry.length)
    };
    Tree {
        rows: (0..rows.len()).map(row).collect(),
        lines: rows.lines,
        damaged: rows.damage.count,
        damaged_offsets: rows.damage.offsets.clone(),
    }
}

fn read_naively(file: &[u8]) -> Tree {
    let mut tree = Tree::default();
    for line in twin::lines(file).iter().filter(|line| !line.is_blank()) {
        let (objects, is_damaged) = twin::objects(line.content);
        tree.lines += 1;
        if is_damaged {
            tree.damaged += 1;
            tree.damaged_offsets.push(line.offset as u64);
        }
        for (at, value) in objects {
            let says = |name: &str| value.member(name).and_then(|(from, to)| twin::string(&line.content[from..to]));
            let said = ["uuid", "parentUuid", "type"].map(says);
            tree.rows.push((said, (line.content_offset + at) as u64, value.end - at));
        }
    }
    tree.damaged_offsets.truncate(16);
    tree
}
