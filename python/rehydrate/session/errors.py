"""What can be wrong with a session: typed, with the place, and one sentence for people.

What the system refuses (a full disk, a folder that cannot be written) is the matching OSError and none of these.
"""

from collections.abc import Iterator
from contextlib import contextmanager


class SessionError(Exception):
    """Something is wrong with a session."""

    def __init__(self, message: str, *, path: str = "", line: int | None = None, offset: int | None = None) -> None:
        super().__init__(message)
        self.path = path
        """The file that it is about."""
        self.line = line
        """Number of the line, from 1; None when it is about no line."""
        self.offset = offset
        """Where the line begins, in bytes; None when it is about no line."""


class NotASession(SessionError):
    """The file holds no session."""


class Locked(SessionError):
    """Other processes have kept the file to themselves for too long; what was to be appended was not."""


class NewerVersion(SessionError):
    """A later version of this library wrote the file in a format that this one does not know."""


class Compacted(SessionError):
    """The session was compacted meanwhile, or went on elsewhere; what was to be written on top of how it was before was
    not.
    """


class DamagedLine(SessionError):
    """A line that is no record, or whose check is wrong.  Reading goes on behind it."""


@contextmanager
def naming(path: str) -> Iterator[None]:
    """What the system refuses says of which file or folder: of a descriptor it does not."""
    try:
        yield
    except OSError as error:
        error.filename = error.filename or path
        raise
