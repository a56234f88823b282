"""OpenAI's chat: how its messages stand in the neutral form, and what of other formats it can show."""

import pytest

from rehydrate.context.units import arrange
from rehydrate.context.wire import FORMATS
from tests.context.talk import assistant, call, result, text, thought, user

FORMAT = FORMATS["openai-chat"]


def chat_call(name, arguments="{}", tool="ls"):
    return {"id": name, "type": "function", "function": {"name": tool, "arguments": arguments}}


def answer(*calls, content=None, **members):
    return {"role": "assistant", "content": content, "tool_calls": [*calls], **members}


def tool(call_id, content="ok", **members):
    return {"role": "tool", "tool_call_id": call_id, "content": content, **members}


def bare(message):
    """Without what only this format knows."""
    blocks = message["content"]
    if not isinstance(blocks, str):
        blocks = [{name: value for name, value in block.items() if name != "wire"} for block in blocks]
    return {"role": message["role"], "content": blocks}


def read(*messages):
    return [bare(message) for message in FORMAT.read(messages)]


def test_a_message_of_a_tool_is_a_result_in_a_message_of_the_user():
    assert read(tool("a"), tool("b", "no")) == [user(result("a")), user(result("b", "no"))]


def test_results_of_a_batch_are_written_each_as_a_message_with_its_own_members():
    messages = [answer(chat_call("a"), chat_call("b")), tool("b", x=1), tool("a", x=2)]
    assert FORMAT.write(arrange(FORMAT.read(messages))) == [messages[0], messages[2], messages[1]]


def test_calls_are_blocks_with_their_arguments_as_an_object():
    assert read(answer(chat_call("a", '{"path": "x"}'), content="I look.")) == [
        assistant(text("I look."), call("a", path="x"))
    ]


@pytest.mark.parametrize("arguments", ["", "{", "[1]", '{ "a" : 1.0 }', '{"a":1,"a":2}', '{"a": "\\u00e9"}'])
def test_arguments_stay_as_the_model_wrote_them(arguments):
    messages = [answer(chat_call("a", arguments))]
    assert FORMAT.write(FORMAT.read(messages)) == messages


def test_arguments_that_we_have_replaced_are_written_anew():
    (message,) = FORMAT.read([answer(chat_call("a", '{"text": "long"}'))])
    changed = {**message, "content": [{**message["content"][0], "input": {"text": "…"}}]}
    assert FORMAT.write([changed])[0]["tool_calls"][0]["function"]["arguments"] == '{"text":"…"}'


def test_a_content_that_we_have_replaced_keeps_the_members_beside_it():
    (message,) = FORMAT.read([tool("a", "long", name="ls")])
    changed = {**message, "content": [{**message["content"][0], "content": "…"}]}
    assert FORMAT.write([changed]) == [tool("a", "…", name="ls")]


def test_what_a_model_has_thought_is_a_block_and_goes_with_it():
    (message,) = FORMAT.read([answer(chat_call("a"), reasoning_content="Hm.", reasoning_details=[{"data": "x"}])])
    assert [block["type"] for block in message["content"]] == ["thinking", "redacted_thinking", "tool_use"]
    assert FORMAT.write([{**message, "content": message["content"][2:]}]) == [answer(chat_call("a"))]


def test_the_role_developer_is_of_the_system():
    message = {"role": "developer", "content": "Be kind."}
    assert FORMAT.read([message])[0]["role"] == "system"
    assert FORMAT.write(FORMAT.read([message])) == [message]


def test_a_call_of_a_function_of_old_is_refused_with_what_to_do():
    with pytest.raises(
        ValueError, match="message 0 has a `function_call`, which the API has given up for `tool_calls`"
    ):
        FORMAT.read([{"role": "assistant", "content": None, "function_call": {"name": "ls", "arguments": "{}"}}])


def test_results_and_words_of_one_message_are_apart():
    assert FORMAT.write([user(text("And?"), result("a"))]) == [
        tool("a"),
        {"role": "user", "content": [{"type": "text", "text": "And?"}]},
    ]


def test_an_answer_of_another_model_is_written_without_its_thoughts():
    assert FORMAT.write([assistant(thought(), text("Hi."), call("a", path="x"))]) == [
        answer(chat_call("a", '{"path":"x"}'), content="Hi.")
    ]
    assert FORMAT.write([assistant(thought())]) == []


def test_images_are_addresses():
    source = {"type": "base64", "media_type": "image/png", "data": "eA=="}
    assert FORMAT.write([user({"type": "image", "source": source})]) == [
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,eA=="}}]}
    ]


def test_a_request_has_the_system_first():
    hello = {"role": "user", "content": "Hi."}
    assert FORMAT.body([hello], system="Be kind.") == {"messages": [{"role": "system", "content": "Be kind."}, hello]}
