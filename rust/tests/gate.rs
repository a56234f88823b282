//! The gate says *nothing to do* only on proof: every condition, broken one at a time.
#![allow(missing_docs)]

mod naive;

use std::fs::{self, Permissions};
use std::io::Write;
use std::os::fd::AsFd;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use naive::{ALWAYS, Folder};
use rehydrate::cursor::Cursor;
use rehydrate::gate::{decide, gate};
use rehydrate::tail::scan_tail;

const TRANSCRIPT: &[u8] = b"{\"step_index\":0,\"type\":\"USER_INPUT\"}\n{\"step_index\":1,\"type\":\"CHECKPOINT\"}\n";

struct Scene {
    folder: Folder,
    transcript: PathBuf,
}

impl Scene {
    fn new() -> Self {
        let folder = Folder::new();
        let transcript = folder.write("transcript_full.jsonl", TRANSCRIPT);
        folder.write("transcript.jsonl", b"{}\n");
        let scene = Self { folder, transcript };
        scene.write_state(&scene.state());
        scene
    }

    fn cursor(&self) -> Cursor {
        scan_tail(&rehydrate::open::open(&self.transcript).expect("open"), None).expect("readable").cursor
    }

    fn state(&self) -> String {
        let (path, cursor) = (self.transcript.display(), self.cursor());
        let folder = self.transcript.parent().and_then(Path::file_name).expect("a folder").display();
        format!(
            "{{\"version\":2,\"client\":\"antigravity\",\"conversation\":\"{folder}\",\"transcript\":\"{path}\",\
             \"cursor\":[1,{},\"{:08x}\"],\"last_checkpoint\":null,\"done\":null,\"delivery\":null,\
             \"workspaces\":[\"/a\",\"/b c\"],\"lineage\":null,\"error\":null,\"writes\":1}}\n",
            cursor.offset, cursor.crc
        )
    }

    fn write_state(&self, state: &str) {
        let path = self.folder.write("rehydrate_state.json", state.as_bytes());
        fs::set_permissions(path, Permissions::from_mode(0o600)).expect("a mode");
    }

    fn payload(&self, name: &str) -> String {
        format!("{{\"transcriptPath\":\"{}\",\"workspacePaths\":[\"/b c\"]}}", self.folder.path(name).display())
    }

    fn is_quiet(&self) -> bool {
        decide(self.payload("transcript_full.jsonl").as_bytes())
    }

    fn is_quiet_with_state(&self, from: &str, to: &str) -> bool {
        let state = self.state();
        assert!(state.contains(from), "{from}");
        self.write_state(&state.replace(from, to));
        self.is_quiet()
    }
}

#[test]
fn nothing_new_is_nothing_to_do() {
    let scene = Scene::new();
    assert!(scene.is_quiet());
    assert!(decide(scene.payload("transcript.jsonl").as_bytes()), "the uncut one beside it counts");
    assert!(decide(format!("\u{feff} {}", scene.payload("transcript.jsonl")).as_bytes()), "a byte order mark");
    assert!(decide(format!("  {} and more", scene.payload("transcript.jsonl")).as_bytes()));
}

#[test]
fn a_payload_that_tells_nothing_is_nothing_to_do() {
    for payload in ["", " ", "null", "[]", "7", "{", "{\"a\":", "{\"a\":1", "x{}", "\"a\""] {
        assert!(decide(payload.as_bytes()), "{payload}");
    }
}

#[test]
fn an_unusual_payload_is_left_to_python() {
    let scene = Scene::new();
    let path = scene.transcript.display();
    for payload in [
        "{}".to_owned(),
        "{\"transcriptPath\":null}".to_owned(),
        "{\"transcriptPath\":7}".to_owned(),
        "{\"transcriptPath\":\"transcript_full.jsonl\"}".to_owned(),
        "{\"transcriptPath\":\"/nowhere/transcript_full.jsonl\"}".to_owned(),
        format!("{{\"transcriptPath\":\"{path}x\"}}"),
        format!("{{\"transcriptPath\":\"{path}\",\"workspacePaths\":[\"/new\"]}}"),
        format!("{{\"transcriptPath\":\"{path}\",\"workspacePaths\":[7]}}"),
        format!("{{\"transcriptPath\":\"{path}\",\"workspacePaths\":\"/a\"}}"),
        format!("{{\"transcriptPath\":\"{path}\\ud800\"}}"),
        format!("{{\"transcriptPath\":\"{path}\\u0000\"}}"),
    ] {
        assert!(!decide(payload.as_bytes()), "{payload}");
    }
    for workspaces in ["null", "[]", "[\"/a\",\"/b c\"]", "[\"\\u002fa\"]"] {
        let payload = format!("{{\"transcriptPath\":\"{path}\",\"workspacePaths\":{workspaces}}}");
        assert!(decide(payload.as_bytes()), "{payload}");
    }
    assert!(decide(format!("{{\"transcriptPath\":\"{path}\"}}").as_bytes()));
}

