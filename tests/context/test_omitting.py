"""What is left out of a conversation because its provider would not take it."""

import pytest

from rehydrate.context import records
from rehydrate.context.omitting import Omitting, digest_of, media_in, without_media, without_thoughts
from rehydrate.context.view import Said

from .talk import assistant, call, result, text, thought, user


def picture(data="aGVsbG8="):
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}


ONE, OTHER = picture(), picture("b3RoZXI=")


def test_a_picture_is_known_by_what_it_is_wherever_it_stands():
    turned = {"source": dict(reversed(ONE["source"].items())), "type": "image"}
    assert digest_of(ONE) == digest_of(turned) != digest_of(OTHER)


def test_pictures_in_messages_and_in_results_are_found():
    paper = {"type": "document", "source": {"type": "text", "data": "words"}}
    messages = [user(text("Look:"), ONE, paper), user(result("c1", [text("Seen."), OTHER]), result("c2", "none"))]
    assert list(media_in(messages)) == [ONE, OTHER]


def test_a_line_of_text_stands_in_the_place_of_a_picture_and_nothing_else_changes():
    message = user(text("Look:"), ONE, result("c1", [OTHER, ONE]))
    changed = without_media(message, {digest_of(ONE)})
    placeholder = changed["content"][1]
    assert placeholder["type"] == "text" and "An image was left out" in placeholder["text"]
    assert changed == user(text("Look:"), placeholder, result("c1", [OTHER, placeholder]))
    assert without_media(changed, {digest_of(ONE)}) is changed
    assert message["content"][1] is ONE


@pytest.mark.parametrize("message", [user("Look."), user(text("Look."), OTHER), assistant("Well.")])
def test_a_message_without_those_pictures_is_the_very_object(message):
    assert without_media(message, {digest_of(ONE)}) is message


def test_thoughts_go_out_of_an_answer():
    answer = assistant(thought(), text("So."), call("c1"), id="m1")
    assert without_thoughts(answer) == assistant(text("So."), call("c1"), id="m1")
    assert without_thoughts(assistant(thought())) == {"role": "assistant", "content": []}


@pytest.mark.parametrize("message", [assistant("So."), assistant(text("So.")), user("Do."), user(thought())])
def test_what_has_no_thoughts_of_an_answer_is_the_very_object(message):
    assert without_thoughts(message) is message


THINKING = assistant(thought(), text("So."))
BARE = assistant(text("So."))


def told(omitting, *messages):
    return [omitting.next(Said(f"u{at}", at, message)).message for at, message in enumerate(messages)]


def test_thoughts_before_the_decision_go_and_those_of_the_loop_that_goes_on():
    record = records.omitted(thoughts=True, after="u2")
    messages = [
        user("Do."),
        THINKING,
        user("And that."),
        THINKING,
        user(result("c1")),
        THINKING,
        user("Now."),
        THINKING,
    ]
    found = told(Omitting.of([record], [f"u{at}" for at in range(4)]), *messages)
    assert [each is not one for each, one in zip(found, messages, strict=True)] == [
        *(False, True, False, True),
        *(False, True, False, False),
    ]
    assert found[5] == BARE


def test_a_decision_before_all_that_is_left_holds_for_what_a_checkpoint_has_and_the_loop():
    omitting = Omitting.of([records.omitted(thoughts=True, after="gone")], ["u0", "u1"])
    assert omitting.inherited([user("Do."), THINKING]) == (user("Do."), BARE)
    assert told(omitting, THINKING, user("Now."), THINKING) == [BARE, user("Now."), THINKING]


def test_pictures_are_left_out_of_what_comes_later_too():
    omitting = Omitting.of([records.omitted([digest_of(ONE)], after="u0")], ["u0"])
    placeholder = without_media(user(ONE, text("It.")), {digest_of(ONE)})
    assert told(omitting, user(ONE, text("It.")), user("Now."), user(ONE, text("It."))) == [
        *(placeholder, user("Now."), placeholder)
    ]


@pytest.mark.parametrize(
    "record",
    [
        {"type": "context-omitted"},
        {"type": "context-omitted", "digests": None, "thoughts": 1},
        {"type": "context-omitted", "digests": [1, None, {}], "after": 5},
        records.refusal("media", after="u0"),
    ],
)
def test_a_record_of_no_such_form_leaves_nothing_out(record):
    omitting = Omitting.of([record], ["u0"])
    assert not omitting
    messages = (user(ONE), THINKING)
    assert all(one is other for one, other in zip(told(omitting, *messages), messages, strict=True))
    assert omitting.inherited(messages) is messages
