"""Which old results go, when, and in what order; and how seldom the prefix of what is sent changes."""

import copy
import json
import random
from itertools import pairwise

import pytest

from rehydrate.context import prune as module
from rehydrate.context.hidden import GO_ON
from rehydrate.context.prune import is_error, placeholder, prune
from rehydrate.context.results import FLOOR_TOKENS, content_text, over_budget, replaced
from rehydrate.context.units import arrange
from rehydrate.context.wire import FORMATS

from .harness import made
from .harness.measures import tokens
from .harness.rules import faults
from .harness.written import written
from .turns import DENSE, IMAGE, IMAGE_TOKENS, METER, asked, call, of_calls, ranks, result, tool_turn, turn

BUDGET = 10_000
"""Of the input: a mark of 2,000 tokens, and a pass goes down to 1,000."""


def passed(messages, *, budget=BUDGET, idle_s=None, decided=(), **more):
    return prune(
        messages, input_budget=budget, meter=METER, ranks=ranks, idle_s=idle_s, is_decided=of_calls(decided), **more
    )


def conversation(*sizes, kept=10, tokens=300):
    """Turns whose results have those sizes, and `kept` more behind them."""
    older = [message for at, size in enumerate(sizes) for message in tool_turn(f"old{at}", size)]
    newer = [message for at in range(kept) for message in tool_turn(f"new{at}", tokens)]
    return [asked(), *older, *newer]


def gone(found):
    return [each.call_id for each in found]


# -- when a pass is due -----------------------------------------------------------------------------------------------


def test_nothing_goes_at_the_mark():
    assert passed(conversation(*[400] * 5)) == []


def test_past_the_mark_a_pass_goes_down_to_half_of_it():
    assert gone(passed(conversation(*[400] * 5, 200))) == ["old0", "old1", "old2"]


def test_what_was_taken_out_is_what_is_shorter_by_then():
    messages = conversation(*[400] * 8)
    found = passed(messages)
    left = [each for each in (f"old{at}" for at in range(8)) if each not in gone(found)]
    assert 400 * len(left) <= 1_000 < 400 * (len(left) + 1)


def test_the_mark_is_a_setting():
    assert gone(passed(conversation(*[300] * 5), percent=10)) == ["old0", "old1", "old2", "old3"]


def test_the_newest_10_turns_stay_however_long_they_are():
    assert passed(conversation(kept=10, tokens=5_000)[-20:] + [asked()] * 20) == []
    assert gone(passed(conversation(5_000, kept=10, tokens=5_000) + [asked()] * 20)) == ["old0"]


def test_a_turn_of_many_calls_is_one_turn():
    batch = turn(*((call(f"b{at}"), result(f"b{at}", "x" * 4_000)) for at in range(12)))
    messages = [asked(), *tool_turn("old", 3_000), *conversation(kept=9)[1:], *batch, *[asked()] * 10]
    assert gone(passed(messages)) == ["old"]


@pytest.mark.parametrize("budget", [None, 0, -1])
def test_t31_without_an_input_budget_no_ordinary_pass_is_due(budget):
    """It would take one turn for each request."""
    messages = conversation(*[5_000] * 9)
    assert passed(messages, budget=budget) == []
    assert passed(messages, budget=budget, idle_s=900) and passed(messages, budget=budget, mode="reactive")


@pytest.mark.parametrize(("count", "is_due"), [(29, False), (30, True)])
def test_nothing_goes_before_there_are_30_messages(count, is_due):
    messages = conversation(3_000, kept=10)
    messages += [asked()] * (count - len(messages))
    assert bool(passed(messages)) is is_due


def test_what_nobody_has_said_is_none_of_the_30_messages():
    messages = conversation(3_000, kept=10)
    messages += [asked()] * (29 - len(messages))
    assert passed([*messages, GO_ON]) == []
    assert passed([*messages[:14], GO_ON], idle_s=900) == []


def test_t58_results_under_200_tokens_stay_and_do_not_count():
    assert passed(conversation(*[FLOOR_TOKENS - 1] * 100)) == []
    mixed = conversation(*[FLOOR_TOKENS - 1] * 20, *[FLOOR_TOKENS] * 11)
    assert gone(passed(mixed)) == [f"old{at}" for at in range(20, 26)]


