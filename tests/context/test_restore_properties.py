"""However a log has grown, and whatever was damaged in it: what is restored from its end is what all of it gives."""

import json
from dataclasses import replace
from tempfile import TemporaryDirectory

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rehydrate.context import restore as restoring
from rehydrate.context.checkpoint import Checkpoint, _id_of, digest_of
from rehydrate.context.restore import restore
from rehydrate.session import Session, window
from tests.entries.making import assistant, boundary, call, meta, result, summary, system, user
from tests.session.making import sealed

slow = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])


def raw_checkpoint(text, **changed):
    """A checkpoint as it stands in a log."""
    record = {
        **{"version": 1, "parent": None, "session_id": "s", "from_seq": 1, "through_seq": 2, "through": "u0"},
        **{"digest": digest_of([]), "messages": [{"role": "user", "content": text}], "ledger": [], "figures": {}},
        **{"reason": "manual", "strategy": "fallback", "outcome": "completed"},
    }
    return {**record, "id": _id_of(record), **changed}


@st.composite
def grown(draw):
    """Rows of a log as `SessionLog` writes them: an entry behind the one that it follows, each uuid once, what is said
    about an entry behind it.
    """
    rows, line, said, fresh = [], [], [], iter(range(10_000))

    def name():
        return f"u{next(fresh)}"

    def last():
        return line[-1] if line else None

    for step in draw(st.lists(st.sampled_from("qqqqqqqqaaaaaaaappprrcccckkttbsmwvxf"), min_size=8, max_size=40)):
        uuid = name()
        if step == "q":
            rows.append(user(uuid, last(), f"Do {uuid}." + "x" * draw(st.sampled_from([0, 0, 300]))))
        elif step == "a":
            rows.append(assistant(uuid, last()))
        elif step == "p":  # calls that run at once, and their results in any order
            ids = [f"{uuid}-{n}" for n in range(draw(st.integers(1, 3)))]
            blocks = [assistant(f"{uuid}{id}", last(), call(id), id=f"m{uuid}") for id in ids]
            for block in blocks:
                block["parentUuid"] = last()
                rows.append(block)
                line.append(block["uuid"])
            for id in draw(st.permutations(ids))[: draw(st.integers(0, len(ids)))]:
                own = draw(st.sampled_from([f"{uuid}{id}", last()]))
                named = draw(st.sampled_from([{}, {"sourceToolAssistantUUID": f"{uuid}{id}"}]))
                rows.append(result(f"r{id}", own, id, **named))
                line.append(f"r{id}")
            said += line[-2:]
            continue
        elif step == "r" and said:  # the user turns to what came before
            at = draw(st.sampled_from(said))
            rows.append(user(uuid, at, "Rather so."))
            line = [*(line[: line.index(at) + 1] if at in line else [at])]
        elif step == "c":
            kind = draw(st.sampled_from(["sound"] * 6 + ["broken", "none"]))
            tail = draw(st.integers(0, 4))
            kept = [*dict.fromkeys([*draw(st.lists(st.sampled_from(line or ["no"]), max_size=1)), *line[-tail:]])]
            kept = [each for each in kept if each != "no"] if line and tail else []
            anchor = name()
            more = {"checkpoint": raw_checkpoint(f"sum {uuid}")} if kind == "sound" else {}
            if kind == "broken":
                more = {"checkpoint": raw_checkpoint("?", id="0" * 64)}
            preserved = {"preserved": (anchor, kept)} if kept else {}
            rows.append(boundary(uuid, logical=last(), summary=f"sum {uuid}", **preserved, **more))
            line.append(uuid)
            if draw(st.integers(0, 5)):  # else it was torn off
                rows.append(summary(anchor, uuid))
                line.append(anchor)
            continue
        elif step == "k" and said:
            gone = draw(st.lists(st.sampled_from(said), max_size=2))
            rows.append(system(uuid, last(), "snip_boundary", removedUuids=gone))
        elif step == "t" and said:
            rows.append({"type": "tombstone", "targetUuid": draw(st.sampled_from(said))})
            continue
        elif step == "b":
            rows.append({"type": "content-replacement", "replacements": replacements(draw, rows)})
            continue
        elif step == "s":
            rows.append(user(uuid, draw(st.sampled_from([None, "aside", *said[-2:]])), isSidechain=True))
            continue
        elif step == "m":
            rows.append(meta(uuid, last()))
        elif step == "w":
            rows.append({"type": "last-prompt", "leafUuid": draw(st.sampled_from(said or ["u0"])), "lastPrompt": "x"})
            continue
        elif step == "v":
            rows.append({"type": draw(st.sampled_from(["context-ledger", "compaction-attempt", "cost"])), "n": uuid})
            continue
        elif step == "x":
            rows.append(system(uuid, last()))
        elif step == "f" and said:  # another program has written behind it, what stands there already among it
            again = dict(draw(st.sampled_from([row for row in rows if "uuid" in row])))
            rows.append({**again, "foreign": True})
            continue
        else:
            continue
        line.append(uuid)
        said.append(uuid)
    return rows


