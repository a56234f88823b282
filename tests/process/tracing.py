"""Runs a command call by call: before each of its system calls a test may look, kill it, or let the call fail.

Linux on x86-64 and arm64 only: a filter (`seccomp`) stops the process at the calls of interest, and what the kernel has
for debuggers (`ptrace`) does the rest.  Only the process itself is followed, not what it may start.
"""

import ctypes
import os
import platform
import signal
import sys
from typing import NamedTuple

import pytest

KILL = "kill"
"""For `watch`: end it with SIGKILL instead of the call."""

_TRACEME, _CONT, _SETOPTIONS, _GETREGSET, _SETREGSET, _GET_SYSCALL_INFO = 0, 7, 0x4200, 0x4204, 0x4205, 0x420E
_OPTIONS = 0x100000 | 0x80  # it dies with the tracer; calls that the filter names stop it
_AT_CALL = signal.SIGTRAP | 7 << 8
_NT_PRSTATUS, _NT_ARM_SYSTEM_CALL = 1, 0x404
_NO_NEW_PRIVILEGES, _SET_SECCOMP = 38, 22
_LOAD, _IF_EQUAL, _RETURN, _ALLOW, _TRACE = 0x20, 0x15, 0x06, 0x7FFF0000, 0x7FF00000

NAMES = {
    "x86_64": {
        0: "read", 1: "write", 2: "open", 3: "close", 18: "pwrite64", 20: "writev", 40: "sendfile", 56: "clone",
        57: "fork", 58: "vfork", 72: "fcntl", 73: "flock", 74: "fsync", 75: "fdatasync", 76: "truncate",
        77: "ftruncate", 82: "rename", 83: "mkdir", 84: "rmdir", 86: "link", 87: "unlink", 88: "symlink", 90: "chmod",
        91: "fchmod", 92: "chown", 93: "fchown", 231: "exit_group", 257: "openat", 258: "mkdirat", 263: "unlinkat",
        264: "renameat", 265: "linkat", 266: "symlinkat", 268: "fchmodat", 280: "utimensat", 316: "renameat2",
        326: "copy_file_range", 435: "clone3",
    },
    "aarch64": {
        25: "fcntl", 32: "flock", 34: "mkdirat", 35: "unlinkat", 36: "symlinkat", 37: "linkat", 38: "renameat",
        45: "truncate", 46: "ftruncate", 52: "fchmod", 53: "fchmodat", 55: "fchown", 56: "openat", 57: "close",
        63: "read", 64: "write", 66: "writev", 68: "pwrite64", 71: "sendfile", 82: "fsync", 83: "fdatasync",
        88: "utimensat", 94: "exit_group", 220: "clone", 276: "renameat2", 285: "copy_file_range", 435: "clone3",
    },
}.get(platform.machine(), {})  # fmt: skip
"""The calls that a test may care for; the others are `other`."""
ONLY_READING = frozenset({"read", "fcntl", "other"})
"""Calls that change nothing which outlives the process."""
_BY_DESCRIPTOR = frozenset(
    {"read", "write", "close", "pwrite64", "writev", "flock", "fsync", "fdatasync", "ftruncate", "fchmod", "fcntl"}
)
_STARTING = frozenset({"clone", "clone3", "fork", "vfork"})


class Call:
    """A system call that is about to be made."""

    def __init__(self, pid, number, name, arguments):
        self._pid = pid
        self.number = number
        """Of the calls since the payload was read, from 0."""
        self.name = name
        self.arguments = arguments
        self.descriptor = arguments[0] & 0xFFFFFFFF
        """Where it is the first argument: of more the kernel takes no notice, and anything may stand there."""

    @property
    def path(self):
        """What it is about: of a descriptor the file, of two paths the first; "" where it is neither."""
        if self.name in _BY_DESCRIPTOR:
            try:
                return os.readlink(f"/proc/{self._pid}/fd/{self.descriptor}")
            except OSError:
                return ""
        if self.name in ("other", "exit_group"):
            return ""
        with open(f"/proc/{self._pid}/mem", "rb", buffering=0) as memory:
            memory.seek(self.arguments[1 if self.name.endswith(("at", "at2")) else 0])
            return os.fsdecode(memory.read(4096).partition(b"\0")[0])

    @property
    def changes(self):
        """Whether it may change something that outlives the process."""
        if self.name == "close":
            with open(f"/proc/{self._pid}/fdinfo/{self.descriptor}") as file:
                flags = next(int(line.split()[1], 8) for line in file if line.startswith("flags:"))
            return flags & os.O_ACCMODE != os.O_RDONLY
        if self.name in ("open", "openat"):
            flags = self.arguments[1 if self.name == "open" else 2]
            return bool(flags & (os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_RDWR))
        return self.name not in ONLY_READING


class Ended(NamedTuple):
    """A command that was run."""

    status: int
    """As `Popen.returncode` has it."""
    stdout: bytes
    stderr: bytes


