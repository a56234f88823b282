"""Messages that nobody should send, and somebody does: a typed error or a list that is valid, never a crash."""

import json
import random

import pytest

from rehydrate.context import FORMATS, ContextExhausted, Engine, Meter, Policy, Request, trim, verify
from rehydrate.context import records as made
from rehydrate.context.errors import InvalidProjection
from rehydrate.context.ledger import CLOSED, Draft, Ledger
from rehydrate.context.repair import repair
from rehydrate.context.restore import restore
from rehydrate.context.validate import violations
from rehydrate.session import SessionError, SessionLog, Sessions, assistant, result, user

WORDS = "word " * 40


def chat():
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"a": 1}'}}
    return [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": WORDS}]},
        {"role": "assistant", "content": None, "tool_calls": [call], "reasoning_content": WORDS},
        {"role": "tool", "tool_call_id": "c1", "content": WORDS},
        {"role": "assistant", "content": "Done."},
        {"role": "user", "content": "Go on."},
    ]


def anthropic():
    return [
        {"role": "user", "content": [{"type": "text", "text": WORDS}]},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": WORDS, "signature": "s"},
                {"type": "text", "text": "Well."},
                {"type": "tool_use", "id": "c1", "name": "look", "input": {"a": 1}},
            ],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": WORDS}]}],
        },
        {"role": "assistant", "content": [{"type": "text", "text": "Done."}]},
        {"role": "user", "content": "Go on."},
    ]


def responses():
    return [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": WORDS}]},
        {"type": "reasoning", "id": "r1", "summary": [{"type": "summary_text", "text": "Well."}]},
        {"type": "function_call", "id": "f1", "call_id": "c1", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": WORDS},
        {"type": "message", "id": "m1", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]},
        {"type": "message", "role": "user", "content": "Go on."},
    ]


def gemini():
    return [
        {"role": "user", "parts": [{"text": WORDS}]},
        {"role": "model", "parts": [{"text": "Well."}, {"functionCall": {"name": "look", "args": {"a": 1}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "look", "response": {"r": WORDS}}}]},
        {"role": "model", "parts": [{"text": "Done."}]},
        {"role": "user", "parts": [{"text": "Go on."}]},
    ]


LISTS = {"openai-chat": chat, "anthropic": anthropic, "openai-responses": responses, "gemini": gemini}


def deep(levels):
    found = []
    for _ in range(levels):
        found = [found]
    return found


def junk():
    """What may stand anywhere, made anew each time."""
    return [
        *(None, 0, -1, True, 1.5, float("nan"), float("inf"), 10**5000, b"bytes", object(), (), set()),
        *("", "\ud800", "\0\0", "\u202e", "NaN", "[" * 100_000, "1" * 5000, '{"a":1e999}'),
        *([], {}, [None], [1], ["x"], [[]], {"type": None}, [{"type": []}], {1: 2}, {"a": {"b": [None]}}),
        *([{"type": "text", "text": 5}], [{"type": "image", "source": 5}], [{"type": "tool_use", "id": {}}]),
        *([{"type": "tool_result", "tool_use_id": ["x"]}], [{"type": "tool_result"}], deep(3000)),
    ]


def places(value):
    """Each list and object in it."""
    if isinstance(value, (dict, list)):
        yield value
        for each in value.values() if isinstance(value, dict) else value:
            yield from places(each)


@pytest.mark.parametrize("budget", [-1, 0, 60, 100_000])
@pytest.mark.parametrize("format", LISTS)
def test_junk_in_any_place_gives_a_list_in_order_or_an_error_that_is_told_of(format, budget):
    meter = Meter()
    spots = [
        (at, name)
        for at, each in enumerate(places(LISTS[format]()))
        for name in (each if isinstance(each, dict) else range(len(each)))
    ]
    pick = random.Random(format + str(budget))
    for at, name in spots:
        for which in pick.sample(range(len(junk())), 12):
            messages = LISTS[format]()
            list(places(messages))[at][name] = junk()[which]
            try:
                found = trim(messages, budget=budget, format=format, meter=meter)
            except (ContextExhausted, ValueError) as error:
                assert len(str(error)) < 500
            else:
                assert not found or meter.messages(FORMATS[format].read(found)) <= max(budget, 0)