def replacements(draw, rows):
    calls = [block for row in rows for block in _results(row)]
    chosen = draw(st.lists(st.sampled_from(calls), max_size=2)) if calls else []
    return [{"messageUuid": uuid, "toolUseId": id, "replacement": f"[{id}]"} for uuid, id in chosen]


def _results(row):
    content = row.get("message", {}).get("content")
    for block in content if isinstance(content, list) else ():
        if block["type"] == "tool_result":
            yield row["uuid"], block["tool_use_id"]


@st.composite
def damage(draw):
    """Something that happens to the bytes of a file."""
    kind = draw(st.sampled_from(["nothing", "nothing", "nul", "flip", "cut", "junk"]))
    return kind, draw(st.floats(0, 1, exclude_max=True)), draw(st.integers(1, 400))


def damaged(data, kind, place, length):
    at = int(place * len(data))
    if kind == "nul":
        return data[:at] + b"\0" * min(length, len(data) - at) + data[at + length :]
    if kind == "flip" and data[at : at + 1] not in (b"", b"\n"):
        return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
    if kind == "cut":
        return data[: len(data) - min(length, len(data) // 2)]
    if kind == "junk":
        at = data.rfind(b"\n", 0, at) + 1
        return data[:at] + b'{"type":"user","uu\n' + data[at:]
    return data


def seen(restored, start):
    """What is to be the same, however much of the file was read."""
    damage = [(each.offset, str(each)) for each in restored.damage if each.offset >= start]
    return replace(restored, start=0, damaged=0, damage=()), damage


def assert_as_all_of_it_gives(path, ends=(None,)):
    for at in ends:
        try:
            with Session.open(path) as session:
                whole = restoring._read(session, at, start=0)
        except LookupError:
            whole = None
        if whole is not None:
            found = restore(path, at=at)
            assert seen(found, found.start) == seen(whole, found.start)


def written(folder, rows, *, seals=True):
    path = f"{folder}/s.jsonl"
    rows = [{"type": "session", "format": 1, "sessionId": "s"}, *rows]
    lines = [
        sealed(row, seq) if seals and "foreign" not in row else json.dumps(row, separators=(",", ":")).encode()
        for seq, row in enumerate(rows, 1)
    ]
    with open(path, "wb") as file:
        file.write(b"".join(line + b"\n" for line in lines))
    return path


def narrow(patch):
    """So little is read at first that most of what matters stands before it."""
    patch.setattr(window, "MARGIN_BYTES", 1)
    patch.setattr(window, "WIDER", 2)


@settings(slow, max_examples=150)
@given(grown())
def test_what_is_restored_from_the_end_is_what_all_of_the_log_gives(rows):
    from pytest import MonkeyPatch

    with TemporaryDirectory() as folder, MonkeyPatch.context() as patch:
        path = written(folder, rows)
        assert_as_all_of_it_gives(path)
        narrow(patch)
        uuids = [row["uuid"] for row in rows if "uuid" in row]
        assert_as_all_of_it_gives(path, [None, *uuids[-6:]])


@settings(slow, max_examples=150)
@given(grown(), st.lists(damage(), min_size=1, max_size=2))
def test_so_it_is_whatever_was_damaged(rows, hurts):
    from pytest import MonkeyPatch

    with TemporaryDirectory() as folder, MonkeyPatch.context() as patch:
        path = written(folder, rows)
        with open(path, "rb") as file:
            data = file.read()
        head = data.index(b"\n") + 1  # without it it is no log of ours
        for hurt in hurts:
            data = data[:head] + damaged(data[head:], *hurt)
        with open(path, "wb") as file:
            file.write(data)
        narrow(patch)
        assert_as_all_of_it_gives(path)


@settings(slow, max_examples=60)
@given(grown())
def test_so_it_is_in_the_file_of_another_writer(rows):
    from pytest import MonkeyPatch

    rows = [{name: value for name, value in row.items() if name not in ("checkpoint", "summary")} for row in rows]
    with TemporaryDirectory() as folder, MonkeyPatch.context() as patch:
        narrow(patch)
        assert_as_all_of_it_gives(written(folder, rows, seals=False))


def test_a_checkpoint_made_by_hand_is_sound():
    assert Checkpoint.from_record(raw_checkpoint("x")).messages
