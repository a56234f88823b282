//! The Python module `rehydrate._native`: converts and calls, nothing else.
//!
//! Paths come as bytes, results go as plain tuples and lists; `rehydrate/scan/_rust.py` dresses them. The interpreter
//! is released while files are read. A system error becomes the matching `OSError` with its number and path, bad data
//! a `ValueError`.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, IntoRawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyBytes, PyList, PyString, PyTuple};

use crate::cursor::Cursor;
use crate::error::Error;
use crate::open::open;
use crate::probe::Place;
use crate::records::Damage;
use crate::steps::{Batch, Choice, Filter, INDEX, Row};
use crate::text::Scalar;
use crate::{cursor, gate as core_gate, probe as core_probe, steps, tail, text, tree, unlinked};

const EIO: i32 = 5;
const EINVAL: i32 = 22;

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
    let text = error.to_string();
    match error.raw_os_error() {
        Some(number) => {
            let text = text.strip_suffix(&format!(" (os error {number})")).unwrap_or(&text).to_owned();
            PyOSError::new_err((number, text, path.as_os_str().to_owned()))
        }
        None => PyOSError::new_err((EIO, text, path.as_os_str().to_owned())),
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
fn scan_tail(py: Python<'_>, path: &[u8], cursor: Option<(u64, u32)>) -> PyResult<PyTail> {
    let path = path_of(path);
    let found = py.detach(|| tail::scan_tail(&open(path)?, take_cursor(cursor)))?;
    let boundaries = found.boundaries.into_iter().map(|mark| (mark.step, mark.offset, mark.length)).collect();
    let damage = found.damage;
    let cursor = give_cursor(found.cursor);
    Ok((cursor, boundaries, found.last_step, found.lines, damage.count, damage.offsets, found.restarted))
}

type PyProbe = (Option<i64>, Option<String>, Option<i64>, Option<String>, u64);

#[pyfunction]
fn probe(py: Python<'_>, path: &[u8]) -> PyResult<PyProbe> {
    let path = path_of(path);
    let found = py.detach(|| core_probe::probe(&open(path)?))?;
    let (first, last) = (stamp(found.first), stamp(found.last));
    Ok((first.0, first.1, last.0, last.1, found.size))
}

type PyFound = (i64, Option<String>, u64, Option<i64>);

#[pyfunction]
fn find_step(py: Python<'_>, path: &[u8], step: i64, slack: u64) -> PyResult<Option<PyFound>> {
    let path = path_of(path);
    let found = py.detach(|| core_probe::find_step(&open(path)?, step, slack))?;
    Ok(found.map(|found| (found.place.step, found.place.created_at, found.place.offset, found.last_step)))
}

type PyCandidate = (i64, Option<String>, i64, Option<String>, u64, Option<i64>, Option<String>, u64);

#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // what the binding makes of a list
fn probe_candidates(py: Python<'_>, paths: Vec<Vec<u8>>, step: i64, slack: u64) -> Vec<Option<PyCandidate>> {
    let paths: Vec<PathBuf> = paths.iter().map(|path| path_of(path).to_owned()).collect();
    let found = py.detach(|| core_probe::probe_candidates(&paths, step, slack));
    let give = |candidate: core_probe::Candidate| {
        let core_probe::Candidate { first, place, last, size } = candidate;
        let last = stamp(last);
        (first.step, first.created_at, place.step, place.created_at, place.offset, last.0, last.1, size)
    };
    found.into_iter().map(|candidate| candidate.map(give)).collect()
}

#[pyfunction]
fn cursor_at(py: Python<'_>, path: &[u8], offset: u64) -> PyResult<PyCursor> {
    let path = path_of(path);
    Ok(give_cursor(py.detach(|| cursor::cursor_at(&open(path)?, offset))?))
}

type PyColumns<'py> =
    (Bound<'py, PyList>, Bound<'py, PyList>, Bound<'py, PyList>, Bound<'py, PyList>, Bound<'py, PyList>);

/// Gives a list for each member of the entries, part by part, to `take`.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // what can be used while the interpreter is released
fn read_tree(py: Python<'_>, path: &[u8], take: Py<PyAny>) -> PyResult<(u64, u64, Vec<u64>, u64)> {
    let path = path_of(path);
    py.detach(|| {
        let opened = open(path)?;
        let (mut lines, mut damage) = (0, Damage::default());
        tree::read_tree(&opened, |part| {
            Python::attach(|py| take.call1(py, columns(py, &part)?).map(|_| ()))?;
            lines += part.lines;
            damage.append(part.damage);
            Ok::<_, PyErr>(())
        })?;
        Ok((lines, damage.count, damage.offsets, opened.size))
    })
}

/// A text that comes again near by is one object, a type wherever it comes again.
fn columns<'py>(py: Python<'py>, part: &tree::Part) -> PyResult<PyColumns<'py>> {
    let texts: Vec<Bound<'py, PyString>> = part.texts.iter().map(|text| PyString::new(py, text)).collect();
    let kinds: Vec<Bound<'py, PyString>> = part.kinds.iter().map(|kind| PyString::intern(py, kind)).collect();
    let entries = || part.entries.iter();
    Ok((
        PyList::new(py, entries().map(|entry| entry.uuid.map(|place| &texts[place])))?,
        PyList::new(py, entries().map(|entry| entry.parent.map(|place| &texts[place])))?,
        PyList::new(py, entries().map(|entry| entry.kind.map(|place| &kinds[place])))?,
        PyList::new(py, entries().map(|entry| entry.offset))?,
        PyList::new(py, entries().map(|entry| entry.length))?,
    ))
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
        let batch = py.detach(|| self.inner.lock().unwrap_or_else(PoisonError::into_inner).batch())?;
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
    let text = |member| batch.value(row, member).and_then(text::string).map(|text| PyString::new(py, &text));
    let Row { step, offset, length, raw, .. } = batch.rows[row];
    let raw = PyBytes::new(py, &batch.bytes[raw.0..raw.1]);
    (step, text(INDEX + 1), text(INDEX + 2), text(INDEX + 3), text(INDEX + 4), offset, length, raw).into_pyobject(py)
}