#[test]
fn a_state_that_is_not_quite_ours_is_left_to_python() {
    let scene = Scene::new();
    let offset = format!("[1,{},", scene.cursor().offset);
    for (from, to) in [
        ("\"version\":2", "\"version\":3"),
        ("\"version\":2", "\"version\":2.0"),
        ("\"antigravity\"", "\"claude\""),
        ("transcript_full.jsonl", "transcript.jsonl"),
        ("\"delivery\":null", "\"delivery\":{\"status\":\"pending\"}"),
        ("\"delivery\":null", "\"delivery\":7"),
        ("\"delivery\":null", "\"delivery\":{\"step\":1,\"id\":\"x\",\"status\":\"sent\"}"),
        ("\"delivery\":null,", ""),
        ("\"done\":null", "\"done\":{\"step\":\"1\",\"id\":null}"),
        ("\"done\":null,", ""),
        ("\"lineage\":null,", ""),
        ("\"error\":null,", ""),
        ("\"last_checkpoint\":null,", ""),
        ("\"conversation\":\"", "\"conversation\":\"x"),
        ("\"writes\":1", "\"writes\":null"),
        (",\"writes\":1", ""),
        ("{\"version", "{\n\"version"),
        ("\"workspaces\":[\"/a\",\"/b c\"]", "\"workspaces\":null"),
        ("\"workspaces\":[\"/a\",\"/b c\"]", "\"workspaces\":[\"/a\"]"),
        (&offset, "[2,0,"),
        (&offset, "[1,-1,"),
        (&offset, "[1,0,"),
        (&offset, "[1,99999,"),
        ("\"cursor\":", "\"cursors\":"),
        ("}\n", "\n"),
        ("}\n", "} x\n"),
    ] {
        assert!(!scene.is_quiet_with_state(from, to), "{from} -> {to}");
    }
    assert!(scene.is_quiet_with_state(
        "\"delivery\":null",
        "\"delivery\":{\"step\":1,\"id\":\"x\",\"status\":\"sent\",\"tries\":1}"
    ));
    assert!(scene.is_quiet_with_state("\"done\":null", "\"done\":{\"step\":1,\"id\":null}"));
}

#[test]
fn a_state_that_others_could_write_is_left_to_python() {
    let scene = Scene::new();
    let state = scene.folder.path("rehydrate_state.json");
    for mode in [0o620, 0o602, 0o666] {
        fs::set_permissions(&state, Permissions::from_mode(mode)).expect("a mode");
        assert!(!scene.is_quiet(), "{mode:o}");
    }
    fs::set_permissions(&state, Permissions::from_mode(0o644)).expect("a mode");
    assert!(scene.is_quiet());
    fs::hard_link(&state, scene.folder.path("second")).expect("a hard link");
    assert!(!scene.is_quiet());
    fs::remove_file(&state).expect("removed");
    assert!(!scene.is_quiet(), "no state");
    symlink("second", &state).expect("a link");
    assert!(!scene.is_quiet(), "a link");
}

#[test]
fn new_bytes_are_read_and_only_a_boundary_or_their_number_asks() {
    let scene = Scene::new();
    let state = scene.state();
    let grow = |more: &[u8]| scene.folder.write("transcript_full.jsonl", &[TRANSCRIPT, more].concat());
    grow(b"{\"step_index\":2,\"content\":\"CHECKPOINT\"}\n{\"type\":\"CHECKPOINT\"");
    scene.write_state(&state);
    assert!(scene.is_quiet());
    grow(b"{\"step_index\":2,\"type\":\"CHECKPOINT\"}\n");
    assert!(!scene.is_quiet());
    grow(&b"{\"step_index\":2}\n".repeat(70_000));
    assert!(!scene.is_quiet(), "more than 1 MiB");
    scene.folder.write("transcript_full.jsonl", &TRANSCRIPT[..TRANSCRIPT.len() - 1]);
    assert!(!scene.is_quiet(), "shorter");
    scene.folder.write("transcript_full.jsonl", &TRANSCRIPT.to_ascii_lowercase());
    assert!(!scene.is_quiet(), "rewritten");
}

#[test]
fn the_cut_transcript_counts_where_there_is_no_uncut_one() {
    let scene = Scene::new();
    fs::rename(&scene.transcript, scene.folder.path("transcript.jsonl")).expect("renamed");
    let path = scene.folder.path("transcript.jsonl");
    let moved = Scene { transcript: path, folder: scene.folder };
    moved.write_state(&moved.state());
    assert!(decide(moved.payload("transcript.jsonl").as_bytes()));
    symlink("transcript.jsonl", moved.folder.path("transcript_full.jsonl")).expect("a link");
    assert!(decide(moved.payload("transcript.jsonl").as_bytes()), "a link is no uncut transcript");
    assert!(!decide(moved.payload("transcript_full.jsonl").as_bytes()));
}

#[test]
fn reading_stops_at_the_first_value_though_the_pipe_stays_open() {
    let scene = Scene::new();
    let (reader, mut writer) = std::io::pipe().expect("a pipe");
    let payload = scene.payload("transcript.jsonl");
    writer.write_all(payload.as_bytes()).expect("written");
    let start = Instant::now();
    assert_eq!(gate(reader.as_fd(), &ALWAYS).expect("never told to end"), (true, payload.into_bytes()));
    assert!(start.elapsed() < Duration::from_millis(800));
}

#[test]
fn an_unfinished_payload_is_given_up_after_a_second() {
    let (reader, mut writer) = std::io::pipe().expect("a pipe");
    writer.write_all(b" {\"transcriptPath\":").expect("written");
    let start = Instant::now();
    assert_eq!(gate(reader.as_fd(), &ALWAYS).expect("never told to end"), (true, b" {\"transcriptPath\":".to_vec()));
    assert!((800..3000).contains(&start.elapsed().as_millis()));
}

#[test]
fn the_end_of_input_ends_reading() {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(writer);
    assert_eq!(gate(reader.as_fd(), &ALWAYS).expect("never told to end"), (true, Vec::new()));
}
