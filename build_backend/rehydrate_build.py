"""The build backend (PEP 517 and 660): a wheel with the compiled module where Rust can build it, else the pure one.

Promises: `pip install .` never fails for want of Rust.  Without a working cargo (`cargo --version` fails), with
`REHYDRATE_PURE_BUILD=1`, or when cargo cannot build the crate here (too old, no linker, crates out of reach), the
wheel is pure Python, and standard error says so.  On Windows it always is: the crate needs a POSIX system.  maturin
makes the native wheel, hatchling the pure one and every sdist, so that an sdist is the same whatever the machine has.
Into the native wheel goes the front door, too; where only that cannot be built, it says so and goes on without.

There is no `prepare_metadata_for_build_*`: which wheel comes out is known only once it is built.
"""

import contextlib
import glob
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

if sys.version_info < (3, 10):  # noqa: UP036  # pip looks at what we require only after this was imported
    sys.exit(f"rehydrate needs Python 3.10 or later, and this is {sys.version_info[0]}.{sys.version_info[1]}")

_HATCHLING = "hatchling>=1.26"
_MATURIN = "maturin>=1.7,<2"
_HAS_NATIVE = os.name == "posix"
_Config = dict[str, Any] | None


def get_requires_for_build_wheel(config_settings: _Config = None) -> list[str]:
    """hatchling always, for the pure wheel may be needed after all; maturin where the native one will be tried."""
    return [_HATCHLING] if reason_for_pure() else [_MATURIN, _HATCHLING]


def get_requires_for_build_editable(config_settings: _Config = None) -> list[str]:
    """The same as for a wheel, and what hatchling needs for editable ones."""
    import_hook = "editables>=0.3"
    return [*get_requires_for_build_wheel(config_settings), import_hook]


def get_requires_for_build_sdist(config_settings: _Config = None) -> list[str]:
    """hatchling."""
    return [_HATCHLING]


def build_sdist(sdist_directory: str, config_settings: _Config = None) -> str:
    """An sdist that builds both wheels."""
    import hatchling.build

    return hatchling.build.build_sdist(sdist_directory, config_settings)


def build_wheel(wheel_directory: str, config_settings: _Config = None, metadata_directory: str | None = None) -> str:
    """The native wheel, or the pure one."""
    reason = reason_for_pure()
    if not reason:
        import maturin

        with _Failure() as failure:
            native: str = maturin.build_wheel(wheel_directory, config_settings)
            _add_door(os.path.join(wheel_directory, native))
            return native
        reason = failure.reason
    _say_pure(reason)
    import hatchling.build

    return hatchling.build.build_wheel(wheel_directory, config_settings)


def build_editable(wheel_directory: str, config_settings: _Config = None, metadata_directory: str | None = None) -> str:
    """The same for an editable install: a compiled module lies in the source tree, in a pure one there is none."""
    reason = reason_for_pure()
    if not reason:
        import maturin

        with _Failure() as failure:
            native: str = maturin.build_editable(wheel_directory, config_settings)
            _add_door(os.path.join(wheel_directory, native))
            return native
        reason = failure.reason
    _say_pure(reason)
    for left_over in glob.glob("python/rehydrate/_native*.so") + glob.glob("python/rehydrate/_native*.pyd"):
        os.unlink(left_over)
    import hatchling.build

    return hatchling.build.build_editable(wheel_directory, config_settings)


def _add_door(wheel: str) -> None:
    import door

    try:
        door.put_into(Path(wheel), door.build_door().program)
    except Exception as error:
        sys.stderr.write(
            f"\nrehydrate: the front door {door.NAME} could not be built ({error}, see above). Without it every call\n"
            "of the hook starts Python, which takes some milliseconds longer; nothing else depends on it.\n\n"
        )
        sys.stderr.flush()


class _Failure(contextlib.AbstractContextManager["_Failure", bool]):
    """Holds a failed native build back; maturin ends the process when cargo fails."""

    reason = ""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if not isinstance(error, (SystemExit, Exception)):
            return False
        self.reason = "cargo could not build the crate (its messages are above)"
        return True


def reason_for_pure() -> str:
    """Why the pure wheel is built; empty when the native one is to be tried."""
    if os.environ.get("REHYDRATE_PURE_BUILD", "") not in ("", "0"):
        return "REHYDRATE_PURE_BUILD asks for it"
    if not _HAS_NATIVE:
        return "the native module is for Linux and macOS"
    try:
        found = subprocess.run(["cargo", "--version"], stdin=subprocess.DEVNULL, capture_output=True, timeout=120)
    except (OSError, subprocess.TimeoutExpired):
        return "there is no cargo (https://rustup.rs installs one)"
    if found.returncode != 0:
        return f"`cargo --version` fails: {found.stderr.decode(errors='replace').strip()}"
    return ""


def _say_pure(reason: str) -> None:
    line = "*" * 100
    mend = " With a working Rust toolchain, install again for the native one." if _HAS_NATIVE else ""
    sys.stderr.write(
        f"\n{line}\nrehydrate: building the PURE PYTHON package, because {reason}.\n"
        f"It gives the same answers, more slowly.{mend}\n"
        f"{line}\n\n"
    )
    sys.stderr.flush()
