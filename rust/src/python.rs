//! The Python module `rehydrate._native`: converts and calls, nothing else.
//!
//! Paths come as bytes, results go as plain tuples and lists; `rehydrate/scan/_rust.py` dresses them. The interpreter
//! is released while files are read; every few moments it is taken for as long as it needs to run what a signal set
//! off, whose exception ends the read ([`attended`]). A system error becomes the matching `OSError` with its number and
//! path, too little memory a `MemoryError`, bad data a `ValueError`.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, IntoRawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use pyo3::exceptions::{PyIndexError, PyMemoryError, PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyBytes, PyList, PyString, PyTuple};

use crate::cursor::Cursor;
use crate::error::Error;
use crate::open::{open, open_nofollow};
use crate::probe::Place;
use crate::steps::{Batch, Choice, Filter, INDEX, Row};
use crate::text::Scalar;
use crate::watch::GoOn;
use crate::{cursor, gate as core_gate, index, probe as core_probe, steps, tail, text, tree, unlinked, uuid};

const EIO: i32 = 5;
const EINVAL: i32 = 22;

/// So often it is looked whether a signal came.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// A value of more bytes than this may have no room.
const LARGE_BYTES: usize = 1024 * 1024;

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

type PyTree = (Index, u64, u64, Vec<u64>, u64);

#[pyfunction]
fn read_tree(py: Python<'_>, path: &[u8]) -> PyResult<PyTree> {
    let path = path_of(path);
    let (inner, size) = attended(py, |go_on| {
        let opened = open(path)?.watched(go_on);
        Ok::<_, Error>((tree::read_tree(&opened)?, opened.size))
    })?;
    let (lines, damage) = (inner.rows.lines, inner.rows.damage.clone());
    let kinds = inner.rows.kinds().iter().map(|kind| PyString::intern(py, kind).unbind()).collect();
    Ok((Index { inner, kinds }, lines, damage.count, damage.offsets, size))
}

/// What stands behind the entries of a tree.
#[pyclass(module = "rehydrate._native", frozen)]
struct Index {
    inner: index::Index,
    /// A type is one object wherever it comes again.
    kinds: Vec<Py<PyString>>,
}

impl Index {
    /// The place that a record was given by; an `IndexError` when there is none.
    fn place(&self, place: usize) -> PyResult<usize> {
        if place < self.inner.rows.len() { Ok(place) } else { Err(PyIndexError::new_err("no such record")) }
    }
}

#[pymethods]
impl Index {
    fn __len__(&self) -> usize {
        self.inner.rows.len()
    }

    /// The records of a range of places as tuples.
    fn rows<'py>(&self, py: Python<'py>, start: usize, stop: usize) -> PyResult<Bound<'py, PyList>> {
        let stop = stop.min(self.inner.rows.len());
        let (mut uuid, mut parent) = ([0; uuid::BYTES], [0; uuid::BYTES]);
        let rows = PyList::empty(py);
        for place in start..stop {
            let entry = self.inner.rows.get(place);
            let uuid = entry.uuid.map(|id| id.text(&mut uuid));
            let parent = entry.parent.map(|id| id.text(&mut parent));
            let kind = entry.kind.map(|kind| &self.kinds[kind]);
            rows.append((uuid, parent, kind, entry.offset, entry.length))?;
        }
        Ok(rows)
    }

    fn types<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let rows = &self.inner.rows;
        PyList::new(py, (0..rows.len()).map(|place| rows.kind(place).map(|kind| &self.kinds[kind])))
    }

    fn find(&self, uuid: &Bound<'_, PyString>) -> Option<usize> {
        // A text with a lone surrogate is none that was read.
        self.inner.find(uuid.to_cow().ok()?.as_ref())
    }

    fn parent(&self, place: usize) -> PyResult<Option<usize>> {
        Ok(self.inner.parent(self.place(place)?))
    }

    fn children(&self, place: usize) -> PyResult<Vec<usize>> {
        Ok(self.inner.children(self.place(place)?).collect())
    }

    fn is_first(&self, place: usize) -> PyResult<bool> {
        Ok(self.inner.is_first(self.place(place)?))
    }

    fn parents<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        give_numbers(py, py.detach(|| self.inner.parents()))
    }

    fn signs<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &py.detach(|| self.inner.signs()))
    }

    fn files<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        give_numbers(py, self.inner.files())
    }

    fn of_type(&self, py: Python<'_>, kind: &Bound<'_, PyString>, start: usize, stop: usize) -> Vec<usize> {
        let Ok(kind) = kind.to_cow() else { return Vec::new() };
        let stop = stop.min(self.inner.rows.len());
        py.detach(|| self.inner.of_type(&kind, start.min(stop)..stop))
    }
}

