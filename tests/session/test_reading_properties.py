"""Whatever a session's file holds: its views are those of the rules read to the letter, and end."""

import json
from contextlib import contextmanager
from tempfile import TemporaryDirectory

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rehydrate.session.reading import Session
from rehydrate.session.wire import closed, wire
from tests.entries.making import assistant, boundary, call, chat, result, summary, system, user
from tests.entries.strategies import records as odd_records
from tests.session.making import sealed
from tests.session.naive import Naive

NAMES = "abcdefghij"
names = st.sampled_from(NAMES)
parents = st.none() | names | names | st.just("lost")
slow = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])


@st.composite
def entries(draw):
    kind = draw(st.sampled_from(["user", "user", "assistant", "assistant", "system", "attachment", "progress"]))
    record = {"type": kind, "uuid": draw(names), "parentUuid": draw(parents)}
    if draw(st.integers(0, 7)) == 0:
        record["isSidechain"] = True
    if kind == "user":
        record["message"] = {"role": "user", "content": "Go."}
        record |= draw(st.sampled_from([{}, {}, {}, {"isMeta": True}, {"isCompactSummary": True}]))
    if kind == "assistant":
        record["message"] = {"role": "assistant", "content": [{"type": "text", "text": "Yes."}]}
    if kind == "system":
        record |= draw(st.sampled_from([{"subtype": "turn_duration"}, {"subtype": "snip_boundary"}, {}, {}]))
        if record.get("subtype") == "snip_boundary":
            record["removedUuids"] = draw(st.lists(names, max_size=2))
        if "subtype" not in record:
            record |= draw(compactions())
    return record


@st.composite
def compactions(draw):
    said = {}
    if draw(st.booleans()):
        said["preservedMessages"] = {"anchorUuid": draw(names), "uuids": draw(st.lists(names, max_size=3))}
    if draw(st.booleans()):
        said["preservedSegment"] = {end: draw(names) for end in ("headUuid", "anchorUuid", "tailUuid")}
    mark = {"subtype": "compact_boundary", "compactMetadata": said, "logicalParentUuid": draw(parents)}
    if draw(st.booleans()):
        mark["summary"] = "In short."
    return mark if draw(st.booleans()) else {**mark, "parentUuid": None}


tombstones = st.builds(lambda uuid: {"type": "tombstone", "targetUuid": uuid}, names | st.just("lost"))
metadata = st.just({"type": "mode", "mode": "plan"})
wild = st.lists(st.one_of(entries(), entries(), entries(), entries(), tombstones, metadata), max_size=14)


@st.composite
def grown(draw):
    """As a session grows: each entry mostly follows the one before, or one of those before it."""
    rows, last, fresh = [], None, iter(range(1000))
    kept = []
    for step in draw(st.lists(st.sampled_from("ssssssrckwtabd"), min_size=1, max_size=24)):
        uuid = f"u{next(fresh)}"
        if step == "r" and kept:  # a rewind
            last = draw(st.sampled_from(kept))
        elif step == "c":
            anchor = f"u{next(fresh)}"
            tail = draw(st.lists(st.sampled_from(kept), max_size=3, unique=True)) if kept else []
            told = draw(st.sampled_from([{}, {"summary": "In short."}]))
            rows.append(boundary(uuid, logical=last, preserved=(anchor, tail), **told))
            last = uuid
            if not told or draw(st.booleans()):  # else it was torn off
                rows.append(summary(anchor, uuid))
                last = anchor
        elif step == "k" and kept:
            rows.append(
                system(uuid, last, "snip_boundary", removedUuids=draw(st.lists(st.sampled_from(kept), max_size=2)))
            )
            last = uuid
        elif step == "w" and rows:  # written again
            rows.append(dict(draw(st.sampled_from(rows))))
        elif step == "t" and kept:
            rows.append({"type": "tombstone", "targetUuid": draw(st.sampled_from(kept))})
        elif step == "a":
            rows.append(user(uuid, last, isSidechain=True))
        elif step == "b":
            rows.append({"type": "custom-title", "customTitle": "T"})
        else:
            rows += chat(uuid, f"{uuid}x", parent=last) if step == "d" else [user(uuid, last)]
            last = rows[-1]["uuid"]
            kept += [row["uuid"] for row in rows[-2:] if "uuid" in row]
    if draw(st.integers(0, 4)) == 0:  # children before their parents
        rows = draw(st.permutations(rows))
    return rows


