"""Paths that a log can name to get at what it should not, with each way of opening a file."""

import os
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rehydrate import files
from rehydrate.clients.antigravity.records import local_path
from rehydrate.files import Access, FileText, Refused
from tests.opening import FORBIDDEN, WAYS, way_of_opening

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no dir_fd: every file is refused")

SECRET = "the secret"


@pytest.fixture(params=[*WAYS, FORBIDDEN], autouse=True)
def opener(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with way_of_opening(request.param) as way:
        monkeypatch.setattr(files, "_open_unlinked", way)
        yield


@pytest.fixture
def ws(tmp_path: Path) -> Path:
    folder = tmp_path.resolve() / "ws"
    (folder / "d").mkdir(parents=True)
    (folder / "a.txt").write_text("inside")
    (folder / "d" / "a.txt").write_text("inside")
    (tmp_path / "secret.txt").write_text(SECRET)
    return folder


def told(access: Access, path: object) -> str:
    """The text, or the reason: `read` and `check` agree."""
    read, checked = access.read(str(path)), access.check(str(path))
    assert checked == (read if isinstance(read, Refused) else None)
    return read.text if isinstance(read, FileText) else read.reason


@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="no /proc")
def test_F50_magic_links(ws: Path) -> None:
    (ws / "root").symlink_to("/proc/self/root")
    (ws / "fd").symlink_to("/proc/self/fd")
    access = Access((str(ws), "/dev", "/proc/self/root", "/proc/self/cwd"), roots=("/dev/fd", "/proc/self/fd"))
    with (ws.parent / "secret.txt").open() as secret:
        number = secret.fileno()
        for path in (f"/proc/self/fd/{number}", f"/proc/{os.getpid()}/fd/{number}", f"/dev/fd/{number}"):
            assert told(access, path) == "folder"
            assert told(Access(()), path) in ("folder", "link")
        assert told(access, f"{ws}/fd/{number}") == "link"
        assert told(access, f"{ws}/root/etc/hostname") == "link"
    assert told(access, f"/proc/self/root{ws}/a.txt") == "outside"  # such a root is `/`, and that is none
    assert told(access, "/dev/stdin") in ("link", "special")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("file://{ws}/a.txt", "inside"),
        ("FILE:{ws}/a.txt", "inside"),
        ("file://elsewhere.example{ws}/a.txt", "inside"),  # a host is dropped: it is a path of this machine or none
        ("file://{ws}/%61.txt", "inside"),
        ("file://{ws}/d%2Fa.txt", "inside"),
        ("file://{ws}/%2e%2e/secret.txt", "outside"),
        ("file://{ws}/%2E%2e%2fsecret.txt", "outside"),
        ("file://{ws}/%252e%252e/secret.txt", "gone"),  # decoded once
        ("file://{ws}/..%00/secret.txt", "gone"),
        ("file://{ws}/a.txt%00.md", "gone"),
        ("file://{ws}/a.txt?x=/../../secret.txt", "outside"),
        ("file://{ws}/a.txt?raw=1", "gone"),
        ("file://{ws}/a.txt#L1", "gone"),
        ("file://..", "relative"),
        ("file:", "relative"),
        ("http://{ws}/a.txt", "relative"),
        ("{ws}/%2e%2e/secret.txt", "gone"),  # only a URI is decoded
    ],
)
def test_F50_uris(ws: Path, text: str, wanted: str) -> None:
    assert told(Access((str(ws),)), local_path(text.format(ws=ws))) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", "relative"),
        (" {ws}/a.txt", "relative"),
        ("~/secret.txt", "relative"),
        ("$HOME/secret.txt", "relative"),
        ("{ws}/$HOME/a.txt", "gone"),
        ("{ws}/~/a.txt", "gone"),
        ("{ws}/../secret.txt", "outside"),
        ("{ws}/d/../../secret.txt", "outside"),
        ("{ws}/../ws/../secret.txt", "outside"),
        ("/..{ws}/../secret.txt", "outside"),
        ("{ws}\\..\\..\\secret.txt", "outside"),
        ("{ws}/..\\secret.txt", "gone"),
        ("{ws}/d\\a.txt", "gone"),
        ("{ws}/a.txt/", "inside"),  # by its letters
        ("{ws}/a.txt/.", "inside"),
        ("{ws}/a.txt/..", "special"),
        ("{ws}/a.txt.", "gone"),
        ("{ws}/a.txt ", "gone"),
        ("{ws}/a.txt\n", "gone"),
        ("{ws}/a.txt\0", "gone"),
        ("{ws}/\0/../a.txt", "inside"),
        ("{ws}/\ud800", "gone"),
        ("{ws}-beside/a.txt", "outside"),
        ("/{ws}/a.txt", "inside"),
        ("//a.txt", "outside"),
        ("/", "outside"),
    ],
)
def test_F50_spellings(ws: Path, text: str, wanted: str) -> None:
    assert told(Access((str(ws),)), text.format(ws=ws)) == wanted


ODD = ("a\nb.md", "\x1b[31m.md", "\u202egpj.md", "-rf", "*", "a b ", "a.", "\\", "%2e%2e", "\udcff.md")


@pytest.mark.parametrize("name", ODD)
def test_odd_names_are_names(ws: Path, name: str) -> None:
    (ws / name).write_text("odd")
    assert told(Access((str(ws),)), ws / name) == "odd"


