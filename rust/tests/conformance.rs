//! Lines that are JSON, lines that are not, and those where JSON's readers differ: `tests/data/json` says what each is.
#![allow(missing_docs)]

mod naive;

use std::fs;
use std::path::{Path, PathBuf};

use naive::twin;
use naive::walk;
use rehydrate::lines;

fn cases(folder: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/json").join(folder);
    let names = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    names.map(|path| (path.clone(), fs::read(path).expect("a file"))).collect()
}

/// What the crate and the twin say of a line: whether it is one whole object, and undamaged.
fn verdicts(file: &[u8]) -> [bool; 2] {
    let content = lines::content(file.strip_suffix(b"\n").expect("a line"), 0).1;
    let (walked, (named, is_damaged)) = (walk(content), twin::objects(content));
    [walked.0.len() == 1 && !walked.1, named.len() == 1 && !is_damaged]
}

#[test]
fn what_is_json_is_read_whole() {
    for (path, file) in [cases("accepted"), cases("ours-accepted")].concat() {
        assert_eq!(verdicts(&file), [true, true], "{}", path.display());
    }
}

#[test]
fn what_is_not_is_damage() {
    for (path, file) in [cases("rejected"), cases("ours-rejected")].concat() {
        assert_eq!(verdicts(&file), [false, false], "{}", path.display());
    }
}