@contextmanager
def session_of(rows):
    head = {"type": "session", "format": 1, "sessionId": "s"}
    with TemporaryDirectory() as folder:
        path = f"{folder}/s.jsonl"
        with open(path, "wb") as file:
            file.write(b"".join(sealed(row, seq) + b"\n" for seq, row in enumerate((head, *rows), 1)))
        with Session.open(path) as session:
            yield session


def places(session, uuids):
    return [session.log.at(uuid) for uuid in uuids]


def assert_as_by_the_letter(rows):
    rows = [{"type": "session"}, *json.loads(json.dumps(rows))]
    naive = Naive(rows)
    with session_of(rows[1:]) as session:
        tip = naive.leaf()
        assert session.leaf == (None if tip is None else rows[tip]["uuid"])
        assert session.leaves == tuple(rows[at]["uuid"] for at in naive.leaves())
        ends = [None, *(rows[at]["uuid"] for at in naive.entries if not naive.is_aside(at))]
        for at in ends:
            end = tip if at is None else naive.first[at]
            scrollback, active = session.view("scrollback", at=at), session.view("active", at=at)
            assert places(session, scrollback.uuids) == naive.scrollback(end)
            if end is not None:
                gaps = [(rows[place]["uuid"], why) for place, why in naive.walk(end)[1]]
                assert [(gap.uuid, gap.why) for gap in scrollback.gaps] == gaps[::-1]
                passed = [place for place in naive.walk(end)[0] if place in naive.boundaries]
                assert active.boundary == (rows[passed[-1]]["uuid"] if passed else None)
            found = None if active.boundary is None else session.log.at(active.boundary)
            expected, mark = naive.active(end)
            if at is not None and end in expected:
                stop = expected.index(end) + 1
                kept = [] if mark is None else naive.preserved(mark)[1]
                while end not in kept and stop < len(expected) and expected[stop] in kept:
                    stop += 1
                expected = expected[:stop]
            assert (places(session, active.uuids), found) == (expected, mark)
            assert [record["uuid"] for record in active] == list(active.uuids)


@st.composite
def turns(draw):
    """Turns with calls that run at once, some of them on branches that were left: the records, and the uuids on the
    line of descent, those of each answer in file order."""
    rows, ends, ways = [], [None], {None: []}
    for turn in range(draw(st.integers(1, 5))):
        above = draw(st.sampled_from(ends[-2:]))
        asked, ids = f"q{turn}", [f"{turn}-{n}" for n in range(draw(st.integers(1, 3)))]
        rows.append(user(asked, above))
        written, before = [asked], asked
        waiting, blocks = [], list(ids)
        while blocks or waiting:
            if blocks and (not waiting or draw(st.booleans())):
                id = blocks.pop(0)
                rows.append(assistant(f"b{id}", before, call(id), id=f"m{turn}"))
                before = f"b{id}"
                written.append(before)
                waiting.append(id)
            else:
                id = waiting.pop(draw(st.integers(0, len(waiting) - 1)))
                parent = draw(st.sampled_from([f"b{id}", f"b{id}", before, "lost"]))
                rows.append(result(f"r{id}", parent, id, sourceToolAssistantUUID=f"b{id}"))
                written.append(f"r{id}")
        last = assistant(f"e{turn}", draw(st.sampled_from([each for each in written if each[0] in "br"])))
        rows.append(last)
        ways[last["uuid"]] = [*ways[above], *written, last["uuid"]]
        ends.append(last["uuid"])
    return rows, ways[ends[-1]]


