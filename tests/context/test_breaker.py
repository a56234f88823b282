"""When a model is not asked for a summary any more."""

import json

import pytest

from rehydrate.context import Engine
from rehydrate.context.breaker import HALF_OPEN_S, LIMIT, Breaker, breaker_key
from rehydrate.context.state import State, follow
from rehydrate.session import Place, Session, SessionLog
from rehydrate.session.copies import branch

from .engines import POLICY, engine_of
from .summarisers import GOOD, WINDOW, Scripted, copied
from .talk import assistant, call, result, user

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


# -- in an engine -----------------------------------------------------------------------------------------------------


class Denied(Exception):
    status_code = 401


def compacts(log, model, *, window=WINDOW, now_s=0.0):
    """A new engine compacts once more what has grown since."""
    engine = Engine(log, window=window, policy=POLICY, summariser=model, clock=lambda: now_s)
    for at in range(4):
        name = f"{log.tip}{at}"
        engine.append(assistant(call(name)), user(result(name, "word " * 400)))
    assert engine.compact() is not None


def tripped(due, folder):
    """A log whose breaker is open."""
    log = copied(due, folder)
    for _ in range(LIMIT):
        compacts(log, Scripted(Denied()))
    model = Scripted(Denied())
    compacts(log, model)
    assert model.requests == []
    return log


@pytest.mark.parametrize("change", ["request", "window", "time"])
def test_t27_in_an_engine_it_is_open_until_something_changes_and_then_for_one_attempt(due, tmp_path, change):
    log = tripped(due, tmp_path)
    about = {"window": {"window": WINDOW + 1_000}, "time": {"now_s": HALF_OPEN_S}}.get(change, {})
    if change == "request":
        engine_of(log, window=WINDOW).append(user("Try again."))
    model = Scripted(TimeoutError(), GOOD)
    compacts(log, model, **about)
    assert len(model.requests) == 1
    compacts(log, model, **about)
    assert len(model.requests) == 1
    assert Breaker.of(follow(log, None).breaker, key=key_of(log)).failures == LIMIT + 1


def key_of(log):
    return breaker_key(workspace=log.place.key, session=f"{log.session_id}/")


def test_in_an_engine_a_success_of_that_attempt_closes_it(due, tmp_path):
    log = tripped(due, tmp_path)
    model = Scripted(GOOD)
    compacts(log, model, now_s=HALF_OPEN_S)
    compacts(log, model, now_s=HALF_OPEN_S)
    assert len(model.requests) == 2
    assert Breaker.of(follow(log, None).breaker, key=key_of(log)) == Breaker(key_of(log))


def test_a_branch_of_a_log_whose_breaker_is_open_asks_a_model(due, tmp_path):
    log = tripped(due, tmp_path)
    log.flush()
    model = Scripted(Denied())
    with Session.open(log.path) as session, SessionLog(Place.of(branch(session).path), cwd="/") as copy:
        assert follow(copy, None).breaker["failures"] == LIMIT
        compacts(copy, model)
    assert len(model.requests) == 1
