import pytest

from rehydrate.entries import messages
from tests.entries.making import assistant, attachment, call, meta, result, summary, text, user

ODD = [None, 3, True, "x", [], {}, [3, None, []], {"content": 3}, {"content": {"a": 1}}, {"content": [None, 1, [1]]}]


@pytest.mark.parametrize("message", ODD)
def test_a_message_of_any_shape_says_something_or_nothing(message):
    record = {"type": "user", "message": message}
    assert messages.text_of(record) in ("", "x")
    assert (messages.calls(record), messages.results(record), messages.message_id(record)) == ([], [], None)


@pytest.mark.parametrize("block", [{"type": "tool_use"}, {"type": "tool_use", "id": 3}, {"type": "tool_result"}])
def test_a_call_or_result_without_an_id_is_none(block):
    record = user("a", None, [block])
    assert (messages.calls(record), messages.results(record)) == ([], [])


def test_a_call_whose_input_is_no_object_has_none():
    record = assistant("a", None, {**call("1", "Read"), "input": "x"})
    assert messages.calls(record) == [messages.Call("1", "Read", {})]


def test_a_result_in_blocks_is_their_text():
    record = result("a", None, "1", words=[text("one"), {"type": "image"}, text("two")], error=True)
    assert messages.results(record) == [messages.Result("1", "one\n\ntwo", True)]


def test_a_message_spread_into_an_object_with_numeric_keys_is_its_text():
    record = {"type": "user", "message": {"role": "user", "content": {"1": "i", "0": "H", "10": "!", "2": " "}}}
    assert messages.request_of(record) == "Hi !"


def test_a_content_spread_into_an_object_with_numeric_keys_is_its_blocks():
    record = {"type": "user", "message": {"0": text("Fix it."), "1": text("Now.")}}
    assert messages.request_of(record) == "Fix it.\n\nNow."


NO_REQUEST = {
    "meta": meta("a", None, "Caveat"),
    "summary": summary("a", None),
    "sidechain": user("a", None, isSidechain=True),
    "only results": result("a", None, "1"),
    "from the system": user("a", None, promptSource="system"),
    "a notification by origin": user("a", None, origin={"kind": "task-notification"}),
    "a notification by its text": user("a", None, "<task-notification>\n<task-id>x</task-id>"),
    "a command": user("a", None, "<command-name>/compact</command-name>\n<command-args>keep names</command-args>"),
    "what a command printed": user("a", None, "<local-command-stdout>Compacted</local-command-stdout>"),
    "a command's caveat": user("a", None, "<local-command-caveat>x</local-command-caveat>"),
    "a reminder": user("a", None, "<system-reminder>\nBe kind.\n</system-reminder>"),
    "an interrupt": user("a", None, [text("[Request interrupted by user for tool use]")]),
    "blank": user("a", None, " \n"),
    "an image alone": user("a", None, [{"type": "image", "source": {"data": "AAAA"}}]),
    "an answer": assistant("a", None),
    "another attachment": attachment("a", None, "file", prompt="x"),
    "a queued notification": attachment("a", None, "queued_command", prompt="x", commandMode="task-notification"),
}


@pytest.mark.parametrize("record", NO_REQUEST.values(), ids=NO_REQUEST)
def test_it_is_no_request(record):
    assert messages.request_of(record) == ""


def test_a_request_in_blocks_is_their_text_without_reminders():
    blocks = [text("<system-reminder>x</system-reminder>"), text("Fix it."), {"type": "image"}, text("Please.")]
    assert messages.request_of(user("a", None, blocks)) == "Fix it.\n\nPlease."


def test_a_request_with_a_result_is_one():
    blocks = [*result("a", None, "1")["message"]["content"], text("And go on.")]
    assert messages.request_of(user("a", None, blocks)) == "And go on."


@pytest.mark.parametrize("prompt", ["Wait.", [text("Wait.")]])
def test_what_was_queued_is_a_request(prompt):
    assert messages.request_of(attachment("a", None, "queued_command", prompt=prompt, commandMode="prompt")) == "Wait."


def test_a_request_that_speaks_of_a_mark_is_one():
    words = "Why does it say [Request interrupted by user]? And <command-name>?"
    assert messages.request_of(user("a", None, words)) == words


def test_a_command_row_is_known():
    assert messages.is_command(user("a", None, "<command-message>x</command-message>\n<command-name>/x</command-name>"))
    assert not messages.is_command(user("a", None, "Do <command-name>"))


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("2026-11-30T08:54:30.342Z", 1796028870.342),
        ("2026-11-30T08:54:30+01:00", 1796025270.0),
        ("2026-11-30T08:54:30", 1796028870.0),
        ("yesterday, at about noon", None),
        ("2026-99-30T08:54:30Z", None),
        ("", None),
        (1796028870, None),
    ],
)
def test_a_time_is_read(written, seconds):
    assert messages.time_of({"timestamp": written}) == seconds
