import json

import pytest

from rehydrate.context import FORMATS, Meter, violations
from rehydrate.context.assembling import assemble
from rehydrate.context.view import cut, said_of
from rehydrate.session import assistant, user

from .talk import call, result, text, thought


def said(record):
    found = said_of({"uuid": "u", "seq": 7, **record})
    return None if found is None else found.message


def test_an_entry_is_a_message_with_its_uuid_and_number():
    found = said_of({**user("hello"), "uuid": "u", "seq": 7})
    assert (found.uuid, found.seq, found.message) == ("u", 7, {"role": "user", "content": "hello"})


def test_of_an_answer_only_what_belongs_to_the_message_is_taken():
    record = assistant("yes", message={"id": "msg_1", "model": "m", "usage": {}, "stop_reason": "end_turn"})
    assert said(record) == {"role": "assistant", "content": [{"type": "text", "text": "yes"}], "id": "msg_1"}


def test_what_a_format_has_kept_stays():
    message = {"role": "user", "content": "a", "wire": {"format": "openai-chat", "members": {"name": "bob"}}}
    assert said({"type": "user", "message": message}) == message


def test_a_message_of_the_system_stays_and_a_row_of_the_host_does_not():
    message = {"role": "system", "content": "Be brief."}
    assert said({"type": "system", "message": message}) == message
    assert said({"type": "system", "subtype": "informational", "content": "Be brief."}) is None


@pytest.mark.parametrize("content", ["", "  \n", [], [{"type": "text", "text": " "}], None, 7])
def test_an_entry_that_says_nothing_is_no_message(content):
    assert said(user(content)) is None


def test_an_empty_text_beside_a_call_is_left_out():
    call = {"type": "tool_use", "id": "1", "name": "ls", "input": {}}
    assert said(assistant([{"type": "text", "text": ""}, call]))["content"] == [call]


def test_the_report_of_a_failed_request_is_no_message():
    assert said(assistant("API Error: 529", isApiErrorMessage=True)) is None


def test_a_request_that_was_queued_is_the_users():
    attachment = {"type": "queued_command", "prompt": "and the tests"}
    assert said({"type": "attachment", "attachment": attachment}) == {"role": "user", "content": "and the tests"}
    assert said({"type": "attachment", "attachment": {"type": "file"}}) is None


@pytest.mark.parametrize(
    ("sources", "covered", "entries", "expected"),
    [
        ([[0], [1], [2], [3]], 2, 4, (2, 2)),
        ([[0], [1], [1], [2]], 2, 3, (3, 2)),  # a message in the middle of an entry
        ([[0], [1, 3], [2], [4]], 2, 5, (3, 4)),  # a result that came late
        ([[0], [1], [], [2]], 1, 3, (1, 1)),  # what a repair has put in
        ([[0], [1]], 2, 2, (2, 2)),
    ],
)
def test_a_list_is_cut_where_whole_entries_follow(sources, covered, entries, expected):
    assert cut(sources, covered, entries=entries) == expected


def test_what_is_inherited_never_follows_a_cut():
    assert cut([[0], [1], [2]], 0, entries=3, inherited=2) == (2, 2)


ODD = [None, "", 1, 1.5, True, [], {}, {"a": 1}, [{"type": {}}], ["x"], [1]]
PLACES = [
    *[
        (entry, block, name)
        for entry, block in ((1, 0), (1, 1), (1, 2), (2, 0))
        for name in ("type", "id", "name", "text")
    ],
    *[(1, 0, "thinking"), (1, 2, "input"), (2, 0, "tool_use_id"), (2, 0, "content")],
]


@pytest.mark.parametrize("place", PLACES, ids=str)
def test_whatever_stands_in_a_block_everything_else_is_sent_and_valid(place):
    """A log may be another program's: one odd block must not end its conversation."""
    entry, block, name = place
    for odd in ODD:
        records = [
            {"type": "user", "uuid": "u1", "message": {"content": "Look."}},
            {"type": "assistant", "uuid": "a1", "message": {"content": [thought(), text("I look."), call("c1")]}},
            {"type": "user", "uuid": "r1", "message": {"content": [result("c1", [text("found")])]}},
            {"type": "assistant", "uuid": "a2", "message": {"content": "Found."}},
        ]
        records[entry]["message"]["content"][block][name] = odd
        messages = assemble((), [each for each in map(said_of, records) if each is not None]).messages
        for format in FORMATS.values():
            sent = format.write(messages)
            assert violations(sent, format=format.name, source=messages) == []
            assert "Look." in json.dumps(sent) and "Found." in json.dumps(sent)
        assert Meter().messages(messages) > 0


@pytest.mark.parametrize("odd", [7, {"a": 1}, ["x"], [{"type": None}]])
def test_a_result_of_no_form_is_sent_as_text(odd):
    found = said({"type": "user", "message": {"content": [{**result("c1"), "content": odd}]}})
    assert json.loads(found["content"][0]["content"]) == odd
