"""Which files a compaction can bring back: those of the workspace, last touched, as they are now."""

import os
import sys

import pytest

from rehydrate import files as readers
from rehydrate.context import workspace as workspace_module
from rehydrate.context.workspace import recent_files
from tests.opening import WAYS, way_of_opening

from .turns import asked, call, ranks, result, turn

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no dir_fd: every file is refused")


@pytest.fixture(params=WAYS, autouse=True)
def opener(request, monkeypatch):
    with way_of_opening(request.param) as way:
        monkeypatch.setattr(readers, "_open_unlinked", way)
        yield


@pytest.fixture
def ws(tmp_path):
    folder = tmp_path.resolve() / "ws"
    folder.mkdir()
    for name in "abcdefgh":
        (folder / name).write_text(f"this is {name}\n")
    return folder


def touches(*pairs, **more):
    """A conversation in which the tool of each pair is given the path."""
    pairs = [(tool, path) for tool, path in pairs]
    return [
        asked(),
        *(
            message
            for at, (tool, path) in enumerate(pairs)
            for message in turn((call(f"c{at}", tool, file_path=str(path)), result(f"c{at}", "done", **more)))
        ),
    ]


def found(messages, ws, **more):
    return recent_files(messages, workspace=str(ws), ranks=ranks, **more)


def names(messages, ws, **more):
    return [os.path.relpath(each.path, ws) for each in found(messages, ws, **more)]


def test_a_file_comes_with_its_path_and_what_it_holds_now(ws):
    (read,) = found(touches(("Read", ws / "a")), ws)
    assert (read.path, read.kind, read.text) == (f"{ws}/a", "read", "this is a\n")


def test_modified_ones_come_first_the_last_touched_one_of_each_kind_before_the_others(ws):
    messages = touches(*(("Write" if name in "bd" else "Read", ws / name) for name in "abcde"))
    assert names(messages, ws) == ["d", "b", "e", "c", "a"]


def test_a_file_that_was_read_and_modified_is_there_once_as_modified(ws):
    messages = touches(("Write", ws / "a"), ("Write", ws / "b"), ("Read", ws / "a"))
    assert [(each.path, each.kind) for each in found(messages, ws)] == [
        (f"{ws}/b", "modified"),
        (f"{ws}/a", "modified"),
    ]


def test_the_latest_touch_counts(ws):
    assert names(touches(("Read", ws / "a"), ("Read", ws / "b"), ("Read", f"{ws}/./x/../a")), ws) == ["a", "b"]


def test_of_a_batch_the_last_call_comes_first(ws):
    messages = turn(*((call(name, file_path=f"{ws}/{name}"), result(name, "")) for name in "ab"))
    assert names(messages, ws) == ["b", "a"]


def test_there_are_at_most_five(ws):
    messages = touches(*(("Read", ws / name) for name in "abcdefgh"))
    assert names(messages, ws) == ["h", "g", "f", "e", "d"]
    assert names(messages, ws, limit=2) == ["h", "g"]


def test_what_cannot_be_read_takes_nobodys_place(ws):
    (ws / "link").symlink_to(ws / "a")
    (ws / "p.png").write_text("x")
    (ws / ".env").write_text("x=1")
    (ws / "empty").write_text("")
    (ws / "binary").write_bytes(b"\0")
    os.mkfifo(ws / "pipe")
    refused = [*(ws / name for name in ("link", "p.png", ".env", "empty", "binary", "pipe", "gone")), ws, "/etc/passwd"]
    messages = touches(*(("Read", ws / name) for name in "abcde"), *(("Write", path) for path in refused))
    assert names(messages, ws) == ["e", "d", "c", "b", "a"]


def test_what_lies_outside_of_the_workspace_is_not_read(ws):
    outside = ws.parent / "secret.txt"
    outside.write_text("do not tell")
    paths = [outside, f"{ws}/../secret.txt", "../secret.txt", f"{ws}-2/a", "/proc/self/environ", "~/a"]
    assert found(touches(*(("Read", path) for path in paths)), ws) == []


def test_a_folder_on_the_way_that_is_a_link_is_not_followed(ws):
    (ws.parent / "elsewhere").mkdir()
    (ws.parent / "elsewhere" / "a").write_text("do not tell")
    (ws / "d2").symlink_to(ws.parent / "elsewhere")
    assert found(touches(("Read", ws / "d2" / "a")), ws) == []


@pytest.mark.parametrize("workspace", [None, "", "relative", "/", "//", "/.", "/x/..", "nul\0", "/nul\0"])
def test_without_a_workspace_nothing_is_read(ws, workspace, monkeypatch):
    monkeypatch.chdir(ws)
    monkeypatch.setattr(workspace_module, "Access", None)  # not even asked: it takes such a folder for none
    assert recent_files(touches(("Read", ws / "a"), ("Read", "a")), workspace=workspace, ranks=ranks) == []


