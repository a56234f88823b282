"""What an attacker does inside a workspace while it is read: `python swaps.py KIND FOLDER COUNT`.

The folder has `ws`, a workspace with `d/e/f`, and beside it `outside` with the same names and other texts.
"""

import os
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

FILE = os.path.join("d", "e", "f")
SECRET = "the secret"
_HAS_PROC = os.path.exists("/proc/self/fd")


def version(number: int) -> str:
    """The text of a file of the workspace; no two have the same length."""
    return f"<{number}>" + "x" * number + f"</{number}>"


def is_whole(text: str) -> bool:
    """Whether this is one version, and all of it."""
    number = text[1 : text.find(">")]
    return text.startswith("<") and number.isdigit() and text == version(int(number))


def lay_out(folder: Path) -> None:
    """Makes the workspace and what lies beside it."""
    for root, text in (("ws", version(0)), ("outside", SECRET)):
        (folder / root / "d" / "e").mkdir(parents=True)
        (folder / root / FILE).write_text(text)
        (folder / root / "other").write_text(text)


def swap(kind: str, folder: str, count: int) -> None:
    """Swaps so often; then all is as it was, but for the text."""
    step = KINDS[kind](folder)
    for _ in range(count):
        next(step)
    step.close()


def _file_and_others(folder: str) -> Iterator[None]:
    """The file is replaced by rename, with everything that a name can stand for."""
    file = os.path.join(folder, "ws", FILE)
    new = os.path.join(folder, "ws", "new")
    makers: list[Callable[[], object]] = [
        lambda: os.symlink(os.path.join(folder, "outside", FILE), new),
        lambda: os.symlink("../../other", new),
        lambda: os.symlink("/proc/self/cwd", new),
        lambda: os.mkfifo(new),
        lambda: os.link(os.path.join(folder, "ws", "other"), new),
        lambda: Path(new).touch(),
    ]
    makers += [lambda: _listen(new)] if _HAS_PROC else []
    try:
        number = 0
        while True:
            for make in makers:
                number += 1
                Path(new).write_text(version(number % 900))
                os.replace(new, file)
                yield
                make()
                os.replace(new, file)
                with suppress(FileNotFoundError):
                    os.unlink(new)  # one of two names of the same file stays
                yield
    finally:
        Path(new).write_text(version(1))
        os.replace(new, file)


def _listen(path: str) -> None:
    folder = os.open(os.path.dirname(path), os.O_RDONLY)  # a socket's path must be short
    try:
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(f"/proc/self/fd/{folder}/{os.path.basename(path)}")
    finally:
        os.close(folder)


def _file_and_folder(folder: str) -> Iterator[None]:
    file = os.path.join(folder, "ws", FILE)
    while True:
        os.unlink(file)
        os.mkdir(file)
        yield
        os.rmdir(file)
        Path(file).write_text(version(2))
        yield


def _folder_and_link(at: str, target: str) -> Callable[[str], Iterator[None]]:
    """A folder is moved away and a link is put in its place."""

    def step(folder: str) -> Iterator[None]:
        place, away = os.path.join(folder, at), os.path.join(folder, "away")
        try:
            while True:
                os.rename(place, away)
                os.symlink(os.path.join(folder, target) if target else "/proc/self/cwd", place)
                yield
                os.unlink(place)
                os.rename(away, place)
                yield
        finally:
            if os.path.lexists(away):
                os.unlink(place)
                os.rename(away, place)

    return step


def _in_place(folder: str) -> Iterator[None]:
    """The file is cut, written anew and made longer while it is read; no version comes twice."""
    file = os.open(os.path.join(folder, "ws", FILE), os.O_RDWR)
    number = 0
    try:
        while True:
            number += 1
            os.ftruncate(file, 0)
            os.pwrite(file, version(number).encode(), 0)
            yield
    finally:
        os.close(file)


KINDS: dict[str, Callable[[str], Iterator[None]]] = {
    "a file and whatever has a name": _file_and_others,
    "a file and a folder": _file_and_folder,
    "a folder and a link": _folder_and_link("ws/d/e", "outside/d/e"),
    "a folder above and a link": _folder_and_link("ws/d", "outside/d"),
    "the workspace and a link": _folder_and_link("ws", "outside"),
    "a file written in place": _in_place,
}
if _HAS_PROC:
    KINDS["a folder and a magic link"] = _folder_and_link("ws/d", "")

if __name__ == "__main__":
    os.chdir(os.path.join(sys.argv[2], "outside", "d"))  # what a magic link to the working folder leads to
    swap(sys.argv[1], sys.argv[2], int(sys.argv[3]))
