"""The ways in which a file is opened: by the kernel in one walk, by the native module or its twin step by step."""

import errno
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from rehydrate import files
from tests.without_openat2 import thread_without_openat2

try:
    from rehydrate._native import open_unlinked as native
except ImportError:
    native = None

WAYS = ("native", "native without openat2", "pure")
FORBIDDEN = "native with openat2 forbidden"


@contextmanager
def way_of_opening(name: str) -> Iterator[Callable[[bytes], int]]:
    """What opens a file in that way; the test is skipped where there is no such way."""
    if name == "pure":
        yield files._open_in_python
        return
    if native is None:
        pytest.skip("the compiled module is not here")
    if name == "native":
        yield native
        return
    thread = thread_without_openat2(errno.EPERM if name == FORBIDDEN else errno.ENOSYS)
    if thread is None:
        pytest.skip("no way to take openat2 away from a thread")
    with thread:
        yield lambda path: thread.submit(native, path).result()
