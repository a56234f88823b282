//! Records one batch after another, for Python.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyBytes, PyList, PyString, PyTuple};

use super::{PyCursor, attended, give_cursor, path_of, take_cursor};
use crate::open::open;
use crate::steps::{self, Batch, Choice, Filter, INDEX, Row};
use crate::text::{self, Scalar};

/// A value of more bytes than this may have no room.
const LARGE_BYTES: usize = 1024 * 1024;

#[pyfunction]
pub(super) fn iter_steps(
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
pub(super) fn iter_records(
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
pub(super) struct Reader {
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
pub(super) fn give_value<'py>(py: Python<'py>, raw: Option<&[u8]>) -> PyResult<Bound<'py, PyAny>> {
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
