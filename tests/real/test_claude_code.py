"""The real Claude Code CLI at real compactions: with a hook that only looks, and with ours, registered by
`rehydrate install`.

What counts is what the fake model was shown.
"""

import functools
import json
import os
import stat

import pytest

from tests.rig.claude import probe, scenarios
from tests.rig.evidence import MARKER
from tests.rig.product import run_rehydrate
from tests.rig.scenarios import FACTS, REQUEST

COMPACTIONS = {
    "subagent": 1,
    "subagent-compacts": 1,
    "manual-compact": 1,
    "auto-compact": 1,
    "mid-turn": 1,
    "too-long": 1,
    "two-in-a-row": 2,
    "fork": 2,
    "interactive": 1,
    "branch": 1,
    "private-file": 1,
}
"""How often each scenario compacts; the others never do."""
OF_THE_CONVERSATION = [name for name in COMPACTIONS if name != "subagent-compacts"]
PROBED = ("manual-compact", "mid-turn", "two-in-a-row")
LARGEST = 10_000
"""UTF-16 units of one answer that the CLI hands on whole."""


@pytest.fixture(scope="session")
def played(request, play_claude):
    return play_claude(*request.param)


def runs(names, hook="ours"):
    """Runs the test on these scenarios."""
    return pytest.mark.parametrize("played", [(name, hook) for name in names], ids="-".join, indirect=True)


@functools.cache
def shown(played, compaction):
    """What `rehydrate show` finds for a compaction."""
    arguments = ("show", played.facts["sessions"][played.compacted(compaction)], "--at", str(compaction + 1), "--json")
    return json.loads(run_rehydrate(*arguments, home=played.folder / "home"))


def shown_parts(played, compaction):
    return [part["text"] for part in shown(played, compaction)["parts"]]


def marks(request):
    """The markers of our parts in all that the model was shown."""
    return [mark for text in request.texts for mark in MARKER.finditer(text)]


# -- the rig ------------------------------------------------------------------------------
@runs(scenarios.SCENARIOS)
def test_every_turn_ends_as_the_model_answered(played):
    for asked in played.facts["asked"]:
        if not asked["failed"]:
            assert (asked["status"], asked["result"]) == (0, asked["scripted"])
    assert played.facts["unexpected"] == []
    assert played.facts["left"] == 0


@runs(scenarios.SCENARIOS)
def test_the_scenario_compacts_as_often_as_it_should(played, request):
    scenario, _ = request.node.callspec.params["played"]
    assert played.compactions == COMPACTIONS.get(scenario, 0)


@runs(PROBED, "probe")
def test_a_hook_finds_what_came_before_the_compaction_and_no_boundary_of_it(played):
    calls = [seen for seen in played.seen if seen["payload"].get("source") == "compact"]
    assert len(calls) == played.compactions
    for compaction, seen in enumerate(calls):
        rows = [json.loads(line) for line in seen["transcript"].splitlines()]
        assert sum(row.get("subtype") == "compact_boundary" for row in rows) == compaction
        assert "agent_id" not in seen["payload"]
        assert [kind for kind, fact in FACTS.items() if fact not in json.dumps(rows, ensure_ascii=False)] == []


@runs(["subagent-compacts"], "probe")
def test_a_compaction_of_a_subagent_says_whose_it_is(played):
    (seen,) = [seen for seen in played.seen if seen["payload"].get("source") == "compact"]
    assert seen["payload"]["agent_id"]
    assert [probe.TEXT in "".join(request.texts) for request in played.after(0, "helper")] == [True, True]


@runs(PROBED, "probe")
def test_what_a_hook_says_arrives_in_every_call_after_the_compaction(played):
    for compaction in range(played.compactions):
        assert [request.injected for request in played.after(compaction)] == [[probe.TEXT]] * len(
            played.after(compaction)
        )


# -- what arrives ---------------------------------------------------------------------------
@runs(OF_THE_CONVERSATION)
def test_the_first_call_after_a_compaction_holds_every_part_whole_and_once(played):
    for compaction in range(played.compactions):
        parts = shown_parts(played, compaction)
        first = played.after(compaction)[0]
        assert parts
        assert [sum(text.count(part) for text in first.texts) for part in parts] == [1] * len(parts)
        assert len(marks(first)) == len(parts)
        assert len(first.injected) == 1


