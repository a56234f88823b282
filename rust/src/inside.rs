//! Members of records whose places are known.

use std::io;

use crate::error::Error;
use crate::lines::ReadAt;
use crate::members::{Progress, walk_line};
use crate::open::Opened;
use crate::walker::{Keys, Span, Walker};
use crate::whole::Objects;
use crate::window::{OnDisk, Window, read_all};

/// A longer record is read piece by piece.
const BUFFER_BYTES: usize = 64 * 1024;

/// The values of a record's members, as they are written.
pub type Values = Vec<Option<Vec<u8>>>;

/// Of each record the values of the wanted members; None where no record stands any more.
pub fn members_at(
    opened: &Opened<impl ReadAt>,
    places: &[(u64, usize)],
    names: &[&[u8]],
) -> Result<Vec<Option<Values>>, Error> {
    let (mut walker, keys) = (Walker::new(), Keys::new(names));
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut read =
        |&(offset, length): &(u64, usize)| match one(&opened.file, (offset, length), &mut walker, &keys, &mut buffer) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            other => other.map_err(Error::reading(&opened.path, offset)),
        };
    places.iter().map(&mut read).collect()
}

/// Where in the bytes of an object the values of the wanted members stand; None when it is no whole object, or one that
/// only a walk can tell for one (it may be nested deep).
#[must_use]
pub fn member_spans(object: &[u8], names: &[&[u8]]) -> Option<Vec<Option<Span>>> {
    let mut spans = Vec::new();
    let end = Objects::new(object).end(0, &Keys::new(names), &mut spans);
    (end == Some(object.len())).then_some(spans)
}

fn one(
    source: &impl ReadAt,
    (offset, length): (u64, usize),
    walker: &mut Walker,
    keys: &Keys,
    buffer: &mut [u8],
) -> io::Result<Option<Values>> {
    if length > buffer.len() {
        return find(&mut OnDisk::new(source, offset, length, buffer), length, walker, keys);
    }
    let record = &mut buffer[..length];
    read_all(source, record, offset)?;
    let mut spans = Vec::new();
    if Objects::new(record).end(0, keys, &mut spans) == Some(length) {
        let values = spans.iter().map(|span| span.map(|(start, end)| record[start..end].to_vec()));
        return Ok(Some(values.collect()));
    }
    find(&mut &*record, length, walker, keys)
}

fn find(window: &mut impl Window, length: usize, walker: &mut Walker, keys: &Keys) -> io::Result<Option<Values>> {
    let (mut progress, mut spare, mut found) = (Progress::default(), Vec::new(), None);
    walk_line(window, walker, keys, &mut progress, |window, span, spans| {
        if found.is_none() && span == (0, length) {
            let mut values = Values::with_capacity(spans.len());
            for span in spans {
                values.push(match span {
                    Some((start, end)) => Some(window.get(*start, *end, &mut spare)?.to_vec()),
                    None => None,
                });
            }
            found = Some(values);
        }
        Ok(true)
    })?;
    Ok(found)
}
