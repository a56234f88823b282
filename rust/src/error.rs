//! The one error type: what went wrong, with which file, at which byte.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Everything that an operation can fail with. Its `Display` is a sentence with the path and, where there is one, the
/// offset.
#[derive(Debug)]
pub enum Error {
    /// The system refused; `source` keeps its error number.
    Io {
        /// The file that was asked for.
        path: PathBuf,
        /// From where on it was being read; None when it was being opened.
        offset: Option<u64>,
        /// What the system said.
        source: io::Error,
    },
    /// A FIFO, a socket or a device: it was not read.
    NotRegular {
        /// The file that was asked for.
        path: PathBuf,
    },
    /// An offset that lies outside the file.
    Beyond {
        /// The file that was asked for.
        path: PathBuf,
        /// The offset that was asked for.
        offset: u64,
        /// Bytes in the file.
        size: u64,
    },
}

impl Error {
    /// A function that turns an error met while reading `path` at `offset` into one of these.
    pub fn reading(path: &Path, offset: u64) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { path: path.to_owned(), offset: Some(offset), source }
    }

    /// A function that turns an error met while opening `path` into one of these.
    pub fn opening(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { path: path.to_owned(), offset: None, source }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { path, offset: Some(offset), source } => {
                write!(out, "Reading {} from offset {offset} on failed: {source}.", path.display())
            }
            Self::Io { path, offset: None, source } => write!(out, "Opening {} failed: {source}.", path.display()),
            Self::NotRegular { path } => write!(out, "{} is not a regular file.", path.display()),
            Self::Beyond { path, offset, size } => {
                write!(out, "Offset {offset} lies beyond the {size} bytes of {}.", path.display())
            }
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            Self::NotRegular { .. } | Self::Beyond { .. } => None,
        }
    }
}
