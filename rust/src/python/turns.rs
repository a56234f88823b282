//! The turns of Antigravity transcripts; `rehydrate/clients/antigravity/folded.py` dresses them.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyList, PyTuple};

use super::reader::give_value;
use super::{attended, path_of};
use crate::fold::{At, Fold as Core, Part};
use crate::open::open;
use crate::turns::{self, Before, Row, SAID, USER};
use crate::{inside, needles};

pub(super) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(read_turns, module)?)?;
    module.add_function(wrap_pyfunction!(members_at, module)?)?;
    module.add_function(wrap_pyfunction!(member_spans, module)?)?;
    module.add_function(wrap_pyfunction!(find_any, module)?)?;
    module.add_class::<Turns>()?;
    module.add_class::<Fold>()
}

/// What a file holds.
#[pyclass(module = "rehydrate._native", frozen)]
struct Turns {
    inner: Arc<turns::Turns>,
}

#[pyfunction]
fn read_turns(py: Python<'_>, path: &[u8], is_cut: bool) -> PyResult<Turns> {
    let path = path_of(path);
    let found = attended(py, |go_on| turns::read_turns(&open(path)?.watched(go_on), is_cut))?;
    Ok(Turns { inner: Arc::new(found) })
}

#[pymethods]
impl Turns {
    #[getter]
    fn boundaries(&self) -> Vec<(Option<i64>, u64, usize)> {
        self.inner.boundaries.iter().map(|mark| (mark.step, mark.offset, mark.length)).collect()
    }

    /// For each boundary offset and length of the record before it, 0 where there is none; None where only reading tells.
    #[getter]
    fn before(&self) -> Vec<Option<(u64, usize)>> {
        let give = |before: &Before| match *before {
            Before::None => Some((0, 0)),
            Before::At(offset, length) => Some((offset, length)),
            Before::Long => None,
        };
        self.inner.before.iter().map(give).collect()
    }

    #[getter]
    fn last_step(&self) -> Option<i64> {
        self.inner.last_step
    }

    #[getter]
    fn damaged(&self) -> u64 {
        self.inner.damaged
    }

    fn users(&self, last: i64) -> Vec<(usize, u64, usize)> {
        let rows = self.inner.rows.iter().enumerate();
        let users = rows.filter(|(_, row)| row.signs & USER != 0 && row.step <= last);
        users.map(|(at, row)| (at, row.offset, row.length)).collect()
    }

    fn finished(&self, first: i64, last: i64) -> Vec<i64> {
        self.inner.finished(first, last)
    }
}

/// What several files hold of a conversation.
#[pyclass(module = "rehydrate._native", frozen)]
struct Fold {
    inner: Core,
}

type PyEnds<'f> = (&'static str, &'f str, At, At);

#[pymethods]
impl Fold {
    #[new]
    fn new(py: Python<'_>, parts: Vec<(Py<Turns>, i64, Vec<usize>)>) -> Self {
        let parts =
            parts.into_iter().map(|(turns, last, void)| Part { turns: Arc::clone(&turns.get().inner), last, void });
        let parts = parts.collect();
        Self { inner: py.detach(|| Core::new(parts)) }
    }

    fn __len__(&self) -> usize {
        self.inner.len()
    }

    /// Of the turns at some places, as far as there are any: step, part, row, whether it is a request, whether it says
    /// something, offset, length.
    #[allow(clippy::needless_pass_by_value)] // what the binding makes of a list
    fn rows(&self, places: Vec<usize>) -> Vec<(i64, usize, usize, bool, bool, u64, usize)> {
        let found = places.iter().filter_map(|&place| self.inner.get(place));
        let give = |(part, number, row): (usize, usize, &Row)| {
            let Row { step, offset, length, signs, .. } = *row;
            (step, part, number, signs & USER != 0, signs & SAID != 0, offset, length)
        };
        found.map(give).collect()
    }

    fn users(&self) -> Vec<usize> {
        self.inner.users().collect()
    }

    fn unseen(&self) -> Vec<usize> {
        self.inner.unseen().collect()
    }

    fn stretches(&self, py: Python<'_>, stop: usize) -> Vec<(usize, usize)> {
        py.detach(|| self.inner.stretches(stop))
    }

    fn touches<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let found = py.detach(|| self.inner.touches());
        PyList::new(py, found.iter().map(|ends| -> PyEnds<'_> { (ends.kind.name(), ends.told, ends.first, ends.last) }))
    }
}

type Places = Vec<(u64, usize)>;

#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // what the binding makes of a list
fn members_at<'py>(
    py: Python<'py>,
    path: &[u8],
    places: Places,
    members: Vec<Vec<u8>>,
) -> PyResult<Bound<'py, PyList>> {
    let path = path_of(path);
    let names: Vec<&[u8]> = members.iter().map(Vec::as_slice).collect();
    let found = attended(py, |go_on| inside::members_at(&open(path)?.watched(go_on), &places, &names))?;
    let rows = PyList::empty(py);
    for values in found {
        match values {
            None => rows.append(py.None())?,
            Some(values) => {
                let given: PyResult<Vec<_>> = values.iter().map(|value| give_value(py, value.as_deref())).collect();
                rows.append(PyTuple::new(py, given?)?)?;
            }
        }
    }
    Ok(rows)
}

type Spans = Vec<Option<(usize, usize)>>;

#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // as above
fn member_spans(object: &[u8], members: Vec<PyBackedBytes>) -> Option<Spans> {
    let names: Vec<&[u8]> = members.iter().map(|name| &**name).collect();
    inside::member_spans(object, &names)
}

#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // as above
fn find_any(raw: &[u8], words: Vec<PyBackedBytes>, start: usize) -> Option<usize> {
    let words: Vec<&[u8]> = words.iter().map(|word| &**word).collect();
    needles::find_any(raw.get(start..)?, &words).map(|at| start + at)
}
