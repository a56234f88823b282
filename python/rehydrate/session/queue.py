"""What is to be appended to one file soon: collected, and written together.

Nothing that was taken is dropped.  A flush that fails keeps everything, and is tried again; who adds to a full queue
waits for a flush, and gets its error.
"""

import contextlib
import threading
from collections.abc import Callable, Sequence

from .errors import SessionError
from .file import LogFile

FULL_ENTRIES = 1_000
FULL_BYTES = 64_000_000
PATIENCE_S = 5.0
"""The longest wait between two attempts to write what could not be written."""


class Queue:
    """The entries that wait for one file; for any number of threads."""

    def __init__(self, file: LogFile, *, flush_s: float) -> None:
        self._file = file
        self._flush_s = flush_s
        self._bodies: list[bytes] = []
        self._bytes = 0
        self._is_full = False
        self._set_up()

    def _set_up(self) -> None:
        self._lock = threading.Lock()
        """Held while the list is looked at or changed."""
        self._writing = threading.RLock()
        """Held while the file is written to."""
        self._wanted = threading.Event()
        """Set while the thread has something to do."""
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None

    def __len__(self) -> int:
        return len(self._bodies)

    def put(self, bodies: Sequence[bytes]) -> None:
        """Take what `line.encode` gave, to be written soon.  Of a full queue, raises what `flush` raises, and has taken
        nothing then.
        """
        if self._is_full:
            self.flush()
        with self._lock:
            if not self._bodies:
                self._wanted.set()
            self._bodies += bodies
            self._bytes += sum(map(len, bodies))
            self._is_full = len(self._bodies) >= FULL_ENTRIES or self._bytes >= FULL_BYTES
        if self._is_full:
            with contextlib.suppress(OSError, SessionError):  # they are kept
                self.flush()
        elif self._thread is None:
            self._start()

    def put_durable(self, bodies: Sequence[bytes], *, more: Callable[[], Sequence[bytes]] | None = None) -> None:
        """Write everything that waits and these behind it, and wait until all of it is on disk.  These are not kept
        when it raises.  `more`: as for `LogFile.append`.
        """
        self._write(bodies, durable=True, more=more)

    def flush(self) -> None:
        """Write everything that waits.  Raises what `LogFile.append` raises, and keeps everything then."""
        self._write((), durable=False)

    def close(self) -> None:
        """Flush, end the thread and let go of the file.  What `flush` raises leaves everything as it was."""
        self.flush()
        self._closed.set()
        self._wanted.set()
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.join()
        with self._writing:
            self._file.close()

    def _write(
        self, bodies: Sequence[bytes], *, durable: bool, more: Callable[[], Sequence[bytes]] | None = None
    ) -> None:
        with self._writing:
            with self._lock:
                waiting = self._bodies[:]
            if not (waiting or durable):
                return
            self._file.append([*waiting, *bodies] if waiting else bodies, durable=durable, more=more)
            if not waiting:
                return
            with self._lock:
                del self._bodies[: len(waiting)]
                self._bytes -= sum(map(len, waiting))
                self._is_full = False  # but for what was put in meanwhile, which is soon seen
                if not self._bodies and not self._closed.is_set():
                    self._wanted.clear()

    # -- the thread ---------------------------------------------------------------------------------------------------

    def _start(self) -> None:
        with self._lock:
            if self._thread is None and not self._closed.is_set():
                thread = threading.Thread(target=self._run, name="rehydrate-flush", daemon=True)
                with contextlib.suppress(RuntimeError):  # the interpreter is ending, which flushes
                    thread.start()
                    self._thread = thread

    def _run(self) -> None:
        pause = self._flush_s
        while not self._closed.is_set():
            self._wanted.wait()
            if self._closed.wait(pause):
                return
            try:
                self.flush()
                pause = self._flush_s
            except Exception:  # `flush` tells who asks; here nobody does
                pause = min(2 * pause + 0.01, PATIENCE_S)

    def after_fork(self) -> None:
        """In the child: nothing waits, no thread runs, and the file is the parent's."""
        self._bodies, self._bytes, self._is_full = [], 0, False
        self._set_up()
        self._file.close()
