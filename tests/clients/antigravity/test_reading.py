"""The quick reading of a log says what the plain one says, whatever state the log is in, on both implementations."""

import json
import random

import pytest

from rehydrate import scan
from rehydrate.clients.antigravity import folded, kept, layout, transcript
from rehydrate.conversation import FileTouch, Segment, Turn
from rehydrate.recall.dialogue import fold
from rehydrate.recall.touched import EVERY_KIND, latest_times, touched
from rehydrate.scan import _pure
from tests.clients.antigravity import plainly
from tests.clients.antigravity.making import model, user
from tests.helpers import NATIVE_MISSING, needs_native

if not NATIVE_MISSING:
    from rehydrate.scan import _rust

KINDS = (EVERY_KIND, frozenset(("modified",)), frozenset(("read",)))


@pytest.fixture(params=["rust", "python"], autouse=True)
def implementation(request, monkeypatch):
    if request.param == "python":
        monkeypatch.setattr(scan, "_chosen", _pure)
    elif scan.BACKEND == "python":
        pytest.skip("the compiled module is not there")


def place_of(path):
    place = layout.place_of(str(path))
    assert place is not None
    return place


def looked_at(touches):
    """What the sections see of some touches."""
    told = [[(each.path, unordered(each.latest)) for each in touched(touches, kinds)] for kinds in KINDS]
    return told, latest_times(touches)


def said_of(turns):
    """What the sections see of some turns: every request, how many entries there are, the first of each segment, and
    of the entries those back to a text that is not kept.
    """
    asked = [(turn.step, turn.text, turn.segment) for turn in turns if turn.role == "user"]
    entries = fold(turns)
    firsts = {entry.segment: entry.step for entry in reversed(entries)}
    reached = []
    for entry in reversed(entries):
        if entry.text is None:
            break
        groups = [[list(map(settled, group)) for group in groups] for groups in (entry.before, entry.after)]
        reached.append((entry.step, entry.segment, entry.role, entry.text, groups, entry.open))
    return asked, sum(entry.count for entry in entries), firsts, reached


def made(seeded, home):
    """Two files that a conversation lies in, the older one first, and up to which step."""
    name = seeded.choice(("transcript_full.jsonl", "transcript.jsonl"))
    parent = home.write("parent", [plainly.lines(seeded, 20)[:-1]])
    child = home.write("child", [plainly.lines(seeded, 90)[:-1]], name=name)
    segments = [Segment("parent", str(parent), 0, 12), Segment("child", str(child), 13, None)]
    return segments, seeded.choice((None, 40, 10**9))


def read(segments, last, *, survey=None):
    boundary = None if last is None else make_boundary(last + 1)
    return transcript.read(place_of(segments[-1].path), segments, boundary=boundary, survey=survey)


@pytest.mark.parametrize("seed", range(60))
def test_a_conversation_is_what_the_plain_reading_says(home, monkeypatch, seed):
    seeded = random.Random(seed)
    monkeypatch.setattr(kept, "TEXT_CHARS", seeded.choice((300, 5_000, 1_000_000)))
    monkeypatch.setattr(kept, "HELD_CHARS", seeded.choice((9_000, 64_000_000)))
    segments, last = made(seeded, home)

    found = read(segments, last)

    turns, touches, damaged = plainly.read([(segments[0].path, 12), (segments[1].path, last)])
    plain = [FileTouch(*touch) for touch in touches]
    assert said_of(found.turns) == said_of([Turn(*turn) for turn in turns])
    assert found.damaged == damaged
    assert set(map(unordered, found.touches)) <= set(map(unordered, plain))
    assert looked_at(found.touches) == looked_at(plain)


@needs_native
@pytest.mark.parametrize("seed", range(60))
def test_both_implementations_read_the_same(home, monkeypatch, seed):
    seeded = random.Random(seed)
    monkeypatch.setattr(kept, "TEXT_CHARS", seeded.choice((300, 5_000, 1_000_000)))
    monkeypatch.setattr(folded, "BATCH_ROWS", seeded.choice((3, 256)))
    segments, last = made(seeded, home)
    found = []
    for module in (_rust, _pure):
        monkeypatch.setattr(scan, "_chosen", module)
        survey = transcript.survey(place_of(segments[-1].path))
        found.append((survey, read(segments, last, survey=survey)))
    assert found[0] == found[1]


