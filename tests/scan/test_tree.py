"""`read_tree`: every record's own identifier, its parent's, its type and its place."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import rehydrate
from rehydrate.scan import _pure, _pure_lines
from tests.helpers import dump, needs_native, write_lines


def entry(uuid, parent, kind="user", **more):
    """A record as the client writes it: of an assistant the type and the uuid follow the payload."""
    if kind in ("assistant", "attachment"):
        return {"parentUuid": parent, "isSidechain": False, **more, "type": kind, "uuid": uuid, "cwd": "/w"}
    return {"parentUuid": parent, "isSidechain": False, "type": kind, **more, "uuid": uuid, "cwd": "/w"}


def told(tree):
    return [each[:3] for each in tree.entries]


def test_every_record_is_told_in_file_order_with_its_place(impl, tmp_path):
    records = [
        {"type": "summary", "summary": "s", "leafUuid": "a"},
        entry("a", None),
        entry("b", "a", "assistant", message={"type": "message", "content": [{"type": "text", "uuid": "no"}]}),
        entry("c", "b", "attachment", attachment={"type": "date", "parentUuid": "no"}),
        {"type": "mode", "mode": "x"},
        {"other": 1},
    ]
    path = write_lines(tmp_path / "t", records)
    tree = impl.read_tree(path)
    wanted = [(None, None, "summary"), ("a", None, "user"), ("b", "a", "assistant"), ("c", "b", "attachment")]
    assert told(tree) == [*wanted, (None, None, "mode"), (None, None, None)]
    data = (tmp_path / "t").read_bytes()
    assert [data[each.offset : each.offset + each.length] for each in tree.entries] == [dump(each) for each in records]
    assert tree[1:] == (6, 0, [], len(data))


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        # Only members of the record itself, whatever stands in its text and below it.
        (b'{"message":{"uuid":"x","type":"y","parentUuid":"z"}}', (None, None, None)),
        (b'{"text":"\\",\\"uuid\\":\\"x\\",\\"type\\":\\"y\\"","uuid":"a","type":"b"}', ("a", None, "b")),
        (b'{"a":["uuid",{"uuid":"x"}],"b":"uuid","uuid":"a"}', ("a", None, None)),
        (b'{"uuid":"a","z":"\\\\","type":"b","m":{"type":"c","uuid":"d"}}', ("a", None, "b")),
        # Any order, any white space, any escapes, and the last of several.
        (b'{ "type" :\t"b" , "uuid": "a","parentUuid" :"p" } ', ("a", "p", "b")),
        (b'{"\\u0075uid":"a","\\u0074\\u0079pe":"\\u0062","parent\\u0055uid":"\\u0070"}', ("a", "p", "b")),
        (b'{"uuid":"x","uuid":"a","type":"y","type":"b"}', ("a", None, "b")),
        (b'{"uuid":"x","\\u0075uid":"a"}', ("a", None, None)),
        (b'{"uuid":"a","message":{},"uuid":null}', (None, None, None)),
        (b'{"UUID":"a","uuid ":"b","uui":"c","uuidx":"d"}', (None, None, None)),
        # A value that is no string.
        (b'{"uuid":7,"parentUuid":false,"type":["b"]}', (None, None, None)),
        (b'{"uuid":{"uuid":"a"},"parentUuid":null,"type":1e5}', (None, None, None)),
        # Text is data: what is no UTF-8, a lone half of a pair, nothing at all.
        (b'{"uuid":"\xff","parentUuid":"\\ud800","type":""}', ("\ufffd", "\ufffd", "")),
        ('{"uuid":"é\\u00e9","parentUuid":"\\ud83d\\ude00"}'.encode(), ("éé", "😀", None)),
        (b'{"uuid":"a\\"b\\\\","type":"\\n\x01"}', ('a"b\\', None, "\n\x01")),
        (b"{}", (None, None, None)),
    ],
    ids=repr,
)
def test_the_members_are_those_of_a_full_parse(impl, tmp_path, line, wanted):
    tree = impl.read_tree(write_lines(tmp_path / "t", [line]))
    assert (told(tree), tree.lines, tree.damaged) == ([wanted], 1, 0)
    assert tree.entries[0][3:] == (0, len(line.rstrip()))


@pytest.mark.parametrize(
    ("line", "wanted", "damaged"),
    [
        (b'{"uuid":"a"}{"uuid":"b"}', ["a", "b"], 0),
        (b'{"uuid":"a"} \0{"uuid":"b"}', ["a", "b"], 0),
        (b'{"parentUuid":null,"message":"torn{"parentUuid":null,"uuid":"b"}', ["b"], 1),
        (b'{"uuid":"a","message":{"uuid":"x"}{"uuid":"b"}', ["b"], 1),
        (b'{"uuid":"a"}junk', ["a"], 1),
        (b'junk{"uuid":"a"}', ["a"], 1),
        (b'{"uuid":"a","message":{"uuid":"x"},"to', [], 1),
        (b'{"uuid":"a","message":"to', [], 1),
        (b'{"uuid":"a","message":"\\x"}', [], 1),
        (b'{"uuid":"a","message":"\\u12"}', [], 1),
        (b'{"uuid":"a","message":01}', [], 1),
        (b'{"uuid":"a","message":tru}', [], 1),
        (b'{"uuid":"a",}', [], 1),
        (b'{"uuid":"a" "type":"b"}', [], 1),
        (b'{"uuid":"a","m":[1 2]}', [], 1),
        (b'{"uuid":"a","m":{]}', [], 1),
        (b'{"uuid":"a"}}', ["a"], 1),
        (b'{"uuid":"a"]', [], 1),
        (b'{uuid:"a"}', [], 1),
        (b'[{"uuid":"a"}]', [], 1),
        (b'"uuid"', [], 1),
        (b"null", [], 1),
    ],
    ids=repr,
)
def test_whole_records_are_found_on_a_damaged_line(impl, tmp_path, line, wanted, damaged):
    path = write_lines(tmp_path / "t", [{"uuid": "0"}, line, {"uuid": "9"}])
    tree = impl.read_tree(path)
    assert [each.uuid for each in tree.entries] == ["0", *wanted, "9"]
    assert (tree.lines, tree.damaged, tree.damaged_offsets) == (3, damaged, [13] * damaged)
    for each in tree.entries:
        record = (tmp_path / "t").read_bytes()[each.offset : each.offset + each.length]
        assert json.loads(record, strict=False)["uuid"] == each.uuid


def test_blank_lines_and_the_unfinished_one_are_left_out(impl, tmp_path):
    data = b'\xef\xbb\xbf{"uuid":"a"}\r\n\n \t\0\0\r\n\0{"uuid":"b"}\0\n{"uuid":"c"}'
    (tmp_path / "t").write_bytes(data)
    tree = impl.read_tree(tmp_path / "t")
    places = [(each.uuid, each.offset, each.length) for each in tree.entries]
    assert places == [("a", 3, 12), ("b", data.index(b'{"uuid":"b"'), 12)]
    assert tree[1:] == (2, 0, [], len(data))


def test_an_empty_file_has_nothing(impl, tmp_path):
    assert impl.read_tree(write_lines(tmp_path / "t", [])) == ([], 0, 0, [], 0)


def test_the_first_sixteen_damaged_lines_are_told(impl, tmp_path):
    tree = impl.read_tree(write_lines(tmp_path / "t", [b"torn"] * 20))
    assert tree == ([], 20, 20, list(range(0, 80, 5)), 100)


@pytest.mark.parametrize("depth", [60, 70, 600, 100_000])
def test_nesting_has_no_limit(impl, tmp_path, depth):
    deep = b'{"uuid":"x","a":[' * depth + b"]}" * depth
    line = b'{"parentUuid":"p","m":%b,"type":"b","uuid":"a"}' % deep
    tree = impl.read_tree(write_lines(tmp_path / "t", [line, line[:-2], line]))
    assert told(tree) == [("a", "p", "b")] * 2
    assert tree.damaged_offsets == [len(line) + 1]


def test_a_long_record_is_not_kept(impl, tmp_path):
    long = entry("a", "p", "assistant", message={"type": "message", "text": 'x\\"\n' * 1_500_000})
    records = [entry("p", None), long, entry("b", "a"), long, dump(entry("c", "a"))[:-1]]
    path = write_lines(tmp_path / "t", records)
    tree = impl.read_tree(path)
    wanted = [("p", None, "user"), ("a", "p", "assistant"), ("b", "a", "user"), ("a", "p", "assistant")]
    assert told(tree) == wanted
    assert tree.entries[1].length == len(dump(long))
    assert (tree.lines, tree.damaged) == (5, 1)


def test_a_type_that_comes_again_is_one_object(impl, tmp_path):
    tree = impl.read_tree(write_lines(tmp_path / "t", [entry("a-1", None), entry("b-1", "a-1"), entry("c-1", "b-1")]))
    first, second, third = tree.entries
    assert first.type is second.type is third.type


@pytest.mark.parametrize("kept", [0, 3, 31, 163, 400])
def test_a_file_cut_short_after_any_number_of_reads_gives_what_was_complete(tmp_path, monkeypatch, kept):
    """Of the pure twin; the native one has its own in rust/tests."""
    path = tmp_path / "t"
    long = dump(entry("b", "a", message="x" * 300))
    whole = b"".join(line + b"\n" for line in (dump(entry("a", None)), long, long + long, b" " + long, long))
    monkeypatch.setattr(_pure_lines, "CHUNK", 64)
    path.write_bytes(whole)
    wanted = _pure.read_tree(path)
    pread = _pure_lines._pread

    def cutting(fd, size, offset):
        nonlocal left
        left -= 1
        if left == 0:
            os.truncate(path, kept)
        return pread(fd, size, offset)

    monkeypatch.setattr(_pure_lines, "_pread", cutting)
    found = set()
    for reads in range(1, 120):
        path.write_bytes(whole)
        left = reads
        tree = _pure.read_tree(path)
        found.add(len(tree.entries))
        assert tree.entries == wanted.entries[: len(tree.entries)]
        assert tree.damaged == 0
    assert len(found) > 3


@needs_native
@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="no /proc")
def test_memory_is_that_of_the_answer(tmp_path):
    path = tmp_path / "t"
    with path.open("wb") as file:
        for each in "ab":
            file.write(
                b'{"parentUuid":null,"message":"'
                + b'\\n\\"x' * 20_000_000
                + b'","type":"user","uuid":"%b"}\n' % each.encode()
            )
        for _ in range(50_000):
            file.write(b'{"parentUuid":"a","message":"%b","type":"user","uuid":"c"}\n' % (b"x" * 1_000))
    code = "import sys; from rehydrate import scan; status = lambda: open('/proc/self/status').read()\n"
    code += "most = lambda: int(status().partition('VmHWM:')[2].split()[0]) * 1024\n"
    code += "before = most(); tree = scan.read_tree(sys.argv[1]); print(len(tree.entries), most() - before)"
    environ = {**os.environ, "PYTHONPATH": str(Path(rehydrate.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", code, path], env=environ, capture_output=True, text=True, check=True)
    count, grown = map(int, done.stdout.split())
    assert count == 50_002
    assert grown < 12_000_000
