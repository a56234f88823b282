"""Anthropic's Messages API: what of the log is sent, and what it would refuse."""

import pytest

from rehydrate.context.validate import violations
from rehydrate.context.wire import FORMATS
from tests.context.talk import assistant, call, result, text, thought, user

FORMAT = FORMATS["anthropic"]


def sent(*messages):
    return FORMAT.write(messages)


def test_of_an_answer_only_role_and_content_are_sent():
    assert sent(assistant(text("Hi."), id="msg_1", model="m", usage={})) == [assistant(text("Hi."))]


def test_members_that_came_from_the_wire_go_back():
    message = {**user("Hi."), "id": "mine", "other": 1}
    assert FORMAT.write(FORMAT.read([message])) == [message]


def test_the_id_of_an_answer_tells_its_pieces_apart():
    assert FORMAT.read([assistant("Hi.", id="msg_1")])[0]["id"] == "msg_1"


def test_texts_of_nothing_but_white_space_are_not_sent():
    assert sent(user("Hi."), assistant(text(" \n"), call("a")), user(" ")) == [user("Hi."), assistant(call("a"))]


def test_thoughts_of_another_model_are_not_sent():
    messages = [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Ho.", "reasoning_content": "Hm."}]
    assert sent(*FORMATS["openai-chat"].read(messages)) == [user("Hi."), assistant(text("Ho."))]


def test_an_id_that_is_used_again_is_another_one_there():
    written = sent(
        user("Go."), assistant(call("a")), user(result("a", "1")), assistant(call("a")), user(result("a", "2"))
    )
    assert violations(written, format="anthropic") == []
    assert [message["content"][0]["content"] for message in (written[2], written[4])] == ["1", "2"]


@pytest.mark.parametrize("name", ["a.b", "ls:0", "über", ""])
def test_an_id_with_other_characters_is_spelt_anew_for_call_and_result(name):
    _, answer, results = sent(user("Go."), assistant(call(name)), user(result(name)))
    made = answer["content"][0]["id"]
    assert made.isascii() and made.replace("_", "").isalnum()
    assert results["content"][0]["tool_use_id"] == made


def test_blocks_that_it_has_no_form_for_are_words():
    audio = {"type": "audio", "source": {"type": "base64", "media_type": "audio/wav", "data": "eA=="}}
    assert sent(user(text("Listen."), audio))[0]["content"][1] == text("[audio, which cannot be shown here]")


def test_a_block_loses_only_what_is_ours():
    block = {**text("Hi."), "cache_control": {"type": "ephemeral"}, "rehydrate": {"kind": "pinned"}}
    assert sent(user(block)) == [user({**text("Hi."), "cache_control": {"type": "ephemeral"}})]


def test_thoughts_are_sent_as_they_are():
    answer = assistant(thought(), {"type": "redacted_thinking", "data": "eA=="}, call("a"))
    assert sent(answer) == [answer]


def test_a_request_has_the_system_beside_the_messages_and_leaves_out_what_is_empty():
    assert FORMAT.body([user("Hi.")], system="Be kind.", tools=[]) == {"system": "Be kind.", "messages": [user("Hi.")]}


def test_t15_messages_of_the_system_join_the_system():
    listed = [{"role": "system", "content": "And brief."}, user("Hi.")]
    assert FORMAT.body(listed, system="Be kind.")["system"] == "Be kind.\n\nAnd brief."
    assert FORMAT.body(listed, system=[text("Be kind.")])["system"] == [text("Be kind."), text("And brief.")]
    assert FORMAT.body(listed, system="Be kind.")["messages"] == [user("Hi.")]
