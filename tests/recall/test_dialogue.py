"""Section 2: the last turns, and where tool calls are shown."""

from hypothesis import given
from hypothesis import strategies as st

from rehydrate.conversation import ToolCall
from rehydrate.recall import Section
from tests.recall.samples import called, conversation, rehydrated, said, section, user

READ = ToolCall("view_file", path="/ws/src/a.py")
EDIT = ToolCall("edit_file", path="/ws/src/b.py")
RUN = ToolCall("run_command", command="pytest -q")


def dialogue(turns, *, forks=0, **settings) -> Section:
    return section(rehydrated(conversation(turns, forks=forks), **settings), "dialogue")


def rows(found: Section) -> list[tuple]:
    return [(item.step, item.role, item.as_json()["tools"]) for item in found.items]


def test_turns_stand_verbatim_in_reading_order() -> None:
    found = dialogue([user(0, "ask"), said(1, "answer\n"), user(2, "more")])
    assert [item.as_json() for item in found.items] == [
        {"step": 0, "role": "user", "text": "ask", "tools": []},
        {"step": 1, "role": "assistant", "text": "answer\n", "tools": []},
        {"step": 2, "role": "user", "text": "more", "tools": []},
    ]
    assert found.left_out == 0


def test_calls_since_the_last_text_go_with_the_next_assistant_text_and_stand_before_it() -> None:
    found = dialogue([user(0, "ask"), called(1, READ), called(3, EDIT, RUN), said(5, "done")])
    assert rows(found) == [
        (0, "user", []),
        (5, "assistant", ["view_file a.py", "edit_file b.py, run_command `pytest -q`"]),
    ]
    text = found.text
    assert text.index("- view_file a.py\n- edit_file b.py") < text.index("done")


def test_calls_of_a_response_with_text_go_with_the_next_text() -> None:
    found = dialogue([user(0, "ask"), said(1, "I look", READ), said(3, "seen")])
    assert rows(found) == [(0, "user", []), (1, "assistant", []), (3, "assistant", ["view_file a.py"])]


def test_calls_that_no_text_follows_before_the_next_request_go_with_the_entry_before() -> None:
    found = dialogue([user(0, "ask"), said(1, "I look", READ), called(2, RUN), user(4, "stop"), said(5, "ok")])
    assert rows(found) == [
        (0, "user", []),
        (1, "assistant", ["view_file a.py", "run_command `pytest -q`"]),
        (4, "user", []),
        (5, "assistant", []),
    ]
    assert found.text.index("I look") < found.text.index("- view_file a.py") < found.text.index("stop")


def test_calls_go_with_a_request_where_that_is_the_entry_before() -> None:
    found = dialogue([user(0, "ask"), called(1, READ), user(2, "again"), said(3, "ok")])
    assert rows(found) == [(0, "user", ["view_file a.py"]), (2, "user", []), (3, "assistant", [])]


def test_calls_up_to_the_boundary_are_the_last_item_and_say_what_had_no_result() -> None:
    waiting = ToolCall("run_command", command="sleep 9", pending=True)
    found = dialogue([user(0, "ask"), said(1, "I start"), called(2, READ), called(4, EDIT, waiting)])
    last = found.items[-1]
    assert (last.step, last.role) == (4, "tools")
    assert last.tools == ("view_file a.py", "edit_file b.py, run_command `sleep 9` (no result yet)")
    assert last.text in found.text
    assert last.text == "- view_file a.py\n- edit_file b.py, run_command `sleep 9` (no result yet)"


def test_calls_before_everything_are_an_item_of_their_own() -> None:
    found = dialogue([called(1, READ), user(2, "ask")])
    assert rows(found) == [(1, "tools", ["view_file a.py"]), (2, "user", [])]


def test_at_most_six_groups_of_eight_calls_are_shown_and_the_rest_is_counted() -> None:
    many = [called(step, *[READ] * 10) for step in range(1, 10)]
    tools = dialogue([user(0, "ask"), *many, said(20, "done")]).items[-1].tools
    assert tools is not None
    assert len(tools) == 6
    assert all(line.count("view_file a.py") == 8 and "+2 more" in line for line in tools)
    assert tools[-1].endswith("+30 more in the next 3 responses")


def test_of_the_work_in_progress_the_last_groups_are_shown() -> None:
    many = [called(step, ToolCall("view_file", path=f"/ws/{step}.py", pending=step == 9)) for step in range(1, 10)]
    tools = dialogue([user(0, "ask"), *many]).items[-1].tools
    assert tools is not None
    assert len(tools) == 6
    assert tools[0] == "+3 more in the 3 responses before; view_file 4.py"
    assert tools[-1] == "view_file 9.py (no result yet)"


def test_a_pending_call_among_those_not_shown_is_said() -> None:
    calls = [READ] * 8 + [RUN, ToolCall("run_command", command="x", pending=True)]
    tools = dialogue([user(0, "ask"), called(1, *calls)]).items[-1].tools
    assert tools is not None
    assert tools[0].endswith("+2 more (1 with no result yet)")


def test_a_command_is_shown_on_one_line_with_its_first_sixty_characters() -> None:
    command = "for f in *; do\n  echo   $f\ndone; " + "z" * 100
    tools = dialogue([called(1, ToolCall("run_command", command=command)), said(2, "ok")]).items[0].tools
    shown = "for f in *; do echo $f done; " + "z" * 31
    assert tools == (f"run_command `{shown}...`",)


def test_a_secret_in_a_command_is_masked_before_it_is_cut() -> None:
    command = "x" * 50 + " GITHUB_TOKEN=ghp_" + "a1B2" * 9
    tools = dialogue([called(1, ToolCall("run_command", command=command)), said(2, "ok")]).items[0].tools
    assert tools is not None
    assert "ghp" not in tools[0]


