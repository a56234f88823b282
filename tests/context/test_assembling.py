import random

import pytest

from rehydrate.context.assembling import Assembler, assemble
from rehydrate.context.view import Said


def user(text):
    return {"role": "user", "content": text}


def answer(*ids, name=None, thoughts=False):
    blocks = [{"type": "thinking", "thinking": "hm", "signature": "s"}] if thoughts else []
    blocks += [{"type": "tool_use", "id": each, "name": "ls", "input": {}} for each in ids]
    blocks = blocks or [{"type": "text", "text": "So be it."}]
    return {"role": "assistant", "content": blocks, **({"id": name} if name else {})}


def result(*ids, text=None):
    blocks = [{"type": "tool_result", "tool_use_id": each, "content": "ok"} for each in ids]
    return {"role": "user", "content": [*blocks, *([{"type": "text", "text": text}] if text else [])]}


def said(messages):
    return [Said(f"u{at}", at + 1, message) for at, message in enumerate(messages)]


def anything(random):
    """Messages of a conversation in which everything goes wrong now and then."""
    ids = [f"c{at}" for at in range(6)]
    waiting = []
    for _ in range(random.randrange(2, 40)):
        kind = random.random()
        if kind < 0.2:
            yield user(f"request {random.random()}")
        elif kind < 0.55 or not waiting:
            made = random.sample(ids, random.randrange(3)) if random.random() < 0.2 else [f"n{random.random()}"]
            waiting += made
            yield answer(*made, name=random.choice([None, "a", "b"]), thoughts=random.random() < 0.2)
        elif kind < 0.9:
            random.shuffle(waiting)
            taken = [waiting.pop() for _ in range(random.randrange(1, len(waiting) + 1))]
            yield result(*taken, text=random.choice([None, None, "and go on"]))
        else:
            yield result(random.choice(ids))


@pytest.mark.parametrize("seed", range(150))
def test_a_conversation_that_grows_is_put_together_as_one_that_is_whole(seed):
    draw = random.Random(seed)
    every = said(anything(draw))
    inherited = (user("what was before"), answer("kept"), result("kept")) if draw.random() < 0.5 else ()
    growing = []
    assembler = Assembler()
    at = 0
    while at < len(every):
        step = draw.choice((1, 1, 1, 2, 5))
        growing += every[at : at + step]
        at += step
        found, whole = assembler.assemble(inherited, growing), assemble(inherited, growing)
        assert list(found.messages) == list(whole.messages)
        assert [sorted(each) for each in found.sources] == [sorted(each) for each in whole.sources]
        assert found.repaired == whole.repaired
        assert found.open_from == whole.open_from
        assert list(found.said) == list(whole.said)


def test_what_is_settled_is_not_put_together_again():
    growing = said([user("a"), answer("1"), result("1"), answer("2"), result("2")])
    assembler = Assembler()
    first = assembler.assemble((), growing)
    growing += said([answer("3"), result("3")])
    second = assembler.assemble((), growing)
    assert second.steady == 3
    assert all(one is other for one, other in zip(first.messages[:3], second.messages, strict=False))


def test_a_message_that_mixes_results_and_text_comes_from_one_entry():
    found = assemble((), said([user("a"), answer("1"), result("1", text="and go on")]))
    assert [list(each) for each in found.sources] == [[0], [1], [2], [2]]


def test_an_answer_to_a_dead_call_comes_from_no_entry():
    found = assemble((), said([user("a"), answer("1"), user("b")]))
    assert [list(each) for each in found.sources] == [[0], [1], [], [2]]
    assert [each.code for each in found.repaired] == ["unanswered_call"]
    assert found.open_from is None


def test_a_call_runs_while_nothing_but_results_has_come_behind_its_answer():
    running = [user("a"), answer("0"), result("0"), answer("1", "2"), result("2")]
    assert assemble((), said(running)).open_from == 3
    assert assemble((), said([*running, user("b")])).open_from is None


def test_an_answer_of_nothing_but_thoughts_is_left_out():
    broken = {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": "s"}]}
    assert assemble((), said([user("a"), broken, user("b")])).messages == [user("a"), user("b")]