/// As 32 bits each, in this machine's order.
fn give_numbers<'py>(py: Python<'py>, numbers: &[u32]) -> Bound<'py, PyBytes> {
    let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_ne_bytes()).collect();
    PyBytes::new(py, &bytes)
}

#[pyfunction]
fn iter_steps(
    py: Python<'_>,
    path: &[u8],
    types: Option<Vec<Vec<u8>>>,
    range: Option<(i64, i64)>,
    cursor: Option<(u64, u32)>,
    is_closed: bool,
) -> PyResult<Reader> {
    let choice = Choice::steps(types, range);
    let path = path_of(path);
    let inner = py.detach(|| steps::Reader::new(open(path)?, choice, take_cursor(cursor), is_closed))?;
    Ok(Reader { inner: Mutex::new(inner), are_steps: true, members: 0 })
}

#[pyfunction]
fn iter_records(
    py: Python<'_>,
    path: &[u8],
    members: Vec<Vec<u8>>,
    filters: Vec<(usize, Vec<Vec<u8>>)>,
    cursor: Option<(u64, u32)>,
) -> PyResult<Reader> {
    let filters = filters.into_iter().map(|(member, names)| Filter { member, names }).collect();
    let count = members.len();
    let choice = Choice::members(members, filters);
    let path = path_of(path);
    let inner = py.detach(|| steps::Reader::new(open(path)?, choice, take_cursor(cursor), false))?;
    Ok(Reader { inner: Mutex::new(inner), are_steps: false, members: count })
}

/// What stands behind an iterator of `rehydrate.scan`.
#[pyclass(module = "rehydrate._native", frozen)]
struct Reader {
    inner: Mutex<steps::Reader>,
    are_steps: bool,
    members: usize,
}

impl Reader {
    /// Waits without holding the interpreter: another thread may be reading a batch.
    fn lock(&self, py: Python<'_>) -> MutexGuard<'_, steps::Reader> {
        match self.inner.try_lock() {
            Ok(held) => held,
            Err(_) => self.inner.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner),
        }
    }
}

#[pymethods]
impl Reader {
    #[getter]
    fn start(&self, py: Python<'_>) -> u64 {
        self.lock(py).start
    }

    #[getter]
    fn end(&self, py: Python<'_>) -> u64 {
        self.lock(py).end()
    }

    #[getter]
    fn restarted(&self, py: Python<'_>) -> bool {
        self.lock(py).restarted
    }

    #[getter]
    fn damaged(&self, py: Python<'_>) -> u64 {
        self.lock(py).damage().count
    }

    #[getter]
    fn damaged_offsets(&self, py: Python<'_>) -> Vec<u64> {
        self.lock(py).damage().offsets.clone()
    }