@pytest.mark.parametrize("format", LISTS)
@pytest.mark.parametrize("odd", [deep(100_000), 10**5000, {1: 2}], ids=["deep", "long number", "name that is no text"])
def test_what_json_cannot_hold_is_no_message(format, odd):
    messages = LISTS[format]()
    messages[1]["extra"] = odd
    with pytest.raises(ValueError, match=r"^message 1 "):
        trim(messages, budget=1000, format=format)


@pytest.mark.parametrize("format", LISTS)
def test_a_role_that_is_anything_is_told_in_a_short_sentence(format):
    for role in ("x" * 10_000, ["x"] * 10_000, {"a": "b" * 1000}):
        with pytest.raises(ValueError, match=r"role|type") as caught:
            FORMATS[format].read([{"role": role, "content": "x", "parts": []}])
        assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    "arguments", ['{"a": NaN}', '{"a": 1e999}', '{"a": -Infinity}', '{"a":' * 600 + "1" + "}" * 600]
)
def test_arguments_that_json_cannot_write_again_stay_as_the_model_wrote_them(arguments):
    messages = chat()
    messages[2]["tool_calls"][0]["function"]["arguments"] = arguments
    found = FORMATS["openai-chat"].read(messages)
    assert FORMATS["openai-chat"].write(found) == messages
    json.dumps(FORMATS["anthropic"].write(found[1:]), allow_nan=False)


@pytest.mark.parametrize("extra", [{}, {"refusal": None, "annotations": [], "tool_calls": None}])
def test_an_answer_with_nothing_in_it_is_left_out(extra):
    messages = [*chat()[:-1], {"role": "assistant", "content": None, **extra}, chat()[-1]]
    assert trim(messages, budget=100_000) == chat()


@pytest.mark.parametrize("blank", [[], "", " \n", [{"type": "text", "text": " "}]])
def test_an_answer_behind_a_user_who_said_nothing_has_one_who_does_before_it(blank):
    messages = [{"role": "user", "content": blank}, {"role": "assistant", "content": "Hello."}]
    found = trim(messages, budget=1000, format="anthropic")
    assert found[-1] == {"role": "assistant", "content": "Hello."}
    assert not violations(found, format="anthropic")


@pytest.mark.parametrize("format", FORMATS)
def test_a_log_whose_answers_think_and_call_by_one_id_each_time_is_compacted(tmp_path, format):
    with Sessions(tmp_path).new(str(tmp_path)) as log:
        for turn in range(16):
            thought = {"type": "thinking", "thinking": f"Hm {turn}.", "signature": f"s{turn}"}
            called = [thought, {"type": "tool_use", "id": "call_0", "name": "ls", "input": {}}]
            log.append([user(WORDS), assistant(called), user([result("call_0", WORDS)]), assistant(WORDS)])
        log.append(user("Go on."))
        engine = Engine(log, window=2_000, policy=Policy(reserve=300))
        assert engine.prepare(Request(model="m", format=format)).checkpoint is not None


def test_blocks_that_are_none_are_left_out_of_a_loaded_list_and_of_its_results():
    odd = [{"type": []}, {"text": "x"}, {"type": "text", "text": 5}, {"type": "text"}]
    good = {"type": "text", "text": "x"}
    result = {"type": "tool_result", "tool_use_id": "c1", "content": [good, *odd]}
    call = {"type": "tool_use", "id": "c1", "name": "look", "input": {}}
    found = repair(
        [
            {"role": "user", "content": [*odd, good]},
            {"role": "assistant", "content": [*odd, call]},
            {"role": "user", "content": [result]},
            {"role": "user", "content": 5},
            {"role": "assistant"},
        ]
    )
    assert found.messages == [
        {"role": "user", "content": [good]},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [{**result, "content": [good]}]},
    ]
    assert {each.code for each in found.repaired} == {"no_message"}


@pytest.mark.parametrize("role", [None, "user", "function"])
def test_a_call_of_gemini_that_no_model_made_is_left_out(role):
    messages = gemini()
    messages[1]["role"] = role
    found = trim(messages, budget=100_000, format="gemini")
    assert "functionCall" not in json.dumps(found)
    assert "functionResponse" not in json.dumps(found)


