"""Files are read while a thread and another process swap what is there: not a byte from outside, never a wait."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from rehydrate import files
from rehydrate.files import Access, FileText
from tests import swaps
from tests.opening import WAYS, way_of_opening

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no dir_fd: every file is refused")

SWAPS = 750
"""Of each kind, way and swapper: more than 10,000 for each way of opening."""
HANGS_S = 120
REFUSALS = frozenset(("gone", "link", "special", "empty", "changing"))


@pytest.fixture(autouse=True)
def busy() -> Iterator[None]:
    """Threads take turns often, and a wait becomes a failure."""

    def fail(*_: object) -> None:
        raise AssertionError("it hangs")

    before, every_s = signal.signal(signal.SIGALRM, fail), sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    signal.alarm(HANGS_S)
    yield
    signal.alarm(0)
    sys.setswitchinterval(every_s)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(params=WAYS)
def opener(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with way_of_opening(request.param) as way:
        monkeypatch.setattr(files, "_open_unlinked", way)
        yield


@pytest.fixture
def arenas(tmp_path: Path) -> list[Path]:
    """One for each of two swappers."""
    made = [tmp_path.resolve() / name for name in ("thread", "process")]
    for each in made:
        swaps.lay_out(each)
    return made


@pytest.mark.parametrize("kind", swaps.KINDS)
@pytest.mark.usefixtures("opener")
def test_F50_F53_whatever_is_swapped_what_is_read_is_whole_and_from_inside(kind: str, arenas: list[Path]) -> None:
    readers = [Access((str(arena / "ws"),)) for arena in arenas]
    thread = threading.Thread(target=swaps.swap, args=(kind, str(arenas[0]), SWAPS), daemon=True)
    command = [sys.executable, "-I", "-S", swaps.__file__, kind, str(arenas[1]), str(SWAPS)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        thread.start()
        while thread.is_alive() or process.poll() is None:
            for arena, access in zip(arenas, readers, strict=True):
                path = f"{arena}/ws/{swaps.FILE}"
                judge(access, path, in_place="in place" in kind)
        assert process.communicate()[1] == ""
    for arena, access in zip(arenas, readers, strict=True):
        assert isinstance(access.read(f"{arena}/ws/{swaps.FILE}"), FileText), "all is as it was"


def judge(access: Access, path: str, *, in_place: bool) -> None:
    """Reads and checks once."""
    read, checked = access.read(path), access.check(path)
    assert checked is None or checked.reason in REFUSALS
    if not isinstance(read, FileText):
        assert read.reason in REFUSALS
    elif in_place:
        # What a write has done so far is the beginning of a version.
        number = read.text[1 : read.text.find(">")]
        assert swaps.version(int(number)).startswith(read.text)
    else:
        assert swaps.is_whole(read.text), read.text[:100]


@pytest.mark.parametrize("kind", [kind for kind in swaps.KINDS if "link" in kind or "whatever" in kind])
def test_who_follows_links_would_be_caught(kind: str, arenas: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """The test above can fail."""
    monkeypatch.chdir(arenas[0] / "outside" / "d")
    seen = set()
    steps = swaps.KINDS[kind](str(arenas[0]))
    for _ in range(20):
        next(steps)
        with suppress(OSError), open(os.open(arenas[0] / "ws" / swaps.FILE, os.O_RDONLY | os.O_NONBLOCK)) as file:
            seen.add(file.read())
    assert swaps.SECRET in seen
