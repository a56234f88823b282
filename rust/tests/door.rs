//! The front door as a process: it answers `{}` itself, or becomes the command behind it with the payload untouched.
#![allow(missing_docs)]

mod naive;

use std::ffi::OsStr;
use std::io::{Read, Write, pipe};
use std::os::unix::ffi::OsStrExt;
use std::process::{Command, Output, Stdio};

use naive::Folder;

/// There is something to do: nothing is known of any transcript.
const PAYLOAD: &[u8] = b"{\"transcriptPath\": \"/nowhere/transcript.jsonl\"}";
const NO_PAYLOAD: &[u8] = b"no payload";

fn door(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rehydrate-hook"));
    command.args(words).env_remove("REHYDRATE_OFF").env_remove("REHYDRATE_PURE");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn run(command: &mut Command, input: &[u8]) -> Output {
    let mut child = command.spawn().expect("the program");
    // Not all of it is read where it is too long, or none is needed.
    let _ = child.stdin.take().expect("a pipe").write_all(input);
    child.wait_with_output().expect("an end")
}

#[track_caller]
fn assert_answers(done: &Output, answer: &[u8]) {
    assert_eq!(String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(answer));
    assert_eq!((done.status.code(), &done.stderr[..]), (Some(0), &b""[..]));
}

#[test]
fn with_nothing_to_do_it_answers_and_starts_nothing() {
    assert_answers(&run(&mut door(&["echo", "started"]), NO_PAYLOAD), b"{}");
    assert_answers(&run(&mut door(&["echo", "started"]), b""), b"{}");
}

#[test]
fn the_payload_is_handed_over_byte_for_byte() {
    let odd = b"\xef\xbb\xbf {\"a\": \"\xff\\u0000\xc3\xa9\", \"b\": [1e400]}\n and more \0";
    for payload in [PAYLOAD, odd] {
        assert_answers(&run(&mut door(&["cat"]), payload), payload);
    }
}

#[test]
fn a_payload_of_one_mebibyte_is_handed_over_and_of_a_longer_one_nothing() {
    let mut payload = vec![b' '; 1024 * 1024];
    payload[0] = b'{';
    *payload.last_mut().expect("a byte") = b'}';
    assert_answers(&run(&mut door(&["cat"]), &payload), &payload);
    payload.insert(1, b' ');
    assert_answers(&run(&mut door(&["cat"]), &payload), b"{}");
}

#[test]
fn a_host_that_holds_its_end_open_is_answered() {
    for (input, answer) in [(PAYLOAD, PAYLOAD), (NO_PAYLOAD, b"{}"), (&PAYLOAD[..9], b"{}")] {
        let mut child = door(&["cat"]).spawn().expect("the program");
        let mut held = child.stdin.take().expect("a pipe");
        held.write_all(input).expect("it listens");
        let done = child.wait_with_output().expect("an end");
        assert_answers(&done, answer);
        drop(held);
    }
}

#[test]
fn words_that_are_no_text_reach_the_command() {
    let folder = Folder::new();
    // Other systems have no such names.
    let name: &[u8] = if cfg!(target_os = "linux") { b"a 'b' \xff" } else { b"a 'b'" };
    let program = folder.path("").join(OsStr::from_bytes(name));
    std::os::unix::fs::symlink("/bin/sh", &program).expect("a link");
    let mut command = door(&[]);
    command.arg(&program).args(["-c", "printf %s \"$0$1\""]).arg(OsStr::from_bytes(b"\xfe \n")).arg("*");
    let done = run(&mut command, PAYLOAD);
    assert_eq!((done.stdout, done.status.code()), (b"\xfe \n*".to_vec(), Some(0)));
}

#[test]
fn what_the_command_says_and_how_it_ends_is_passed_through() {
    let done = run(&mut door(&["sh", "-c", "echo out; echo err >&2; exit 3"]), PAYLOAD);
    assert_eq!((&done.stdout[..], &done.stderr[..], done.status.code()), (&b"out\n"[..], &b"err\n"[..], Some(3)));
}

#[test]
fn the_command_gets_no_other_file() {
    let done = run(&mut door(&["sh", "-c", "for n in 3 4 5 6; do [ -e /dev/fd/$n ] && echo $n; done; cat"]), PAYLOAD);
    assert_answers(&done, PAYLOAD);
}

#[test]
fn switched_off_it_answers_and_starts_nothing() {
    for (value, answer) in [("1", &b"{}"[..]), ("no", b"{}"), ("0", PAYLOAD), ("", PAYLOAD)] {
        assert_answers(&run(door(&["cat"]).env("REHYDRATE_OFF", value), PAYLOAD), answer);
    }
}

#[test]
fn where_the_pure_twin_is_wanted_it_decides_nothing() {
    for (value, answer) in [("1", NO_PAYLOAD), ("0", b"{}"), ("", b"{}")] {
        assert_answers(&run(door(&["cat"]).env("REHYDRATE_PURE", value), NO_PAYLOAD), answer);
    }
    assert_answers(&run(door(&["cat"]).env("REHYDRATE_PURE", "1").env("REHYDRATE_OFF", "1"), PAYLOAD), b"{}");
}

#[test]
fn a_command_that_cannot_be_started_is_answered_for() {
    let folder = Folder::new();
    let plain = folder.write("plain", b"#!/bin/sh\necho started\n").display().to_string();
    for words in [&["/nowhere/python"][..], &[&plain], &["/"], &[""], &[]] {
        assert_answers(&run(&mut door(words), PAYLOAD), b"{}");
        assert_answers(&run(door(words).env("REHYDRATE_PURE", "1"), PAYLOAD), b"{}");
    }
}

#[test]
fn closed_descriptors_are_survived() {
    let script = |redirect: &str| format!("\"$@\" {redirect}");
    let answer = |redirect: &str, input: &[u8]| {
        let mut shell = Command::new("sh");
        shell.args(["-c", &script(redirect), "sh", env!("CARGO_BIN_EXE_rehydrate-hook"), "cat"]);
        shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        run(&mut shell, input)
    };
    assert_answers(&answer("<&-", PAYLOAD), b"{}");
    assert_answers(&answer("2>&-", PAYLOAD), PAYLOAD);
    assert_answers(&answer("<&- 2>&-", PAYLOAD), b"{}");
    assert_answers(&answer("</dev/null", PAYLOAD), b"{}");
    assert_answers(&answer("</", PAYLOAD), b"{}");
}

#[test]
fn where_nobody_can_be_answered_nothing_is_started() {
    let folder = Folder::new();
    let mark = folder.path("mark").display().to_string();
    for (redirect, is_started) in [(">&-", false), (">/dev/null", true)] {
        let mut shell = Command::new("sh");
        let script = format!("\"$0\" touch \"$1\" {redirect}");
        shell.args(["-c", &script, env!("CARGO_BIN_EXE_rehydrate-hook"), &mark]).stdin(Stdio::piped());
        assert_answers(&run(shell.stdout(Stdio::piped()).stderr(Stdio::piped()), PAYLOAD), b"");
        assert_eq!(folder.path("mark").exists(), is_started, "{redirect}");
    }
}

#[test]
fn a_host_that_went_away_is_told_nothing() {
    let (reader, writer) = pipe().expect("a pipe");
    drop(reader);
    let done = run(door(&["cat"]).stdout(writer), NO_PAYLOAD);
    assert_answers(&done, b"");
}

#[test]
fn a_pipe_that_is_full_and_does_not_block_gets_the_answer() {
    let (mut reader, mut writer) = pipe().expect("a pipe");
    rustix::io::ioctl_fionbio(&writer, true).expect("a pipe that does not block");
    let mut filled = 0;
    while let Ok(count) = writer.write(&[b'x'; 512]) {
        filled += count;
    }
    let mut child = door(&["cat"]).stdout(writer).spawn().expect("the program");
    child.stdin.take().expect("a pipe").write_all(NO_PAYLOAD).expect("it listens");
    std::thread::sleep(std::time::Duration::from_millis(100)); // by now it waits
    let mut read = Vec::new();
    reader.read_to_end(&mut read).expect("all of it");
    assert!(child.wait().expect("an end").success());
    assert_eq!(&read[filled..], b"{}");
}

#[test]
fn it_says_its_version() {
    let version = concat!("rehydrate-hook ", env!("CARGO_PKG_VERSION"), "\n");
    assert_answers(&run(&mut door(&["--version"]), b""), version.as_bytes());
}
