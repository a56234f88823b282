//! The front door: `rehydrate-hook COMMAND...` stands before the command that starts the Python hook, as `install`
//! registers it, and takes over what that does when nothing happened.
//!
//! It reads the payload and answers `{}` itself where the gate proves that there is nothing to do, or `REHYDRATE_OFF`
//! is set. Else it becomes the command, with the payload as its standard input, so that the reply, the exit status and
//! the signals are those of Python; with `REHYDRATE_PURE=1` at once. It promises what the Python hook does: something
//! valid is written to standard output exactly once, nothing else ever is, and the status is 0, whatever happens.

#![deny(missing_docs, unsafe_code)]

use std::env;
use std::ffi::OsString;
use std::fs::File;
use std::io::{Seek, Write};
use std::os::unix::process::CommandExt;
use std::panic;
use std::process::Command;

use rehydrate::gate::gate;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::stdio;

const NOTHING: &str = "{}";

fn main() {
    panic::set_hook(Box::new(|_| {}));
    let words: Vec<OsString> = env::args_os().skip(1).collect();
    if words == ["--version"] {
        say(concat!("rehydrate-hook ", env!("CARGO_PKG_VERSION"), "\n"));
    } else if !was_closed() {
        // What comes back has failed or was not needed; a panic is one more reason for that.
        let _ = panic::catch_unwind(|| become_unless_quiet(&words));
        say(NOTHING);
    }
}

/// Becomes the command, if that is needed and works.
fn become_unless_quiet(words: &[OsString]) {
    if env::var_os("REHYDRATE_OFF").is_some_and(|value| !value.is_empty() && value != "0") {
        return;
    }
    if env::var_os("REHYDRATE_PURE").is_none_or(|value| value != "1") {
        let Ok((is_nothing, payload)) = gate(stdio::stdin(), &|| Ok(())) else { return };
        if is_nothing || put_back(&payload).is_err() {
            return;
        }
    }
    if let [program, arguments @ ..] = words {
        let _failed = Command::new(program).args(arguments).exec();
    }
}

/// Lets standard input hold the payload, and its end after it.
fn put_back(payload: &[u8]) -> std::io::Result<()> {
    let mut held = nameless()?;
    held.write_all(payload)?;
    held.rewind()?;
    Ok(stdio::dup2_stdin(&held)?)
}

/// A file in memory.
#[cfg(target_os = "linux")]
fn nameless() -> std::io::Result<File> {
    Ok(rustix::fs::memfd_create("payload", rustix::fs::MemfdFlags::CLOEXEC)?.into())
}

/// A file that nobody else can open.
#[cfg(not(target_os = "linux"))]
fn nameless() -> std::io::Result<File> {
    use std::fs::{OpenOptions, remove_file};
    use std::os::unix::fs::OpenOptionsExt;
    let path = env::temp_dir().join(format!("rehydrate-hook-{}", std::process::id()));
    let held = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path)?;
    remove_file(&path)?;
    Ok(held)
}

/// True when nobody can be answered: the process was started without a standard output.
///
/// The standard library has then opened the null device in its place, for reading and writing. What Python would send
/// there were lost, and remembered as sent.
fn was_closed() -> bool {
    let out = stdio::stdout();
    let is_both = rustix::fs::fcntl_getfl(out).is_ok_and(|flags| flags & OFlags::ACCMODE == OFlags::RDWR);
    is_both
        && matches!((rustix::fs::fstat(out), rustix::fs::stat("/dev/null")), (Ok(a), Ok(b)) if a.st_rdev == b.st_rdev)
}

/// Writes all of it; a host that no longer listens is none to complain to.
fn say(text: &str) {
    let out = stdio::stdout();
    let mut left = text.as_bytes();
    while !left.is_empty() {
        match rustix::io::write(out, left) {
            Ok(count) => left = &left[count..],
            Err(Errno::INTR) => {}
            // A pipe that does not block, and it is full.
            Err(Errno::AGAIN) => drop(poll(&mut [PollFd::new(&out, PollFlags::OUT)], None)),
            Err(_) => return,
        }
    }
}
