"""The Responses API: items as messages, and ids that mean more than they say."""

import pytest

from rehydrate.context.repair import UNKNOWN_OUTCOME, repair
from rehydrate.context.validate import violations
from rehydrate.context.wire import FORMATS
from tests.context.talk import assistant, call, result, text, thought, user

FORMAT = FORMATS["openai-responses"]
HELLO = {"role": "user", "content": "Look around."}
REASONING = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hm."}]}
MESSAGE = {
    "type": "message",
    "id": "msg_1",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": "I look.", "annotations": []}],
}
CALL = {"type": "function_call", "id": "fc_1", "call_id": "a", "name": "ls", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "a", "output": "ok"}
TALK = [HELLO, REASONING, MESSAGE, CALL, OUTPUT]


def without_thoughts(neutral):
    return [
        {**message, "content": [block for block in message["content"] if block["type"] != "thinking"]}
        if message["role"] == "assistant"
        else message
        for message in neutral
    ]


def without(members, name):
    return {each: value for each, value in members.items() if each != name}


def test_what_the_model_gave_in_a_row_is_one_answer():
    neutral = FORMAT.read(TALK)
    assert [message["role"] for message in neutral] == ["user", "assistant", "user"]
    assert [block["type"] for block in neutral[1]["content"]] == ["thinking", "text", "tool_use"]


def test_t12_ids_that_imply_reasoning_go_where_it_has_gone():
    written = FORMAT.write(without_thoughts(FORMAT.read(TALK)))
    assert written == [HELLO, without(MESSAGE, "id"), without(CALL, "id"), OUTPUT]
    assert violations(written, format="openai-responses", source=FORMAT.read(TALK)) == []


def test_t12_ids_whose_reasoning_is_missing_are_found():
    found = violations([HELLO, MESSAGE, CALL, OUTPUT], format="openai-responses", source=FORMAT.read(TALK))
    assert [each.code for each in found] == ["reasoning_missing", "reasoning_missing"]


def test_ids_that_no_reasoning_was_given_with_stay():
    talk = [HELLO, MESSAGE, CALL, OUTPUT]
    assert FORMAT.write(without_thoughts(FORMAT.read(talk))) == talk


def test_reasoning_that_nothing_follows_any_more_goes():
    neutral = FORMAT.read([HELLO, REASONING, MESSAGE])
    shortened = [neutral[0], {**neutral[1], "content": neutral[1]["content"][:1]}]
    assert FORMAT.write(shortened) == [HELLO]
    assert [each.code for each in violations([HELLO, REASONING], format="openai-responses")] == ["reasoning_alone"]


def test_a_cut_between_two_messages_of_one_answer_is_no_change_of_thoughts():
    second = {"type": "reasoning", "id": "rs_2", "summary": []}
    neutral = [*FORMAT.read([HELLO, REASONING, MESSAGE]), *FORMAT.read([second, CALL, OUTPUT])]
    rest = FORMAT.write([neutral[0], *neutral[2:]])
    assert rest == [HELLO, second, CALL, OUTPUT]
    assert violations(rest, format="openai-responses", source=neutral) == []


def test_reasoning_that_was_appended_before_the_rest_of_its_answer_stays():
    neutral = [*FORMAT.read([HELLO]), *FORMAT.read([REASONING]), *FORMAT.read([MESSAGE, CALL]), *FORMAT.read([OUTPUT])]
    assert FORMAT.write(neutral) == TALK


def test_items_of_a_kind_that_nobody_knows_are_kept():
    talk = [HELLO, {"type": "dream_call", "id": "d", "of": {"sheep": 3}}, {"id": "msg_0"}, MESSAGE]
    assert FORMAT.write(FORMAT.read(talk)) == talk


def test_a_compaction_of_the_api_may_begin_a_list():
    talk = [{"type": "compaction", "id": "cmp_1", "encrypted_content": "eA=="}, MESSAGE, HELLO]
    assert FORMAT.write(FORMAT.read(talk)) == talk
    assert violations(talk, format="openai-responses") == []


@pytest.mark.parametrize(
    ("waiting", "answer"),
    [
        (CALL, {**OUTPUT, "output": UNKNOWN_OUTCOME}),
        (
            {"type": "custom_tool_call", "call_id": "a", "name": "sh", "input": "ls"},
            {"type": "custom_tool_call_output", "call_id": "a", "output": UNKNOWN_OUTCOME},
        ),
        (
            {"type": "apply_patch_call", "call_id": "a", "operation": {}, "status": "completed"},
            {"type": "apply_patch_call_output", "call_id": "a", "output": UNKNOWN_OUTCOME},
        ),
        (
            {"type": "mcp_approval_request", "id": "a", "name": "rm", "arguments": "{}", "server_label": "x"},
            {"type": "mcp_approval_response", "approval_request_id": "a", "approve": False},
        ),
    ],
)
def test_what_waits_for_the_user_is_answered_in_its_own_form(waiting, answer):
    assert FORMAT.write(repair(FORMAT.read([HELLO, waiting])).messages) == [HELLO, waiting, answer]


def test_a_result_that_we_have_replaced_has_the_form_of_its_kind():
    shell = {"type": "shell_call", "call_id": "a", "action": {"commands": ["ls"]}}
    output = [{"stdout": "long", "stderr": "", "outcome": {"type": "exit", "exit_code": 1}}]
    neutral = FORMAT.read([HELLO, shell, {"type": "shell_call_output", "call_id": "a", "output": output}])
    block = {**neutral[2]["content"][0], "content": "[left out]"}
    (written,) = FORMAT.write([*neutral[:2], {**neutral[2], "content": [block]}])[2:]
    assert written["output"][0]["stdout"] == "[left out]"


def test_a_call_of_the_computer_is_answered_by_an_image_whatever_stands_for_it():
    computer = {"type": "computer_call", "call_id": "a", "action": {"type": "screenshot"}}
    *_, written = FORMAT.write(repair(FORMAT.read([HELLO, computer])).messages)
    assert written["output"]["type"] == "computer_screenshot"
    assert written["output"]["image_url"].startswith("data:image/gif;base64,")


def test_a_conversation_of_another_format_is_items():
    talk = [user("Go."), assistant(thought(), text("Hm."), call("a", path="x")), user(result("a"), text("And?"))]
    assert FORMAT.write(talk) == [
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": "Hm."},
        {"type": "function_call", "call_id": "a", "name": "ls", "arguments": '{"path":"x"}'},
        OUTPUT,
        {"role": "user", "content": [{"type": "input_text", "text": "And?"}]},
    ]


def test_a_request_has_the_system_as_instructions():
    assert FORMAT.body([HELLO], system=[text("Be"), text("kind.")], tools=None) == {
        "instructions": "Be\nkind.",
        "input": [HELLO],
    }
