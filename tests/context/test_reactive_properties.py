"""Random conversations whose next request is refused: what is sent in its place is smaller, valid, within the window,
and what a new engine sends; or the error comes back.
"""

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rehydrate.context import Meter, Refused, verify, violations
from rehydrate.context.restore import restore
from rehydrate.context.wire import FORMATS as WIRES
from rehydrate.session import Sessions

from .agents import usage
from .engines import FORMATS, Agent, again, engine_of, request_of, sent
from .transcripts import conversations

WINDOW = 60_000
METER = Meter()
ERRORS = st.sampled_from(
    [
        "prompt is too long: 200251 tokens > 200000 maximum",
        "This model's maximum context length is 30000 tokens. However, you requested 41000 tokens.",
        "413 Request Entity Too Large",
        "messages.1.content.0: image exceeds 5 MB maximum",
        "messages.1.content.0: Invalid `signature` in `thinking` block",
    ]
)


def told(engine, error, **more):
    """What is sent in the place of what was refused; None where the error comes back."""
    try:
        return engine.overflow(error, **more)
    except Refused as refused:
        assert error in str(refused)
        return None


def count(engine, request):
    return METER.messages(engine._look(request).messages)


@pytest.mark.parametrize("format", FORMATS)
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_what_is_sent_in_the_place_of_a_refused_request_is_smaller_valid_and_for_good(tmp_path, format, data):
    messages = data.draw(conversations(may_be_open=False)) + data.draw(conversations(may_be_open=False, number=100))
    error = data.draw(ERRORS)
    with Sessions(tmp_path).new(str(tmp_path)) as log:
        engine = engine_of(log, window=WINDOW)
        engine.append(*WIRES[format].write(messages), format=format)
        request = request_of(format)
        engine.prepare(request)
        before, end = count(engine, request), restore(log.path).end
        assert told(engine, error, partial={"content": [{"type": "text", "text": "I"}]}) is None
        assert restore(log.path).end == end
        projection = told(engine, error)
        if projection is not None:
            assert count(engine, request) < before
            assert not violations(projection.messages, format=format)
            assert projection.snapshot.tokens <= projection.snapshot.available
            assert sent(again(log, window=WINDOW).prepare(request)) == sent(projection)
            assert told(engine, error) is None
        engine.prepare(request)


@pytest.mark.parametrize("format", FORMATS)
def test_a_conversation_with_many_refusals_and_cuts_goes_on_and_stays_sound(log, format):
    draw, helped = random.Random(format), 0
    agent = Agent(log, format, window=30_000)
    agent.script.words = 250
    for _ in range(12):
        agent.ask()
        for step in range(4):
            projection = agent.prepare()
            if draw.random() < 0.25:
                before = count(agent.engine, agent.request)
                found = told(agent.engine, draw.choice(["prompt is too long", "Invalid signature in thinking block"]))
                helped += found is not None
                assert found is None or count(agent.engine, agent.request) < before
            if draw.random() < 0.25:
                reply, _ = agent.script.answer(calls=draw.choice((0, 1)))
                agent.engine.cut_off(usage(format, projection.snapshot.tokens, 60), reply, limit=500)
            projection = agent.prepare()
            assert not violations(projection.messages, format=format)
            assert sent(again(log, window=30_000).prepare(agent.request)) == sent(projection)
            made = agent.answer(projection, calls=draw.choice((1, 2)) if step < 3 else 0)
            agent.engine.append(*(agent.script.results(made) if made else ()))
    log.flush()
    assert helped > 2 and verify(log.path).findings == ()
