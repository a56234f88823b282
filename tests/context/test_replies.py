import pytest

from rehydrate.context import Engine, Request
from rehydrate.context.replies import named, reply_messages
from rehydrate.session import Session, Sessions

from .agents import Script

RESPONSES = {
    "anthropic": lambda reply: reply,
    "openai-chat": lambda reply: {"id": "x", "object": "chat.completion", "choices": [{"index": 0, "message": reply}]},
    "openai-responses": lambda reply: {"id": "resp_1", "object": "response", "output": reply},
    "gemini": lambda reply: {"candidates": [{"content": reply, "finishReason": "STOP"}]},
}


@pytest.mark.parametrize("format", RESPONSES)
def test_a_whole_response_is_taken_as_the_messages_of_it(format):
    reply, _ = Script(format).answer(calls=2)
    messages, _ = reply_messages(reply, format=format)
    assert reply_messages(RESPONSES[format](reply), format=format)[0] == messages
    assert {message["role"] for message in messages} == {"assistant"}


def test_what_a_provider_says_of_an_answer_is_kept_and_not_sent_again(tmp_path):
    with Sessions(tmp_path).new(str(tmp_path)) as log:
        engine, script, request = Engine(log, window=None), Script("anthropic"), Request("m", "anthropic")
        engine.append(script.request())
        engine.prepare(request)
        reply, _ = script.answer(calls=0)
        uuid = engine.observe(reply["usage"], reply)
        engine.append(script.request())
        assert engine.prepare(request).messages[1] == {"role": "assistant", "content": reply["content"]}
        log.flush()
        with Session.open(log.path) as session:
            kept = session.messages[uuid]["message"]
    assert kept == {name: value for name, value in reply.items()}


@pytest.mark.parametrize("reply", [{"role": "user", "content": "hi"}, []])
def test_what_is_no_answer_is_refused(reply):
    with pytest.raises(ValueError, match="answer"):
        reply_messages(reply, format="anthropic")


def test_nothing_is_observed_before_something_was_prepared(tmp_path):
    with Sessions(tmp_path).new(str(tmp_path)) as log, pytest.raises(ValueError, match="prepare"):
        Engine(log, window=None).observe({}, {"role": "assistant", "content": "Hi."})


def call(number):
    wire = {"format": "gemini", "id": "absent"}
    return {"type": "tool_use", "id": f"made-{number}", "name": "ls", "input": {}, "wire": wire}


def answered(text):
    wire = {"format": "gemini", "id": "absent", "name": "ls"}
    block = {"type": "tool_result", "tool_use_id": "made-1", "content": text, "wire": wire}
    return {"role": "user", "content": [block]}


def test_calls_without_ids_get_ids_of_their_own_and_results_those_of_their_calls():
    (answer,) = named([{"role": "assistant", "content": [call(1), call(2)]}], [], tip="t1")
    ids = [each["id"] for each in answer["content"]]
    assert len(set(ids)) == 2 and "made-1" not in ids
    (found,) = named([answered("a")], [answer], tip="t2")
    (later,) = named([answered("b")], [answer, found], tip="t3")
    assert [each["content"][0]["tool_use_id"] for each in (found, later)] == ids


def test_ids_that_a_provider_gave_stay():
    given = {"type": "tool_use", "id": "made-1", "name": "ls", "input": {}}
    message = {"role": "assistant", "content": [given]}
    assert named([message], [], tip="t1") == [message]