def test_a_call_of_gemini_without_an_id_is_answered_without_one():
    messages = gemini()
    messages[1]["parts"].append({"functionCall": {"name": "look", "args": {"a": 2}}})
    found = trim(messages, budget=100_000, format="gemini")
    responses = [part["functionResponse"] for part in found[2]["parts"]]
    assert [response["name"] for response in responses] == ["look", "look"]
    assert not any("id" in response for response in responses)


def test_an_item_that_stands_twice_may_be_without_its_reasoning_once():
    messages = [*responses(), responses()[2], responses()[3]]
    assert trim(messages, budget=100_000, format="openai-responses")


def test_a_call_whose_id_is_an_empty_text_has_a_result_as_any_other():
    messages = responses()
    messages[2]["call_id"] = messages[3]["call_id"] = ""
    assert trim(messages, budget=100_000, format="openai-responses") == messages


def test_what_no_repair_is_known_for_is_said_and_not_given():
    messages = [*chat()[:-1], {"role": "assistant", "content": None, "extra": 1}, chat()[-1]]
    with pytest.raises(InvalidProjection):
        trim(messages, budget=100_000)


def opened(tmp_path):
    return Sessions(tmp_path).new(str(tmp_path))


def with_lines(log, change):
    """The file of a session after `change` has had its lines, which are records and no longer sealed."""
    with open(log.path, "rb") as file:
        lines = change([json.loads(line) for line in file])
    for line in lines:
        line.pop("crc", None)
    with open(log.path, "wb") as file:
        file.writelines(json.dumps(line).encode() + b"\n" for line in lines)


def test_an_entry_that_can_be_read_only_in_part_is_left_out_of_what_is_sent(tmp_path):
    with opened(tmp_path) as log:
        engine = Engine(log, window=20_000)
        engine.append({"role": "user", "content": "Hello."})
        engine.append({"role": "assistant", "content": "Hello, you."})
        engine.append({"role": "user", "content": "Go on."})
    with open(log.path, "rb") as file:
        data = file.read()
    with open(log.path, "wb") as file:
        file.write(data.replace(b'"Hello, you."', b'"Hello, you.'))
    found = restore(log.path)
    assert [entry["message"]["content"] for entry in found.entries] == ["Hello.", "Go on."]
    assert found.damage
    with SessionLog(log.place, cwd=str(tmp_path)) as log:
        projection = Engine(log, window=20_000).prepare(Request(model="m", format="anthropic"))
    assert "Hello, you" not in str(projection.messages)


@pytest.mark.parametrize("odd", [{}, [], 5, ["x"], {"x": []}])
def test_members_of_a_log_that_are_anything_end_no_look_at_it(tmp_path, odd):
    with opened(tmp_path) as log:
        engine = Engine(log, window=20_000)
        for word in "abcdef":
            engine.append({"role": "user", "content": word * 500})
            engine.append({"role": "assistant", "content": word})
        engine.compact()
        engine.append({"role": "user", "content": "Go on."})
    with open(log.path, "rb") as file:
        good = file.read()
    records = [json.loads(line) for line in good.splitlines()]
    for at, record in enumerate(records):
        for name in record:
            with open(log.path, "wb") as file:
                file.write(good)

            def change(lines, at=at, name=name):
                lines[at][name] = odd
                return lines

            with_lines(log, change)
            try:
                verify(log.path)
                with SessionLog(log.place, cwd=str(tmp_path)) as again:
                    Engine(again, window=20_000).prepare(Request(model="m", format="anthropic"))
            except (SessionError, ValueError):
                continue


def talked(log):
    engine = Engine(log, window=20_000)
    for word in "abcdef":
        engine.append({"role": "user", "content": f"{word} " * 500})
        engine.prepare(Request(model="m", format="anthropic"))
        engine.observe({"input_tokens": 900, "output_tokens": 5}, {"role": "assistant", "content": word})
    return engine


