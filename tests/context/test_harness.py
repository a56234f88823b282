"""The judges of `rehydrate.context`: what they are given is right, and they find what is wrong."""

import itertools
import os
import subprocess
import sys
from copy import deepcopy
from pathlib import Path

import pytest

from tests.context.harness.made import LONGEST, SHORTEST, Request, Step, conversation
from tests.context.harness.measures import request_kept, rough, tokens
from tests.context.harness.rules import faults, opens_with_user
from tests.context.harness.written import FORMATS, written

ROOT = Path(__file__).resolve().parents[2]
SEEDS = range(300)


@pytest.fixture(scope="module")
def conversations():
    return [conversation(seed) for seed in SEEDS]


@pytest.mark.parametrize("form", FORMATS)
def test_what_is_made_breaks_no_rule(conversations, form):
    for made in conversations:
        wire = written(made, form)
        assert faults(wire, form, source=wire) == [], made.seed
        assert opens_with_user(wire, form)
        assert request_kept(wire, form, made.last_request) == "whole"


def test_what_is_made_is_of_every_kind(conversations):
    lengths = [len(written(made, "openai-chat")) for made in conversations]
    assert SHORTEST <= min(lengths) < 2 * SHORTEST
    assert 0.9 * LONGEST < max(lengths) <= LONGEST
    steps = [event for made in conversations for event in made.events if isinstance(event, Step)]
    assert {len(step.calls) for step in steps} == {1, 2, 3, 4, 6, 10}
    assert any(result.error for step in steps for result in step.results)
    assert any([call.id for call in step.calls] != [result.id for result in step.results] for step in steps)
    sizes = [len(result.text) for step in steps for result in step.results]
    assert min(sizes) == 0
    assert max(sizes) > 5_000
    assert {type(made.events[-1]) for made in conversations} == {Request, Step}


