//! Whether a long read goes on: asked before each piece that is read, and while other threads read.

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use crate::lines::ReadAt;

/// How long a wait for other threads lasts before it is asked again.
const WAIT: Duration = Duration::from_millis(20);

/// Says whether to go on; its error ends the read. It is asked by every thread that reads, some ten thousand times a
/// second. Its errors are of the kind `Interrupted`: whoever can be read on later then loses nothing.
pub type GoOn<'g> = dyn Fn() -> io::Result<()> + Sync + 'g;

/// Something that is read only while `go_on` says so.
pub struct Watched<'g, S> {
    /// What is read.
    pub source: S,
    /// Is asked before each read.
    pub go_on: &'g GoOn<'g>,
}

impl<S: ReadAt> ReadAt for Watched<'_, S> {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        (self.go_on)()?;
        self.source.read_at(buffer, offset)
    }

    fn go_on(&self) -> io::Result<()> {
        (self.go_on)()
    }
}

/// The next thing that another thread sends, None when no more comes; `go_on` is asked meanwhile.
pub(crate) fn receive<T>(receiver: &Receiver<T>, go_on: impl Fn() -> io::Result<()>) -> io::Result<Option<T>> {
    loop {
        match receiver.recv_timeout(WAIT) {
            Ok(sent) => return Ok(Some(sent)),
            Err(RecvTimeoutError::Disconnected) => return Ok(None),
            Err(RecvTimeoutError::Timeout) => go_on()?,
        }
    }
}
