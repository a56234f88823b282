"""How long one invocation of the hook may work before it answers with nothing.

Promises: `TooLate` is raised at most once, and never after `lift`, so that what is done from there on (sending the
reply, remembering it) is not torn.  A long call into the native module ends before the alarm is seen, and so does
what would lose it, or leave a temporary folder behind.
"""

import signal
import time
from types import FrameType, TracebackType

_AGAIN_S = 0.02
"""After how long an alarm that came at a bad moment comes again."""


class TooLate(BaseException):
    """The time is over; the message is a sentence.  No `except Exception` on the way takes it for its own."""


class Deadline:
    """Holds while the context lasts, or until it is lifted.

    There is none where the system has no such timer (Windows), or outside the main thread.
    """

    def __init__(self, limit_s: float) -> None:
        self._limit_s = limit_s
        self._began_s = time.monotonic()
        self._is_armed = False
        self._before: object = None

    def __enter__(self) -> "Deadline":
        if not hasattr(signal, "setitimer"):
            return self
        try:
            self._before = signal.signal(signal.SIGALRM, self._ring)
        except ValueError:  # not the main thread
            return self
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM})  # whoever started the process may have blocked it
        self._is_armed = True
        self.move(self._limit_s)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.lift()
        if self._before is not None:
            signal.signal(signal.SIGALRM, self._before)  # type: ignore[arg-type]  # what `signal` itself gave

    def move(self, limit_s: float) -> None:
        """Another limit, counted from the same beginning."""
        self._limit_s = limit_s
        if self._is_armed:
            left_s = self._began_s + limit_s - time.monotonic()
            signal.setitimer(signal.ITIMER_REAL, max(left_s, _AGAIN_S), _AGAIN_S)

    def lift(self) -> None:
        """From now on nothing is interrupted: an alarm that is on its way counts no more."""
        if self._is_armed:
            self._is_armed = False
            signal.setitimer(signal.ITIMER_REAL, 0)

    def _ring(self, number: int, frame: FrameType | None) -> None:
        if self._is_armed and not _is_bad_moment(frame):
            self.lift()
            raise TooLate(
                f"it took longer than deadline_s = {self._limit_s:g} s, so nothing was put back; lower the budgets, or "
                "raise deadline_s and the time-out of the hook in the client's own file"
            )


def _is_bad_moment(frame: FrameType | None) -> bool:
    """Whether what runs would swallow an error, or is making or removing a temporary folder."""
    while frame is not None:
        if frame.f_code.co_name == "__del__" or frame.f_globals.get("__name__") == "tempfile":
            return True
        frame = frame.f_back
    return False