def test_a_path_that_is_too_long_is_gone_without_being_taken_apart(ws: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    access = Access((str(ws),))
    assert told(access, f"{ws}/{'n' * 256}") == "gone"
    assert told(access, f"{ws}/{'d/' * 2_000}a.txt") == "gone"
    assert told(access, f"{ws}/{'é' * 2_500}") == "gone"
    monkeypatch.setattr(files, "normalise", None)
    assert told(access, f"{ws}/{'./' * 5_000_000}a.txt") == "gone"


def test_a_file_deeper_than_any_path_is_gone_in_every_way(ws: Path) -> None:
    name = "n" * 200
    folder = os.open(ws, os.O_RDONLY)
    for _ in range(25):
        os.mkdir(name, dir_fd=folder)
        deeper = os.open(name, os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = deeper
    os.close(os.open("a.txt", os.O_CREAT | os.O_WRONLY, dir_fd=folder))
    os.close(folder)
    assert told(Access((str(ws),)), f"{ws}/{f'{name}/' * 25}a.txt") == "gone"


@pytest.mark.parametrize("at", ["workspaces", "roots"])
def test_F50_a_root_that_becomes_a_link_is_not_followed(ws: Path, at: str) -> None:
    link = ws.parent / "link"
    link.symlink_to(ws)
    given = (str(link),)
    access = Access(given) if at == "workspaces" else Access((), roots=given)
    assert told(access, link / "a.txt") == "inside"
    outside = ws.parent / "outside"
    outside.mkdir()
    (outside / "a.txt").write_text(SECRET)
    link.unlink()
    link.symlink_to(outside)
    assert told(access, link / "a.txt") == "inside", "resolved once"
    ws.rename(ws.parent / "away")
    ws.symlink_to(outside)
    assert told(access, ws / "a.txt") == told(access, link / "a.txt") == "link"


def test_F50_a_folder_above_the_root_that_becomes_a_link_is_not_followed(ws: Path) -> None:
    access = Access((str(ws / "d"),))
    outside = ws.parent / "outside"
    (outside / "d").mkdir(parents=True)
    (outside / "d" / "a.txt").write_text(SECRET)
    ws.rename(ws.parent / "away")
    ws.symlink_to(outside)
    assert told(access, ws / "d" / "a.txt") == "link"


def test_F52_F54_the_home_folder_as_a_workspace_shows_no_credentials(ws: Path) -> None:
    for name in (".ssh/config", ".config/gcloud/properties", ".netrc", ".bash_history", ".e\u200dnv"):
        (ws / name).parent.mkdir(parents=True, exist_ok=True)
        (ws / name).write_text(SECRET)
    (ws / ".bashrc").write_text("inside")
    access = Access((str(ws),))
    assert {told(access, ws / name) for name in (".ssh/config", ".config/gcloud/properties", ".netrc")} == {"secret"}
    assert {told(access, ws / name) for name in (".bash_history", ".e\u200dnv")} == {"secret"}
    assert told(access, ws / ".bashrc") == "inside"


def test_a_denied_name_of_which_nothing_is_left_denies_nothing(ws: Path) -> None:
    assert told(Access((str(ws),), denied=("", "\u200b")), ws / "a.txt") == "inside"


def test_F49_the_writer_of_a_pipe_never_sees_a_reader(ws: Path) -> None:
    os.mkfifo(ws / "pipe")
    with pytest.raises(OSError, match="No such device"):
        os.open(ws / "pipe", os.O_WRONLY | os.O_NONBLOCK)
    opened: list[int] = []
    writer = threading.Thread(target=lambda: opened.append(os.open(ws / "pipe", os.O_WRONLY)), daemon=True)
    writer.start()
    access = Access((str(ws),))
    for _ in range(200):
        assert told(access, ws / "pipe") == "special"
    writer.join(0.2)
    assert writer.is_alive()
    os.close(os.open(ws / "pipe", os.O_RDONLY | os.O_NONBLOCK))
    writer.join()
    os.close(opened[0])


class Changes:
    """Does something to a file whenever it has been read from."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *actions: Callable[[], object]) -> None:
        self.actions = list(actions)
        real_read = os.read

        def read(descriptor: int, size: int) -> bytes:
            found = real_read(descriptor, size)
            if self.actions:
                self.actions.pop(0)()
            return found

        monkeypatch.setattr(files.os, "read", read)


def append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


def test_F53_a_file_that_changed_while_it_was_read_is_read_again(ws: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = ws / "a.txt"
    for change, wanted in (
        (lambda: append(path, " and more"), "inside and more"),
        (lambda: path.write_text("new"), "new"),
        (lambda: (path.write_text("nine char"), os.utime(path, (1, 1))), "nine char"),
        (lambda: os.truncate(path, 2), "ni"),
    ):
        Changes(monkeypatch, change)
        read = Access((str(ws),)).read(str(path))
        assert isinstance(read, FileText)
        assert (read.text, read.size) == (wanted, len(wanted))


def test_F53_a_file_that_changes_whenever_it_is_read_is_refused(ws: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Changes(monkeypatch, *[lambda: append(ws / "a.txt", "more")] * 100)
    assert Access((str(ws),)).read(f"{ws}/a.txt") == Refused("changing")


@pytest.mark.parametrize(("size", "wanted"), [(0, "empty"), (1 << 31, "large")])
def test_F53_a_file_that_is_emptied_or_blown_up_while_it_is_read(
    ws: Path, monkeypatch: pytest.MonkeyPatch, size: int, wanted: str
) -> None:
    Changes(monkeypatch, lambda: os.truncate(ws / "a.txt", size))
    assert Access((str(ws),)).read(f"{ws}/a.txt") == Refused(wanted)


def test_F53_never_more_is_read_than_the_file_had(ws: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    real_read = os.read

    def read(descriptor: int, size: int) -> bytes:
        sizes.append(size)
        return real_read(descriptor, size)

    monkeypatch.setattr(files.os, "read", read)
    assert isinstance(Access((str(ws),)).read(f"{ws}/a.txt"), FileText)
    assert sizes == [6]
