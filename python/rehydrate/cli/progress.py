"""A progress bar on standard error for work that takes longer than a second.

Nothing is shown, and nothing imported, in a shorter run or where standard error is no terminal.  A command whose lines
may appear on the terminal meanwhile shows none: there the output itself is the progress.  A bar never fails the work
that it stands for, and is gone when that ends, however it ends.
"""

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

PATIENCE_S = 1.0
"""How long a person waits without asking what is going on."""
_TICKS = 500
"""So often at most a bar moves: each time costs more than to read a record."""


@contextlib.contextmanager
def progress(what: str, *, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """Show a bar while the context lasts, from the second second on.

    `what`: a few words, in the -ing form.  `total`: how much there is to do (None: not known; the bar then only moves).
    Yields a function to say how much is done by now.
    """
    bar = _Bar(what, total)
    if not _is_watched():
        yield bar.advance
        return
    timer = threading.Timer(PATIENCE_S, bar.show)
    timer.daemon = True
    timer.start()
    try:
        yield bar.advance
    finally:
        timer.cancel()
        bar.end()


def _is_watched() -> bool:
    try:
        seen = sys.stderr is not None and sys.stderr.isatty()
    except ValueError:  # closed
        return False
    return seen and os.environ.get("TERM") not in ("dumb", "unknown")


class _Bar:
    """Shown by a timer's thread, advanced and ended by the one that works."""

    def __init__(self, what: str, total: int | None) -> None:
        self._what, self._total = what, total
        self._done = self._drawn = 0
        self._lock = threading.Lock()  # held while the bar appears or goes
        self._over = False
        self._shown: tuple[Progress, TaskID] | None = None

    def advance(self, done: int) -> None:
        self._done = done
        if self._shown is not None and done - self._drawn >= (self._total or 0) / _TICKS:
            bar, task = self._shown
            bar.update(task, completed=done)
            self._drawn = done

    def show(self) -> None:
        try:
            bar = _new_bar()
        except ValueError:  # COLUMNS or LINES hold what rich takes for a number, and Python does not
            return
        task = bar.add_task(self._what, total=self._total, completed=self._done)
        with self._lock:
            if self._over:
                return
            with contextlib.suppress(OSError, ValueError):  # the terminal may have gone
                bar.start()
                self._shown = bar, task

    def end(self) -> None:
        with self._lock:
            self._over = True
            if self._shown is not None:
                with contextlib.suppress(OSError, ValueError):
                    self._shown[0].stop()


def _new_bar() -> "Progress":
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
        redirect_stdout=False,  # it would lead what the command prints into a pipe to the terminal
        redirect_stderr=False,
    )
