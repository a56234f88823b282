//! How many threads a read is worth, and the reading of many files by several of them.

use std::io;
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use crate::watch::{GoOn, receive};

/// Fewer files than this are not worth a thread.
const FILES_PER_THREAD: usize = 4;

/// More than this do not make reading faster.
const THREADS_MAX: usize = 8;

/// Threads for work that can be cut into so many parts; at least 1, the caller's own.
///
/// The system is asked only where the answer matters: on Linux that reads several files.
pub(crate) fn count(parts: usize) -> usize {
    if parts < 2 { 1 } else { thread::available_parallelism().map_or(1, NonZero::get).min(THREADS_MAX).min(parts) }
}

/// What a look at each file gives, in the order of the paths. `looker` is called once in each thread, for what looks at
/// one file after another. The only error is that of `go_on`.
pub(crate) fn look_at_each<T, L>(
    paths: &[PathBuf],
    looker: impl Fn() -> L + Sync,
    go_on: &GoOn<'_>,
) -> io::Result<Vec<Option<T>>>
where
    T: Clone + Send,
    L: FnMut(&PathBuf) -> Option<T>,
{
    let next = AtomicUsize::new(0);
    let work = || {
        let (mut look, mut found) = (looker(), Vec::new());
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(path) = paths.get(at) else { return Ok::<_, io::Error>(found) };
            let seen = look(path);
            go_on()?;
            found.push((at, seen));
        }
    };
    let mut all = vec![None; paths.len()];
    thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        // Where the system gives no thread, the others do its share.
        let start = |_| {
            let sender = sender.clone();
            thread::Builder::new().spawn_scoped(scope, move || drop(sender.send(work()))).ok()
        };
        let others = (1..count(paths.len() / FILES_PER_THREAD)).filter_map(start).count();
        drop(sender);
        let mut keep = |found: Vec<_>| found.into_iter().for_each(|(at, seen)| all[at] = seen);
        keep(work()?);
        for _ in 0..others {
            // None: it panicked, and so does the end of the scope.
            keep(receive(&receiver, go_on)?.unwrap_or(Ok(Vec::new()))?);
        }
        Ok(all)
    })
}
