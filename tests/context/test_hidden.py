"""Messages that a model is sent and nobody has said, made of records in the log."""

import json

import pytest

from rehydrate.context import records, verify
from rehydrate.context.hidden import GO_ON
from rehydrate.context.messages import HIDDEN, is_hidden, is_request
from rehydrate.context.restore import restore
from rehydrate.context.state import read
from rehydrate.session import Session, user
from rehydrate.session.archive import export, import_records, import_session
from rehydrate.session.copies import branch, fork
from rehydrate.session.stamp import OF_ONE_SESSION

from .engines import FORMATS, Agent, again, engine_of, request_of, sent

TEXT = "Go on exactly where it ends"


def cut_off(agent):
    """A turn whose answer was cut off, and the model told to go on; the uuid of the answer."""
    agent.turn(steps=1)
    log = agent.engine.log
    log.append_durable(records.go_on(after=log.tip))
    return log.tip


def count(projection):
    return sent(projection).count(TEXT)


@pytest.mark.parametrize("format", FORMATS)
def test_a_hidden_message_stands_right_behind_its_entry_and_is_sent_again_after_a_restart(log, format):
    agent = Agent(log, format)
    cut_off(agent)
    first = agent.prepare()
    assert TEXT in json.dumps(first.messages[-1]) and first.messages[-1]["role"] == "user"
    assert sent(again(log).prepare(agent.request)) == sent(first)
    agent.answer(first)
    agent.ask()
    second = agent.prepare()
    assert second.messages[: len(first.messages)] == first.messages and count(second) == 1
    assert sent(again(log).prepare(agent.request)) == sent(second)


def test_it_is_counted_here_until_the_provider_has_counted_it_and_once(log):
    agent = Agent(log)
    agent.turn()
    before = agent.engine.explain()["tokens"]
    log.append(records.go_on(after=log.tip))
    told = agent.prepare()
    meter = agent.engine._stage.meter
    assert told.snapshot.tokens == before + meter.message(GO_ON)
    agent.answer(told)
    assert agent.engine.explain()["label"] == "provider"
    assert agent.engine.explain()["tokens"] == told.snapshot.tokens + 60


def test_it_is_no_request_and_no_entry(log):
    agent = Agent(log)
    cut_off(agent)
    (message,) = [each for each in agent.engine._look(agent.request).messages if is_hidden(each)]
    assert message["rehydrate"]["kind"] in HIDDEN and not is_request(message)
    assert agent.engine.explain()["entries"] == 4
    assert agent.engine.explain()["holders"]["continue"] > 0
    with pytest.raises(LookupError):
        agent.engine.pin("")


def test_a_compaction_is_not_made_of_it_and_keeps_it_with_its_entry(log):
    agent = Agent(log)
    for _ in range(6):
        agent.turn()
    cut_off(agent)
    made = agent.engine.compact()
    assert made is not None and TEXT not in json.dumps(made.record())
    after = agent.prepare()
    assert count(after) == 1 and TEXT in json.dumps(after.messages[-1])
    assert sent(again(log).prepare(agent.request)) == sent(after)
    for _ in range(6):
        agent.turn()
    made = agent.engine.compact()
    assert TEXT not in json.dumps(made.record()) and count(agent.prepare()) == 0
    assert verify(log.path).findings == ()


def test_a_compaction_is_the_same_with_and_without_it(log):
    agent = Agent(log)
    for _ in range(6):
        agent.turn()
        log.append(records.go_on(after=log.tip))
    log.flush()
    with open(log.path, "rb") as file:
        lines = file.readlines()
    made = [again(log).compact()]
    with open(log.path, "wb") as file:
        file.writelines(line for line in lines if b'"context-continue"' not in line)
    made.append(again(log).compact())
    assert made[0] == made[1]


def test_it_goes_when_its_entry_is_taken_back(log):
    agent = Agent(log)
    log.retract(cut_off(agent))
    assert count(agent.prepare()) == 0
    assert count(again(log).prepare(agent.request)) == 0


def test_it_stands_on_no_other_branch(log):
    agent = Agent(log)
    first = agent.ask()
    agent.answer(agent.prepare())
    log.append(records.go_on(after=log.tip))
    assert count(agent.prepare()) == 1
    log.append({**user("Something else."), "parentUuid": first})
    assert count(agent.prepare()) == 0


@pytest.mark.parametrize("after", [None, 7, "nobody", ["x"], {}])
def test_a_record_that_names_no_entry_tells_nothing(log, after):
    agent = Agent(log)
    agent.turn()
    log.append({"type": records.CONTINUE, "after": after})
    assert count(agent.prepare()) == 0
    assert count(again(log).prepare(agent.request)) == 0


def test_one_is_told_once_however_often_it_was_recorded(log):
    agent = Agent(log)
    cut_off(agent)
    log.append(records.go_on(after=log.tip))
    assert count(agent.prepare()) == 1


def test_it_is_in_no_view_of_the_session(log):
    agent = Agent(log)
    cut_off(agent)
    agent.ask()
    log.flush()
    with Session.open(log.path) as session:
        for kind in ("scrollback", "active", "wire"):
            assert TEXT not in json.dumps(list(session.view(kind)))


def copies(log, tmp_path):
    """Every kind of copy of a session: the path of each."""
    log.flush()
    with Session.open(log.path) as session:
        yield branch(session).path
        with fork(session) as made:
            made.append(user("And now?"))
            made.flush()
            yield made.path
        yield import_records(session.view("raw"), root=str(tmp_path / "records"), cwd="/srv/project").path
    archive = export(log.path, str(tmp_path / "archive.zip")).path
    yield import_session(archive, root=str(tmp_path / "archive")).path
    yield import_session(log.path, root=str(tmp_path / "file")).path


def test_no_copy_of_the_session_has_it(log, tmp_path):
    agent = Agent(log)
    cut_off(agent)
    agent.ask()
    agent.prepare()
    paths = list(copies(log, tmp_path))
    assert len(paths) == 5
    for path in paths:
        with open(path, "rb") as file:
            data = file.read()
        assert b"context-continue" not in data and b"context-usage" in data
        assert read(path, tip=None).said and not any(is_hidden(each.message) for each in read(path, tip=None).said)
        assert verify(path).findings == ()


def test_an_export_has_every_other_line(log, tmp_path):
    agent = Agent(log)
    cut_off(agent)
    agent.engine.append({"role": "user", "content": 'Look for "context-continue" and {"type": "context-handoff"}.'})
    log.flush()
    with open(log.path, "rb") as file:
        lines = file.read().count(b"\n")
    made = import_session(export(log.path, str(tmp_path / "a.zip")).path, root=str(tmp_path / "b"))
    assert made.lines == lines - 1 and made.damage.count == 0
    assert restore(made.path).entries[-1]["message"] == restore(log.path).entries[-1]["message"]


def test_a_forked_subagent_is_not_told(log):
    agent = Agent(log)
    cut_off(agent)
    agent.ask()
    helper = log.sidechain("one", type="helper", inherits=True)
    helper.append(user("And you?"))
    helper.flush()
    projection = engine_of(helper).prepare(request_of())
    assert "Answer to 1" in sent(projection) and count(projection) == 0


def test_the_session_knows_which_records_are_of_one_session_alone():
    assert records.HIDDEN | {records.REFUSAL} == OF_ONE_SESSION
