"""Subagents: logs of their own, forks of the conversation, and going on with one."""

import json
import os
from pathlib import Path

import pytest

from rehydrate.session import Place, SessionError, SessionLog, assistant, import_session, result, user
from rehydrate.session.agents import FORK_RESULT, agent_wire, agents_of, resume_agent
from rehydrate.session.reading import Session
from tests.session.conftest import records, said

DATA = Path(__file__).parents[1] / "data" / "claude-code"


def call(name, tool="Bash"):
    return {"type": "tool_use", "id": name, "name": tool, "input": {}}


@pytest.fixture
def log(make_log):
    return make_log()


@pytest.fixture
def talk(log):
    """A session in which an answer has two open calls, and its text."""
    log.append([user("one"), assistant("two")])
    log.append([user("three"), assistant([{"type": "text", "text": "both"}, call("a"), call("b", "Task")])])
    return log


def wire(place, agent_id):
    return list(agent_wire(place, agent_id))


def as_bytes(sent):
    return [json.dumps(each).encode() for each in sent]


def forked(log, agent_id, prompt, **more):
    child = log.sidechain(agent_id, type="fork", inherits=True, **more)
    child.append(user(prompt))
    child.flush()
    return child


# -- logs of their own


def test_a_subagents_entries_are_in_a_file_of_their_own(log, place):
    log.append(user("one"))
    child = log.sidechain("a1", type="Explore", description="Look around")
    child.append([user("look"), assistant("seen")])
    log.append(assistant("two"))
    log.flush()
    assert said(log.path) == ["one", [{"type": "text", "text": "two"}]]
    assert said(place.agent_path("a1"))[0] == "look"
    own = [each for each in records(place.agent_path("a1")) if "message" in each]
    assert [(each["isSidechain"], each["agentId"], each["sessionId"]) for each in own] == [
        (True, "a1", log.session_id)
    ] * 2
    assert own[0]["parentUuid"] is None


@pytest.mark.parametrize("begun", [b"", b'{"type":"session","for'])
@pytest.mark.parametrize("inherits", [False, True])
def test_an_agent_that_was_killed_before_its_first_line_was_whole_can_begin(log, place, begun, inherits):
    log.append_durable(user("one"))
    path = Path(place.agent_path("a1"))
    path.parent.mkdir(parents=True)
    path.write_bytes(begun)
    assert agents_of(place) == {}
    log.sidechain("a1", type="Explore", inherits=inherits).append_durable(user("look"))
    assert list(agents_of(place)) == ["a1"] and said(str(path)) == ["look"]
    assert ('"one"' in json.dumps(wire(place, "a1"))) == inherits


def test_what_a_subagent_is_stands_beside_its_log_from_its_first_message_on(log, place):
    log.append(user("one"))
    child = log.sidechain("a1", type="Explore", description="Look around", worktree="/w/tree")
    assert not os.path.exists(place.agent_meta_path("a1"))
    child.append(user("look"))
    child.flush()
    expected = {"agentType": "Explore", "description": "Look around", "worktreePath": "/w/tree"}
    assert json.loads(Path(place.agent_meta_path("a1")).read_text()) == expected
    assert agents_of(place) == {"a1": expected}
    assert records(place.agent_path("a1"))[-1]["cwd"] == "/w/tree"


def test_a_session_without_subagents_has_none(place):
    assert agents_of(place) == {}


def test_entries_of_the_session_with_the_agents_id_go_to_its_log(log, place):
    log.append(user("one"))
    child = log.sidechain("a1", type="Explore")
    tip = child.append(user("look"))
    log.append({**assistant("seen"), "agentId": "a1"})
    log.flush()
    assert records(place.agent_path("a1"))[-1]["parentUuid"] == tip


def test_a_subagents_log_is_closed_with_the_sessions(place):
    with SessionLog(place, cwd="/w") as log:
        child = log.sidechain("a1", type="Explore")
        child.append(user("look"))
    assert said(place.agent_path("a1")) == ["look"]
    with pytest.raises(ValueError, match="closed"):
        child.append(user("more"))