@pytest.mark.parametrize("odd", [[[]], "9", {}, True, 1.5, -1, 1 << 60], ids=repr)
@pytest.mark.parametrize("name", ["floor", "fixed", "sent"])
def test_a_count_that_no_provider_has_given_is_none(tmp_path, name, odd):
    def change(lines):
        for line in lines:
            if line["type"] == made.USAGE:
                line[name] = odd
        return lines

    with opened(tmp_path) as log:
        assert talked(log).explain()["label"] == "provider"
    with_lines(log, change)
    with SessionLog(log.place, cwd=str(tmp_path)) as log:
        engine = Engine(log, window=20_000)
        engine.append({"role": "user", "content": "Go on."})
        assert engine.prepare(Request(model="m", format="anthropic")).snapshot.label == "local_estimate"


@pytest.mark.parametrize("odd", [0, -1, True, "x", 1 << 60])
def test_a_cap_that_nobody_has_asked_with_is_none(tmp_path, odd):
    with opened(tmp_path) as log:
        engine = talked(log)
        tip = log.tip
        log.append({"type": made.USAGE, "after": tip, "format": "anthropic", "cut": {"raised": odd, "continued": 0}})
        assert engine.prepare(Request(model="m", format="anthropic")).max_output is None


@pytest.mark.parametrize("odd", [1.5, "x", {"a": []}, True, []])
def test_a_line_that_is_numbered_as_none_can_be_stops_no_compaction(tmp_path, odd):
    def change(lines):
        for line in lines:
            if line["type"] in (made.LEDGER, "user"):
                line["seq"] = odd
        return lines

    with opened(tmp_path) as log:
        talked(log).ledger.put("Decisions and rationale", "The port is 8443.")
    with_lines(log, change)
    with SessionLog(log.place, cwd=str(tmp_path)) as log:
        assert Engine(log, window=20_000).compact() is not None
    assert not [each for each in verify(log.path).findings if each.code != "damage"]


def test_a_conversation_in_another_order_than_its_lines_can_be_compacted(tmp_path):
    def change(lines):
        numbers = [line["seq"] for line in lines]
        for line, seq in zip(lines, reversed(numbers), strict=True):
            line["seq"] = seq
        return lines

    with opened(tmp_path) as log:
        talked(log)
    with_lines(log, change)
    with SessionLog(log.place, cwd=str(tmp_path)) as log:
        made = Engine(log, window=20_000).compact()
        assert (made.from_seq, made.through_seq) == (None, None)
    assert not verify(log.path).findings


@pytest.mark.parametrize("odd", [None, [], {}, 5, "\n"])
@pytest.mark.parametrize("name", ["heading", "payload", "status", "supersedes", "put", "close"])
def test_an_item_of_a_ledger_that_is_none_changes_nothing(tmp_path, name, odd):
    with opened(tmp_path) as log:
        tip = log.append({"type": "user", "message": {"role": "user", "content": "Hello."}})
        record = made.put("Objective and constraints", "Be brief.", status="open", supersedes=None, after=tip)
        record = {**record, "put": {**record["put"], name: odd}} if name in record["put"] else {**record, name: odd}
        if name != "put":
            log.append(record)
        else:
            log.append({**record, "put": odd})
        items = Engine(log, window=20_000).ledger.items
        assert all(isinstance(item.payload, str) for item in items)


def test_a_ledger_of_many_items_is_read_in_time_in_proportion(tmp_path):
    with opened(tmp_path) as log:
        tip = log.append({"type": "user", "message": {"role": "user", "content": "Hello."}})
        for at in range(30_000):
            log.append(made.put("Decisions and rationale", f"{at}", status="open", supersedes=None, after=tip))
        assert len(Engine(log, window=20_000).ledger.items) == 30_000


def test_many_items_put_at_once_are_those_put_one_by_one():
    draw = random.Random(1)
    for _ in range(20):
        draft, one_by_one = Draft(Ledger()), Ledger()
        for _ in range(CLOSED * 3):
            payload, status = str(draw.randrange(CLOSED * 2)), draw.choice(("open", "done", "failed"))
            known = draw.choice((None, *(item.id for item in one_by_one.items)))
            draft.put("Decisions and rationale", payload, status=status, supersedes=known)
            one_by_one = one_by_one.put("Decisions and rationale", payload, status=status, supersedes=known)
            assert sum(item.status != "open" for item in one_by_one.items) <= CLOSED
        assert draft.ledger == one_by_one
