"""Our hook, registered by `rehydrate install`, run by the vendor's own harness at real compactions.

What counts is what the fake model was shown.  Each scenario runs in both agent loops.  The older one compacts before
it runs PreInvocation hooks, so the first call after a compaction can hold the delivery; the newer one compacts after
them, so the second can.
"""

import functools
import json

import pytest

from tests.rig import scenarios
from tests.rig.evidence import MARKER
from tests.rig.product import run_rehydrate

LOOPS = ("older", "newer")
RUNS = [(scenario, loop) for scenario in scenarios.SCENARIOS for loop in LOOPS]
CALLS_OUT_OF_REACH = {"older": 0, "newer": 1}
"""How many calls of the model after a compaction no hook can reach any more."""
STEP_BYTES = 48_907
"""What arrives whole of one injected step."""


@pytest.fixture(scope="session", params=RUNS, ids="-".join)
def played(request, play):
    return play(*request.param)


def reached(played, compaction):
    """The calls after a compaction, up to the next one, that must hold its delivery; none where it came too soon."""
    return played.agent_requests_after(compaction)[CALLS_OUT_OF_REACH[played.loop] :]


@functools.cache
def shown(played, compaction):
    """What `rehydrate show` finds for a compaction."""
    step = played.checkpoints[compaction].step
    arguments = ("show", played.facts["transcript"], "--at", str(step), "--json")
    return json.loads(run_rehydrate(*arguments, home=played.folder / "home"))


def shown_parts(played, compaction):
    return [part["text"] for part in shown(played, compaction)["parts"]]


# -- every scenario, both loops ----------------------------------------------------------
def test_every_turn_ends_as_the_model_answered(played):
    for talk in played.facts["talks"]:
        assert talk["error"] is None
        assert len(talk["answers"]) == len(talk["scripted"])
        for answer, scripted in zip(talk["answers"], talk["scripted"], strict=True):
            assert answer.endswith(scripted)
    assert played.facts["unexpected"] == []
    assert played.facts["left"] == 0


def test_the_scenario_compacts_where_it_should(played):
    summaries = [request for request in played.requests if request.is_summary]
    assert len(summaries) == len(played.checkpoints) > 0
    assert reached(played, len(played.checkpoints) - 1)


def test_nothing_is_injected_before_a_hook_can_know_of_a_compaction(played):
    first = played.requests.index(next(request for request in played.requests if request.is_summary))
    assert not any(request.markers for request in played.requests[: first + 1])
    for compaction in range(len(played.checkpoints)):
        out_of_reach = played.agent_requests_after(compaction)[: CALLS_OUT_OF_REACH[played.loop]]
        assert not any(request.markers for request in out_of_reach)


def test_the_first_call_that_a_hook_can_reach_holds_every_part_whole(played):
    for compaction, checkpoint in enumerate(played.checkpoints):
        for request in reached(played, compaction)[:1]:
            assert request.injected == shown_parts(played, compaction)
            assert {MARKER.match(part)[1] for part in request.injected} == {str(checkpoint.step)}


def test_later_calls_hold_the_same_parts_and_no_more(played):
    for compaction in range(len(played.checkpoints)):
        requests = reached(played, compaction)
        for request in requests:
            assert request.injected == requests[0].injected
            assert request.markers == len(request.injected)


def test_the_log_holds_each_delivery_once_after_its_checkpoint(played):
    ids = []
    for compaction, checkpoint in enumerate(played.checkpoints):
        assert list(checkpoint.parts) == shown_parts(played, compaction)
        marks = [MARKER.match(part) for part in checkpoint.parts]
        total = len(marks)
        numbers = [(None, None)] if total == 1 else [(str(k), str(total)) for k in range(1, total + 1)]
        assert [(mark[3], mark[4]) for mark in marks] == numbers
        assert len({mark[2] for mark in marks}) == 1
        ids.append(marks[0][2])
    assert len(set(ids)) == len(ids)
    logged = [record["content"] for record in played.records if record["type"] == "SYSTEM_MESSAGE"]
    assert len(logged) == sum(len(checkpoint.parts) for checkpoint in played.checkpoints)


def test_the_state_says_sent(played):
    delivery = played.facts["talks"][-1]["state"]["delivery"]
    last = MARKER.match(played.checkpoints[-1].parts[0])
    assert (delivery["status"], delivery["step"], delivery["id"]) == ("sent", played.checkpoints[-1].step, last[2])


def test_no_part_is_larger_than_what_arrives_whole(played):
    for checkpoint in played.checkpoints:
        assert all(len(part.encode()) <= STEP_BYTES for part in checkpoint.parts)


# -- what comes back ---------------------------------------------------------------------
@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("scenario", ["between-turns", "mid-turn"])
@pytest.mark.parametrize("kind", scenarios.FACTS)
def test_a_fact_planted_before_the_compaction_comes_back(play, scenario, loop, kind):
    fact = scenarios.FACTS[kind]
    played = play(scenario, loop)
    lost, *_ = [request for request in played.requests if request.is_summary]
    assert any(fact in text for text in lost.texts)
    assert fact in "\n".join(reached(played, 0)[0].injected)


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("scenario", ["between-turns", "mid-turn"])
def test_a_long_history_comes_in_several_parts(play, scenario, loop):
    assert len(play(scenario, loop).checkpoints[0].parts) >= 2


@pytest.mark.parametrize("loop", LOOPS)
def test_the_founding_request_comes_back_after_every_compaction(play, loop):
    played = play("two-in-a-row", loop)
    assert len(played.checkpoints) == 2
    for compaction in range(2):
        assert scenarios.REQUEST in "\n".join(reached(played, compaction)[0].injected)


@pytest.mark.parametrize("loop", LOOPS)
def test_a_compaction_soon_after_another_gets_half_the_budgets(play, loop):
    played = play("two-in-a-row", loop)
    first, second = (shown(played, compaction)["sections"] for compaction in range(2))
    assert [section["budget_chars"] for section in second] == [section["budget_chars"] // 2 for section in first]


# -- what must not happen ------------------------------------------------------------------
@pytest.mark.parametrize("loop", LOOPS)
def test_a_resume_without_a_state_repeats_nothing(play, loop):
    played = play("between-turns", loop)
    first, resumed, compacted_again = played.facts["talks"]
    assert first["conversation"] == resumed["conversation"] == compacted_again["conversation"]
    assert first["state"]["delivery"]["status"] == "sent"
    assert resumed["state"]["done"]["step"] == played.checkpoints[0].step
    assert len(played.checkpoints) == 2


@pytest.mark.parametrize("loop", LOOPS)
def test_a_delivery_that_causes_a_compaction_does_not_cause_another(play, loop):
    played = play("our-own-doing", loop)
    sizes = [sum(len(part) for part in checkpoint.parts) for checkpoint in played.checkpoints]
    assert len(sizes) == 2
    assert sizes[1] < sizes[0]
    assert len(reached(played, 1)) > 1


def test_a_delivery_that_a_compaction_swallows_is_followed_by_its_own(play):
    """Newer loop: what was injected in the call that compacts lies before the CHECKPOINT and reaches no call."""
    played = play("back-to-back", "newer")
    assert reached(played, 0) == []
    assert played.checkpoints[0].parts
    assert reached(played, 1)[0].injected == list(played.checkpoints[1].parts)