def test_an_agent_that_is_there_is_not_begun_again(log):
    log.append(user("one"))
    log.sidechain("a1", type="Explore")
    with pytest.raises(FileExistsError):
        log.sidechain("a1", type="Explore")


@pytest.mark.parametrize("name", ["", "..", "a/b"])
def test_an_agent_id_that_leads_elsewhere_is_refused(log, name):
    with pytest.raises(ValueError):
        log.sidechain(name, type="Explore")


# -- forks


def test_what_forks_are_sent_begins_byte_for_byte_as_what_the_session_is_sent(talk, place):
    forked(talk, "a1", "do this")
    forked(talk, "a2", "do that")
    talk.append([user([result("a", "A"), result("b", "B")])])
    talk.flush()
    with Session.open(talk.path) as session:
        own = as_bytes(session.view("wire"))
    one, two = as_bytes(wire(place, "a1")), as_bytes(wire(place, "a2"))
    assert one[:-1] == two[:-1] == own[:-1]
    assert one[-1] != two[-1]


def test_calls_that_were_open_have_one_fixed_result_in_every_fork(talk, place):
    for name, prompt in (("a1", "do this"), ("a2", "do that")):
        forked(talk, name, prompt)
        last = wire(place, name)[-1]
        fixed = [{"type": "tool_result", "tool_use_id": each, "content": FORK_RESULT} for each in "ab"]
        assert last == {"role": "user", "content": [*fixed, {"type": "text", "text": prompt}]}


def test_calls_that_have_a_result_keep_it_in_a_fork(talk, place):
    talk.append(user([result("a", "A")]))
    forked(talk, "a1", "do this")
    assert [each.get("content") for each in wire(place, "a1")[-1]["content"][:2]] == ["A", FORK_RESULT]


def test_calls_of_an_answer_in_several_records_are_all_answered(log, place):
    log.append(user("one"))
    log.append([assistant([call(each)], message={"id": "m"}) for each in "abc"])
    forked(log, "a1", "do this")
    assert [each.get("tool_use_id") for each in wire(place, "a1")[-1]["content"]] == ["a", "b", "c", None]


def test_calls_that_were_given_up_have_no_result_in_a_fork(log, place):
    log.append([user("one"), assistant([{"type": "text", "text": "x"}, call("a")]), user("never mind")])
    forked(log, "a1", "do this")
    assert FORK_RESULT not in json.dumps(wire(place, "a1"))
    assert wire(place, "a1")[1]["content"] == [{"type": "text", "text": "x"}]


def test_a_forks_file_holds_nothing_of_what_it_shares(talk, place):
    forked(talk, "a1", "do this")
    assert [each["type"] for each in records(place.agent_path("a1"))] == ["session", "fork-context-ref", "user", "user"]
    assert "three" not in Path(place.agent_path("a1")).read_text()


def test_a_fork_is_not_on_disk_before_it_is_asked_something(talk, place):
    talk.sidechain("a1", type="fork", inherits=True)
    talk.flush()
    assert not os.path.exists(os.path.dirname(place.agent_path("a1")))


def test_a_fork_does_not_see_what_the_session_says_afterwards(talk, place):
    forked(talk, "a1", "do this")
    before = wire(place, "a1")
    talk.append([user([result("a", "A"), result("b", "B")]), assistant("later")])
    talk.compact("a summary", trigger="auto")
    talk.append(user("still later"))
    talk.flush()
    assert wire(place, "a1") == before


def test_a_fork_of_a_compacted_session_begins_with_the_summary(log, place):
    log.append([user("one"), assistant("two")])
    log.compact("a summary", trigger="auto")
    log.append([user("three"), assistant("four")])
    forked(log, "a1", "do this")
    assert "one" not in json.dumps(wire(place, "a1"))
    assert "a summary" in json.dumps(wire(place, "a1")[0])


