"""Which files may be read, with each way of opening them."""

import os
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rehydrate import files
from rehydrate.files import SIZE_MAX_BYTES, Access, FileText, Refused, normalise
from tests.opening import WAYS, way_of_opening

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no dir_fd: every file is refused")


@pytest.fixture(params=WAYS, autouse=True)
def opener(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with way_of_opening(request.param) as way:
        monkeypatch.setattr(files, "_open_unlinked", way)
        yield


@pytest.fixture
def ws(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path.resolve() / "ws"
    folder.mkdir()
    (folder / "a.txt").write_text("hello\n")
    before = _descriptors()
    yield folder
    assert _descriptors() == before


def _descriptors() -> int:
    return len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0


def reason(access: Access, path: object) -> str:
    """Why the file is refused: `read` and `check` agree."""
    read, checked = access.read(str(path)), access.check(str(path))
    assert isinstance(read, Refused), read
    assert checked == read
    return read.reason


def text(access: Access, path: object) -> str:
    read = access.read(str(path))
    assert isinstance(read, FileText), read
    assert access.check(str(path)) is None
    return read.text


def test_a_file_of_the_workspace_is_read_with_size_and_time(ws: Path) -> None:
    os.utime(ws / "a.txt", (1_000, 2_000))
    assert Access((str(ws),)).read(f"{ws}/a.txt") == FileText("hello\n", 6, 2_000.0)


def test_the_path_is_normalised_by_its_letters(ws: Path) -> None:
    (ws / "deep").mkdir()
    assert text(Access((f"{ws}/",)), f"{ws}//deep/.././a.txt") == "hello\n"
    assert normalise("//a/./b/../c/") == "/a/c"


def test_F50_dots_that_lead_out_of_the_workspace(ws: Path) -> None:
    (ws.parent / "secret.txt").write_text("x")
    assert reason(Access((str(ws),)), f"{ws}/../secret.txt") == "outside"


@pytest.mark.parametrize("path", ["a.txt", "./a.txt", "~/a.txt", "C:\\a.txt", ""])
def test_a_path_that_is_not_absolute(ws: Path, path: str) -> None:
    assert reason(Access((str(ws),)), path) == "relative"


def test_outside_the_workspaces(ws: Path) -> None:
    (ws.parent / "ws2").mkdir()
    (ws.parent / "ws2" / "b.txt").write_text("b")
    assert reason(Access((str(ws),)), ws.parent / "ws2" / "b.txt") == "outside"
    assert text(Access((str(ws), str(ws.parent / "ws2"))), ws.parent / "ws2" / "b.txt") == "b"
    assert text(Access((str(ws),), roots=(str(ws.parent / "ws2"),)), ws.parent / "ws2" / "b.txt") == "b"


def test_F50_a_link_to_a_file(ws: Path) -> None:
    (ws / "id").symlink_to("/etc/passwd")
    (ws / "inside").symlink_to(ws / "a.txt")
    access = Access((str(ws),))
    assert reason(access, ws / "id") == "link"
    assert reason(access, ws / "inside") == "link"


def test_F50_a_linked_folder(ws: Path) -> None:
    (ws / "real").mkdir()
    (ws / "real" / "b.txt").write_text("b")
    (ws / "linked").symlink_to(ws / "real")
    (ws / "etc").symlink_to("/etc")
    access = Access((str(ws),))
    assert reason(access, ws / "linked" / "b.txt") == "link"
    assert reason(access, ws / "etc" / "passwd") == "link"


def test_a_dangling_link_and_a_loop(ws: Path) -> None:
    (ws / "dangling").symlink_to(ws / "nothing")
    (ws / "loop").symlink_to(ws / "loop")
    access = Access((str(ws),))
    assert reason(access, ws / "dangling") == "link"
    assert reason(access, ws / "loop") == "link"


def test_a_workspace_that_is_a_link_is_resolved_once(ws: Path) -> None:
    link = ws.parent / "link"
    link.symlink_to(ws)
    access = Access((str(link),))
    assert text(access, link / "a.txt") == "hello\n"
    assert text(access, ws / "a.txt") == "hello\n"


def test_hard_links_are_files(ws: Path) -> None:
    os.link(ws / "a.txt", ws / "b.txt")
    assert text(Access((str(ws),)), ws / "b.txt") == "hello\n"


def test_F52_the_root_is_no_workspace(ws: Path) -> None:
    for workspaces in ((), ("/",), ("relative",), ("/", "//")):
        access = Access(workspaces)
        assert reason(access, "/etc/nothing-here") == "gone"
        if "tmp" not in ws.parts:
            assert text(access, ws / "a.txt") == "hello\n"


def test_without_a_workspace_no_part_may_be_a_link(monkeypatch: pytest.MonkeyPatch, ws: Path) -> None:
    access = Access(())
    if "tmp" in ws.parts:
        # The rule of names would refuse everything below a folder `tmp`: it is not what this test is about.
        assert reason(access, ws / "a.txt") == "folder"
        monkeypatch.setattr(Access, "_refused_by_name", lambda *_: None)
    assert text(access, ws / "a.txt") == "hello\n"
    (ws.parent / "link").symlink_to(ws)
    assert reason(access, ws.parent / "link" / "a.txt") == "link"


def test_gone(ws: Path) -> None:
    access = Access((str(ws),))
    assert reason(access, ws / "nothing") == "gone"
    assert reason(access, ws / "no" / "folder") == "gone"
    assert reason(access, ws / "a.txt" / "below") == "gone"
    assert reason(access, f"{ws}/{'n' * 300}") == "gone"
    assert reason(access, f"{ws}/nul\0") == "gone"
    assert reason(access, f"{ws}/lone\ud800") == "gone"
    assert reason(Access((f"{ws}/gone-workspace",)), ws / "gone-workspace" / "a.txt") == "gone"


def test_F49_special_files_are_refused_at_once(ws: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(ws / "fifo")
    (ws / "folder").mkdir()
    monkeypatch.chdir(ws)  # a socket's path must be short
    access = Access((str(ws),))
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("sock")
        start = time.perf_counter()
        assert [reason(access, ws / name) for name in ("fifo", "sock", "folder", "")] == ["special"] * 4
        assert time.perf_counter() - start < 5


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="no /dev/zero")
def test_F49_devices_are_refused_at_once() -> None:
    assert reason(Access(()), "/dev/zero") == "special"
    assert reason(Access(("/dev",)), "/dev/zero") == "special"
    assert reason(Access(("/home",)), "/dev/zero") == "outside"


@pytest.mark.parametrize("path", ["/proc/self/environ", "/proc/1/mem", "/sys/kernel/notes", "/PROC/cpuinfo"])
def test_F49_system_folders_even_as_workspaces(path: str) -> None:
    assert reason(Access(()), path) == "folder"
    assert reason(Access(("/proc", "/PROC", "/sys")), path) == "folder"


def test_F50_a_magic_link() -> None:
    if os.path.exists("/dev/fd"):
        assert reason(Access(()), "/dev/fd/0") == "link"


def test_shared_memory_and_tmp_count_only_below_a_workspace(ws: Path) -> None:
    assert reason(Access(()), "/dev/shm/x.txt") == "folder"
    assert reason(Access(()), "/somewhere/TMP/x.txt") == "folder"
    (ws / "tmp").mkdir()
    (ws / "tmp" / "b.txt").write_text("b")
    (ws / "tmp.txt").write_text("a file may have the name")
    assert reason(Access((str(ws),)), ws / "tmp" / "b.txt") == "folder"
    assert text(Access((str(ws / "tmp"),)), ws / "tmp" / "b.txt") == "b"
    assert text(Access((str(ws), str(ws / "tmp"))), ws / "tmp" / "b.txt") == "b"
    assert text(Access((str(ws),)), ws / "tmp.txt")


@pytest.mark.parametrize("part", [".git", "node_modules", "__pycache__", ".system_generated", ".GIT", "Node_Modules"])
def test_F54_skipped_folders(ws: Path, part: str) -> None:
    (ws / part).mkdir()
    (ws / part / "b.txt").write_text("b")
    assert reason(Access((str(ws),)), ws / part / "b.txt") == "folder"
    assert text(Access((str(ws / part),)), ws / part / "b.txt") == "b"


@pytest.mark.parametrize(
    "name", ["x.png", "x.PNG", "x.tar.gz", "lib.so", "m.safetensors", "x.db", "x.sqlite3", "x.pyc"]
)
def test_skipped_extensions(ws: Path, name: str) -> None:
    (ws / name).write_text("text")
    assert reason(Access((str(ws),)), ws / name) == "extension"


@pytest.mark.parametrize(
    "name",
    [
        *(".env", ".env.local", "prod.env", ".ENV", "id_rsa", "id_ed25519_work", "server.pem", "x.key", "x.P12"),
        *(".netrc", ".npmrc", ".pypirc", ".git-credentials", ".ssh/config", ".aws/config", ".gnupg/x", "cookies.txt"),
        *(".docker/config.json", ".kube/config", "gh/hosts.yml", "credentials.json", "\uff0eenv"),
    ],
)
def test_F54_environment_files_keys_and_credential_stores(ws: Path, name: str) -> None:
    (ws / name).parent.mkdir(exist_ok=True)
    (ws / name).write_text("text")
    assert reason(Access((str(ws),)), ws / name) == "secret"
    assert reason(Access((), roots=(str(ws),)), ws / name) == "secret"


@pytest.mark.parametrize("name", ["id_rsa.pub", "environment.py", "keys.txt", "key", "config.json", "authors.json"])
def test_names_that_are_no_secrets(ws: Path, name: str) -> None:
    (ws / name).write_text("text")
    assert text(Access((str(ws),)), ws / name) == "text"


def test_a_credential_store_is_none_the_less_one_as_a_workspace(ws: Path) -> None:
    (ws / ".ssh").mkdir()
    (ws / ".ssh" / "notes").write_text("text")
    assert reason(Access((str(ws / ".ssh"),)), ws / ".ssh" / "notes") == "secret"


def test_denied_files_and_folders(ws: Path) -> None:
    (ws / "logs").mkdir()
    (ws / "logs" / "b.txt").write_text("b")
    (ws / "logs2.txt").write_text("c")
    (ws.parent / "link").symlink_to(ws)
    for given in (ws, ws.parent / "link"):
        access = Access((str(ws),), denied=(f"{given}/logs/", f"{given}/a.txt"))
        assert reason(access, ws / "logs" / "b.txt") == "denied"
        assert reason(access, ws / "LOGS" / "b.txt") == "denied"
        assert reason(access, ws / "a.txt") == "denied"
        assert text(access, ws / "logs2.txt") == "c"


@pytest.mark.parametrize("pattern", ["*.sql", "DUMP.*", "dump.sq?", "[cd]ump.sql", "*", "data", "D*A"])
def test_a_denied_name_is_one_of_any_part_whatever_its_case(ws: Path, pattern: str) -> None:
    (ws / "Data").mkdir()
    (ws / "Data" / "dump.SQL").write_text("x")
    for access in (Access((str(ws),), denied=(pattern,)), Access((), roots=(str(ws),), denied=("other", pattern))):
        assert reason(access, ws / "Data" / "dump.SQL") == "denied"


@pytest.mark.parametrize(
    "pattern", ["sql", "dump", ".sql", "dump.sql.*", "[!d]ump.sql", "[", "(dump.sql)", "Data/*.sql"]
)
def test_a_denied_name_is_the_whole_of_a_part(ws: Path, pattern: str) -> None:
    (ws / "Data").mkdir()
    (ws / "Data" / "dump.txt.sql").write_text("x")
    assert text(Access((str(ws),), denied=(pattern,)), ws / "Data" / "dump.txt.sql") == "x"


@pytest.mark.parametrize("name", ["[slug].md", "a\u2100b.md", "\uff0f.md"])
def test_a_denied_name_is_also_taken_as_it_is_written(ws: Path, name: str) -> None:
    (ws / name).write_text("x")
    assert reason(Access((str(ws),), denied=(name,)), ws / name) == "denied"


@pytest.mark.parametrize(
    "pattern", ["{ws}/*", "{ws}/d*/dumps", "{ws}/DATA/*/b.md", "{ws}/data/?umps/", "{link}/*/b.md"]
)
def test_a_denied_path_may_be_a_pattern(ws: Path, pattern: str) -> None:
    (ws.parent / "link").symlink_to(ws)
    (ws / "data" / "dumps.old" / "dumps").mkdir(parents=True)
    (ws / "data" / "dumps").mkdir()
    for folder in (ws / "data" / "dumps", ws / "data" / "dumps.old" / "dumps"):
        (folder / "b.md").write_text("x")
    access = Access((str(ws),), denied=(pattern.format(ws=ws, link=ws.parent / "link"),))
    assert reason(access, ws / "data" / "dumps" / "b.md") == "denied"
    if "?" not in pattern:
        assert reason(access, ws / "data" / "dumps.old" / "dumps" / "b.md") == "denied"


def test_a_denied_path_with_brackets_is_also_taken_as_it_is_written(ws: Path) -> None:
    (ws / "[slug]").mkdir()
    (ws / "[slug]" / "a.md").write_text("x")
    assert reason(Access((str(ws),), denied=(f"{ws}/[slug]",)), ws / "[slug]" / "a.md") == "denied"


@pytest.mark.parametrize("denied", ["\u0399\u0308\u0301.MD", "\u0390.md", "\u1fd3.md"])
def test_a_denied_name_has_every_spelling_that_unicode_takes_for_the_same(ws: Path, denied: str) -> None:
    (ws / "\u0390.md").write_text("x")
    for each in (denied, f"{ws}/{denied}"):
        assert reason(Access((str(ws),), denied=(each,)), ws / "\u0390.md") == "denied"


def test_a_question_mark_is_one_letter_however_the_name_is_composed(ws: Path) -> None:
    (ws / "caf\u0065\u0301.md").write_text("x")
    assert reason(Access((str(ws),), denied=("caf?.md",)), ws / "caf\u0065\u0301.md") == "denied"


def test_a_denied_name_holds_for_the_folders_above_the_workspace_and_for_what_a_link_to_it_leads_to(ws: Path) -> None:
    (ws.parent / "link").symlink_to(ws)
    assert reason(Access((str(ws.parent / "link"),), denied=("WS",)), ws.parent / "link" / "a.txt") == "denied"
    assert reason(Access((str(ws.parent / "link"),), denied=("link",)), ws.parent / "link" / "a.txt") == "denied"


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission(ws: Path) -> None:
    (ws / "a.txt").chmod(0)
    assert reason(Access((str(ws),)), ws / "a.txt") == "unreadable"


def test_F53_sizes(ws: Path) -> None:
    access = Access((str(ws),))
    (ws / "empty").write_bytes(b"")
    (ws / "bom").write_bytes(b"\xef\xbb\xbf")
    (ws / "largest").write_bytes(b"x" * SIZE_MAX_BYTES)
    (ws / "larger").write_bytes(b"x" * (SIZE_MAX_BYTES + 1))
    with (ws / "sparse").open("wb") as sparse:
        sparse.truncate(2 << 30)
    assert reason(access, ws / "empty") == "empty"
    assert reason(access, ws / "bom") == "empty"
    assert len(text(access, ws / "largest")) == 2 * 1024 * 1024
    assert reason(access, ws / "larger") == "large"
    assert reason(access, ws / "sparse") == "large"


def test_a_NUL_in_the_first_eight_KiB_means_binary(ws: Path) -> None:
    access = Access((str(ws),))
    (ws / "within").write_bytes(b"x" * 8191 + b"\0")
    (ws / "after").write_bytes(b"x" * 8192 + b"\0")
    assert reason(access, ws / "within") == "binary"
    assert text(access, ws / "after").endswith("x\0")


def test_F22_what_is_no_UTF_8_is_replaced_and_a_byte_order_mark_dropped(ws: Path) -> None:
    (ws / "a.txt").write_bytes(b"\xef\xbb\xbfa\xffb\xc3")
    assert text(Access((str(ws),)), ws / "a.txt") == "a\ufffdb\ufffd"


def test_F53_a_file_that_grows_while_it_is_read(ws: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (ws / "log").write_bytes(b"x")
    real_fstat = os.fstat

    def grow(descriptor: int) -> os.stat_result:
        found = real_fstat(descriptor)
        with (ws / "log").open("ab") as log:
            log.write(b"more")
        return found

    monkeypatch.setattr(files.os, "fstat", grow)
    assert Access((str(ws),)).read(f"{ws}/log") == Refused("changing")


def test_an_error_while_reading_is_a_refusal(ws: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> bytes:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(files.os, "read", fail)
    assert reason(Access((str(ws),)), ws / "a.txt") == "unreadable"
