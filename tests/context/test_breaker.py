"""When a model is not asked for a summary any more."""

import json

import pytest

from rehydrate.context.breaker import HALF_OPEN_S, LIMIT, Breaker, breaker_key
from rehydrate.context.state import State

KEY = breaker_key(workspace="-home-me-work", session="s1")
THEN = {"window": 200_000, "asked": "u1"}


def opened(now_s=1_000.0, **about):
    breaker = Breaker(KEY)
    for _ in range(LIMIT):
        breaker = breaker.failed(**{**THEN, **about}, now_s=now_s)
    return breaker


def test_t27_three_failures_in_a_row_open_it_and_two_do_not():
    breaker = Breaker(KEY)
    phases = []
    for at in range(LIMIT + 1):
        phases.append(breaker.phase(**THEN, now_s=1_000.0 + at))
        breaker = breaker.failed(**THEN, now_s=1_000.0 + at)
    assert (LIMIT, phases) == (3, ["closed", "closed", "closed", "open"])


def test_a_success_closes_it_and_begins_the_count_anew():
    breaker = opened().succeeded()
    assert breaker == Breaker(KEY)
    assert breaker.failed(**THEN, now_s=1.0).failed(**THEN, now_s=2.0).phase(**THEN, now_s=3.0) == "closed"


@pytest.mark.parametrize(
    ("now", "phase"),
    [
        ({**THEN, "now_s": 1_001.0}, "open"),
        ({**THEN, "asked": "u2", "now_s": 1_001.0}, "half_open"),
        ({**THEN, "window": 100_000, "now_s": 1_001.0}, "half_open"),
        ({**THEN, "window": None, "now_s": 1_001.0}, "half_open"),
        ({**THEN, "now_s": 1_000.0 + HALF_OPEN_S}, "half_open"),
        ({**THEN, "now_s": 999.0}, "half_open"),  # somebody has set the clock back
        ({**THEN, "asked": "", "now_s": 1_001.0}, "open"),  # the request was covered
    ],
)
def test_it_lets_one_attempt_through_when_something_has_changed(now, phase):
    assert opened().phase(**now) == phase


@pytest.mark.parametrize("change", [{"asked": "u2"}, {"window": 100_000}, {"now_s": 1_000.0 + HALF_OPEN_S}])
def test_an_attempt_that_was_let_through_and_fails_opens_it_anew(change):
    now = {**THEN, "now_s": 1_001.0, **change}
    assert opened().phase(**now) == "half_open"
    assert opened().failed(**now).phase(**now) == "open"


def test_a_request_that_a_compaction_has_covered_is_still_the_last_one():
    breaker = opened().failed(window=200_000, asked="", now_s=1_001.0)
    assert breaker.phase(**THEN, now_s=1_002.0) == "open"
    assert opened(asked="").phase(**THEN, now_s=1_001.0) == "half_open"


@pytest.mark.parametrize(
    "breaker", [Breaker(KEY), Breaker(KEY).failed(**THEN, now_s=1.5), opened(), opened(window=None)]
)
def test_what_the_log_is_told_is_what_is_read(breaker):
    record = json.loads(json.dumps(breaker.record(after="e1")))
    assert (record["type"], record["after"]) == ("context-breaker", "e1")
    state = State()
    state.note(record)
    assert Breaker.of(state.breaker, key=KEY) == breaker


@pytest.mark.parametrize(
    "other",
    [
        breaker_key(workspace="-home-me-work", session="s2"),
        breaker_key(workspace="-home-me-other", session="s1"),
        breaker_key(workspace="-home-me-work", session="s1/agent"),
    ],
)
def test_a_fork_another_workspace_and_a_subagent_do_not_inherit_it(other):
    assert Breaker.of(opened().record(after=None), key=other) == Breaker(other)


@pytest.mark.parametrize(
    "change",
    [
        {"failures": -1},
        {"failures": True},
        {"failures": "3"},
        {"failures": None},
        {"opened_s": "now"},
        {"opened_s": True},
        {"asked": 1},
        {"key": None},
    ],
)
def test_a_record_that_nobody_here_has_written_is_a_closed_one(change):
    assert Breaker.of({**opened().record(after=None), **change}, key=KEY) == Breaker(KEY)
    assert Breaker.of(None, key=KEY) == Breaker(KEY)