/// A plain value as it is; a list, an object or an integer beyond 64 bits as its bytes, to be decoded in Python.
fn give_value<'py>(py: Python<'py>, raw: Option<&[u8]>) -> PyResult<Bound<'py, PyAny>> {
    let none = || py.None().into_bound(py);
    let Some(raw) = raw else { return Ok(none()) };
    if let Some(text) = text::string(raw) {
        return Ok(PyString::new(py, &text).into_any());
    }
    match text::scalar(raw) {
        Scalar::Integer(number) => Ok(number.into_pyobject(py)?.into_any()),
        Scalar::Float(number) => Ok(number.into_pyobject(py)?.into_any()),
        Scalar::Bool(flag) => Ok(flag.into_pyobject(py)?.to_owned().into_any()),
        Scalar::Null => Ok(none()),
        Scalar::Other => Ok(PyBytes::new(py, raw).into_any()),
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
    let read = || {
        if fd == 0 {
            return Ok(core_gate::gate(rustix::stdio::stdin()));
        }
        let path = PathBuf::from(format!("/dev/fd/{fd}"));
        let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::CLOEXEC;
        match rustix::fs::open(&path, flags, rustix::fs::Mode::empty()) {
            Ok(descriptor) => Ok(core_gate::gate(descriptor.as_fd())),
            Err(error) => Err(os_error(&error.into(), &path)),
        }
    };
    let (is_nothing, payload) = py.detach(read)?;
    Ok((is_nothing, PyBytes::new(py, &payload)))
}

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(scan_tail, module)?)?;
    module.add_function(wrap_pyfunction!(probe, module)?)?;
    module.add_function(wrap_pyfunction!(find_step, module)?)?;
    module.add_function(wrap_pyfunction!(probe_candidates, module)?)?;
    module.add_function(wrap_pyfunction!(read_tree, module)?)?;
    module.add_function(wrap_pyfunction!(cursor_at, module)?)?;
    module.add_function(wrap_pyfunction!(iter_steps, module)?)?;
    module.add_function(wrap_pyfunction!(iter_records, module)?)?;
    module.add_function(wrap_pyfunction!(open_unlinked, module)?)?;
    module.add_function(wrap_pyfunction!(gate, module)?)?;
    module.add_class::<Reader>()
}
