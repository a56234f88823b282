import json
import random
from contextlib import suppress
from dataclasses import fields
from pathlib import Path

import pytest

from rehydrate.context import FORMATS, Engine, Policy, Request, Superseded, checkpoint
from rehydrate.context import records as made
from rehydrate.context.handoff import message_id
from rehydrate.context.omitting import digest_of
from rehydrate.context.restore import restore
from rehydrate.context.state import follow, read
from rehydrate.session import Session, SessionLog, Sessions, assistant, result, user
from rehydrate.session.line import bare

from .agents import Script
from .engines import Agent, engine_of, request_of, sent

KINDS = (
    *("ask", "ask", "answer", "answer", "steps", "put", "pin", "usage", "attempt", "title", "go on", "handoff"),
    *("refusal", "omitted", "thoughtless", "thinking", "picture"),
    *("retract", "rewind", "back", "snip", "replace", "other", "compact", "late"),
)
REQUEST = Request(model="m", format="anthropic")


@pytest.fixture
def log(tmp_path):
    with Sessions(tmp_path).new(str(tmp_path)) as opened:
        yield opened


def seen(state):
    """All that a state says, in a form to be compared."""
    about = {each.name: getattr(state, each.name) for each in fields(state)}
    return about | {"open_attempts": list(state.open_attempts), "inherited": list(state.inherited), "line": set()}


def picture(number):
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": f"aGk{number}"}}


def handoff(after, boundary):
    """A sound record."""
    said = {"version": 1, "messageId": message_id(after=after, checkpoint=boundary), "observedPromptTokens": 75}
    said |= {"availableForInput": 100, "handoffThreshold": 70, "compactionThreshold": 80}
    said |= {"createdAt": "2026-01-01T00:00:00.000Z"}
    return {"type": made.HANDOFF, "after": after, "checkpoint": boundary, "handoff": said}


def step(log, draw, script, uuids):
    """Something that can happen to a log."""
    kind = draw.choice(KINDS)
    some = draw.choice(uuids) if uuids else None
    if kind == "ask" or some is None:
        uuids.append(log.append(user(script.text(4))))
    elif kind == "answer":
        uuids.append(log.append(assistant(script.text(4), message={"id": f"m{len(uuids)}"})))
    elif kind in ("steps", "late"):
        name = f"c{len(uuids)}"
        uuids.append(log.append(assistant([{"type": "tool_use", "id": name, "name": "ls", "input": {}}])))
        if kind == "late":
            uuids.append(log.append(user("meanwhile")))
        uuids.append(log.append(user([result(name, script.text(6))])))
    elif kind == "put":
        log.append(made.put("Exact next action", script.text(3), status="open", supersedes=None, after=log.tip))
    elif kind == "pin":
        log.append(made.pin(some, after=draw.choice((some, log.tip))))
    elif kind == "usage":
        log.append(made.usage(None, format="anthropic", after=log.tip))
    elif kind == "attempt":
        log.append(made.attempt("a", draw.choice(("open", "done")), after=some))
    elif kind == "refusal":
        log.append(made.refusal("context", after=draw.choice((some, log.tip, None))))
    elif kind in ("omitted", "thoughtless"):
        digests = [digest_of(picture(0))] if kind == "omitted" else []
        log.append(made.omitted(digests, thoughts=not digests, after=draw.choice((some, log.tip))))
    elif kind == "thinking":
        thought = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
        said = draw.choice(([thought], [thought, {"type": "text", "text": "So."}]))
        uuids.append(log.append(assistant(said, message={"id": f"m{len(uuids)}"})))
    elif kind == "picture":
        uuids.append(log.append(user([{"type": "text", "text": "Look:"}, picture(draw.choice((0, 1)))])))
    elif kind in ("go on", "handoff"):
        after = draw.choice((some, log.tip))
        log.flush()
        boundary = draw.choice((restore(log.path).boundary, None))
        log.append(made.go_on(after=after) if kind == "go on" else handoff(after, boundary))
    elif kind == "title":
        log.append({"type": "custom-title", "customTitle": "x"})
    elif kind == "rewind":
        uuids.append(log.append({**user("again"), "parentUuid": some}))
    elif kind == "back":  # without an entry that says so
        log.append({**user("said before"), "uuid": some})
    elif kind == "snip":
        log.snip([some])
    elif kind == "replace":
        row = {"messageUuid": some, "toolUseId": "c1", "blockIndex": 0, "kind": "prune", "replacement": "gone"}
        log.replace_content([row])
    elif kind == "other":  # another process
        with SessionLog(log.place, cwd="/") as other:
            other.append(user("from elsewhere"))
    elif kind == "compact" and log.tip:
        log.compact("what was", trigger="auto", preserve=[log.tip] if draw.random() < 0.5 else [])
    elif kind == "retract":
        with suppress(ValueError):  # a compaction cannot be
            log.retract(some)


@pytest.mark.parametrize("seed", range(60))
def test_what_was_appended_is_read_as_all_is_read_anew(log, seed):
    draw, script, uuids, state = random.Random(seed), Script("anthropic", seed=seed), [], None
    for _ in range(25):
        for _ in range(draw.choice((1, 1, 2))):
            step(log, draw, script, uuids)
        state = follow(log, state)
        assert seen(state) == seen(read(log.path, tip=log.tip))


