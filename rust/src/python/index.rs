//! The index of a transcript's records, for Python.

use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString};

use super::{attended, path_of};
use crate::error::Error;
use crate::open::open;
use crate::{index as core_index, tree, uuid};

pub(super) type PyTree = (Index, u64, u64, Vec<u64>, u64);

#[pyfunction]
pub(super) fn read_tree(py: Python<'_>, path: &[u8]) -> PyResult<PyTree> {
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
pub(super) struct Index {
    inner: core_index::Index,
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