def test_windows_paths_and_odd_names_stay_on_one_line() -> None:
    calls = [ToolCall("view\nfile", path="C:\\work\\a\nb.py"), ToolCall("", path="/")]
    tools = dialogue([called(1, *calls), said(2, "ok")]).items[0].tools
    assert tools == ("`view file` a\\u{a}b.py, ? /",)


def test_an_entry_over_six_thousand_keeps_its_ends() -> None:
    long = "".join(f"{number:05d}" for number in range(2_000))
    item = dialogue([user(0, "ask"), said(1, long)]).items[-1]
    assert item.text == long[:4_500] + "\n[... 4300 characters left out ...]\n" + long[-1_200:]
    assert item.left_out_chars == 4_300


def test_it_goes_backwards_until_the_budget_is_used() -> None:
    found = dialogue([said(step, f"answer {step} " + "x" * 900) for step in range(100)])
    kept = [item.step for item in found.items]
    assert kept == list(range(kept[0], 100))
    assert found.left_out == kept[0]
    assert 41_000 < found.used_chars <= 42_000
    assert f"the last {len(kept)} of 100" in found.text


def test_the_newest_entry_is_clipped_where_even_that_does_not_fit() -> None:
    found = dialogue([user(0, "ask"), said(1, "y" * 5_000)], dialogue_chars=700)
    assert [item.step for item in found.items] == [1]
    assert 650 < found.used_chars <= 700


def test_work_in_progress_is_shortened_where_it_does_not_fit() -> None:
    many = [called(step, ToolCall("view_file", path=f"/ws/{'n' * 60}{step}.py")) for step in range(6)]
    found = dialogue([user(0, "ask"), *many], dialogue_chars=400)
    assert found.used_chars <= 400
    assert found.items[-1].tools
    assert "5.py" in found.items[-1].tools[-1]


def test_a_turn_whose_text_was_not_kept_ends_the_dialogue() -> None:
    found = dialogue([user(0, "ask"), said(1, None, READ), user(2, "more"), said(3, "ok")])
    assert [item.step for item in found.items] == [2, 3]
    assert found.left_out == 2


def test_a_signpost_is_part_of_the_backward_sequence() -> None:
    turns = [user(0, "one"), said(1, "two"), user(100, "three", 1), said(101, "four", segment=1)]
    whole = rehydrated(conversation(turns, forks=1))
    found = section(whole, "dialogue")
    assert [item.role for item in found.items] == ["user", "assistant", "fork", "user", "assistant"]
    assert found.items[2].as_json() | {"text": ""} == {
        "step": 100,
        "role": "fork",
        "text": "",
        "tools": [],
        "from": "11111111-session",
        "to": "22222222-session",
    }
    assert whole.stats["kept_turns"] == 5
    assert "the last 4 of 4" in found.text


def test_no_signpost_without_the_child_s_first_entry() -> None:
    turns = [user(0, "one"), *(said(100 + step, "x" * 5_000, segment=1) for step in range(20))]
    found = dialogue(turns, forks=1)
    assert [item.role for item in found.items] == ["assistant"] * len(found.items)


def test_the_first_entry_after_a_fork_is_never_there_without_its_signpost() -> None:
    turns = [user(0, "one"), user(100, "two " * 50, 1), said(101, "three", segment=1)]
    seen = set()
    for budget in range(1, 900):
        roles = [item.role for item in dialogue(turns, forks=1, dialogue_chars=budget).items]
        seen.add(tuple(roles))
        assert "user" not in roles or "fork" in roles
    assert {(), ("assistant",), ("fork", "user", "assistant"), ("user", "fork", "user", "assistant")} <= seen
    only = [user(0, "one"), user(100, "two " * 50, 1)]
    for budget in range(1, 900):
        roles = [item.role for item in dialogue(only, forks=1, dialogue_chars=budget).items]
        assert roles in ([], ["fork", "user"], ["user", "fork", "user"])


def test_budget_zero_drops_the_section() -> None:
    whole = rehydrated(conversation([user(0, "ask"), said(1, "ok")]), dialogue_chars=0)
    found = section(whole, "dialogue")
    assert (found.items, found.used_chars, found.left_out) == ((), 0, 2)
    assert "## 2." not in whole.text


calls = st.builds(
    ToolCall,
    st.text(max_size=5),
    st.none() | st.text(max_size=100),
    st.none() | st.text(max_size=100),
    st.booleans(),
)
turns_of_any_kind = st.lists(
    st.tuples(
        st.sampled_from(["user", "assistant"]),
        st.none() | st.text(max_size=40) | st.text(min_size=1, max_size=3).map(lambda text: text * 4_000),
        st.lists(calls, max_size=10),
        st.integers(0, 2),
    ),
    max_size=12,
)


@given(turns_of_any_kind, st.one_of(st.integers(0, 200), st.integers(200, 2_000), st.just(42_000)))
def test_F60_the_budget_is_hard_whatever_was_said(made, budget) -> None:
    made.sort(key=lambda row: row[3])
    turns = [
        user(step, text, segment) if role == "user" else said(step, text, *tools, segment=segment)
        for step, (role, text, tools, segment) in enumerate(made)
    ]
    whole = rehydrated(conversation(turns, forks=2), dialogue_chars=budget)
    found = section(whole, "dialogue")
    assert found.used_chars <= budget
    assert whole.stats["kept_turns"] == len(found.items)
    assert all(item.text and item.text in found.text for item in found.items)
    assert all(line in found.text for item in found.items for line in item.as_json()["tools"])
