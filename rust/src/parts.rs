//! A file cut into parts at the beginnings of lines, for several threads to read.

use std::io;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use crate::lines::{ReadAt, line_start};
use crate::watch::receive;

/// How far from its place the border between two parts is looked for.
const BORDER_BYTES: u64 = 1024 * 1024;

/// Where so many parts of about equal size begin, and the size: each at the beginning of a line. There may be fewer
/// parts where lines are long.
pub(crate) fn borders(source: &impl ReadAt, start: u64, size: u64, parts: u64) -> io::Result<Vec<u64>> {
    let mut borders = vec![start];
    for part in 1..parts {
        let from = start + (size - start) / parts * part;
        let latest = size.min(from + BORDER_BYTES);
        let border = line_start(source, from.max(1), latest)?;
        borders.extend(border.filter(|border| Some(border) > borders.last() && *border < size));
    }
    borders.push(size);
    Ok(borders)
}

/// Reads the parts between these borders with so many threads, and gives them in their order to `take`, which the
/// caller's own thread runs meanwhile. Where there is one part or the system gives no thread, the caller reads, too.
///
/// The source is asked meanwhile whether to go on. `read` is given its thread's own reader and where a part begins and ends, and gives what it found and where it came
/// to. What follows a part that ended early, because the file was cut short, is left out; after an error nothing more is
/// taken.
pub(crate) fn read_in_order<R, P: Send, E>(
    source: &impl ReadAt,
    borders: &[u64],
    threads: usize,
    new_reader: impl Fn() -> R + Sync,
    read: impl Fn(&mut R, u64, u64) -> io::Result<(P, u64)> + Sync,
    mut take: impl FnMut(io::Result<P>) -> Result<(), E>,
) -> Result<(), E> {
    let parts = borders.len() - 1;
    let read = |reader: &mut R, part: usize| read(reader, borders[part], borders[part + 1]);
    let mut end = borders[0];
    let mut take = |part: usize, found: io::Result<(P, u64)>| match found {
        Ok((found, part_end)) if borders[part] == end => {
            end = part_end;
            take(Ok(found))
        }
        Ok(_) => Ok(()),
        Err(error) => take(Err(error)),
    };
    let (next, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let claim = || Some(next.fetch_add(1, Ordering::Relaxed)).filter(|&part| part < parts);
    let work = |sender: mpsc::Sender<_>| {
        let mut reader = new_reader();
        while let Some(part) = claim().filter(|_| !is_over.load(Ordering::Relaxed)) {
            if sender.send((part, read(&mut reader, part))).is_err() {
                break;
            }
        }
    };
    let work = &work;
    thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        let wanted = if parts < 2 { 0 } else { threads };
        let start = |_| {
            let sender = sender.clone();
            thread::Builder::new().spawn_scoped(scope, move || work(sender)).ok()
        };
        let workers: Vec<_> = (0..wanted).map_while(start).collect();
        drop(sender);
        let mut early: Vec<Option<io::Result<(P, u64)>>> = (0..parts).map(|_| None).collect();
        let (mut reader, mut taken) = (None, Ok(()));
        for part in 0..parts {
            while early[part].is_none() {
                match receive(&receiver, || source.go_on()) {
                    Ok(Some((other, found))) => early[other] = Some(found),
                    Ok(None) => break,
                    Err(error) => early[part] = Some(Err(error)),
                }
            }
            let found = early[part].take().unwrap_or_else(|| read(reader.get_or_insert_with(&new_reader), part));
            taken = take(part, found);
            if taken.is_err() {
                is_over.store(true, Ordering::Relaxed);
                break;
            }
        }
        for worker in workers {
            worker.join().unwrap_or_else(|panic| resume_unwind(panic));
        }
        taken
    })
}
