"""Random conversations through the engine, a message after the other: before every call of a model what is sent is
valid, fits and holds what the user asked last, however often it had to compact by then.  The judge is not ours.
"""

from dataclasses import replace
from functools import cache

import pytest

from rehydrate.context import Engine, Policy, Request
from rehydrate.context.tokens import default_counter
from rehydrate.session import Sessions
from tests.context.harness.made import Request as Asked
from tests.context.harness.made import Step, conversation
from tests.context.harness.measures import request_kept, tokens
from tests.context.harness.rules import faults, opens_with_user
from tests.context.harness.written import FORMATS, written

WINDOW, RESERVE = 16_000, 2_000
ENOUGH = 6
"""Conversations for each format, of about 200 messages each."""
count = cache(default_counter().count)


def undisturbed():
    """Conversations in which the user waits for the answer: a list only grows then, in every format."""
    for seed in range(1_000):
        made = conversation(seed, messages=200)
        if not any(
            isinstance(one, Step) and isinstance(two, Asked)
            for one, two in zip(made.events, made.events[1:], strict=False)
        ):
            yield made


@pytest.mark.parametrize("form", FORMATS)
def test_every_request_of_a_conversation_is_valid_fits_and_holds_what_was_asked(form, tmp_path):
    compactions = 0
    for made, _ in zip(undisturbed(), range(ENOUGH), strict=False):
        with Sessions(tmp_path).new(str(tmp_path)) as log:
            engine = Engine(log, window=WINDOW, policy=Policy(reserve=RESERVE), clock=lambda: 0.0)
            request = Request(model="m", format=form, system=made.system)
            sent = []
            for stop, event in enumerate(made.events, 1):
                if not isinstance(event, (Asked, Step)):
                    continue
                so_far = replace(made, events=made.events[:stop])
                wire = written(so_far, form)[form == "openai-chat" :]
                assert wire[: len(sent)] == sent
                engine.append(*wire[len(sent) :], format=form)
                sent = wire
                projection = engine.prepare(request)
                left = projection.messages
                compactions += projection.checkpoint is not None
                where = f"seed {made.seed}, event {stop}"
                assert faults(left, form, source=wire) == [], where
                assert opens_with_user(left, form), where
                assert tokens(left, form, count) <= WINDOW - RESERVE, where
                assert request_kept(left, form, so_far.last_request) == "whole", where
    assert compactions > 2 * ENOUGH
