//! How many threads a read is worth.

use std::num::NonZero;
use std::thread;

/// More than this do not make reading faster.
const THREADS_MAX: usize = 8;

/// Threads for work that can be cut into so many parts; at least 1, the caller's own.
///
/// The system is asked only where the answer matters: on Linux that reads several files.
pub(crate) fn count(parts: usize) -> usize {
    if parts < 2 { 1 } else { thread::available_parallelism().map_or(1, NonZero::get).min(THREADS_MAX).min(parts) }
}