def assert_a_provider_takes(messages):
    """Users and assistants by turns, the user first; behind each call its result, and no result anywhere else."""
    calls = []
    for number, message in enumerate(messages):
        assert list(message) == ["role", "content"] and message["role"] == ("user", "assistant")[number % 2]
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        assert blocks and all(block["text"].strip() for block in blocks if block.get("type") == "text")
        results = [block["tool_use_id"] for block in blocks if block.get("type") == "tool_result"]
        assert results == calls and all(block.get("type") == "tool_result" for block in blocks[: len(calls)])
        calls = [block["id"] for block in blocks if block.get("type") == "tool_use"]
        assert len(set(calls)) == len(calls) and (message["role"] == "assistant" or not calls)
    assert not calls


@settings(slow, max_examples=120)
@given(wild)
def test_the_views_of_any_tree_are_those_by_the_letter(rows):
    assert_as_by_the_letter(rows)


@settings(slow, max_examples=150)
@given(grown())
def test_the_views_of_a_session_that_grew_are_those_by_the_letter(rows):
    assert_as_by_the_letter(rows)


@settings(slow, max_examples=120)
@given(turns())
def test_what_belongs_to_an_answer_is_in_the_view_with_it(made):
    rows, expected = made
    with session_of(rows) as session:
        for kind in ("scrollback", "active", "wire"):
            assert list(session.view(kind).uuids) == expected
        messages = list(session.view("wire"))
        assert_a_provider_takes(messages)
        said = [block for message in messages for block in message["content"] if isinstance(block, dict)]
        kinds = [block["type"] for block in said]
        assert kinds.count("tool_use") == kinds.count("tool_result") == sum(uuid[0] == "r" for uuid in expected)


@settings(slow, max_examples=80)
@given(st.lists(odd_records, max_size=14))
def test_a_provider_takes_what_it_is_sent_of_any_tree(rows):
    with session_of(rows) as session:
        view = session.view("wire")
        assert_a_provider_takes(list(view))
        assert_a_provider_takes(closed([*view, {"role": "user", "content": "Go."}] if len(view) % 2 == 0 else view))


@settings(slow, max_examples=80)
@given(st.lists(odd_records, max_size=14))
def test_any_tree_can_be_read_and_gives_the_same_again(rows):
    def read():
        with session_of(rows) as session:
            views = [session.view(kind).load() for kind in ("raw", "scrollback", "active", "wire")]
            about = (session.id, session.cwd, session.title, session.leaf, session.latest_leaf, session.leaves)
            found = [
                (view.uuids, view.boundary, view.preserved, view.gaps, view.left_out, list(view)) for view in views
            ]
            lost = [line for line in session.verify() if "which is not in the file" not in str(line)]
            assert len(views[0]) == len(rows) + 1 and lost == [] and session.damage == ()
            return about, found, dict(session.messages), dict(session.metadata), session.replacements

    assert read() == read()


blocks = st.lists(
    st.one_of(
        st.builds(lambda id: {"type": "tool_use", "id": id, "name": "Bash", "input": {}}, st.sampled_from("1234")),
        st.builds(lambda id: {"type": "tool_result", "tool_use_id": id, "content": "x"}, st.sampled_from("1234")),
        st.sampled_from([{"type": "text", "text": "Hm."}, {"type": "text", "text": " "}, {"type": "thinking"}]),
    ),
    max_size=4,
)
spoken = st.builds(
    lambda kind, id, content: {"type": kind, "uuid": "u", "message": {"id": id, "content": content}},
    st.sampled_from(["user", "assistant"]),
    st.sampled_from([None, "m", "n"]),
    blocks | st.just("Go."),
)


@settings(slow, max_examples=150)
@given(st.lists(spoken, max_size=10))
def test_a_provider_takes_whatever_was_said(rows):
    assert_a_provider_takes(wire(rows)[0])
