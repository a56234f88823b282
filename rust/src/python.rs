//! The Python module `rehydrate._native`: converts and calls, nothing else.
//!
//! Paths come as bytes, results go as plain tuples and lists; `rehydrate/scan/_rust.py` dresses them. The interpreter
//! is released while files are read; every few moments it is taken for as long as it needs to run what a signal set
//! off, whose exception ends the read ([`attended`]). A system error becomes the matching `OSError` with its number and
//! path, too little memory a `MemoryError`, bad data a `ValueError`.

mod index;
mod notable;
mod reader;
mod turns;

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, IntoRawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use pyo3::exceptions::{PyMemoryError, PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::cursor::Cursor;
use crate::error::Error;
use crate::open::{open, open_nofollow};
use crate::probe::Place;
use crate::watch::GoOn;
use crate::{cursor, gate as core_gate, probe as core_probe, tail, unlinked};

const EIO: i32 = 5;
const EINVAL: i32 = 22;

/// So often it is looked whether a signal came.
const LOOK_EVERY: Duration = Duration::from_millis(50);

type PyCursor = (u8, u64, String);
type PyStamp = (Option<i64>, Option<String>);

impl From<Error> for PyErr {
    fn from(error: Error) -> Self {
        match error {
            Error::Io { path, source, .. } => os_error(&source, &path),
            Error::NotRegular { path } => PyOSError::new_err((EINVAL, "not a regular file", path.into_os_string())),
            Error::Beyond { .. } => PyValueError::new_err(error.to_string()),
        }
    }
}

/// An `OSError` of the class that its number asks for.
fn os_error(error: &io::Error, path: &Path) -> PyErr {
    if error.kind() == io::ErrorKind::OutOfMemory {
        return PyMemoryError::new_err(format!("too little memory to read {}", path.display()));
    }
    let text = error.to_string();
    match error.raw_os_error() {
        Some(number) => {
            let text = text.strip_suffix(&format!(" (os error {number})")).unwrap_or(&text).to_owned();
            PyOSError::new_err((number, text, path.as_os_str().to_owned()))
        }
        None => PyOSError::new_err((EIO, text, path.as_os_str().to_owned())),
    }
}

/// Runs something long with the interpreter released. What a signal's handler raises meanwhile ends it: the work is told
/// to by `go_on`, and its own outcome counts no more.
fn attended<T: Send, E: Into<PyErr> + Send>(
    py: Python<'_>,
    work: impl FnOnce(&GoOn<'_>) -> Result<T, E> + Send,
) -> PyResult<T> {
    let attendant = Attendant::new();
    let found = py.detach(|| work(&|| attendant.go_on()));
    match attendant.raised.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(error) => Err(error),
        None => found.map_err(Into::into),
    }
}

/// Looks for signals, in the caller's thread: no other one can run their handlers.
struct Attendant {
    caller: ThreadId,
    begun: Instant,
    /// Milliseconds after the beginning from which on it is looked again.
    next_ms: AtomicU64,
    is_over: AtomicBool,
    raised: Mutex<Option<PyErr>>,
}

impl Attendant {
    fn new() -> Self {
        let next_ms = AtomicU64::new(LOOK_EVERY.as_millis() as u64);
        let (is_over, raised) = (AtomicBool::new(false), Mutex::new(None));
        Self { caller: thread::current().id(), begun: Instant::now(), next_ms, is_over, raised }
    }

    fn go_on(&self) -> io::Result<()> {
        if !self.is_over.load(Ordering::Relaxed) {
            if thread::current().id() != self.caller {
                return Ok(());
            }
            let now_ms = self.begun.elapsed().as_millis() as u64;
            if now_ms < self.next_ms.load(Ordering::Relaxed) {
                return Ok(());
            }
            self.next_ms.store(now_ms + LOOK_EVERY.as_millis() as u64, Ordering::Relaxed);
            #[allow(clippy::redundant_closure_for_method_calls)] // the method itself is of one lifetime
            let looked = Python::attach(|py| py.check_signals());
            let Err(error) = looked else { return Ok(()) };
            *self.raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            self.is_over.store(true, Ordering::Relaxed);
        }
        Err(io::ErrorKind::Interrupted.into())
    }
}

fn path_of(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}

fn give_cursor(cursor: Cursor) -> PyCursor {
    (1, cursor.offset, format!("{:08x}", cursor.crc))
}

fn take_cursor(cursor: Option<(u64, u32)>) -> Option<Cursor> {
    cursor.map(|(offset, crc)| Cursor { offset, crc })
}

fn stamp(place: Option<Place>) -> PyStamp {
    place.map_or((None, None), |place| (Some(place.step), place.created_at))
}

type PyTail = (PyCursor, Vec<(Option<i64>, u64, usize)>, Option<i64>, u64, u64, Vec<u64>, bool);

#[pyfunction]
fn scan_tail(py: Python<'_>, path: &[u8], cursor: Option<(u64, u32)>, end: Option<u64>) -> PyResult<PyTail> {
    let path = path_of(path);
    let cursor = take_cursor(cursor);
    let end = end.map_or(u64::MAX, |end| end.max(cursor.map_or(0, |cursor| cursor.offset)));
    let found = attended(py, |go_on| {
        let mut opened = open(path)?.watched(go_on);
        opened.size = opened.size.min(end);
        tail::scan_tail(&opened, cursor)
    })?;
    let boundaries = found.boundaries.into_iter().map(|mark| (mark.step, mark.offset, mark.length)).collect();
    let damage = found.damage;
    let cursor = give_cursor(found.cursor);
    Ok((cursor, boundaries, found.last_step, found.lines, damage.count, damage.offsets, found.restarted))
}

type PyProbe = (Option<i64>, Option<String>, Option<i64>, Option<String>, u64);

#[pyfunction]
fn probe(py: Python<'_>, path: &[u8]) -> PyResult<PyProbe> {
    let path = path_of(path);
    attended(py, |go_on| core_probe::probe(&open(path)?.watched(go_on))).map(give_probe)
}

fn give_probe(found: core_probe::Probe) -> PyProbe {
    let (first, last) = (stamp(found.first), stamp(found.last));
    (first.0, first.1, last.0, last.1, found.size)
}

#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // what the binding makes of a list
fn probe_many(py: Python<'_>, paths: Vec<Vec<u8>>, follow_symlinks: bool) -> PyResult<Vec<Option<PyProbe>>> {
    let paths: Vec<PathBuf> = paths.iter().map(|path| path_of(path).to_owned()).collect();
    let open = if follow_symlinks { open } else { open_nofollow };
    let found = attended(py, |go_on| core_probe::probe_many(&paths, open, go_on))?;
    Ok(found.into_iter().map(|probe| probe.map(give_probe)).collect())
}

type PyFound = (i64, Option<String>, u64, Option<i64>);

#[pyfunction]
fn find_step(py: Python<'_>, path: &[u8], step: i64, slack: u64) -> PyResult<Option<PyFound>> {
    let path = path_of(path);
    let found = attended(py, |go_on| core_probe::find_step(&open(path)?.watched(go_on), step, slack))?;
    Ok(found.map(|found| (found.place.step, found.place.created_at, found.place.offset, found.last_step)))
}

type PyCandidate = (i64, Option<String>, i64, Option<String>, u64, Option<i64>, Option<String>, u64);

#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // what the binding makes of a list
fn probe_candidates(py: Python<'_>, paths: Vec<Vec<u8>>, step: i64, slack: u64) -> PyResult<Vec<Option<PyCandidate>>> {
    let paths: Vec<PathBuf> = paths.iter().map(|path| path_of(path).to_owned()).collect();
    let found = attended(py, |go_on| core_probe::probe_candidates(&paths, step, slack, go_on))?;
    let give = |candidate: core_probe::Candidate| {
        let core_probe::Candidate { first, place, last, size } = candidate;
        let last = stamp(last);
        (first.step, first.created_at, place.step, place.created_at, place.offset, last.0, last.1, size)
    };
    Ok(found.into_iter().map(|candidate| candidate.map(give)).collect())
}

#[pyfunction]
fn cursor_at(py: Python<'_>, path: &[u8], offset: u64) -> PyResult<PyCursor> {
    let path = path_of(path);
    Ok(give_cursor(py.detach(|| cursor::cursor_at(&open(path)?, offset))?))
}

#[pyfunction]
fn open_unlinked(py: Python<'_>, path: &[u8]) -> PyResult<i32> {
    let path = path_of(path);
    py.detach(|| unlinked::open_unlinked(path)).map(IntoRawFd::into_raw_fd).map_err(|error| os_error(&error, path))
}

/// The standard input is read as it is; another descriptor by its name below `/dev/fd`.
#[pyfunction]
fn gate(py: Python<'_>, fd: u32) -> PyResult<(bool, Bound<'_, PyBytes>)> {
    let read = |go_on: &GoOn<'_>| {
        if fd == 0 {
            return Ok(core_gate::gate(rustix::stdio::stdin(), go_on)?);
        }
        let path = PathBuf::from(format!("/dev/fd/{fd}"));
        let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::CLOEXEC;
        match rustix::fs::open(&path, flags, rustix::fs::Mode::empty()) {
            Ok(descriptor) => Ok(core_gate::gate(descriptor.as_fd(), go_on)?),
            Err(error) => Err(os_error(&error.into(), &path)),
        }
    };
    let (is_nothing, payload) = attended(py, read)?;
    Ok((is_nothing, PyBytes::new(py, &payload)))
}

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(scan_tail, module)?)?;
    module.add_function(wrap_pyfunction!(probe, module)?)?;
    module.add_function(wrap_pyfunction!(probe_many, module)?)?;
    module.add_function(wrap_pyfunction!(find_step, module)?)?;
    module.add_function(wrap_pyfunction!(probe_candidates, module)?)?;
    module.add_function(wrap_pyfunction!(index::read_tree, module)?)?;
    module.add_function(wrap_pyfunction!(cursor_at, module)?)?;
    module.add_function(wrap_pyfunction!(reader::iter_steps, module)?)?;
    module.add_function(wrap_pyfunction!(reader::iter_records, module)?)?;
    module.add_function(wrap_pyfunction!(open_unlinked, module)?)?;
    module.add_function(wrap_pyfunction!(gate, module)?)?;
    notable::add(module)?;
    turns::add(module)?;
    module.add_class::<index::Index>()?;
    module.add_class::<reader::Reader>()
}
