"""The validator finds each way in which a list can be broken, and nothing in one that is not."""

import pytest

from rehydrate.context.errors import InvalidProjection
from rehydrate.context.validate import check, violations
from tests.context.talk import assistant, call, result, step, text, thought, user

ASKED = user("Look around.")


def codes(messages, **more):
    return [each.code for each in violations(messages, format="anthropic", **more)]


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([ASKED, *step("a", "b"), assistant("Done.")], []),
        ([], ["empty"]),
        ([ASKED, user(result("a"))], ["orphan_result"]),
        ([ASKED, assistant(call("a")), assistant("Hm.")], ["unanswered_call"]),
        ([ASKED, assistant(call("a"))], ["unanswered_call"]),
        ([ASKED, assistant(call("a")), user("Hm."), user(result("a"))], ["split_batch"]),
        ([ASKED, assistant(call("a"), call("b")), user(result("a")), user(result("b"))], ["split_batch"]),
        ([ASKED, assistant(call("a")), user(result("a"), result("a"))], ["duplicate_result"]),
        ([ASKED, *step("a"), *step("a")], ["duplicate_call"]),
        ([assistant("Hello."), ASKED], ["first_not_user"]),
        ([user(result("a")), ASKED], ["first_not_user", "orphan_result"]),
        ([ASKED, user(call("a"))], ["wrong_role", "unanswered_call"]),
        ([ASKED, assistant(call("a")), user(text("Hm."), result("a"))], ["results_not_first"]),
        ([ASKED, user("")], ["empty_message"]),
        ([ASKED, {"role": "tool", "content": ""}], ["no_message"]),
    ],
)
def test_each_kind_of_violation_has_its_code(messages, expected):
    assert sorted(codes(messages)) == sorted(expected)


def test_t15_a_message_of_the_system_in_the_list_is_found():
    assert codes([{"role": "system", "content": "Be kind."}, ASKED]) == ["system_role"]


def test_thoughts_that_were_changed_are_found():
    source = [ASKED, assistant(thought(), call("a")), user(result("a"))]
    changed = [ASKED, assistant(thought("Ha."), call("a")), user(result("a"))]
    assert codes(source, source=source) == []
    assert codes(changed, source=source) == ["thinking_changed"]


def test_an_answer_may_lack_its_thoughts_only_where_its_whole_loop_does():
    source = [ASKED, assistant(thought(), call("a")), user(result("a")), assistant(thought(), text("Done."))]
    bare = [ASKED, *step("a"), assistant(text("Done."))]
    assert codes(bare, source=source) == []
    assert codes([*bare[:3], source[3]], source=source) == ["thinking_changed"]


def test_a_violation_is_raised_with_all_that_is_wrong():
    with pytest.raises(InvalidProjection, match="message 0 is the first one") as raised:
        check([user(result("a")), assistant(call("b"))], format="anthropic")
    assert {each.code for each in raised.value.violations} == {"first_not_user", "orphan_result", "unanswered_call"}


def test_a_text_is_looked_at_as_one_however_long_it_is():
    class Text(str):
        def __iter__(self):
            raise AssertionError("character by character")

    messages = [{"role": "user", "content": Text("Look around.")}]
    assert violations(messages, format="anthropic", source=messages) == []
