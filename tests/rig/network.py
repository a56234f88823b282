"""A network namespace that holds nothing but loopback: how to enter one, and why that cannot be done here."""

import os
import shutil
import socket
import struct
import subprocess
import sys

SIOCSIFFLAGS = 0x8914
IFF_UP, IFF_RUNNING = 0x1, 0x40


def prefix() -> list[str]:
    """What to put before a command so that it runs in a private network."""
    return ["unshare", "-n"] if os.geteuid() == 0 else ["unshare", "-r", "-n"]


def why_not() -> str | None:
    """Why this machine offers no private network, in words; None when it does."""
    if sys.platform != "linux":
        return "a private network needs Linux"
    if shutil.which("unshare") is None:
        return "a private network needs util-linux `unshare`"
    tried = subprocess.run([*prefix(), "true"], capture_output=True, text=True, timeout=20)
    return None if tried.returncode == 0 else f"`unshare` is not permitted: {tried.stderr.strip()}"


def require_private() -> None:
    """Sets loopback up; SystemExit when the process sees any other network interface."""
    import fcntl  # not on Windows

    names = sorted(name for _, name in socket.if_nameindex())
    if names != ["lo"]:
        raise SystemExit(f"not in a private network: {', '.join(names)}")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        request = struct.pack("16sh14x", b"lo", IFF_UP | IFF_RUNNING)
        fcntl.ioctl(sock.fileno(), SIOCSIFFLAGS, request)