def test_a_fork_that_was_compacted_shares_nothing_any_more(talk, place):
    child = forked(talk, "a1", "do this")
    child.append(assistant("done"))
    child.compact("what was done", trigger="auto")
    child.append(user("go on"))
    child.flush()
    sent = json.dumps(wire(place, "a1"))
    assert "what was done" in sent and "three" not in sent


def test_a_fork_cannot_fork(talk):
    child = forked(talk, "a1", "do this")
    with pytest.raises(SessionError, match="cannot fork"):
        child.sidechain("a2", type="fork", inherits=True)


def test_a_fork_that_goes_on_cannot_fork_either(talk, place):
    forked(talk, "a1", "do this")
    talk.close()
    with SessionLog(place, cwd="/w") as log:
        resumed = resume_agent(log, "a1")
        with pytest.raises(SessionError, match="cannot fork"):
            resumed.log.sidechain("a2", type="fork", inherits=True)


def test_a_subagent_that_is_no_fork_can_be_forked(talk, place):
    child = talk.sidechain("a1", type="Explore")
    child.append([user("look"), assistant("seen")])
    forked(child, "a2", "do this")
    assert [each["role"] for each in wire(place, "a2")] == ["user", "assistant", "user"]
    assert wire(place, "a2")[0]["content"] == "look"


def test_a_fork_needs_something_to_go_on_from(log):
    with pytest.raises(SessionError, match="no message"):
        log.sidechain("a1", type="fork", inherits=True)


def test_what_stands_in_the_place_of_results_is_so_in_a_fork_whatever_is_decided_later(log, place):
    at = log.append([user("one"), assistant([call("a")]), user([result("a", "long")])])
    log.replace_content([{"messageUuid": at, "toolUseId": "a", "replacement": "short"}])
    log.append(assistant("two"))
    forked(log, "a1", "do this")
    log.replace_content([{"messageUuid": at, "toolUseId": "a", "replacement": "shorter"}])
    log.flush()
    assert wire(place, "a1")[2]["content"][0]["content"] == "short"


# -- going on with one


def resumed(place, agent_id="a1", **more):
    """What a subagent goes on with in another process; the log of its session is left open."""
    log = SessionLog(place, **{"cwd": "/w", **more})
    return log, resume_agent(log, agent_id)


def test_a_subagent_goes_on_in_its_own_file(log, place):
    log.append(user("one"))
    child = log.sidechain("a1", type="Explore", description="Look")
    tip = child.append([user("look"), assistant("seen")])
    log.close()
    log, agent = resumed(place)
    with log:
        agent.log.append(user("again"))
    assert records(place.agent_path("a1"))[-1]["parentUuid"] == tip
    assert agent.about == {"agentType": "Explore", "description": "Look"}
    assert [each["role"] for each in agent.wire] == ["user", "assistant"]


def test_calls_without_a_result_are_left_out_and_told(log, place):
    log.append(user("one"))
    child = log.sidechain("a1", type="Explore")
    at = child.append([user("look"), assistant([{"type": "text", "text": "looking"}, call("a")])])
    log.close()
    log, agent = resumed(place)
    log.close()
    assert [each["content"] for each in agent.wire] == ["look", [{"type": "text", "text": "looking"}]]
    assert (at, "call without a result") in agent.wire.left_out


def test_what_a_fork_shares_is_sent_once(talk, place):
    forked(talk, "a1", "do this")
    before = wire(place, "a1")
    talk.close()
    log, agent = resumed(place)
    with log:
        agent.log.append([assistant("did it"), user("more")])
        log.flush()
        assert as_bytes(wire(place, "a1"))[: len(before)] == as_bytes(before)
        assert json.dumps(wire(place, "a1")).count("three") == 1


