"""Gemini: calls without ids, both spellings, signatures."""

import pytest

from rehydrate.context.repair import UNKNOWN_OUTCOME, repair
from rehydrate.context.units import open_calls
from rehydrate.context.validate import violations
from rehydrate.context.wire import FORMATS
from tests.context.talk import assistant, call, result, text, thought, user

FORMAT = FORMATS["gemini"]
HELLO = {"role": "user", "parts": [{"text": "Look around."}]}


def model(*parts):
    return {"role": "model", "parts": [*parts]}


def called(tool, **members):
    return {"functionCall": {"name": tool, "args": {}}, **members}


def responses(*tools, role="user"):
    return {
        "role": role,
        "parts": [{"functionResponse": {"name": tool, "response": {"output": tool}}} for tool in tools],
    }


def codes(*contents, **more):
    return [each.code for each in violations(contents, format="gemini", **more)]


def test_a_response_is_for_the_first_call_of_its_name_that_has_none():
    neutral = FORMAT.read([HELLO, model(called("ls"), called("cat"), called("ls")), responses("cat", "ls", "ls")])
    names = [block["id"] for block in neutral[1]["content"]]
    assert [block["tool_use_id"] for block in neutral[2]["content"]] == [names[1], names[0], names[2]]


def test_a_call_has_another_id_each_time():
    talk = [HELLO, model(called("ls")), responses("ls"), model(called("ls")), responses("ls")]
    neutral = FORMAT.read(talk)
    assert neutral[1]["content"][0]["id"] != neutral[3]["content"][0]["id"]
    assert open_calls(neutral) == []


def test_ids_that_were_made_here_do_not_leave():
    talk = [HELLO, model(called("ls")), responses("ls", role="function")]
    assert FORMAT.write(FORMAT.read(talk)) == talk


def test_a_response_in_a_content_of_its_own_splits_the_batch():
    assert codes(HELLO, model(called("ls"), called("cat")), responses("ls"), responses("cat")) == ["split_batch"]


def test_a_response_that_nothing_was_called_for_is_found():
    assert codes(HELLO, model(called("ls")), responses("ls", "cat")) == ["orphan_result"]


def test_a_call_behind_another_content_of_the_model_is_found_and_never_written():
    talk = [HELLO, model({"text": "Hm."}), model(called("ls")), responses("ls")]
    assert codes(*talk) == ["call_after_model"]
    assert codes(*FORMAT.write(FORMAT.read(talk))) == []


def test_signatures_stay_with_their_calls():
    talk = [HELLO, model(called("ls", thoughtSignature="c2ln")), responses("ls")]
    neutral = FORMAT.read(talk)
    assert FORMAT.write(neutral) == talk


def test_a_call_that_has_lost_its_signature_is_found():
    signed = {"functionCall": {"name": "ls", "args": {}, "id": "a"}, "thoughtSignature": "c2ln"}
    answer = {"role": "user", "parts": [{"functionResponse": {"name": "ls", "response": {}, "id": "a"}}]}
    bare = {"functionCall": signed["functionCall"]}
    source = FORMAT.read([HELLO, model(signed), answer])
    assert codes(HELLO, model(bare), answer, source=source) == ["reasoning_missing"]


@pytest.mark.parametrize("said", [{"output": "long"}, {"result": "long"}, {"rows": [1, 2], "x": "long"}])
def test_a_response_that_we_have_replaced_is_an_output(said):
    response = {"functionResponse": {"name": "ls", "response": said, "scheduling": "SILENT"}}
    neutral = FORMAT.read([HELLO, model(called("ls")), {"role": "user", "parts": [response]}])
    block = {**neutral[2]["content"][0], "content": "[left out]"}
    (written,) = FORMAT.write([{"role": "user", "content": [block]}])
    inside = written["parts"][0]["functionResponse"]
    assert list(inside["response"].values()) == ["[left out]"]
    assert inside["scheduling"] == "SILENT"


def test_an_error_is_known_as_one():
    response = {"functionResponse": {"name": "ls", "response": {"error": "no"}}}
    neutral = FORMAT.read([HELLO, model(called("ls")), {"role": "user", "parts": [response]}])
    assert neutral[2]["content"][0]["is_error"] is True


def test_a_call_that_will_never_be_answered_gets_an_error_under_its_own_name():
    *_, written = FORMAT.write(repair(FORMAT.read([HELLO, model(called("ls"))])).messages)
    (part,) = written["parts"]
    assert part["functionResponse"]["name"] == "ls"
    assert part["functionResponse"]["response"] == {"error": UNKNOWN_OUTCOME}


def test_a_conversation_of_another_format_is_contents():
    talk = [user("Go."), assistant(thought(), text("Hm."), call("a", path="x")), user(result("a"))]
    assert FORMAT.write(talk) == [
        {"role": "user", "parts": [{"text": "Go."}]},
        model({"text": "Hm."}, {"functionCall": {"id": "a", "name": "ls", "args": {"path": "x"}}}),
        {
            "role": "user",
            "parts": [{"functionResponse": {"id": "a", "name": "ls", "response": {"output": "ok"}}}],
        },
    ]


def test_a_request_has_the_system_beside_the_contents():
    assert FORMAT.body([HELLO], system="Be kind.") == {
        "systemInstruction": {"parts": [{"text": "Be kind."}]},
        "contents": [HELLO],
    }