@runs([name for name in OF_THE_CONVERSATION if name != "private-file"])
def test_later_calls_hold_the_same_and_no_more(played):
    for compaction in range(played.compactions):
        found = [len(marks(request)) for request in played.after(compaction)]
        assert found == found[:1] * len(found)
        first, *later = played.after(compaction)
        assert [request.injected for request in later] == [first.injected] * len(later)


@runs(scenarios.SCENARIOS)
def test_nothing_is_injected_but_after_a_compaction_of_the_conversation(played, request):
    scenario, _ = request.node.callspec.params["played"]
    before = played.requests
    if scenario in OF_THE_CONVERSATION:
        before = [each for each in before if each.number <= played.number_of_summary(0)]
    assert [each.number for each in before if each.injected or marks(each)] == []


@runs(OF_THE_CONVERSATION)
def test_each_compaction_has_a_delivery_of_its_own_with_its_number(played):
    found = [marks(played.after(compaction)[0]) for compaction in range(played.compactions)]
    assert [{mark[1] for mark in each} for each in found] == [{str(n)} for n in range(1, played.compactions + 1)]
    assert len({mark[2] for each in found for mark in each}) == played.compactions


@runs(OF_THE_CONVERSATION)
def test_no_part_is_larger_than_what_the_cli_hands_on_whole(played):
    for compaction in range(played.compactions):
        assert max(len(part.encode("utf-16-le")) // 2 for part in shown_parts(played, compaction)) <= LARGEST


@runs(["manual-compact", "auto-compact", "mid-turn"])
def test_a_long_history_comes_in_several_parts(played):
    assert len(shown_parts(played, 0)) > 1


@runs(["manual-compact"], "plugin")
def test_the_plugin_delivers_as_the_registered_hook_does(played):
    first = played.after(0)[0]
    assert [sum(text.count(part) for text in first.texts) for part in shown_parts(played, 0)] == [1, 1]
    assert [request.injected for request in played.after(0)] == [first.injected] * len(played.after(0))


@runs(["manual-compact", "fork"])
def test_doctor_finds_all_well_afterwards(played):
    told = json.loads(run_rehydrate("doctor", "claude-code", "--json", home=played.folder / "home"))
    assert [row for row in told if not row["ok"]] == []
    (delivery,) = [row["detail"] for row in told if row["check"] == "delivery"]
    last = played.compactions - 1
    assert f"compaction {last + 1} of {played.compacted(last)}" in delivery
    assert f"all {len(shown_parts(played, last))} values reached the model" in delivery


# -- what comes back ------------------------------------------------------------------------
@runs(["manual-compact", "auto-compact", "mid-turn", "too-long", "interactive"])
@pytest.mark.parametrize("kind", FACTS)
def test_a_fact_planted_before_the_compaction_comes_back(played, kind):
    assert FACTS[kind] in played.after(0)[0].injected[0]


@runs(OF_THE_CONVERSATION)
def test_the_founding_request_comes_back_after_every_compaction(played):
    for compaction in range(played.compactions):
        assert REQUEST in played.after(compaction)[0].injected[0]


@runs(["fork"])
def test_a_fork_does_not_hear_what_its_source_did_afterwards(played):
    assert played.facts["asked"][-1]["session"] != played.facts["asked"][0]["session"]
    assert scenarios.RIGHT_SIDE in "".join(text for request in played.requests for text in request.texts)
    assert "On the left." in played.after(1)[0].injected[0]
    assert scenarios.RIGHT_SIDE not in shown(played, 1)["text"]


# -- the file with the whole ------------------------------------------------------------------
@runs(OF_THE_CONVERSATION)
def test_the_first_part_names_a_private_file_with_the_whole(played):
    for compaction in range(played.compactions):
        first = next(part for part in shown_parts(played, compaction) if MARKER.match(part)[3] in (None, "1"))
        (file,) = [path for path in played.private_files if str(path) in first[:2_000]]
        assert file.read_text() == shown(played, compaction)["text"]
        assert stat.S_IMODE(os.stat(file).st_mode) == 0o600


@runs(["private-file"])
@pytest.mark.parametrize("prompt", ["Read it.", "Read it again."])
def test_the_model_may_read_the_private_file_without_being_asked(played, prompt):
    (file,) = played.private_files
    asked = next(each for each in played.requests if each.blocks[-1] == ("user", {"type": "text", "text": prompt}))
    (after,) = [each for each in played.requests if each.number == asked.number + 1]
    role, result = after.blocks[-1]
    assert (role, result["type"], result["error"]) == ("user", "tool_result", False)
    assert "\n".join(line.partition("\t")[2] for line in result["text"].split("\n")) == file.read_text()