def test_the_same_seed_makes_the_same_bytes_in_another_process():
    code = (
        "import hashlib, json; from tests.context.harness.made import conversation;"
        "from tests.context.harness.written import FORMATS, written;"
        "print(hashlib.sha256(json.dumps([written(conversation(s), f) for s in range(5) for f in FORMATS])"
        ".encode()).hexdigest())"
    )
    hashes = {
        subprocess.run(
            [sys.executable, "-c", code],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(hashes) == 1


def answer_with_calls(form, wire):
    """The place of the first answer with two calls or more in a list, and of the results."""
    if form == "openai-responses":
        first = next(
            place
            for place, (one, two) in enumerate(itertools.pairwise(wire))
            if one.get("type") == two.get("type") == "function_call"
        )
        return first, next(p for p in range(first, len(wire)) if wire[p].get("type") == "function_call_output")
    for place, message in enumerate(wire):
        calls = {
            "openai-chat": lambda m: m.get("tool_calls") or (),
            "anthropic": lambda m: [b for b in m["content"] if isinstance(b, dict) and b["type"] == "tool_use"],
            "gemini": lambda m: [p for p in m["parts"] if "functionCall" in p],
        }[form](message)
        if len(calls) > 1:
            return place, place + 1
    raise AssertionError(form)


def one_result_less(form, wire, _, results):
    if form in ("openai-chat", "openai-responses"):
        del wire[results]
    else:
        del wire[results]["content" if form == "anthropic" else "parts"][0]


def all_results_gone(form, wire, call, results):
    if form in ("openai-chat", "openai-responses"):
        while len(wire) > results and (
            wire[results].get("role") == "tool" or wire[results].get("type") == "function_call_output"
        ):
            del wire[results]
    else:
        del wire[results]


def calls_gone(form, wire, call, results):
    del wire[call:results]


def one_call_less(form, wire, call, results):
    if form == "openai-responses":
        del wire[call]
    elif form == "openai-chat":
        del wire[call]["tool_calls"][0]
    else:
        blocks = wire[call]["content" if form == "anthropic" else "parts"]
        del blocks[next(i for i, b in enumerate(blocks) if b.get("type") == "tool_use" or "functionCall" in b)]


def a_result_twice(form, wire, call, results):
    if form in ("openai-chat", "openai-responses"):
        wire.insert(results, deepcopy(wire[results]))
    else:
        blocks = wire[results]["content" if form == "anthropic" else "parts"]
        blocks.insert(0, deepcopy(blocks[0]))


def results_first(form, wire, call, results):
    wire[:] = wire[:call] + wire[results:]


def result_before_its_call(form, wire, call, results):
    wire.insert(call, wire.pop(results))


def cut_between(form, wire, call, results):
    wire[:] = wire[results:]


def cut_off(form, wire, call, results):
    del wire[results:]


def another_role(form, wire, call, results):
    wire.insert(0, {"role": "critic", "content": "no", "parts": [{"text": "no"}]})


def nothing_said(form, wire, call, results):
    member, nothing = ("parts", []) if form == "gemini" else ("content", [])
    wire.append({"role": "user", member: nothing})


def a_word_between(form, wire, call, results):
    said = {"gemini": {"role": "user", "parts": [{"text": "wait"}]}}.get(form, {"role": "user", "content": "wait"})
    wire.insert(results, said)


def arguments_of_another_kind(form, wire, call, results):
    message = wire[call]
    if form == "openai-chat":
        message["tool_calls"][0]["function"]["arguments"] = {"path": "x"}
    elif form == "openai-responses":
        message["arguments"] = {"path": "x"}
    else:
        for block in message["content" if form == "anthropic" else "parts"]:
            if block.get("type") == "tool_use":
                block["input"] = "{}"
            elif "functionCall" in block:
                block["functionCall"]["args"] = "{}"


MUTATIONS = (
    one_result_less, all_results_gone, calls_gone, one_call_less, a_result_twice, results_first,
    result_before_its_call, cut_between, cut_off, another_role, nothing_said, a_word_between,
    arguments_of_another_kind,
)  # fmt: skip
ALLOWED = {("openai-responses", a_word_between)}  # a result need not follow right after its call there


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda each: each.__name__)
def test_what_was_broken_is_found(conversations, form, mutation):
    tried = 0
    for made in conversations[:30]:
        wire = deepcopy(written(made, form))
        try:
            call, results = answer_with_calls(form, wire)
        except (AssertionError, StopIteration):
            continue
        mutation(form, wire, call, results)
        assert bool(faults(wire, form)) != ((form, mutation) in ALLOWED), made.seed
        tried += 1
    assert tried > 15


def thinking(form):
    """A list in which two answers of one tool loop think."""
    for seed in SEEDS:
        made = conversation(seed)
        for one, two in zip(made.events, made.events[1:], strict=False):
            if isinstance(one, Step) and isinstance(two, Step) and one.thought and two.thought:
                return written(made, form)
    raise AssertionError


def test_thinking_of_anthropic_that_was_changed_is_found():
    wire = thinking("anthropic")
    broken = deepcopy(wire)
    block = next(b for m in broken for b in m["content"] if isinstance(b, dict) and b["type"] == "thinking")
    block["thinking"] += " "
    assert faults(broken, "anthropic", source=wire)


def test_thinking_of_anthropic_is_left_out_of_a_whole_loop_or_of_nothing():
    wire = thinking("anthropic")
    bare = deepcopy(wire)
    for message in bare:
        if message["role"] == "assistant":
            message["content"] = [b for b in message["content"] if b["type"] not in ("thinking", "redacted_thinking")]
    assert faults(bare, "anthropic", source=wire) == []
    found = 0
    for place, message in enumerate(wire):
        if message["role"] == "assistant" and message["content"][0]["type"] == "thinking":
            mixed = [*bare[:place], message, *bare[place + 1 :]]
            found += bool(faults(mixed, "anthropic", source=wire))
    assert found >= 2


def test_a_system_message_in_the_list_of_anthropic_is_found():
    wire = written(conversation(1), "anthropic")
    assert faults([{"role": "system", "content": "x"}, *wire], "anthropic")
    assert faults([*wire, {"role": "system", "content": "x"}], "anthropic")


def test_an_empty_text_and_text_before_results_are_found_in_anthropic():
    wire = deepcopy(written(conversation(1), "anthropic"))
    results = next(m for m in wire if m["role"] == "user" and m["content"][0] and m["content"][0] and
                   isinstance(m["content"], list) and m["content"][0]["type"] == "tool_result")  # fmt: skip
    results["content"].insert(0, {"type": "text", "text": "here"})
    assert faults(wire, "anthropic")
    results["content"].append(results["content"].pop(0))
    assert faults(wire, "anthropic") == []
    results["content"][-1]["text"] = " \n"
    assert faults(wire, "anthropic")


def test_an_item_of_responses_without_its_reasoning_is_found_unless_its_id_went_too():
    wire = thinking("openai-responses")
    place = next(p for p, item in enumerate(wire) if item.get("type") == "reasoning")
    without = deepcopy([*wire[:place], *wire[place + 1 :]])
    assert faults(without, "openai-responses", source=wire)
    for item in without[place:]:
        if item.get("role") == "user" or item.get("type") in ("function_call_output", "reasoning"):
            break
        del item["id"]
    assert faults(without, "openai-responses", source=wire) == []


def test_reasoning_of_responses_that_stands_alone_or_was_changed_is_found():
    wire = thinking("openai-responses")
    place = next(p for p, item in enumerate(wire) if item.get("type") == "reasoning")
    assert faults([*wire, wire[place] | {"id": "rs_x"}], "openai-responses")
    changed = deepcopy(wire)
    changed[place]["encrypted_content"] = "other"
    assert faults(changed, "openai-responses", source=wire)


def test_a_signature_of_gemini_that_was_changed_or_left_out_of_the_current_turn_is_found():
    for seed in SEEDS:
        wire = written(conversation(seed), "gemini")
        signed = [p for m in wire[-2:] for p in m["parts"] if "thoughtSignature" in p]
        if signed and "functionResponse" in wire[-1]["parts"][0]:
            break
    changed, without = deepcopy(wire), deepcopy(wire)
    next(p for p in changed[-2]["parts"] if "thoughtSignature" in p)["thoughtSignature"] = "other"
    del next(p for p in without[-2]["parts"] if "thoughtSignature" in p)["thoughtSignature"]
    assert faults(changed, "gemini", source=wire)
    assert faults(without, "gemini", source=wire)


@pytest.mark.parametrize("form", FORMATS)
def test_every_text_of_a_list_counts(form):
    made = conversation(7)
    wire = written(made, form)
    whole = tokens(wire, form, len)
    texts = sum(len(event.text) for event in made.events)
    texts += sum(len(result.text) for event in made.events if isinstance(event, Step) for result in event.results)
    assert texts < whole < 2 * texts + 60 * len(wire)
    assert tokens(wire[1:], form, rough) < tokens(wire, form, rough)


def test_a_request_is_whole_cut_or_lost():
    request = " ".join(f"word{number}" for number in range(200))
    cut = f"{request[:600]}\n[... 700 characters left out ...]\n{request[-200:]}"
    unmarked = f"{request[:600]}{request[-200:]}"
    wrong_share = f"{request[:200]}[... 700 left out ...]{request[-600:]}"
    for text, expected in (
        (request, "whole"),
        (f"Before.\n\n{request}\n", "whole"),
        (cut, "cut"),
        (f"What was said.\n{cut}", "cut"),
        (unmarked, "lost"),
        (wrong_share, "lost"),
        (request[:800], "lost"),
        ("something else", "lost"),
    ):
        assert request_kept([{"role": "user", "content": text}], "openai-chat", request) == expected
    assert request_kept([{"role": "system", "content": request}], "openai-chat", request) == "lost"


def test_the_judges_import_nothing_of_the_package():
    for path in (Path(__file__).parent / "harness").glob("*.py"):
        assert "rehydrate" not in [
            word.partition(".")[0]
            for line in path.read_text(encoding="utf-8").splitlines()
            if line.startswith(("import ", "from "))
            for word in line.split()[1:2]
        ], path
