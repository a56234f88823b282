"""A thread in which the kernel has no `openat2`, as on one before 5.6 or in an old sandbox."""

import ctypes
import errno
import sys
from concurrent.futures import ThreadPoolExecutor

_OPENAT2 = 437
"""On every architecture."""
_NO_NEW_PRIVS, _SECCOMP, _FILTER = 38, 22, 2


class _Rule(ctypes.Structure):
    _fields_ = (("code", ctypes.c_ushort), ("yes", ctypes.c_ubyte), ("no", ctypes.c_ubyte), ("k", ctypes.c_uint))


class _Program(ctypes.Structure):
    _fields_ = (("size", ctypes.c_ushort), ("rules", ctypes.POINTER(_Rule)))


def _refuse(error: int) -> None:
    """A filter of system calls for this thread alone; it ends with the thread."""
    rules = (
        _Rule(0x20, 0, 0, 0),  # load the number of the call
        _Rule(0x15, 0, 1, _OPENAT2),
        _Rule(0x06, 0, 0, 0x0005_0000 | error),
        _Rule(0x06, 0, 0, 0x7FFF_0000),  # allow
    )
    program = _Program(len(rules), (_Rule * len(rules))(*rules))
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    prctl.argtypes = (ctypes.c_int, *(ctypes.c_ulong,) * 4)
    for given in ((_NO_NEW_PRIVS, 1, 0, 0, 0), (_SECCOMP, _FILTER, ctypes.addressof(program), 0, 0)):
        if prctl(*given):
            raise OSError(ctypes.get_errno(), "a filter of system calls cannot be set")


def _openat2_error() -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall(_OPENAT2, -100, b"/", None, 0)
    return ctypes.get_errno()


def thread_without_openat2(error: int = errno.ENOSYS) -> ThreadPoolExecutor | None:
    """Runs what it is given in such a thread; None where there is no way to have one."""
    if sys.platform != "linux":
        return None
    thread = ThreadPoolExecutor(1, initializer=_refuse, initargs=(error,))
    try:
        found = thread.submit(_openat2_error).result()
    except RuntimeError:  # the filter could not be set
        return None
    assert found == error
    return thread
