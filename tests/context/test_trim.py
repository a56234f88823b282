"""`trim`: messages of the wire within a budget, valid, with the last request, and nothing remembered between calls."""

import copy
import os
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rehydrate.context
from rehydrate.context.errors import ContextExhausted
from rehydrate.context.meter import Meter
from rehydrate.context.trimming import _counted, trim
from rehydrate.context.validate import check, violations
from rehydrate.context.wire import FORMATS
from tests.context.counters import Characters
from tests.context.harness.made import conversation
from tests.context.harness.measures import request_kept
from tests.context.harness.rules import faults, opens_with_user
from tests.context.harness.written import written
from tests.context.transcripts import conversations

METER = Meter(Characters())
USUAL = Meter()
LONG = "x" * 3000


def said(role, content, **more):
    return {"role": role, "content": content, **more}


def called(name, result="ok"):
    call = {"id": name, "type": "function", "function": {"name": "ls", "arguments": '{"path": "a"}'}}
    return [said("assistant", None, tool_calls=[call]), said("tool", result, tool_call_id=name)]


def talk(turns):
    found = []
    for at in range(turns):
        found += [said("user", f"Do {at}."), *called(f"c{at}", "y" * 100), said("assistant", f"{at} is done.")]
    return found


def size(messages, form="openai-chat", meter=METER):
    return meter.messages(FORMATS[form].read(messages))


def test_what_fits_comes_back_as_it_is():
    messages = talk(5)
    assert trim(messages, budget=size(messages), meter=METER) == messages


def test_what_is_given_is_not_changed():
    messages = [*talk(30), said("user", "And now?")]
    before = copy.deepcopy(messages)
    trim(messages, budget=1000, meter=METER)
    assert messages == before


def test_leading_system_messages_stay_first():
    messages = [said("system", "Be short."), said("developer", "Be kind."), *talk(30), said("user", "And now?")]
    made = trim(messages, budget=1000, meter=METER)
    assert made[:2] == messages[:2] and made[2]["role"] == "user"
    assert size(made) <= 1000


def test_the_last_request_stays_whole_behind_many_steps():
    request = said("user", "Rename it. " * 30)
    messages = [*talk(5), request, *(each for at in range(60) for each in called(f"s{at}"))]
    made = trim(messages, budget=900, meter=METER)
    assert request in made


def test_members_that_nobody_knows_survive():
    messages = [*talk(30), said("user", "And now?", name="kim"), said("assistant", "So.", refusal=None)]
    assert trim(messages, budget=1000, meter=METER)[-2:] == messages[-2:]


def test_nothing_of_ours_is_in_what_is_sent():
    assert "rehydrate'" not in str(trim([*talk(30), said("user", "And now?" + LONG)], budget=1000, meter=METER))


def test_an_earlier_summary_is_read_and_not_piled_up():
    messages = [said("user", "FACT: The port is 8080."), *talk(20), said("user", "And now?")]
    first = trim(messages, budget=1500, meter=METER)
    second = trim([*first, *talk(20), said("user", "And then?")], budget=1500, meter=METER)
    assert str(second).count("Earlier messages, condensed") == 1
    assert "The port is 8080." in second[0]["content"]


def test_a_rest_of_the_budget_is_for_the_newest_messages():
    messages = [*talk(100), said("user", "And now?")]
    assert size(trim(messages, budget=6000, meter=METER)) > 5000


def test_calls_at_the_end_that_wait_for_results_stay_open():
    waiting = called("w")[:1]
    messages = [*talk(30), said("user", "Look."), *waiting]
    made = trim(messages, budget=1000, meter=METER)
    assert made[-1] == waiting[0]


def test_a_call_whose_id_was_used_before_does_not_keep_the_earlier_one_open():
    messages = [said("user", "Look."), *called("a")[:1], said("user", "Go on."), *called("a")[:1]]
    made = trim(messages, budget=10_000, meter=METER)
    assert [each["role"] for each in made] == ["user", "assistant", "tool", "user", "assistant", "tool"]


def test_nothing_stays_nothing():
    assert trim([], budget=100, meter=METER) == []
    assert trim(called("gone")[1:], budget=100, meter=METER) == []


def test_a_dead_call_in_the_middle_is_answered_before_it_is_sent():
    messages = [said("user", "Look."), *called("dead")[:1], said("user", "Go on.")]
    made = trim(messages, budget=10_000, meter=METER)
    assert made[2]["role"] == "tool" and made[2]["tool_call_id"] == "dead"


