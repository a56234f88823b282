//! Opens a regular file by its absolute path so that no symbolic link, no `..` and no magic link can lead elsewhere.
//!
//! The kernel does it in one walk where it can (`openat2`), else each component is opened in turn. Both give the same
//! answer: any symbolic link is `ELOOP`; a path that is not absolute or has a `..` is `EXDEV`; a folder is `EISDIR`, and
//! what is neither file nor folder is `ENXIO`. Only a regular file is opened for reading: to open a pipe would wake its
//! writer, and to open a device may set it going. Another thing may still be swapped in at the very moment, so the caller
//! looks at the descriptor; even then nothing blocks or becomes a controlling terminal.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat, openat, statat};
use rustix::io::Errno;

const WANTED: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::CLOEXEC).union(OFlags::NOCTTY);

#[cfg(any(target_os = "linux", target_os = "android"))]
const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Opens the regular file at an absolute path for reading.
pub fn open_unlinked(path: &Path) -> io::Result<OwnedFd> {
    let path = checked(path)?;
    #[cfg(any(target_os = "linux", target_os = "android"))]
    match by_kernel(path) {
        // Not there, or forbidden by a sandbox: take the components one by one.
        Err(Errno::NOSYS | Errno::PERM) => {}
        other => return Ok(other?),
    }
    Ok(by_components(path)?)
}

/// As [`open_unlinked`], without the kernel's help: what runs where `openat2` is missing.
pub fn open_unlinked_by_components(path: &Path) -> io::Result<OwnedFd> {
    Ok(by_components(checked(path)?)?)
}

fn checked(path: &Path) -> io::Result<&[u8]> {
    let path = path.as_os_str().as_bytes();
    if !path.starts_with(b"/") || path.split(|&byte| byte == b'/').any(|part| part == b"..") {
        return Err(Errno::XDEV.into());
    }
    Ok(path)
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn by_kernel(path: &[u8]) -> rustix::io::Result<OwnedFd> {
    use rustix::fs::{ResolveFlags, fstat, openat2};
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let open = |flags| openat2(CWD, OsStr::from_bytes(path), flags, Mode::empty(), resolve);
    refuse_irregular(&fstat(open(OFlags::PATH | OFlags::CLOEXEC)?)?)?;
    open(WANTED)
}

fn by_components(path: &[u8]) -> rustix::io::Result<OwnedFd> {
    let mut parts = path.split(|&byte| byte == b'/').filter(|part| !part.is_empty() && *part != b".");
    let mut folder = openat(CWD, "/", FOLDER, Mode::empty())?;
    let Some(mut last) = parts.next() else { return Err(Errno::ISDIR) };
    for next in parts {
        folder = open_part(folder.as_fd(), last, FOLDER)?;
        last = next;
    }
    // A slash or a dot at the end asks for a folder, as it does everywhere else.
    if path.ends_with(b"/") || path.ends_with(b"/.") {
        open_part(folder.as_fd(), last, FOLDER)?;
        return Err(Errno::ISDIR);
    }
    let found = statat(&folder, OsStr::from_bytes(last), AtFlags::SYMLINK_NOFOLLOW)?;
    if is_link(&found) {
        return Err(Errno::LOOP);
    }
    refuse_irregular(&found)?;
    open_part(folder.as_fd(), last, WANTED)
}

/// Opens one component; a symbolic link is `ELOOP` whatever the system calls it.
fn open_part(folder: BorrowedFd<'_>, name: &[u8], flags: OFlags) -> rustix::io::Result<OwnedFd> {
    let name = OsStr::from_bytes(name);
    openat(folder, name, flags | OFlags::NOFOLLOW, Mode::empty()).map_err(|error| {
        let was_link = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|status| is_link(&status));
        if was_link { Errno::LOOP } else { error }
    })
}

fn is_link(status: &Stat) -> bool {
    FileType::from_raw_mode(status.st_mode) == FileType::Symlink
}

fn refuse_irregular(status: &Stat) -> rustix::io::Result<()> {
    match FileType::from_raw_mode(status.st_mode) {
        FileType::RegularFile => Ok(()),
        FileType::Directory => Err(Errno::ISDIR),
        _ => Err(Errno::NXIO),
    }
}
