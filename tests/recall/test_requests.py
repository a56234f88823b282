"""Section 1: which requests stand in it, in what order, and how they are numbered."""

from hypothesis import given
from hypothesis import strategies as st

from rehydrate.recall import Section
from tests.recall.samples import called, conversation, rehydrated, said, section, texts, user


def requests(turns, *, forks=0, **settings) -> Section:
    return section(rehydrated(conversation(turns, forks=forks), **settings), "requests")


def test_every_request_that_fits_is_there_whole_with_its_number_and_step() -> None:
    found = requests([user(0, "first\nline"), said(1, "an answer"), user(7, "second")])
    assert texts(found) == ["first\nline", "second"]
    assert [item.step for item in found.items] == [0, 7]
    assert "2 of 2" in found.text
    assert "[1] step 0\n```\nfirst\nline\n```" in found.text
    assert "[2] step 7" in found.text
    assert found.left_out == 0


def test_empty_requests_are_none() -> None:
    found = requests([user(0, ""), user(1, " \n"), user(2, "real")])
    assert [item.as_json() for item in found.items] == [{"step": 2, "role": "user", "text": "real"}]
    assert found.left_out == 0
    assert "1 of 1" in found.text


def test_over_budget_each_is_clipped_to_six_thousand_with_its_head_and_tail() -> None:
    long = "".join(f"{number:06d}" for number in range(50_000))
    found = requests([user(0, long), user(1, "short")])
    clipped = found.items[0].text
    assert 5_900 < len(clipped) <= 6_000
    assert clipped.startswith(long[:4_500])
    assert clipped.endswith(long[-1_400:])
    left_out = found.items[0].left_out_chars
    assert f"[... {left_out} characters left out ...]" in clipped
    assert left_out == len(long) - (len(clipped) - len(f"\n[... {left_out} characters left out ...]\n"))
    assert found.items[1].text == "short"
    assert found.left_out == 0


def test_F62_one_huge_first_request_does_not_blow_the_section() -> None:
    found = requests([user(0, "x" * 300_000), *(user(step, f"request {step} " * 20) for step in range(1, 40))])
    assert found.used_chars <= 24_000
    assert found.items[0].step == 0
    assert found.items[-1].step == 39
    assert len(found.items) == 40


def test_F62_of_thousands_the_newest_the_first_five_and_the_last_ones_are_kept() -> None:
    found = requests(user(step, f"request number {step}") for step in range(5_000))
    kept = [item.step for item in found.items]
    assert kept[:5] == [0, 1, 2, 3, 4]
    assert kept[5:] == list(range(kept[5], 5_000))
    assert len(kept) > 100
    assert found.left_out == 5_000 - len(kept)
    assert f"{len(kept)} of 5000" in found.text
    assert f"{found.left_out} left out" in found.text
    assert "[5000] step 4999" in found.text
    assert found.used_chars <= 24_000
    assert found.used_chars > 23_900


def test_where_newest_and_first_five_do_not_fit_the_five_share_what_is_left() -> None:
    found = requests([user(step, f"{step}" * 20_000) for step in range(8)])
    assert [item.step for item in found.items] == [0, 1, 2, 3, 4, 7]
    sizes = [len(item.text) for item in found.items]
    assert len(set(sizes[:5])) == 1
    assert 5_900 < sizes[5] <= 6_000
    assert 23_500 < found.used_chars <= 24_000


def test_a_short_one_of_the_first_five_is_not_clipped_for_the_others() -> None:
    found = requests([user(0, "never push"), *(user(step, f"{step}" * 20_000) for step in range(1, 8))])
    assert found.items[0].text == "never push"
    assert [item.step for item in found.items] == [0, 1, 2, 3, 4, 7]


def test_where_even_the_newest_does_not_fit_it_is_clipped_to_the_budget() -> None:
    found = requests([user(0, "a" * 5_000), user(1, "b" * 5_000)], requests_chars=1_000)
    assert [item.step for item in found.items] == [1]
    assert 950 <= found.used_chars <= 1_000
    assert found.left_out == 1


def test_a_budget_too_small_for_anything_drops_the_section() -> None:
    for budget in (0, 1, 79):
        whole = rehydrated(conversation([user(0, "a" * 5_000)]), requests_chars=budget)
        found = section(whole, "requests")
        assert (found.used_chars, found.items, found.left_out, found.text) == (0, (), 1, "")
        assert "## 1." not in whole.text


def test_a_signpost_stands_before_the_first_request_of_each_later_segment() -> None:
    turns = [user(0, "one"), user(110, "two", 1), user(120, "three", 1), user(205, "four", 2)]
    whole = rehydrated(conversation(turns, forks=2))
    found = section(whole, "requests")
    assert [item.role for item in found.items] == ["user", "fork", "user", "user", "fork", "user"]
    post = found.items[1].as_json()
    assert post["step"] == 100
    assert (post["from"], post["to"]) == ("11111111-session", "22222222-session")
    assert post["text"] in found.text
    assert "[2] step 110" in found.text
    assert whole.stats["user_msgs"] == 4
    assert "4 of 4" in found.text


def test_no_signpost_stands_before_the_first_segment_of_the_list() -> None:
    found = requests([called(5), user(110, "only the child was asked", 1)], forks=1)
    assert [item.role for item in found.items] == ["user"]


def test_a_signpost_is_kept_where_any_request_of_its_segment_is() -> None:
    turns = [user(step, f"p{step} " + "x" * 300) for step in range(60)]
    turns += [user(100 + step, f"c{step} " + "x" * 300, 1) for step in range(90)]
    found = requests(turns, forks=1)
    kept = [item.step for item in found.items if item.role == "user"]
    assert kept[:5] == [0, 1, 2, 3, 4]
    assert kept[5] >= 100
    assert found.items[5].role == "fork"
    assert found.left_out == 150 - len(kept)
    assert sum(item.role == "fork" for item in found.items) == 1


def test_a_request_that_looks_like_a_signpost_is_a_request() -> None:
    text = "--- fork: up to here from 11111111; what follows, from step 100 on, from 22222222 ---"
    found = requests([user(0, text), user(1, "x")])
    assert [item.role for item in found.items] == ["user", "user"]
    assert "[1] step 0" in found.text


def test_a_request_whose_text_was_not_kept_is_counted_as_left_out() -> None:
    found = requests([user(0, None), user(1, "b"), user(2, "c")])
    assert [item.step for item in found.items] == [1, 2]
    assert found.left_out == 1
    assert "[2] step 1" in found.text


sizes = st.one_of(st.integers(1, 60), st.integers(4_000, 9_000))


@given(
    st.lists(st.tuples(sizes, st.sampled_from("ab`\U0001f600\u0301"), st.integers(0, 2)), max_size=20),
    st.one_of(st.integers(0, 200), st.integers(200, 3_000), st.just(24_000)),
)
def test_F60_the_budget_is_hard_and_counts_are_true(rows, budget) -> None:
    rows.sort(key=lambda row: row[2])
    turns = [user(step, character * size, segment) for step, (size, character, segment) in enumerate(rows)]
    whole = rehydrated(conversation(turns, forks=2), requests_chars=budget)
    found = section(whole, "requests")
    kept = [item for item in found.items if item.role == "user"]
    assert found.used_chars <= budget
    assert len(kept) + found.left_out == len(turns)
    assert whole.stats["user_msgs"] == len(kept)
    assert [item.step for item in kept] == sorted(item.step for item in kept)
    assert all(item.text and item.text in found.text for item in found.items)
    if kept:
        assert kept[-1].step == len(turns) - 1
