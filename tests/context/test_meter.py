"""What messages cost."""

import pytest

from rehydrate.context.meter import CALL, FLAT, MESSAGE, SCHEMA, Meter
from rehydrate.context.tokens import Estimate, default_counter


class Letters:
    """A counter that can be followed by eye: a token a character."""

    name = "letters"
    is_exact = True

    def count(self, text, /):
        return len(text)


METER = Meter(Letters())


def test_a_message_costs_its_blocks_and_four():
    assert METER.message({"role": "user", "content": "hello"}) == MESSAGE + 5
    assert METER.message({"role": "user", "content": [{"type": "text", "text": "hello"}]}) == MESSAGE + 5


def test_a_message_without_content_costs_four():
    assert METER.message({"role": "assistant"}) == METER.message({"role": "assistant", "content": []}) == MESSAGE == 4


def test_a_call_costs_its_name_its_input_and_four():
    call = {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"path": "é"}}
    assert METER.block(call) == CALL + len("read") + len('{"path": "é"}')


def test_a_result_costs_what_is_in_it():
    assert METER.block({"type": "tool_result", "tool_use_id": "toolu_1", "content": "four"}) == 4
    nested = [{"type": "text", "text": "four"}, {"type": "image", "source": {}}]
    assert METER.block({"type": "tool_result", "tool_use_id": "toolu_1", "content": nested}) == 4 + FLAT["image"]


@pytest.mark.parametrize("kind", FLAT)
def test_of_what_is_no_text_the_bytes_do_not_count(kind):
    source = {"type": "base64", "media_type": "x/y", "data": "A" * 1_000_000}
    assert METER.block({"type": kind, "source": source}) == FLAT[kind]


def test_a_document_of_text_costs_its_text():
    assert METER.block({"type": "document", "source": {"type": "text", "data": "four"}}) == 4
    inner = [{"type": "text", "text": "four"}]
    assert METER.block({"type": "document", "source": {"type": "content", "content": inner}}) == 4


@pytest.mark.parametrize(
    "block",
    [
        {"type": "text", "text": ""},
        {"type": "text"},
        {"type": "tool_use", "id": "toolu_1", "name": "", "input": {}},
        {"type": "tool_result", "tool_use_id": "toolu_1", "content": ""},
        {"type": "tool_result", "tool_use_id": "toolu_1"},
        {"type": "thinking", "thinking": "", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "c2ln"},
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "search", "input": {"q": "x"}},
        {"type": "of tomorrow"},
        {},
    ],
)
def test_t22_no_block_is_free(block):
    assert METER.block(block) >= 1


def test_t22_thinking_and_calls_cost_their_text():
    assert METER.block({"type": "thinking", "thinking": "so" * 50, "signature": "s" * 400}) == 100
    assert METER.block({"type": "tool_use", "id": "1", "name": "n", "input": {"a": "b" * 100}}) > 100


def test_a_block_that_nobody_knows_costs_its_json():
    block = {"type": "of tomorrow", "words": "wörter"}
    assert METER.block(block) == len('{"type": "of tomorrow", "words": "wörter"}')


def test_the_fixed_part_is_the_system_and_the_tools():
    assert METER.fixed(system=None, tools=None) == METER.fixed(system="", tools=[]) == 0
    assert METER.fixed(system="four", tools=None) == 4
    assert METER.fixed(system=[{"type": "text", "text": "four"}], tools=None) == 4
    assert METER.fixed(system=None, tools=[{"name": "a"}] * 2) == 2 * (SCHEMA + len('{"name": "a"}'))


def test_a_list_costs_the_sum_of_its_messages():
    messages = [{"role": "user", "content": "one"}, {"role": "assistant", "content": "three"}]
    assert METER.messages(messages) == sum(map(METER.message, messages)) == 2 * MESSAGE + 8


def test_the_counter_is_the_best_that_is_there():
    assert Meter().counter is default_counter()


def test_the_same_list_costs_the_same_again():
    messages = [{"role": "user", "content": "words and 字 " * 50}]
    meter = Meter(Estimate())
    assert meter.messages(messages) == meter.messages(messages) == Meter(Estimate()).messages(messages)
