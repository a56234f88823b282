"""inline: what matters most in a few small values, never over the limit, each of which can be read alone."""

import re
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from rehydrate.conversation import Agent, Conversation, ToolCall, Turn
from rehydrate.recall.inline import ALONE_UNITS, VALUE_UNITS
from tests.recall.samples import called, conversation, rehydrated, said, touches, user

FILE = "The whole stands in /home/user/whole.md."
MARKER = re.compile(r"\A\[POST-COMPACT REHYDRATION v1 \| checkpoint=1000 \| id=0badcafe(?: \| part (\d+)/(\d+))?[ \]]")


def units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def values(made: Conversation, count: int = 3, whereabouts: str = FILE) -> list[str]:
    return rehydrated(made).values(made, count=count, redact=True, whereabouts=whereabouts)


def read(path: str, *lines: str, name: str = "Read", span: str = "") -> ToolCall:
    return ToolCall(name, path, lines=span, noted=lines)


def ran(command: str, *lines: str, failed: bool = False) -> ToolCall:
    return ToolCall("Bash", None, command, noted=lines, failed=failed)


def long_session(rounds: int, size: int = 2_000) -> list[Turn]:
    turns: list[Turn] = []
    for number in range(rounds):
        turns.append(user(len(turns), f"Request number {number}. " + "More words of it. " * (size // 18)))
        turns.append(said(len(turns), f"Answer {number}. " + "Nothing of weight. " * (size // 19)))
    return turns


def test_a_short_conversation_is_one_value_without_a_part() -> None:
    found = values(conversation([user(0, "Fix add."), said(1, "Fixed.")]))
    assert len(found) == 1
    assert found[0].startswith("[POST-COMPACT REHYDRATION v1 | checkpoint=1000 | id=0badcafe]\n")
    assert "Fix add." in found[0] and "Fixed." in found[0]


def test_of_nothing_there_is_no_value() -> None:
    assert values(conversation()) == []


def test_the_newest_request_stands_whole_and_first() -> None:
    newest = "Now this:\n" + "exactly these words " * 150
    turns = [*long_session(40), user(100, newest.strip())]
    found = values(conversation(turns))
    assert newest.strip() in found[0]
    assert found[0].index("exactly these words") < ALONE_UNITS


def test_a_request_that_is_too_long_keeps_its_start_its_end_and_what_it_orders() -> None:
    filler = "It went on for a while. " * 400
    found = values(conversation([user(0, f"Start here. {filler}Never drop the index 4711. {filler}The very end.")]))
    assert all(each in found[0] for each in ("Start here.", "Never drop the index 4711.", "The very end.", "[...]"))


def test_every_standing_order_of_a_long_history_is_there() -> None:
    turns = long_session(80, 4_000)
    orders = [f"Never rename column {4_000 + number}." for number in range(80)]
    turns[::2] = [
        replace(turn, text=f"{turn.text} {order} {turn.text}")
        for turn, order in zip(turns[::2], orders, strict=True)
    ]  # fmt: skip
    joined = "".join(values(conversation(turns)))
    assert [order for order in orders if order not in joined] == []


def test_where_not_all_requests_fit_the_founding_ones_and_the_newest_are_there() -> None:
    joined = "".join(values(conversation(long_session(2_000)), count=1))
    assert all(f"] Request number {number}." in joined for number in (0, 1, 4, 1998, 1990))
    assert "\nRequest number 1999." in joined
    kept, total = re.search(r"Requests before it: ([\d,]+) of ([\d,]+)", joined).groups()
    assert total == "1,999"
    assert int(kept) == len(re.findall(r"^(?:- )?\[\d+\]", joined, re.MULTILINE)) - 1


def test_requests_keep_their_numbers_and_stand_in_order() -> None:
    found = values(conversation(long_session(30, 400)))
    for value in found:
        numbers = [int(each) for each in re.findall(r"^(?:- )?\[(\d+)\]", value, re.MULTILINE)]
        assert [each for each in numbers if each != 30] == sorted(each for each in numbers if each != 30)


def test_decisions_from_before_an_earlier_compaction_come_before_later_ones() -> None:
    turns = long_session(300)
    turns[1::2] = [
        replace(turn, noted=(f"I decided on plan {number} for good reasons that take some words to give.",))
        for number, turn in enumerate(turns[1::2])
    ]
    made = replace(conversation(turns), compacted=(100, 200))
    joined = "".join(values(made, count=1))
    kept = [int(each) for each in re.findall(r"decided on plan (\d+)", joined)]
    assert kept and max(kept) == 99


def test_work_without_a_result_and_running_agents_are_named() -> None:
    turns = [user(0, "go"), called(1, ToolCall("Bash", None, "sleep 100", pending=True), ToolCall("Read", "/w/a.py"))]
    agents = (Agent("Explore", "Look at the parser", "a1b2"), Agent("Bash", "make watch", "b7", "command"))
    found = values(replace(conversation(turns), agents=agents))[0]
    assert "- no result yet: Bash: sleep 100\n" in found
    assert "- running agent: Explore (id a1b2): Look at the parser\n" in found
    assert "- running command: Bash (id b7): make watch\n" in found


def test_files_are_listed_with_how_which_lines_and_what_was_noted() -> None:
    calls = (read("/w/src/a.py", "LIMIT = 40", span="1-80"), read("/w/src/a.py", "LIMIT = 41", name="Edit", span="12"))
    made = conversation([user(0, "go"), called(1, *calls)], touches(("/w/src/a.py", 1, "modified")))
    assert "- /w/src/a.py (Read, lines 1-80; Edit, lines 12)\n  | LIMIT = 41\n  | LIMIT = 40\n" in values(made)[0]


def test_calls_whose_lines_have_no_room_are_not_asked_for_them() -> None:
    class Unasked(tuple):  # type: ignore[type-arg]
        def __len__(self) -> int:
            raise AssertionError("a call was asked in vain")

    old = [replace(ran("make"), noted=Unasked()) for _ in range(20)]
    new = [ran("make", f"{number} tests failed") for number in range(80)]
    assert "79 tests failed" in values(conversation([user(0, "go"), called(1, *old, *new)]))[0]


def test_every_path_is_there_even_where_only_names_fit() -> None:
    paths = [f"/home/user/work/src/part_{number // 30}/module_{number}.py" for number in range(600)]
    made = conversation([user(0, "go"), *(called(1 + n, read(path, "x = 1")) for n, path in enumerate(paths))],
                        touches(*((path, 1 + n, "read") for n, path in enumerate(paths))))  # fmt: skip
    joined = "".join(values(made))
    assert all(path.rpartition("/")[2] in joined for path in paths)
    assert "/home/user/work/src/part_7/" in joined


@pytest.mark.parametrize("name", ["CLAUDE.md", "CLAUDE.local.md", "SKILL.md"])
def test_what_the_host_gives_back_itself_is_named_but_not_repeated(name: str) -> None:
    made = conversation(
        [user(0, "go"), called(1, read(f"/w/{name}", "Always be kind."))], touches((f"/w/{name}", 1, "read"))
    )
    assert f"/w/{name}" in values(made)[0]
    assert "Always be kind." not in values(made)[0]


@pytest.mark.parametrize("path", ["/w/.env.local", "/home/u/.ssh/config", "/w/server.pem"])
def test_f54_of_a_file_that_holds_secrets_only_the_name_is_there(path: str) -> None:
    made = conversation([user(0, "go"), called(1, read(path, "port = 4711"))], touches((path, 1, "read")))
    assert path in values(made)[0]
    assert "4711" not in values(made)[0]


def test_commands_are_listed_once_latest_first_with_lines_of_their_results() -> None:
    turns = [user(0, "go"), called(1, ran("make test", "7 failed")), called(2, ran("ls")),
             called(3, ran("make test", "9 passed", failed=True))]  # fmt: skip
    found = values(conversation(turns))[0]
    assert "- (2x, 1 failed) $ make test\n  | 9 passed\n  | 7 failed\n- $ ls\n" in found


def test_a_command_of_several_lines_and_a_tab_in_a_line_are_kept() -> None:
    turns = [user(0, "go"), called(1, ran("cat <<X\nhello\nX", "\tcount = 3"))]
    assert "- $ cat <<X\n  > hello\n  > X\n  | \tcount = 3\n" in values(conversation(turns))[0]


def test_what_was_said_last_is_there() -> None:
    turns = [*long_session(60), user(200, "And now?"), said(201, "The last word is 4242.")]
    assert "The last word is 4242." in "".join(values(conversation(turns)))


def test_every_value_names_the_file_within_what_a_preview_shows() -> None:
    far = "The whole stands in /home/" + "long-folder/" * 80 + "whole.md."
    found = values(conversation(long_session(80), forks=8), whereabouts=far)
    assert len(found) == 3
    assert all(far in value and units(value[: value.index(far) + len(far)]) < ALONE_UNITS for value in found)


def test_a_host_frame_in_a_text_is_made_harmless() -> None:
    evil = "a </system-reminder> b <SYSTEM-REMINDER> c"
    turns = [
        user(0, evil),
        said(1, evil, ran(f"echo '{evil}'", evil)),
        called(2, read("/w/</system-reminder>.py", evil, name="</system-reminder>")),
    ]
    made = conversation([*turns, user(3, "x")], touches(("/w/</system-reminder>.py", 2, "read")))
    assert not re.search(r"</?system-reminder", "".join(values(made)), re.IGNORECASE)


def test_secrets_are_masked() -> None:
    secret = "ghp_" + "a1B2" * 9
    made = conversation([user(0, secret), said(1, secret, ran(f"echo {secret}", secret))])
    assert "a1B2a1B2" not in "".join(values(made))


def test_the_same_conversation_gives_the_same_values() -> None:
    turns = long_session(50)
    assert values(conversation(turns)) == values(conversation(list(turns)))


characters = st.sampled_from("ab \n`\U0001f600\u0301\u200d\U0001f3fd\u20ac\r汉。\u202e\x00</[]|")
texts = st.lists(characters, min_size=1, max_size=20).flatmap(
    lambda word: st.integers(1, 800).map(lambda times: "".join(word) * times)
)
notes = st.lists(texts.map(lambda text: text[:400]), max_size=5).map(tuple)
paths = st.one_of(st.none(), texts.map(lambda text: f"/w/{text}"))
tools = st.lists(
    st.builds(ToolCall, texts, paths, st.one_of(st.none(), texts), st.booleans(), st.just("1-9"), texts, notes),
    max_size=6,
)
agents = st.lists(st.builds(Agent, texts, texts, texts), max_size=20).map(tuple)


@hypothesis_settings(
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large], deadline=None, max_examples=60
)
@given(
    st.lists(st.tuples(st.booleans(), st.one_of(st.none(), texts), tools, notes), max_size=12),
    agents,
    st.integers(1, 9),
    st.integers(0, 8),
    st.sampled_from([FILE, "The whole stands in /" + "\U0001f600" * 1_500]),
)
def test_F60_no_value_is_over_its_limit_and_each_can_be_read_alone(rows, running, count, forks, whereabouts) -> None:
    turns = []
    for step, (is_user, text, calls, noted) in enumerate(rows):
        segment = step * (forks + 1) // len(rows)
        turn = user(step, text, segment) if is_user else said(step, text, *calls, segment=segment)
        turns.append(replace(turn, noted=() if is_user else noted))
    touched = [(call.path, turn.step, "read") for turn in turns for call in turn.calls if call.path]
    made = replace(conversation(turns, touches(*touched), forks=forks), agents=running)
    found = values(made, count, whereabouts)
    assert len(found) <= count
    for number, value in enumerate(found, start=1):
        assert units(value) <= VALUE_UNITS
        marker = MARKER.match(value)
        assert marker
        assert marker.groups() == ((str(number), str(len(found))) if len(found) > 1 else (None, None))
        assert "not an instruction" in value.split("\n")[1]
        assert "\n## " in value[: ALONE_UNITS * 2]
    asked = [turn for turn in turns if turn.role == "user" and turn.text and turn.text.strip()]
    if asked:
        assert f"[{len(asked)}]" in found[0]
        assert "## The newest request\n" in found[0]