    /// The next records as tuples, and for each where a later read goes on; two empty lists at the end.
    fn batch<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyList>, Vec<u64>)> {
        let batch = attended(py, |go_on| self.inner.lock().unwrap_or_else(PoisonError::into_inner).batch(go_on))?;
        let rows = PyList::empty(py);
        for row in 0..batch.rows.len() {
            rows.append(if self.are_steps { step_row(py, &batch, row)? } else { self.record_row(py, &batch, row)? })?;
        }
        Ok((rows, batch.rows.iter().map(|row| row.next).collect()))
    }

    fn cursor(&self, py: Python<'_>, offset: u64) -> PyResult<PyCursor> {
        let found = py.detach(|| self.inner.lock().unwrap_or_else(PoisonError::into_inner).cursor(offset))?;
        Ok(give_cursor(found))
    }

    /// Lets go of the file and the buffers; its cursor is not asked for any more.
    fn close(&self, py: Python<'_>) {
        self.lock(py).close();
    }
}

impl Reader {
    fn record_row<'py>(&self, py: Python<'py>, batch: &Batch, row: usize) -> PyResult<Bound<'py, PyTuple>> {
        let mut values = Vec::with_capacity(self.members + 2);
        for member in 0..self.members {
            values.push(give_value(py, batch.value(row, member))?);
        }
        let Row { offset, length, .. } = batch.rows[row];
        values.push(offset.into_pyobject(py)?.into_any());
        values.push(length.into_pyobject(py)?.into_any());
        PyTuple::new(py, values)
    }
}

fn step_row<'py>(py: Python<'py>, batch: &Batch, row: usize) -> PyResult<Bound<'py, PyTuple>> {
    let text = |member| batch.value(row, member).map_or(Ok(None), |raw| give_text(py, raw));
    let Row { step, offset, length, raw, .. } = batch.rows[row];
    let raw = give_bytes(py, &batch.bytes[raw.0..raw.1])?;
    (step, text(INDEX + 1)?, text(INDEX + 2)?, text(INDEX + 3)?, text(INDEX + 4)?, offset, length, raw)
        .into_pyobject(py)
}

fn give_bytes<'py>(py: Python<'py>, raw: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    check_room(raw)?;
    Ok(PyBytes::new(py, raw))
}

/// None when the value is no string.
fn give_text<'py>(py: Python<'py>, raw: &[u8]) -> PyResult<Option<Bound<'py, PyString>>> {
    check_room(raw)?;
    Ok(text::string(raw).map(|text| PyString::new(py, &text)))
}

/// Asks for the memory that is needed to make something of a large value: where there is none, a `MemoryError` can
/// still be told; in the making of it the process would end.
fn check_room(raw: &[u8]) -> PyResult<()> {
    if raw.len() > LARGE_BYTES && Vec::<u8>::new().try_reserve_exact(raw.len().saturating_mul(2)).is_err() {
        return Err(PyMemoryError::new_err(format!("too little memory for a value of {} bytes", raw.len())));
    }
    Ok(())
}

/// A plain value as it is; a list, an object or an integer beyond 64 bits as its bytes, to be decoded in Python.
fn give_value<'py>(py: Python<'py>, raw: Option<&[u8]>) -> PyResult<Bound<'py, PyAny>> {
    let none = || py.None().into_bound(py);
    let Some(raw) = raw else { return Ok(none()) };
    if let Some(text) = give_text(py, raw)? {
        return Ok(text.into_any());
    }
    match text::scalar(raw) {
        Scalar::Integer(number) => Ok(number.into_pyobject(py)?.into_any()),
        Scalar::Float(number) => Ok(number.into_pyobject(py)?.into_any()),
        Scalar::Bool(flag) => Ok(flag.into_pyobject(py)?.to_owned().into_any()),
        Scalar::Null => Ok(none()),
        Scalar::Other => Ok(give_bytes(py, raw)?.into_any()),
    }
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
    module.add_function(wrap_pyfunction!(read_tree, module)?)?;
    module.add_function(wrap_pyfunction!(cursor_at, module)?)?;
    module.add_function(wrap_pyfunction!(iter_steps, module)?)?;
    module.add_function(wrap_pyfunction!(iter_records, module)?)?;
    module.add_function(wrap_pyfunction!(open_unlinked, module)?)?;
    module.add_function(wrap_pyfunction!(gate, module)?)?;
    module.add_class::<Index>()?;
    module.add_class::<Reader>()
}