PATHS = (
    "/a.py",
    "file:///a.py",
    "FILE:b%2Fc",
    "C:\\x",
    "\\\\host\\y",
    "./z",
    "",
    " ",
    "\x1c",
    "/\0",
    "\ud800/x",
    "汉",
    "/汉\n",
)
ARGUMENTS = (
    "Path",
    "AbsolutePath",
    "TargetFile",
    "OtherPath",
    "fileUri",
    "xFİLE",
    "KPATH",
    "Name",
    "CommandLine",
    "P\u0061th",
)


def calls(seeded):
    """The `tool_calls` of a response as they may be written."""

    def value():
        plain = json.dumps(seeded.choice(PATHS), ensure_ascii=seeded.random() < 0.5)
        return seeded.choice(
            (plain, plain, plain, json.dumps(plain), "9" * 5_000, "null", "7", '["/a"]', "[" * 600 + "]" * 600)
        )

    def arguments():
        members = [f'"{seeded.choice(ARGUMENTS)}" : {value()}' for _ in range(seeded.randrange(8))]
        whole = "{" + " , ".join(members) + "}"
        return seeded.choice((whole, whole, whole, json.dumps(whole), "null", value()))

    def call():
        name = seeded.choice(
            ('"view_file"', '"edit_file"', *('"grep"',) * 5, '"\\u0076iew_file"', '""', "7", "9" * 5_000)
        )
        members = [f'"name":{name}', f'"args":{arguments()}', f'"args":{arguments()}'][: seeded.randrange(4)]
        seeded.shuffle(members)
        return seeded.choice(("{" + ",".join(members) + "}",) * 5 + ("{}", "[]", "null"))

    return seeded.choice(("[" + ",".join(call() for _ in range(seeded.randrange(4))) + "]",) * 9 + (call(),))


@needs_native
@pytest.mark.parametrize("seed", range(30))
def test_both_implementations_know_the_files_however_a_call_is_written(home, monkeypatch, seed):
    seeded = random.Random(seed)
    form = '{"step_index":%d,"type":"PLANNER_RESPONSE","content":%s,"tool_calls":%s}'
    said = ('"said"', '"\\u0020"', "9" * 5_000, '""')
    lines = [form % (step, seeded.choice(said), calls(seeded)) for step in range(90)]
    path = home.write("one", [line.encode("utf-8", "surrogatepass") for line in lines])
    found = []
    for module in (_rust, _pure):
        monkeypatch.setattr(scan, "_chosen", module)
        found.append(read([Segment("one", str(path), 0, None)], None))
    assert found[0] == found[1]


def make_boundary(step):
    return transcript.Boundary(step, step, "0" * 8, 2, True, "", 0, 0)


def unordered(touch):
    return (touch.path, touch.step, touch.kind, touch.time_s)


def settled(call):
    return (call.name, call.path, call.command)


@pytest.mark.parametrize("seed", range(40))
def test_deliveries_are_named_by_the_record_that_the_plain_reading_finds_before_them(home, seed):
    path = home.write("one", [plainly.lines(random.Random(seed), 60)[:-1]])
    found = transcript.boundaries(place_of(path))
    assert [(each.offset, each.id) for each in found] == plainly.names(str(path), "one")


def test_of_many_touches_of_a_file_two_are_kept(home):
    call = ("view_file", {"AbsolutePath": "/a.py"})
    path = home.write("one", [user(0, "go"), *[model(step, None, call) for step in range(1, 100)]])
    found = transcript.read(place_of(path), [Segment("one", str(path), 0, None)], boundary=None)
    assert [(touch.step, touch.order) for touch in found.touches] == [(1, 0), (99, 1)]


def test_a_response_is_read_whatever_is_nested_beside_it(home):
    deep = b'{"step_index":1,"type":"PLANNER_RESPONSE","content":"said","x":' + b"[" * 600 + b"]" * 600 + b"}"
    path = home.write("one", [user(0, "go"), deep])
    found = transcript.read(place_of(path), [Segment("one", str(path), 0, None)], boundary=None)
    assert [turn.text for turn in found.turns] == ["go", "said"]
