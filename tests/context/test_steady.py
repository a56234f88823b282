import random

import pytest

from rehydrate.context import FORMATS, InvalidProjection, Meter
from rehydrate.context.assembling import Assembler, assemble
from rehydrate.context.results import over_budget
from rehydrate.context.steady import Held, Judged, Writer
from rehydrate.context.view import Said

from .agents import Script
from .test_assembling import anything, said, user


def growing(messages, draw):
    """A conversation as it grows, put together each time."""
    grown, assembler = [], Assembler()
    at = 0
    while at < len(messages):
        step = draw.choice((1, 1, 2, 4))
        grown += messages[at : at + step]
        at += step
        yield assembler.assemble((), grown)
        if draw.random() < 0.1:
            assembler = Assembler()  # as after something that changes all


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("seed", range(40))
def test_what_grows_is_written_as_what_is_whole(format, seed):
    draw = random.Random(seed)
    written = Writer()
    for work in growing(said(anything(draw)), draw):
        form = FORMATS[format]
        control = [user("be brief")] if draw.random() < 0.3 else []
        try:
            found = written.write(work, control, format=format, source=None)
        except InvalidProjection:
            with pytest.raises(InvalidProjection):
                Writer().write(work, control, format=format, source=None)
            continue
        assert found == form.write([*work.messages, *control])


@pytest.mark.parametrize("format", FORMATS)
def test_an_agents_conversation_is_written_as_what_is_whole(format):
    script = Script(format, seed=3)
    form = FORMATS[format]
    listed = []
    for _ in range(12):
        listed.append(script.request())
        for calls in (2, 1, 0):
            reply, made = script.answer(calls=calls)
            listed += reply if isinstance(reply, list) else [reply]
            listed += script.results(made)
    written = Writer()
    for work in growing(said(form.read(listed)), random.Random(1)):
        assert written.write(work, (), format=format, source=None) == form.write(work.messages)


def test_what_breaks_a_rule_at_the_end_is_told_with_its_place():
    written, draw = Writer(), random.Random(0)
    *_, work = growing(said([user(str(at)) for at in range(9)]), draw)
    written.write(work, (), format="anthropic", source=None)
    with pytest.raises(InvalidProjection) as found:
        written.write(work, [{"role": "system", "content": "be brief"}], format="anthropic", source=None)
    assert [each.place for each in found.value.violations] == [9]


@pytest.mark.parametrize("seed", range(20))
def test_the_tokens_of_all_results_are_those_of_the_whole(seed):
    draw, meter = random.Random(seed), Meter()
    held = Held(meter)
    for work in growing(said(anything(draw)), draw):
        assert held.tokens(work) == Held(meter).tokens(assemble((), [each for each in work.said]))


def test_a_result_that_was_within_its_share_is_not_looked_at_again():
    meter = Meter()
    judged, seen = Judged(), []

    def judge(messages):
        seen.append(len(messages))
        return over_budget(messages, window=100_000, meter=meter, is_decided=lambda block: False)

    script = Script("anthropic")
    listed = [script.request(), script.answer(calls=0)[0]]
    for _ in range(10):
        reply, made = script.answer(calls=1)
        listed += [reply, *script.results(made)]
    every = said(FORMATS["anthropic"].read(listed))
    grown, assembler = [], Assembler()
    for at in range(0, len(every), 2):  # a whole step each time
        grown += every[at : at + 2]
        assert judged.over_budget(assembler.assemble((), grown), judge) == []
    long = {"type": "tool_result", "tool_use_id": made[0][0], "content": "word " * 40_000}
    grown[-1] = Said("last", 99, {"role": "user", "content": [long]})
    (found,) = judged.over_budget(Assembler().assemble((), grown), judge)
    assert found.message == len(grown) - 1
    assert max(seen[4:-1]) <= 4