def test_a_link_to_the_root_is_no_workspace(ws, monkeypatch):
    monkeypatch.setattr(workspace_module, "Access", None)
    (ws.parent / "all").symlink_to("/")
    assert recent_files(touches(("Read", ws / "a")), workspace=f"{ws.parent}/all", ranks=ranks) == []


def test_a_relative_path_is_of_the_workspace(ws):
    (ws / "src").mkdir()
    (ws / "src" / "m.py").write_text("pass\n")
    assert names(touches(("Read", "a"), ("Write", "./src/m.py")), ws) == ["src/m.py", "a"]


def test_what_is_denied_is_not_read(ws):
    (ws / "sessions").mkdir()
    (ws / "sessions" / "log.jsonl").write_text("{}\n")
    messages = touches(("Read", ws / "a"), ("Read", ws / "sessions" / "log.jsonl"))
    assert names(messages, ws, denied=[f"{ws}/sessions"]) == ["a"]


def test_a_call_that_failed_touched_nothing(ws):
    assert found(touches(("Write", ws / "a"), is_error=True), ws) == []


def test_a_call_that_has_no_result_yet_counts(ws):
    assert names([asked(), turn((call("c", "Write", file_path="a"), {}))[0]], ws) == ["a"]


@pytest.mark.parametrize(
    "given",
    [
        {"path": "a"},
        {"notebook_path": "a"},
        {"TargetFile": "a"},
        {"filename": "a"},
        {"paths": ["a"]},
        {"edits": [{"file_path": "a"}]},
        {"where": {"file": "a"}},
    ],
)
def test_a_path_stands_in_any_member_whose_name_says_so(ws, given):
    messages = turn((call("c", "Read", **given), result("c", "")))
    assert names(messages, ws) == ["a"]


@pytest.mark.parametrize(
    "given",
    [
        {"command": "a"},
        {"content": "a"},
        {"path": 7},
        {"path": ""},
        {"path": "x" * 10_000},
        {"path": "a\0b"},
        {"path": "\ud800"},
    ],
)
def test_other_members_and_odd_values_name_no_file(ws, given):
    assert found(turn((call("c", "Read", **given), result("c", ""))), ws) == []


def test_an_input_that_is_no_mapping_names_no_file(ws):
    odd = {"type": "tool_use", "id": "c", "name": "Read", "input": "a"}
    assert found([{"role": "assistant", "content": [odd, {**odd, "input": None}]}], ws) == []


def test_what_a_user_writes_touches_nothing(ws):
    assert found([{"role": "user", "content": [call("c", file_path="a")]}], ws) == []


def test_of_a_long_file_there_are_200_lines_and_a_word_of_the_rest(ws):
    text = "".join(f"{number}\n" for number in range(1_000))
    (ws / "a").write_text(text)
    (read,) = found(touches(("Read", "a")), ws)
    *lines, last = read.text.splitlines()
    assert lines == [str(number) for number in range(200)]
    left_out = len(text) - len("".join(f"{line}\n" for line in lines))
    assert last == f"[... {left_out:,} characters left out, they are in {ws}/a ...]"
    assert len(found(touches(("Read", "a")), ws, lines=10)[0].text.splitlines()) == 11


@pytest.mark.parametrize("count", [199, 200])
@pytest.mark.parametrize("end", ["", "\n"])
def test_a_file_that_is_not_longer_is_whole(ws, count, end):
    text = "\n".join(map(str, range(count))) + end
    (ws / "a").write_text(text)
    assert found(touches(("Read", "a")), ws)[0].text == text


@pytest.mark.parametrize("text", ["x" * 1_000_000, "short\n" + "x" * 1_000_000, "x" * 50_000 + "\nshort\n"])
def test_a_line_beyond_measure_does_not_make_a_file_long(ws, text):
    (ws / "a").write_text(text)
    (read,) = found(touches(("Read", "a")), ws)
    assert len(read.text) < 200 * 120 + 300 and "characters left out" in read.text
    assert text.startswith(read.text.rpartition("[...")[0].removesuffix("\n"))


def test_secrets_are_masked_also_where_the_cut_goes_through_one(ws):
    key = (
        "-----BEGIN RSA PRIVATE KEY-----\n"
        + "\n".join(["MIIEowIBAAKCAQEA" * 4] * 30)
        + "\n-----END RSA PRIVATE KEY-----\n"
    )
    (ws / "a").write_text("line\n" * 190 + key)
    (read,) = found(touches(("Read", "a")), ws)
    assert "[redacted: private key]" in read.text and "MIIE" not in read.text