@pytest.mark.parametrize("at", range(12))
def test_who_goes_on_from_any_entry_is_sent_what_is_sent_after_a_restart(tmp_path, at):
    sessions = Sessions(tmp_path)
    with sessions.new(str(tmp_path)) as first:
        agent = Agent(first, window=4_000)
        for _ in range(2):
            agent.turn(1)
        agent.engine.compact()
        agent.turn(1)
    with Session.open(first.path) as session:
        uuid = [record["uuid"] for record in session.view("raw") if "uuid" in record][at]
    with sessions.resume(first.place, at=uuid) as resumed, resumed.log as log:
        engine = engine_of(log, window=4_000)
        engine.append({"role": "user", "content": "Do it in another way."})
        before = sent(engine.prepare(request_of()))
    with SessionLog(first.place, cwd="/") as log:
        assert sent(engine_of(log, window=4_000).prepare(request_of())) == before


def test_an_entry_that_a_compaction_behind_it_in_the_file_has_kept_is_gone_on_from_as_after_a_restart(log):
    log.append([user("one"), assistant("two")])
    log.compact("what was", trigger="auto", preserve=[log.tip])
    log.close()
    lines = Path(log.path).read_bytes().splitlines(keepends=True)
    Path(log.path).write_bytes(b"".join(bare(line) + b"\n" for line in [*lines[-1:], *lines[1:-1]]))  # another writer's
    with SessionLog(log.place, cwd="/") as other:
        state = follow(other, None)
        other.append(user("three"))
        assert seen(follow(other, state)) == seen(read(log.path, tip=other.tip))


ODD = {
    "half a pair": "x \ud83d y \udcff",
    "escapes": "\\ud83d \x00 \u2028 \ufffe",
    "many digits": {"n": 10**400, "m": -(2**80), "f": 1e308},
    "a name": {"\udc00": ["\ud800", "\U0001f600"]},
    "levels": json.loads("[" * 400 + "]" * 400),
}


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_odd_values_are_read_as_they_follow_as_they_are_read_anew(log, odd):
    log.append(user("one"))
    state = follow(log, None)
    log.append(assistant([{"type": "tool_use", "id": "c1", "name": "ls", "input": {"of": odd}}]))
    log.append(user([result("c1", json.dumps(odd, ensure_ascii=False))]))
    log.append(
        made.put(
            "Exact next action",
            f"say {odd if isinstance(odd, str) else 'x'}",
            status="open",
            supersedes=None,
            after=log.tip,
        )
    )
    assert seen(follow(log, state)) == seen(read(log.path, tip=log.tip))


@pytest.mark.parametrize("format", FORMATS)
def test_half_a_surrogate_pair_is_never_sent(log, format):
    engine = Engine(log, window=None)
    for number in range(3):
        engine.append(
            {"role": "user", "content": f"{number} \ud83d"},
            {"role": "assistant", "content": "\udcff"},
            format="anthropic",
        )
        engine.append({"role": "user", "content": "and?"}, format="anthropic")
        sent = engine.prepare(Request(model="m", format=format)).messages
        assert "\ufffd" in json.dumps(sent, ensure_ascii=False).encode().decode()  # which raises for half a pair
        assert sent == Engine(log, window=None).prepare(Request(model="m", format=format)).messages


def test_what_plainly_follows_is_read_alone(log, monkeypatch):
    log.append(user("one"))
    state = follow(log, None)
    monkeypatch.setattr("rehydrate.context.state.restore", None)
    log.append([assistant("two"), made.pin("u", after=None), user("three")])
    again = follow(log, state)
    assert again is state
    assert [each.message["content"] for each in state.said][-1] == "three"


def test_an_engine_of_a_log_that_was_compacted_does_not_look_through_all_of_it(log, monkeypatch):
    engine = compacting(log)
    engine.prepare(REQUEST)
    engine.append({"role": "user", "content": "go on"})
    log.flush()
    monkeypatch.setattr("rehydrate.session.lookup.end", None)
    with SessionLog(log.place, cwd="/") as other:
        assert Engine(other, window=8_000).prepare(REQUEST).messages[-1]["content"] == "go on"


def test_a_log_that_was_not_begun_holds_nothing(log):
    log.append({"type": "custom-title", "customTitle": "x"})
    assert follow(log, None).said == []


def compacting(log):
    """An engine whose next request is to be compacted."""
    script = Script("anthropic")
    engine = Engine(log, window=8_000, policy=Policy(reserve=1_000), clock=lambda: 0.0)
    while engine.explain(REQUEST)["phase"] != "compaction_due":
        engine.append(script.request())
        engine.append(script.answer(calls=0)[0], script.request())
    return engine


def test_two_engines_that_compact_one_session_send_the_same(log):
    first = compacting(log)
    log.flush()
    with SessionLog(log.place, cwd="/") as other:
        second = Engine(other, window=8_000, policy=Policy(reserve=1_000), clock=lambda: 0.0)
        second.explain(REQUEST)  # has seen it as it was before
        mine, theirs = first.prepare(REQUEST), second.prepare(REQUEST)
    assert theirs.messages == mine.messages


def test_an_engine_that_another_process_was_faster_than_prepares_anew(log, monkeypatch):
    engine = compacting(log)
    tried: list[object] = []

    def commit(*args, **given):
        tried.append(args)
        if len(tried) == 1:
            raise Superseded("compacted meanwhile")
        return checkpoint.commit(*args, **given)

    monkeypatch.setattr("rehydrate.context.compactor.commit", commit)
    assert engine.prepare(REQUEST).checkpoint is not None
    assert len(tried) == 2


def test_a_compaction_that_another_process_was_faster_than_is_void(log, monkeypatch):
    engine = compacting(log)
    before = read(log.path, tip=log.tip).said

    def commit(*_, **__):
        raise Superseded("compacted meanwhile")

    monkeypatch.setattr("rehydrate.context.compactor.commit", commit)
    with pytest.raises(Superseded):
        engine.compact()
    assert read(log.path, tip=log.tip).said == before