def run(command, payload, *, environ, watch, every=False):
    """Run the command; before each call (one of NAMES, or `every` one) after it first read from standard input
    `watch(call)` is asked: None lets it be made, an errno makes it fail with that, KILL ends the process before it.
    """
    pipes = [os.pipe() for _ in range(3)]
    pid = os.fork()
    if pid == 0:
        try:
            for at, (reading, writing) in enumerate(pipes):
                os.dup2(reading if at == 0 else writing, at)
            _be_traced(_filter(every=every))
            os.execve(command[0], command, environ)
        finally:
            os._exit(126)
    os.close(pipes[0][0])
    for _, writing in pipes[1:]:
        os.close(writing)
    try:
        os.write(pipes[0][1], payload)  # no more than the pipe holds, as is what comes back
        os.close(pipes[0][1])
        status = _follow(pid, watch)
    except BaseException:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        raise
    printed = [os.fdopen(reading, "rb") for reading, _ in pipes[1:]]
    with printed[0], printed[1]:
        return Ended(status, *(file.read() for file in printed))


def _follow(pid, watch):
    os.waitpid(pid, 0)
    _ptrace(_SETOPTIONS, pid, 0, _OPTIONS)
    number, passed_on = -1, 0
    while True:
        _ptrace(_CONT, pid, 0, passed_on)
        _, status = os.waitpid(pid, 0)
        if not os.WIFSTOPPED(status):
            return os.waitstatus_to_exitcode(status)
        passed_on = 0
        if status >> 8 != _AT_CALL:
            if os.WSTOPSIG(status) != signal.SIGTRAP:  # what the kernel sends after `exec`
                passed_on = os.WSTOPSIG(status)
            continue
        info = _Info()
        _ptrace(_GET_SYSCALL_INFO, pid, ctypes.sizeof(info), ctypes.byref(info))
        call = Call(pid, number, NAMES.get(info.rest[0], "other"), info.rest[1:7])
        if number < 0 and (call.name, call.descriptor) != ("read", 0):
            continue
        number += 1
        if number == 0:
            continue
        assert call.name not in _STARTING, "it starts a thread or a process, which is not followed"
        told = watch(call)
        if told == KILL:
            os.kill(pid, signal.SIGKILL)
            return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if told is not None:
            _fail(pid, told)


class _Info(ctypes.Structure):
    _fields_ = (("head", ctypes.c_uint64 * 3), ("rest", ctypes.c_uint64 * 8))


class _Vector(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


def _fail(pid, number):
    """Let the call that the process is about to make be none, and its result an error."""
    if platform.machine() == "aarch64":
        none = ctypes.c_int(-1)
        vector = _Vector(ctypes.addressof(none), ctypes.sizeof(none))
        _ptrace(_SETREGSET, pid, _NT_ARM_SYSTEM_CALL, ctypes.byref(vector))
        _set_register(pid, 0, -number)
    else:
        _set_register(pid, 15, -1)
        _set_register(pid, 10, -number)


def _set_register(pid, place, value):
    registers = (ctypes.c_int64 * 64)()
    vector = _Vector(ctypes.addressof(registers), ctypes.sizeof(registers))
    _ptrace(_GETREGSET, pid, _NT_PRSTATUS, ctypes.byref(vector))  # sets the length to what there is
    registers[place] = value
    _ptrace(_SETREGSET, pid, _NT_PRSTATUS, ctypes.byref(vector))


def _ptrace(request, pid, address, data):
    if _LIBC.ptrace(request, pid, ctypes.c_void_p(address), _pointer(data)) < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _pointer(data):
    return ctypes.c_void_p(data) if isinstance(data, int) else data


def _filter(*, every):
    """The program of the filter: tell the tracer of the calls in NAMES, of `read` only from standard input."""
    if every:
        return [(_RETURN, 0, 0, _TRACE)]
    numbers = sorted(NAMES, key=lambda number: NAMES[number] == "read")
    steps = [(_LOAD, 0, 0, 0)]  # the call
    steps += [(_IF_EQUAL, len(numbers) + 2 - at, 0, number) for at, number in enumerate(numbers[:-1])]
    steps += [(_IF_EQUAL, 0, 2, numbers[-1]), (_LOAD, 0, 0, 16)]  # its first argument
    return [*steps, (_IF_EQUAL, 1, 0, 0), (_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _TRACE)]


def _be_traced(steps):
    class Step(ctypes.Structure):
        _fields_ = (("code", ctypes.c_uint16), ("yes", ctypes.c_uint8), ("no", ctypes.c_uint8), ("k", ctypes.c_uint32))

    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_uint16), ("steps", ctypes.c_void_p))

    code = (Step * len(steps))(*steps)
    program = Program(len(steps), ctypes.addressof(code))
    _ptrace(_TRACEME, 0, 0, 0)
    os.kill(os.getpid(), signal.SIGSTOP)
    for words in ((_NO_NEW_PRIVILEGES, 1, 0, 0, 0), (_SET_SECCOMP, 2, ctypes.addressof(program), 0, 0)):
        if _LIBC.prctl(*map(ctypes.c_ulong, words)) < 0:
            os._exit(126)


def _hindrance():
    if not (sys.platform == "linux" and NAMES):
        return "system calls are followed on Linux only, on x86-64 and arm64"
    seen = []
    try:
        run(
            [sys.executable, "-I", "-S", "-c", "input()"], b"x\n", environ={}, watch=lambda call: seen.append(call.name)
        )
    except OSError as error:
        return f"this machine lets no process be followed: {error}"
    return "" if "exit_group" in seen else "this machine lets no process be followed"


if sys.platform == "linux":
    _LIBC = ctypes.CDLL(None, use_errno=True)
    _LIBC.ptrace.restype = ctypes.c_long
    _LIBC.ptrace.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)
_WHY_NOT = _hindrance()
needs_tracing = pytest.mark.skipif(bool(_WHY_NOT), reason=_WHY_NOT)
