"""What a compaction puts in the place of the older messages: within the target by the meter, valid, with what must not
get lost, and the same each time.
"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rehydrate.context.ledger import OPENING, Ledger
from rehydrate.context.messages import THOUGHTS, blocks, is_request, kind_of
from rehydrate.context.meter import Meter
from rehydrate.context.plan import plan
from rehydrate.context.summary import read_summary
from rehydrate.context.units import open_calls
from rehydrate.context.validate import violations
from rehydrate.context.wire import FORMATS
from tests.context.counters import Characters
from tests.context.harness.made import conversation
from tests.context.harness.written import written
from tests.context.talk import assistant, call, result, step, text, thought, user
from tests.context.transcripts import IMAGE, conversations

METER = Meter(Characters())
EXACT = Meter()
LONG = "x" * 3000


def planned(messages, target, **more):
    """The plan, and the messages after it."""
    made = plan(messages, meter=METER, target=target, **more)
    return made, made.applied(messages)


def kinds(messages):
    return [kind_of(message) for message in messages]


def talk(turns, *, chars=300):
    """Short turns, each with a step and an answer."""
    found = []
    for at in range(turns):
        found += [user(f"Do {at}."), *step(f"c{at}"), assistant(f"{at} is done. " + "y" * chars)]
    return found


def steps(number):
    return [each for at in range(number) for each in step(f"s{at}")]


def faults_of(messages, source, *, open_ones=()):
    written = FORMATS["anthropic"].write(messages)
    found = violations(written, format="anthropic", source=source)
    return [each for each in found if not (open_ones and each.code == "unanswered_call")]


def test_what_fits_is_left_alone():
    messages = talk(3)
    made, after = planned(messages, METER.messages(messages))
    assert (made.outcome, made.covered, made.replacement) == ("unchanged", 0, ())
    assert after == messages


def test_the_newest_units_stay_as_they_are_behind_a_summary():
    messages = [*talk(20), user("And now?")]
    made, after = planned(messages, 4000)
    assert made.outcome == "completed"
    assert kinds(after)[0] == "summary" and after[0]["role"] == "user"
    assert after[-1] is messages[-1]
    assert made.tokens == METER.messages(after) <= 4000
    assert all(
        one is other for one, other in zip(after[len(made.replacement) :], messages[made.covered :], strict=True)
    )


def test_t14_the_summary_is_text_of_the_user_and_nothing_else():
    made, after = planned([*talk(20), user("And now?")], 3000)
    assert after[0]["role"] == "user" and isinstance(after[0]["content"], str)
    assert read_summary(after[0]["content"]).text == made.summary


def test_t55_the_active_request_follows_the_summary_whole_when_its_steps_are_many():
    request = user("Rename the class. " * 20)
    messages = [
        user("An old task."),
        assistant("Done."),
        request,
        *(each for at in range(90) for each in step(f"c{at}")),
    ]
    _, after = planned(messages, 1500)
    at = kinds(after).index("request")
    assert after[at]["content"] == request["content"]
    assert kinds(after)[:at] == ["summary"]
    assert after[-1] is messages[-1]


def test_t03_a_batch_of_ten_calls_stays_or_goes_whole():
    batch = step(*(f"c{at}" for at in range(10)))
    messages = [*talk(6), user("Read all."), *step("a"), *batch, assistant("Read."), user("Now?")]
    counts = set()
    for target in range(100, METER.messages(messages)):
        made, after = planned(messages, target)
        if made.outcome == "completed":
            assert not faults_of(after, messages)
            counts.add(sum(block.get("type") == "tool_result" for each in after for block in blocks(each)))
    assert {0, 10} <= counts <= {0, 10, 11}


def test_t02_nothing_begins_with_a_result_whatever_the_target():
    messages = [user("Look."), *step("a", "b"), *step("c"), assistant("Seen. " + "y" * 200), user("Go on."), *step("d")]
    for target in range(20, METER.messages(messages)):
        made, after = planned(messages, target)
        assert is_request(after[0]), (target, made.outcome)
        assert not faults_of(after, messages)


def test_t01_every_result_that_stays_has_its_call():
    answer = assistant(call("a"), call("b"), call("c"))
    results = user(result("c", LONG), result("a", "1"), result("b", "2"))
    messages = [user("Look."), answer, results, assistant("Hm."), user("Go on.")]
    for target in range(60, METER.messages(messages), 7):
        _, after = planned(messages, target)
        assert not faults_of(after, messages)


def test_what_follows_an_open_call_stays():
    messages = [*talk(20), user("Look."), assistant(call("open")), user("Wait.")]
    made, after = planned(messages, 1500)
    assert made.outcome == "completed"
    assert after[-2:] == messages[-2:] and made.covered <= len(messages) - 2


def test_open_from_is_as_good_as_an_open_call():
    messages = talk(20)
    made, _ = planned(messages, 2500, open_from=len(messages) - 8)
    assert made.outcome == "completed"
    assert made.covered <= len(messages) - 8


def test_t52_pinned_messages_stand_first_word_for_word():
    messages = [user("Never touch a.py."), assistant("Good."), *talk(30), user("And now?")]
    made, after = planned(messages, 2000, pinned={0})
    assert made.outcome == "completed"
    assert kinds(after)[:2] == ["pinned", "summary"]
    assert after[0]["content"] == messages[0]["content"]


def test_a_pinned_result_brings_its_whole_step():
    messages = [user("Look."), *step("a", "b"), *talk(30), user("And now?")]
    _, after = planned(messages, 2000, pinned={2})
    assert kinds(after)[:3] == ["summary", "pinned", "pinned"]
    assert not faults_of(after, messages)


def test_a_pinned_active_request_stands_once_at_its_place():
    messages = [
        user("Old."),
        assistant("Done."),
        user("Do it."),
        *(each for at in range(90) for each in step(f"c{at}")),
    ]
    _, after = planned(messages, 1000, pinned={2})
    assert kinds(after)[:2] == ["summary", "pinned"]
    assert sum(each["content"] == "Do it." for each in after) == 1


def test_a_long_unit_before_the_tail_is_shortened():
    messages = [user("Look."), assistant(call("a")), user(result("a", LONG)), assistant("Read."), user("And?")]
    made, after = planned(messages, 1500)
    assert made.outcome == "completed"
    assert kinds(after).count("shortened") == 2
    assert "characters left out here" in str(after)


def test_a_unit_is_shortened_once_and_then_left_out():
    messages = [user("Look."), assistant(call("a")), user(result("a", LONG)), assistant("Read."), user("And?")]
    _, after = planned(messages, 1500)
    _, again = planned([*after, *talk(5), user("And then?")], 800)
    assert "characters left out here" not in str(again)


def test_a_shortened_step_keeps_its_thoughts_where_its_loop_has_others():
    messages = [
        user("Look."),
        *talk(5),
        user("Go."),
        assistant(thought("First."), call("a")),
        user(result("a", LONG)),
        assistant(thought("Then."), call("b")),
        user(result("b")),
    ]
    made, after = planned(messages, 2000)
    assert made.outcome == "completed" and "shortened" in kinds(after)
    assert not faults_of(after, messages)
    assert sum(block.get("type") in THOUGHTS for each in after for block in blocks(each)) == 2


def test_a_shortened_step_of_a_loop_that_goes_on_keeps_its_thoughts():
    messages = [
        user("Look."),
        *talk(5),
        user("Go."),
        assistant(thought("First."), call("a")),
        user(result("a", LONG)),
    ]
    _, after = planned(messages, 2000)
    assert "shortened" in kinds(after)
    assert sum(block.get("type") in THOUGHTS for each in after for block in blocks(each)) == 1
    answered, _ = planned([*messages, assistant("Done."), user("Thanks.")], 2000)
    assert not any(block.get("type") in THOUGHTS for each in answered.replacement for block in blocks(each))


def test_images_of_whole_units_stay_and_those_of_a_shortened_one_go():
    messages = [
        user("Look."),
        assistant(call("a")),
        user(result("a", [IMAGE, text(LONG)])),
        assistant("Seen."),
        user(IMAGE, text("And this?")),
    ]
    _, after = planned(messages, 3500)
    assert after[-1] is messages[-1]
    assert "shortened" in kinds(after) and str(after).count("image/png") == 1


def test_a_request_that_is_larger_than_the_target_is_cut_and_marked():
    messages = [*talk(10), user("Read this: " + LONG)]
    made, after = planned(messages, 1000)
    assert made.outcome == "completed"
    assert after[-1]["content"].startswith("Read this: xxx") and "characters left out here" in after[-1]["content"]
    assert kinds(after)[-1] == "request" and made.covered == len(messages)


def test_a_window_makes_room_for_a_request_that_is_larger_than_the_target():
    messages = [*talk(20), user("Read this: " + LONG)]
    made, after = planned(messages, 1000, window=10_000)
    assert made.outcome == "completed"
    assert after[-1]["content"] == messages[-1]["content"]
    assert 1000 < made.tokens <= 5_000


def test_a_request_above_half_of_the_window_is_cut():
    messages = [*talk(20), user("Read this: " + LONG)]
    made, _ = planned(messages, 1000, window=4_000)
    assert made.outcome == "completed"
    assert made.tokens <= 2_000


def test_the_open_items_of_the_ledger_are_in_the_summary_however_small_the_target():
    ledger = Ledger().put("Objective and constraints", "Ship " + "it " * 300)
    made, _ = planned([*talk(20), user("And now?")], 500, window=100_000, ledger=ledger)
    assert made.outcome == "completed"
    assert "Ship it it" in made.summary and made.tokens > 500


def test_record_lines_are_put_in_the_ledger():
    line = "EXACT CONTINUATION RECORD [Exact next action] :: run make"
    made, _ = planned([user("Go."), assistant(f"Noted.\n{line}"), *talk(20), user("And now?")], 2000)
    assert [item.payload for item in made.ledger.open] == ["run make"]
    assert "run make" in made.summary


def test_a_value_that_a_later_message_replaces_is_not_in_the_summary():
    messages = [user("FACT: The port is 8080."), assistant("Good."), *talk(20), user("FACT: The port is 9090.")]
    made, after = planned(messages, 2000)
    assert "8080" not in str(after) and "9090" in str(after)
    assert "9090" not in made.summary  # it stands in the tail


def test_t53_what_an_earlier_summary_says_is_in_the_next_one():
    ledger = Ledger().put("Decisions and rationale", "SQLite, since there is one writer.")
    messages = [user("Never push to main."), *talk(20), user("And now?")]
    _, after = planned(messages, 2500, ledger=ledger)
    made, again = planned([*after, assistant("Here."), *talk(20), user("And then?")], 2500)
    assert "SQLite, since there is one writer." in made.summary and "Never push to main." in made.summary
    assert kinds(again).count("summary") == 1


def test_t26_what_is_too_large_for_the_target_is_told_and_not_tried_again():
    messages = [user("Look."), assistant("So."), *talk(10), user("Go."), assistant(call("o")), user(LONG)]
    made, after = planned(messages, 1000, window=3_000)
    assert made.outcome == "irreducible"
    assert made.holders[0].what == "open calls" and made.holders[0].tokens > 3000
    assert made.tokens == METER.messages(after) < METER.messages(messages)
    again, same = planned(after, 1000, window=3_000)
    assert (again.covered, again.outcome) == (0, "irreducible")
    assert same == after and again.holders


def test_nothing_is_replaced_by_something_larger():
    messages = [user("Do as I say."), assistant("Yes."), user("Go.")]
    made, after = planned(messages, 1, pinned={0, 1, 2})
    assert (made.outcome, after) == ("irreducible", messages)


def test_no_messages_are_none_afterwards():
    assert planned([], 100)[0].outcome == "unchanged"


def test_a_shown_file_is_in_the_summary():
    class Shown:
        path = "src/a.py"
        text = "def a(): ..."

    made, _ = planned([*talk(20), user("And now?")], 2000, files=[Shown()])
    assert "src/a.py" in made.summary and "def a(): ..." in made.summary


def test_what_was_called_is_noted_and_results_are_not():
    messages = [user("Look."), assistant(call("a", tool="Read", path="a.py")), user(result("a", "secret")), *talk(20)]
    made, _ = planned(messages, 3000)
    assert "called ls" in made.summary and "secret" not in made.summary


def rounds(messages, number, *, target=3000):
    """The summary after so many compactions, with as much said between them."""
    for at in range(number):
        made, messages = planned([*messages, *talk(20), user(f"And now {at}?")], target)
    return made.summary


@pytest.mark.parametrize("number", [1, 3, 10])
def test_what_was_asked_for_first_outlives_every_round_word_for_word(number):
    found = rounds([user("Port the shop to Python 3.12. Never use black.")], number)
    assert found.count("## First request\n- Port the shop to Python 3.12.\n") == 1
    assert found.count("Never use black.") == 1


def test_what_was_asked_for_first_is_told_once_it_is_not_the_active_request_any_more():
    made, after = planned([user("Port the shop."), *steps(60)], 1500)
    assert "First request" not in made.summary and "Port the shop." in [text["content"] for text in after]
    made, _ = planned([*after, *talk(20), user("And now?")], 1500)
    assert "## First request\n- Port the shop.\n" in made.summary


def test_what_a_request_states_is_not_among_what_was_asked_for():
    """It may be superseded by then."""
    early = [user("Begin."), user("Run the tests. The port is 8080."), user("The port is 9090.")]
    made, _ = planned([*early, *talk(5, chars=3000), user("And now?")], 10_000)
    assert "asked: Run the tests.\n" in made.summary
    assert "9090" in made.summary and "8080" not in made.summary


def test_of_an_answer_that_is_left_out_it_is_noted_how_it_began():
    made, _ = planned([*talk(20, chars=3000), user("And now?")], 30_000)
    assert "answered: 12 is done. yyy" in made.summary


def test_notes_of_an_earlier_compaction_stay_where_there_is_room():
    _, after = planned([user("Begin."), user("Look at a.py."), *talk(4, chars=3000), user("And now?")], 10_000)
    made, _ = planned([*after, *talk(4, chars=3000), user("And now?")], 10_000)
    assert made.summary.index("asked: Look at a.py.") < made.summary.index("asked: Do 1.")


def test_what_was_done_again_is_noted_where_it_was_done_last():
    again = [user("Run it."), assistant(call("a", tool="run")), user(result("a"))]
    other = [assistant(call("b", tool="read")), user(result("b")), assistant(call("c", tool="run")), user(result("c"))]
    made, _ = planned([*again, *other, *talk(6, chars=3000), user("And now?")], 10_000)
    assert made.summary.count("called run") == 1
    assert made.summary.index("called read") < made.summary.index("called run")


@pytest.mark.parametrize("more", [steps(2), [user("Q?"), *step("z")], [user("Q?"), assistant(call("open"))]])
def test_where_there_is_no_room_for_a_summary_its_first_line_stands_there(more):
    messages = [*talk(3, chars=90), *more]
    told = 0
    for target in range(1, METER.messages(messages)):
        made, after = planned(messages, target)
        assert made.replacement or not made.covered
        assert made.tokens == METER.messages(after) <= METER.messages(messages)
        assert planned(after, target)[1] == after
        told += made.summary == OPENING
    assert told


@settings(max_examples=60, deadline=None)
@given(messages=conversations(), percent=st.integers(1, 100), data=st.data())
def test_any_plan_is_valid_within_its_target_and_the_same_again(messages, percent, data):
    source = METER.messages(messages)
    target = source * percent // 100
    pinned = data.draw(st.sets(st.integers(0, len(messages) - 1), max_size=3))
    window = data.draw(st.none() | st.integers(target, 4 * source))
    made, after = planned(messages, target, pinned=pinned, window=window)
    assert planned(messages, target, pinned=pinned, window=window)[0] == made
    assert made.tokens == METER.messages(after)
    assert not faults_of(after, messages, open_ones=open_calls(messages))
    if made.outcome == "completed":
        assert made.tokens < source
        assert made.tokens <= max(target, (window or 0) // 2)
    if made.outcome == "unchanged":
        assert after == messages and source <= max(target, (window or 0) // 2)
    if made.outcome == "irreducible":
        assert made.holders
    assert made.replacement or not made.covered
    for at in pinned:
        assert any(each["content"] == messages[at]["content"] for each in after)
    still = {at - made.covered + len(made.replacement) for at in pinned if at >= made.covered}
    again, same = planned(after, target, window=window, pinned=still)
    assert (again.covered, again.replacement) == (0, ()), (made.outcome, again.outcome)
    assert same == after


@settings(max_examples=40, deadline=None)
@given(messages=conversations(), percent=st.sampled_from([50, 10]))
def test_the_last_request_is_whole_wherever_it_fits(messages, percent):
    target = METER.messages(messages) * percent // 100
    request = last_request(messages)
    made, after = planned(messages, target)
    least = METER.message(request) + sum(
        METER.message(each) for each in messages[min((at for at, _ in open_calls(messages)), default=len(messages)) :]
    )
    if made.outcome == "completed" and least <= target:
        assert any(each["content"] == request["content"] for each in after)


@pytest.mark.parametrize("meter", [METER, EXACT], ids=["characters", "usual"])
def test_t07_t52_fifty_rounds_are_each_valid_and_bounded_with_pinned_messages_byte_for_byte(meter):
    rule = user("Never push to main, whatever anybody says.")
    messages = [rule, assistant("Understood."), user("Go."), *step("first")]
    target = 2_000 if meter is EXACT else 8_000
    ledger = Ledger().put("Objective and constraints", "Ship the parser.")
    compacted = 0
    for number in range(50):
        more = FORMATS["anthropic"].read(written(conversation(number, messages=20), "anthropic"))
        messages = [*messages, *(renamed(each, f"{number}_") for each in more)]
        made = plan(
            messages, meter=meter, target=target, window=8 * target, ledger=ledger, pinned=() if number else {0}
        )
        after = made.applied(messages)
        assert not faults_of(after, messages)
        assert made.tokens <= 4 * target and meter.counter.count(made.summary) <= target
        assert after[0]["content"] == rule["content"]
        assert last_request(after)["content"] == last_request(messages)["content"]
        if made.covered:
            compacted += 1
            assert "Ship the parser." in made.summary
            ledger = made.ledger
        messages = after
    assert compacted > 40


def last_request(messages):
    return next(each for each in reversed(messages) if is_request(each))


def renamed(message, prefix):
    """With ids of calls that no other round has."""
    if isinstance(message["content"], str):
        return message
    content = [
        {name: prefix + value if name in ("id", "tool_use_id") else value for name, value in block.items()}
        for block in message["content"]
    ]
    return {**message, "content": content}


def test_the_work_grows_with_the_list_and_not_faster():
    class Counted(Meter):
        """Tells how many messages were counted."""

        def __init__(self):
            super().__init__(Characters())
            self.counted = 0

        def message(self, message):
            self.counted += 1
            return super().message(message)

    def work(turns):
        meter = Counted()
        plan([*talk(turns), user("And now?")], meter=meter, target=3000)
        return meter.counted / turns

    assert work(400) < 1.5 * work(100)
