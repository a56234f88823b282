//! What the module gives to `rehydrate/notable.py`.

use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::notable::{self, Kind, Text};

/// None for a text with characters that Python alone knows.
#[pyfunction]
fn notable_lines(text: &Bound<'_, PyString>, kind: &str) -> Option<Vec<String>> {
    let kind = match kind {
        "result" => Kind::Result,
        "file" => Kind::File,
        _ => Kind::Change,
    };
    known(text).map(|text| notable::lines(&text, kind))
}

/// As above.
#[pyfunction]
fn notable_sentences(text: &Bound<'_, PyString>) -> Option<Vec<String>> {
    known(text).map(|text| notable::sentences(&text))
}

/// As above.
#[pyfunction]
fn notable_rule(text: &Bound<'_, PyString>) -> Option<bool> {
    known(text).map(|text| notable::is_rule(&text))
}

/// As above.
#[pyfunction]
fn notable_telling(text: &Bound<'_, PyString>) -> Option<Vec<(usize, usize)>> {
    known(text).map(|text| notable::telling(&text))
}

fn known(text: &Bound<'_, PyString>) -> Option<Text> {
    Text::new(text.to_str().ok()?)
}

pub(super) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(notable_lines, module)?)?;
    module.add_function(wrap_pyfunction!(notable_sentences, module)?)?;
    module.add_function(wrap_pyfunction!(notable_rule, module)?)?;
    module.add_function(wrap_pyfunction!(notable_telling, module)?)
}