# -- the order --------------------------------------------------------------------------------------------------------


def mixed():
    """Older than the newest ten turns: of each rank three, the last rank first."""
    kinds = [("e", "Read", {"is_error": True}), ("w", "Write", {}), ("r", "Read", {})]
    turns = [tool_turn(f"{name}{at}", 300, tool=tool, **more) for at in range(3) for name, tool, more in kinds]
    return [asked(), *(message for each in turns for message in each), *conversation()[1:]]


def test_reads_go_before_writes_and_errors_last_the_oldest_of_each_first():
    everything = passed(mixed(), percent=0)
    assert gone(everything) == ["r0", "r1", "r2", "w0", "w1", "w2", "e0", "e1", "e2"]


@pytest.mark.parametrize("percent", range(0, 27, 2))
def test_however_many_go_no_rank_goes_before_one_below_it_is_gone(percent):
    everything = gone(passed(mixed(), percent=0))
    found = gone(passed(mixed(), percent=percent))
    assert found == everything[: len(found)]


def test_an_error_of_a_tool_that_writes_goes_last():
    messages = [asked(), *tool_turn("e", 3_000, tool="Write", is_error=True), *tool_turn("w", 3_000, tool="Write")]
    assert gone(passed([*messages, *conversation()[1:], *[asked()] * 20], percent=0)) == ["w", "e"]


def test_a_result_whose_call_is_not_there_is_taken_for_one_of_a_tool_that_writes():
    orphan = {"role": "user", "content": [result("nobody", "x" * 12_000)]}
    messages = [asked(), orphan, *tool_turn("r", 3_000), *conversation()[1:], *[asked()] * 20]
    assert gone(passed(messages, percent=0)) == ["r", "nobody"]


# -- errors -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["Error: no such file", "Traceback (most recent call last):\n", "3 failed", ""])
def test_the_flag_says_that_it_is_no_error_whatever_the_text_is(text):
    assert not is_error(result("c", text, is_error=False))


@pytest.mark.parametrize("text", ["all is well", "0 failed", ""])
def test_the_flag_says_that_it_is_an_error_whatever_the_text_is(text):
    assert is_error(result("c", text, is_error=True))


@pytest.mark.parametrize(
    "text",
    [
        "Error: no such file",
        "FileNotFoundError: [Errno 2] No such file or directory: 'a'",
        "fatal: not a git repository",
        "<tool_use_error>File does not exist.</tool_use_error>",
        "running\nTraceback (most recent call last):\n  File",
        "collected 12 items\n3 failed, 9 passed in 0.1s",
        "12,345 errors found",
        "make: *** [all] gone wrong\nexit code 2",
        "Exit code: 127\nsh: nope: not found",
        "x" * 5_000 + "\n1 failed",
    ],
)
def test_without_a_flag_the_text_tells_an_error(text):
    assert is_error(result("c", text))
    assert is_error(result("c", [{"type": "text", "text": text}], is_error=None))


@pytest.mark.parametrize(
    "text",
    [
        "12 passed, 0 failed",
        "0 errors, 0 warnings",
        "no errors",
        "exit code 0",
        "exited with code 0",
        "def error_of(result):",
        "errors.py",
        "failed_once = 3",
        "0.5 errors a day",
        "",
    ],
)
def test_0_failed_is_no_error(text):
    assert not is_error(result("c", text))


# -- pauses, and requests that were refused ---------------------------------------------------------------------------


def test_t34_a_pause_that_the_cache_outlives_takes_nothing_out():
    messages = conversation(kept=16)
    assert passed(messages, idle_s=None) == passed(messages, idle_s=0) == passed(messages, idle_s=300) == []
    assert passed(messages, idle_s=3_600, cache_lifetime_s=3_600) == []


def test_after_a_longer_pause_all_but_the_newest_3_turns_go():
    messages = conversation(kept=16)
    assert gone(passed(messages, idle_s=300.5)) == [f"new{at}" for at in range(13)]
    assert gone(passed(messages, idle_s=3_601, cache_lifetime_s=3_600)) == [f"new{at}" for at in range(13)]


