//! Opens a file below a folder so that no symbolic link, no `..` and no magic link can lead outside.
//!
//! The root is resolved once, links included; below it nothing is followed. The kernel does it in one call where it
//! can (`openat2`), else each component is opened in turn. Both give the same answer: any symbolic link below the root
//! is `ELOOP`; an absolute path or a `..` is `EXDEV`. What is opened may be of any kind: the caller looks at the
//! descriptor. It never blocks and never becomes a controlling terminal.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, openat, statat};
use rustix::io::Errno;

const WANTED: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::CLOEXEC).union(OFlags::NOCTTY);

#[cfg(any(target_os = "linux", target_os = "android"))]
const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Opens `relative` below `root` for reading.
pub fn open_beneath(root: &Path, relative: &Path) -> io::Result<OwnedFd> {
    let (root, relative) = start(root, relative)?;
    #[cfg(any(target_os = "linux", target_os = "android"))]
    match by_kernel(root.as_fd(), relative) {
        // Not there, forbidden by a sandbox, or a rename came between: take the components one by one.
        Err(Errno::NOSYS | Errno::PERM | Errno::AGAIN) => {}
        other => return Ok(other?),
    }
    Ok(by_components(root.as_fd(), relative)?)
}

/// As [`open_beneath`], without the kernel's help: what runs where `openat2` is missing.
pub fn open_beneath_by_components(root: &Path, relative: &Path) -> io::Result<OwnedFd> {
    let (root, relative) = start(root, relative)?;
    Ok(by_components(root.as_fd(), relative)?)
}

fn start<'p>(root: &Path, relative: &'p Path) -> io::Result<(OwnedFd, &'p [u8])> {
    let relative = relative.as_os_str().as_bytes();
    if relative.starts_with(b"/") || relative.split(|&byte| byte == b'/').any(|part| part == b"..") {
        return Err(Errno::XDEV.into());
    }
    if relative.is_empty() {
        return Err(Errno::NOENT.into());
    }
    Ok((openat(CWD, root, FOLDER, Mode::empty())?, relative))
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn by_kernel(root: BorrowedFd<'_>, relative: &[u8]) -> rustix::io::Result<OwnedFd> {
    use rustix::fs::{ResolveFlags, openat2};
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    openat2(root, OsStr::from_bytes(relative), WANTED, Mode::empty(), resolve)
}

fn by_components(root: BorrowedFd<'_>, relative: &[u8]) -> rustix::io::Result<OwnedFd> {
    let mut parts = relative.split(|&byte| byte == b'/').filter(|part| !part.is_empty() && *part != b".");
    let mut last = parts.next().unwrap_or(b".");
    let mut held: Option<OwnedFd> = None;
    for next in parts {
        let folder = held.as_ref().map_or(root, AsFd::as_fd);
        held = Some(open_part(folder, last, FOLDER)?);
        last = next;
    }
    // A slash or a dot at the end asks for a folder, as it does everywhere else.
    let is_folder = relative.ends_with(b"/") || relative.ends_with(b"/.");
    let flags = if is_folder { WANTED | OFlags::DIRECTORY } else { WANTED };
    open_part(held.as_ref().map_or(root, AsFd::as_fd), last, flags)
}

/// Opens one component; a symbolic link is `ELOOP` whatever the system calls it.
fn open_part(folder: BorrowedFd<'_>, name: &[u8], flags: OFlags) -> rustix::io::Result<OwnedFd> {
    let name = OsStr::from_bytes(name);
    openat(folder, name, flags | OFlags::NOFOLLOW, Mode::empty()).map_err(|error| {
        let is_link = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)
            .is_ok_and(|status| FileType::from_raw_mode(status.st_mode) == FileType::Symlink);
        if is_link { Errno::LOOP } else { error }
    })
}