def test_copies_that_another_writer_put_into_the_agents_file_are_not_sent_twice(talk, place):
    talk.flush()
    shared = [each for each in records(talk.path) if "message" in each][:2]
    child = talk.sidechain("a1", type="fork")
    child.append([{"type": "fork-context-ref", "parentLastUuid": shared[-1]["uuid"]}, *shared, user("do this")])
    child.flush()
    assert json.dumps(wire(place, "a1")).count("one") == 1


def test_what_an_agent_follows_in_the_session_is_taken_from_there(talk, place):
    talk.flush()
    second = [each for each in records(talk.path) if "message" in each][1]["uuid"]
    child = talk.sidechain("a1", type="fork")
    child.append({**user("do this"), "parentUuid": second})
    child.flush()
    view = agent_wire(place, "a1")
    assert [each["role"] for each in view] == ["user", "assistant", "user"]
    assert view.gaps == ()


def test_what_is_shared_with_a_session_that_is_gone_is_a_gap(talk, place):
    forked(talk, "a1", "do this")
    os.unlink(place.path)
    view = agent_wire(place, "a1")
    assert [each.why for each in view.gaps] == ["missing"]
    assert list(view) == [{"role": "user", "content": [{"type": "text", "text": "do this"}]}]


def test_replacements_are_the_agents_own_and_where_it_has_none_the_sessions(log, place):
    log.append(user("one"))
    child = log.sidechain("a1", type="Explore")
    at = child.append([user("look"), assistant([call("a"), call("b")]), user([result("a", "A"), result("b", "B")])])
    child.replace_content([{"messageUuid": at, "toolUseId": "a", "replacement": "the agent's"}])
    rows = [{"messageUuid": at, "toolUseId": each, "replacement": "the session's"} for each in "ab"]
    log.replace_content(rows)
    log.flush()
    found = [each["content"] for each in wire(place, "a1")[2]["content"]]
    assert found == ["the agent's", "the session's"]


def test_an_agent_works_in_its_worktree(log, place, tmp_path):
    log.append(user("one"))
    log.sidechain("a1", type="Explore", worktree=str(tmp_path)).append(user("look"))
    log.close()
    log, agent = resumed(place)
    with log:
        agent.log.append(assistant("seen"))
    assert (agent.cwd, agent.dropped) == (str(tmp_path), ())
    assert records(place.agent_path("a1"))[-1]["cwd"] == str(tmp_path)


def test_a_relative_worktree_is_the_one_of_now(log, place, tmp_path, monkeypatch):
    log.append_durable(user("Ask."))
    monkeypatch.chdir(tmp_path)
    log.sidechain("one", type="helper", worktree="tree").append_durable(user("Look."))
    assert agents_of(place)["one"]["worktreePath"] == str(tmp_path / "tree")


def test_an_agent_whose_worktree_is_gone_works_in_the_folder_of_the_session_and_that_is_said(log, place):
    log.append(user("one"))
    log.sidechain("a1", type="Explore", worktree="/no/such/tree").append(user("look"))
    log.close()
    log, agent = resumed(place)
    log.close()
    assert agent.cwd == "/w"
    assert ["/no/such/tree" in each and "/w" in each for each in agent.dropped] == [True]


def test_an_agent_that_is_not_there_cannot_go_on(log):
    log.append(user("one"))
    with pytest.raises(FileNotFoundError):
        resume_agent(log, "a1")


def test_an_agent_that_is_open_goes_on_with_the_same_log(log):
    log.append(user("one"))
    child = log.sidechain("a1", type="Explore")
    child.append(user("look"))
    log.flush()
    child.flush()
    assert resume_agent(log, "a1").log is child


def test_a_subagent_of_claude_code_can_be_read(tmp_path):
    [path] = (DATA / "subagent").glob("*-*.jsonl")
    place = Place.of(import_session(str(path), root=str(tmp_path)).path)
    [(agent_id, about)] = agents_of(place).items()
    assert about["description"] == "Look at calc"
    sent = wire(place, agent_id)
    assert sent[0]["role"] == "user" and "Look at calc.py" in json.dumps(sent[0])