@pytest.mark.parametrize(("count", "is_due"), [(14, False), (15, True)])
def test_a_pause_takes_nothing_out_before_there_are_15_messages(count, is_due):
    messages = conversation(kept=6)
    messages += [asked()] * (count - len(messages))
    assert bool(passed(messages, idle_s=1_000)) is is_due


@pytest.mark.parametrize(("count", "is_due"), [(9, False), (10, True)])
def test_a_request_that_was_refused_leaves_the_newest_3_turns_from_10_messages_on(count, is_due):
    messages = conversation(kept=4)
    messages += [asked()] * (count - len(messages))
    assert gone(passed(messages, mode="reactive")) == (["new0"] if is_due else [])


# -- what stands in their place ---------------------------------------------------------------------------------------


def test_t57_the_placeholder_says_that_the_original_is_intact():
    text = placeholder(call("c", "Read"), result("c", "x" * 1_234), has_recall=False)
    assert text == (
        "[The result of Read was taken out to save room: 1,234 characters. "
        "Nothing is damaged: the original is intact in the log of this session.]"
    )


def test_t57_a_recall_tool_is_named_only_where_there_is_one():
    messages = conversation(3_000, kept=14)
    without, having = passed(messages)[0], passed(messages, has_recall=True)[0]
    assert "recall" not in without.text and "the recall tool brings it back" in having.text


def test_the_placeholder_depends_on_the_message_alone():
    """Not on where it stands, when it goes, how full the window is or what else goes."""
    texts = set()
    for messages, more in (
        (conversation(3_000, kept=14), {}),
        (conversation(3_000, 500, 700, kept=20), {"percent": 3}),
        (conversation(3_000, kept=7), {"idle_s": 900}),
        (conversation(3_000, kept=5), {"mode": "reactive", "budget": 77}),
    ):
        texts |= {each.text for each in passed(messages, **more) if each.call_id == "old0"}
    assert len(texts) == 1


def test_a_name_from_a_stranger_takes_little_room_and_one_line():
    text = placeholder(call("c", "a\nb" + "x" * 9_000), result("c", "x"), has_recall=True)
    assert len(text) < 300 and "\n" not in text
    assert "of a tool" in placeholder(None, result("c", "x"), has_recall=False)
    assert "of a tool" in placeholder({"type": "tool_use", "id": "c", "name": 7}, result("c", "x"), has_recall=False)


def test_a_result_with_images_goes_with_them_and_says_so():
    content = [{"type": "text", "text": "seen"}, IMAGE, IMAGE]
    messages = [asked(), *turn((call("c"), result("c", content))), *conversation(kept=14)[1:]]
    (found,) = passed(messages, percent=0)[:1]
    assert "4 characters and 2 images" in found.text and found.content == found.text
    assert found.tokens_freed == 1 + 2 * IMAGE_TOKENS - METER.block({"type": "text", "text": found.text})


def test_t29_what_was_declared_is_freed():
    messages = [*mixed(), *turn((call("i"), result("i", [{"type": "text", "text": "y" * 4_000}, IMAGE])))]
    for more in ({"percent": 0}, {"percent": 10}, {"idle_s": 900}, {"mode": "reactive"}):
        found = passed(messages, **more)
        freed = METER.messages(messages) - METER.messages(replaced(messages, found))
        assert freed >= sum(each.tokens_freed for each in found) > 0


def test_what_would_be_longer_stays():
    older = [*turn((call("short"), result("short", "x" * 101))), *turn((call("long"), result("long", "x" * 500)))]
    messages = [asked(), *older, *conversation()[1:], *[asked()] * 20]
    assert gone(prune(messages, input_budget=10, meter=DENSE, ranks=ranks, idle_s=None, is_decided=of_calls(()))) == [
        "long"
    ]


def test_nothing_that_was_given_is_changed():
    messages = mixed()
    before = copy.deepcopy(messages)
    assert replaced(messages, passed(messages, percent=0)) != before and messages == before


def test_what_was_decided_is_not_decided_again():
    messages = conversation(*[1_000] * 5)
    assert gone(passed(messages)) == ["old0", "old1", "old2", "old3"]
    assert gone(passed(messages, decided={"old0", "old2"})) == ["old1", "old3"]
    assert passed(messages, decided={"old0", "old1", "old2"}) == []