def test_an_orphaned_result_is_not_sent():
    messages = [said("user", "Look."), *called("gone")[1:], said("user", "Go on.")]
    assert trim(messages, budget=10_000, meter=METER) == [messages[0], messages[2]]


def test_results_out_of_order_are_sent_in_order():
    one, two = called("a"), called("b")
    both = said("assistant", None, tool_calls=[*one[0]["tool_calls"], *two[0]["tool_calls"]])
    messages = [said("user", "Look."), both, two[1], said("user", "Wait."), one[1]]
    assert not violations(trim(messages, budget=10_000, meter=METER), format="openai-chat")


@pytest.mark.parametrize("budget", [-1, 0, 1, 12])
def test_a_budget_for_nothing_tells_who_holds_the_room(budget):
    with pytest.raises(ContextExhausted) as raised:
        trim([said("system", "Be short." * 30), *talk(30), said("user", "Now?")], budget=budget, meter=METER)
    assert [holder.what for holder in raised.value.holders] == ["system", "request"]


def test_no_message_of_the_format_is_a_value_error():
    with pytest.raises(ValueError, match="0"):
        trim([{"role": "nobody", "content": ""}], budget=100)


@pytest.mark.parametrize("use", [lambda name: trim([], budget=100, format=name), lambda name: check([], format=name)])
def test_a_format_that_does_not_exist_is_an_error_that_names_those_that_do(use):
    with pytest.raises(ValueError, match="no format 'smoke-signals'; there are anthropic, openai-chat, "):
        use("smoke-signals")


@pytest.mark.parametrize("percent", [50, 10])
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("seed", range(8))
def test_t04_random_conversations_come_out_valid_within_the_budget_with_their_last_request(form, percent, seed):
    made = conversation(seed)
    messages = written(made, form)
    budget = size(messages, form, USUAL) * percent // 100
    trimmed = trim(messages, budget=budget, format=form, meter=USUAL)
    assert not faults(trimmed, form, messages)
    assert opens_with_user(trimmed, form)
    assert size(trimmed, form, USUAL) <= budget
    kept = request_kept(trimmed, form, made.last_request)
    assert kept == "whole" or (kept == "cut" and USUAL.counter.count(made.last_request) > budget // 2)
    assert trim(trimmed, budget=budget, format=form, meter=USUAL) == trimmed


@settings(max_examples=60, deadline=None)
@given(messages=conversations(), percent=st.integers(1, 99), form=st.sampled_from(sorted(FORMATS)))
def test_any_conversation_comes_out_valid_within_any_budget_or_not_at_all(messages, percent, form):
    wire = FORMATS[form].write(messages)
    budget = size(wire, form) * percent // 100
    try:
        trimmed = trim(wire, budget=budget, format=form, meter=METER)
    except ContextExhausted as error:
        assert error.holders
        return
    assert size(trimmed, form) <= budget
    wrong = violations(trimmed, format=form, source=FORMATS[form].read(wire))
    waits = violations(wire, format=form)
    assert {each.code for each in wrong} <= {each.code for each in waits}
    assert trim(trimmed, budget=budget, format=form, meter=METER) == trimmed


def test_the_package_gives_it():
    assert rehydrate.context.trim is trim


def test_who_does_not_ask_for_it_does_not_load_it():
    code = (
        "import sys, rehydrate.context; print(*(name for name in sys.modules if name.startswith('rehydrate.context.')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == []


@pytest.mark.parametrize("percent", [80, 40, 10])
@pytest.mark.parametrize("form", FORMATS)
def test_what_leaves_as_it_came_counts_what_it_counted(form, percent):
    messages = written(conversation(3, messages=60), form)
    read = FORMATS[form].read(messages)
    left = trim(messages, budget=METER.messages(read) * percent // 100, format=form, meter=METER)
    assert _counted(left, messages, read, form=FORMATS[form], meter=METER) == size(left, form)


@settings(max_examples=60)
@given(data=st.data())
@pytest.mark.parametrize("form", FORMATS)
def test_messages_count_the_same_wherever_they_come_from(form, data):
    messages = written(conversation(data.draw(st.integers(0, 3)), messages=20), form)
    others = written(conversation(9, messages=20), form)
    left = data.draw(st.lists(st.sampled_from([*messages, *others]), max_size=30))
    left = [*left, *messages[data.draw(st.integers(0, len(messages))) :]]
    read = FORMATS[form].read(messages)
    assert _counted(left, messages, read, form=FORMATS[form], meter=METER) == size(left, form)
