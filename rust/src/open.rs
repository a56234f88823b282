//! Opens a file for reading without ever hanging on it, and takes its size once.
//!
//! Promises: a FIFO, a socket or a device is refused on the descriptor (there is no moment between check and use), a
//! directory is an error of its own, and nothing past [`Opened::size`] is looked at later.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::error::Error;
use crate::watch::{GoOn, Watched};

/// A regular file, open for reading.
#[derive(Debug)]
pub struct Opened<F = File> {
    /// The open file.
    pub file: F,
    /// The path it was opened by, for messages.
    pub path: PathBuf,
    /// Bytes in it when it was opened: the end of what is reported.
    pub size: u64,
}

impl Opened {
    /// The same file, read only while `go_on` says so.
    #[must_use]
    pub fn watched<'g>(self, go_on: &'g GoOn<'g>) -> Opened<Watched<'g, File>> {
        let Self { file, path, size } = self;
        Opened { file: Watched { source: file, go_on }, path, size }
    }
}

/// Opens a regular file; symbolic links are followed.
pub fn open(path: &Path) -> Result<Opened, Error> {
    open_with(path, OFlags::empty())
}

/// As [`open`], but a symbolic link in the last place is an error (`ELOOP`).
pub fn open_nofollow(path: &Path) -> Result<Opened, Error> {
    open_with(path, OFlags::NOFOLLOW)
}

fn open_with(path: &Path, more: OFlags) -> Result<Opened, Error> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY | more;
    let descriptor = loop {
        match rustix::fs::open(path, flags, Mode::empty()) {
            Err(Errno::INTR) => {}
            // What open says to a socket, or to a device that nothing drives.
            Err(Errno::NXIO | Errno::NODEV | Errno::OPNOTSUPP) => {
                return Err(Error::NotRegular { path: path.to_owned() });
            }
            other => break other.map_err(io::Error::from).map_err(Error::opening(path))?,
        }
    };
    let status = rustix::fs::fstat(&descriptor).map_err(io::Error::from).map_err(Error::opening(path))?;
    match FileType::from_raw_mode(status.st_mode) {
        FileType::RegularFile => {}
        FileType::Directory => return Err(Error::opening(path)(Errno::ISDIR.into())),
        _ => return Err(Error::NotRegular { path: path.to_owned() }),
    }
    let size = u64::try_from(status.st_size).unwrap_or(0);
    Ok(Opened { file: File::from(descriptor), path: path.to_owned(), size })
}