def test_the_same_list_gives_the_same_bytes():
    assert passed(mixed(), percent=0) == passed(copy.deepcopy(mixed()), percent=0)


# -- in every format --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("seed", range(6))
def test_t29_what_was_taken_out_is_in_no_formats_messages_any_more(form, seed):
    source = written(made.conversation(seed, messages=120), form)
    messages = arrange(FORMATS[form].read(source))
    found = over_budget(messages, window=20_000, meter=METER, is_decided=of_calls(()))
    shorter = replaced(messages, found)
    more = passed(shorter, mode="reactive", decided=set(gone(found)))
    after = FORMATS[form].write(replaced(shorter, more))
    assert faults(after, form, source) == []
    whole = [content_text(messages[each.message]["content"][each.block]["content"]) for each in (*found, *more)]
    told = json.dumps(after, ensure_ascii=False)
    assert whole and not any(_quoted(text) in told for text in whole)
    assert all(_quoted(each.text) in told for each in more)
    freed = tokens(source, form, len) - tokens(after, form, len)
    assert freed >= 4 * sum(each.tokens_freed for each in (*found, *more)) * 0.9 > 0


def _quoted(text):
    return json.dumps(text, ensure_ascii=False)[1:-1]


# -- how often the prefix changes -------------------------------------------------------------------------------------


def simulated(count, tokens_of, *, budget, **more):
    """So many turns, and before each what is due: the lists that were sent, and what was taken out before each."""
    log, decided, sent, passes = [asked()], set(), [], []
    for at in range(count):
        long = over_budget(log, window=budget, meter=METER, is_decided=of_calls(decided))
        log, decided = replaced(log, long), decided | set(gone(long))
        found = passed(log, budget=budget, decided=decided, **more)
        log, decided = replaced(log, found), decided | set(gone(found))
        sent.append(log)
        passes.append(found)
        tool = "Write" if at % 5 == 4 else "Read"
        log = log + tool_turn(f"c{at}", tokens_of(at), tool=tool, is_error=at % 7 == 3)
    return sent, passes


def breaks(sent):
    """How often what was sent did not begin with all that was sent before it."""
    return sum(after[: len(before)] != before for before, after in pairwise(sent))


def test_t31_between_passes_what_is_sent_begins_with_what_was_sent():
    sent, passes = simulated(300, lambda at: 250 + 37 * at % 900, budget=50_000)
    for before, after, found in zip(sent, sent[1:], passes[1:], strict=False):
        assert found or after[: len(before)] == before
    assert 0 < sum(map(bool, passes)) == breaks(sent)


def test_t32_a_pass_frees_a_tenth_of_the_input_so_that_there_are_few_of_them():
    """Never one turn for each request: many turns lie between two passes."""
    budget, size = 50_000, 600
    sent, passes = simulated(300, lambda _: size, budget=budget)
    due = [at for at, found in enumerate(passes) if found]
    assert due and all(after - before >= budget // 10 // size for before, after in pairwise(due))
    assert breaks(sent) <= 300 * size // (budget // 10)
    assert all(len(found) > 1 for found in passes if found)


@pytest.mark.parametrize("seed", range(2))
def test_t32_however_long_results_are_there_is_one_break_for_each_tenth_of_the_input_that_they_fill(seed):
    rng, budget = random.Random(seed), 50_000
    sizes = [int(rng.choice((300, 3_000, 20_000)) * rng.random()) for _ in range(300)]
    sent, passes = simulated(300, sizes.__getitem__, budget=budget)
    assert (
        0
        < breaks(sent)
        == sum(map(bool, passes))
        <= sum(min(size, budget * 15 // 200) for size in sizes) * 10 // budget
    )


def test_t27_a_pass_is_not_due_again_right_after_one():
    messages = conversation(*[700] * 40)
    found = passed(messages)
    assert found and passed(replaced(messages, found), decided=set(gone(found))) == []


def test_t31_the_numbers_are_those_of_the_specification():
    assert module.HIGH_WATER_PERCENT == 20 and FLOOR_TOKENS == 200
