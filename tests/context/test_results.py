"""Results that are too long: which ones, what stands in their place, and where the whole goes."""

import copy
import json
import os
import stat
import sys
from dataclasses import replace

import pytest

from rehydrate.context.messages import results
from rehydrate.context.results import (
    FLOOR_TOKENS,
    batch_limit,
    over_budget,
    replaced,
    results_of,
    side_name,
    write_side_file,
)
from rehydrate.session import Session, Sessions, assistant, user

from .turns import DENSE, IMAGE, METER, asked, call, of_calls, result, tool_turn, turn

SMALL = 8_000
"""A window of which a batch may have 5,000 tokens, and one result 2,500."""


def judged(messages, *, window=SMALL, decided=(), **more):
    return over_budget(messages, window=window, meter=METER, is_decided=of_calls(decided), **more)


@pytest.mark.parametrize(
    ("window", "limit"),
    [
        (1, 5_000),
        (33_333, 5_000),
        (33_334, 5_000),
        (40_000, 6_000),
        (200_000, 30_000),
        (666_667, 100_000),
        (2_000_000, 100_000),
    ],
)
def test_a_batch_may_have_15_percent_of_the_window_within_bounds(window, limit):
    assert batch_limit(window) == limit


@pytest.mark.parametrize("window", [SMALL, 200_000, 2_000_000])
def test_one_result_may_have_half_of_that(window):
    limit = batch_limit(window) // 2
    assert judged([asked(), *tool_turn("c", limit)], window=window) == []
    (found,) = judged([asked(), *tool_turn("c", limit + 1)], window=window)
    assert (found.message, found.block, found.call_id, found.kind) == (2, 0, "c", "result-budget")


def test_what_fits_alone_goes_longest_first_until_the_batch_fits():
    sizes = {"a": 1_500, "b": 2_000, "c": 300, "d": 1_900, "e": 2_400}
    batch = turn(*((call(name), result(name, name * 4 * size)) for name, size in sizes.items()))
    found = judged(batch)
    assert [each.call_id for each in found] == ["b", "e"]
    after = replaced(batch, found)
    assert sum(METER.block(each) for each in after[1]["content"]) <= 5_000


def test_equal_ones_go_in_the_order_of_the_list():
    batch = turn(*((call(name), result(name, "x" * 8_000)) for name in "abc"))
    assert [each.call_id for each in judged(batch)] == ["a"]


def test_results_of_one_batch_that_are_messages_of_their_own_are_judged_together():
    names = "abc"
    answer = {"role": "assistant", "content": [call(name) for name in names]}
    apart = [{"role": "user", "content": [result(name, "x" * 8_000)]} for name in names]
    assert [each.message for each in judged([asked(), answer, *apart])] == [2]


def test_batches_are_judged_apart():
    assert judged([*tool_turn("a", 2_500), *tool_turn("b", 2_500), *tool_turn("c", 2_500)]) == []


def test_ids_that_a_provider_counts_from_0_in_every_answer_make_no_batch_of_several_answers():
    messages = [message for _ in range(3) for message in tool_turn("call_0", 2_000)]
    assert judged(messages) == []


def test_a_result_that_stands_before_its_call_is_of_its_batch():
    answer, answered = turn(*((call(name), result(name, "x" * 8_000)) for name in "abc"))
    apart = [{**answered, "content": [block]} for block in answered["content"]]
    assert [each.message for each in judged([*apart, answer])] == [0]


def test_a_result_is_of_the_last_call_of_its_id_before_it_or_else_of_the_first_behind_it():
    calls = [call("c", path=str(at)) for at in range(3)]
    answers = [{"role": "assistant", "content": [each]} for each in calls]
    answered = {"role": "user", "content": [result("c", "x")]}
    found = results_of([answered, answers[0], answers[1], answered, answers[2], {**answered, "role": "assistant"}])
    assert [(each.message, each.call, each.turn) for each in found] == [(0, calls[0], 1), (3, calls[1], 2)]


def test_the_preview_has_the_first_1500_and_the_last_500_characters():
    text = "".join(f"line {number}\n" for number in range(5_000))
    (found,) = judged(turn((call("c"), result("c", text))))
    first, shown = found.text.split("\n", 1)
    left_out = f"\n[... {len(text) - 2_000:,} characters left out ...]\n"
    assert shown == text[:1_500] + left_out + text[-500:]
    assert f"{len(text):,} characters" in first and f"tool-results/{found.side_name}" in first


def test_a_preview_cuts_no_surrogate_pair_in_two():
    (found,) = judged(turn((call("c"), result("c", "x" + "\ud83d\ude00" * 8_000))))
    _, shown = found.text.split("\n", 1)
    head, tail = shown.split("\n[... 14,002 characters left out ...]\n")
    assert head == "x" + "\ud83d\ude00" * 749
    assert tail == "\ud83d\ude00" * 250


def test_the_whole_text_goes_to_the_side_file():
    text = "x" * 20_000
    (found,) = judged(turn((call("c"), result("c", text))))
    assert found.side_file == text


def test_a_batch_of_very_many_results_gets_shorter_previews():
    batch = turn(*((call(f"c{at}"), result(f"c{at}", "z" * 4_000)) for at in range(30)))
    found = judged(batch)
    assert {each.text.count("z") for each in found} == {250}
    assert sum(METER.block(each) for each in replaced(batch, found)[1]["content"]) <= 5_000


def test_t58_small_results_stay_however_many_they_are():
    batch = turn(*((call(f"c{at}"), result(f"c{at}", "x" * (4 * FLOOR_TOKENS - 4))) for at in range(100)))
    assert judged(batch) == []


@pytest.mark.parametrize("chars", [1_251, 1_900, 2_400, 9_000])
def test_a_text_of_very_many_tokens_gets_a_preview_that_fits(chars):
    (found,) = over_budget(
        turn((call("c"), result("c", "z" * chars))), window=SMALL, meter=DENSE, is_decided=of_calls(())
    )
    assert found.text.count("z") >= 250 and 2 * len(found.text) <= 2_500
    assert found.tokens_freed == 2 * (chars - len(found.text)) > 0


def test_what_would_grow_stays():
    batch = turn(*((call(f"c{at}"), result(f"c{at}", "z" * 150)) for at in range(20)))
    assert over_budget(batch, window=SMALL, meter=DENSE, is_decided=of_calls(())) == []


def test_t29_what_was_declared_is_freed():
    batches = [
        *turn(
            *(
                (call(name), result(name, "x" * 4 * size))
                for name, size in zip("abcd", (9_000, 2_400, 1_000, 900), strict=True)
            )
        ),
        *turn((call("i"), result("i", [{"type": "text", "text": "y" * 40_000}, IMAGE]))),
    ]
    found = judged(batches)
    freed = METER.messages(batches) - METER.messages(replaced(batches, found))
    assert freed >= sum(each.tokens_freed for each in found) > 0


def test_what_was_decided_is_not_decided_again():
    messages = [*tool_turn("a", 9_000), *tool_turn("b", 9_000)]
    assert [each.call_id for each in judged(messages, decided={"a"})] == ["b"]
    found = judged(messages)
    assert judged(replaced(messages, found), decided={each.call_id for each in found}) == []


def test_the_second_look_at_what_was_replaced_finds_nothing():
    messages = [*tool_turn("a", 9_000), *tool_turn("b", 2_500)]
    assert judged(replaced(messages, judged(messages))) == []


def test_what_was_decided_counts_in_its_batch():
    batch = turn(*((call(name), result(name, "x" * 8_000)) for name in "abc"))
    assert [each.call_id for each in judged(batch, decided={"a"})] == ["b"]


def test_a_content_of_blocks_is_judged_by_all_its_texts():
    content = [{"type": "text", "text": "a" * 5_996}, {"type": "text", "text": "b" * 6_000}]
    (found,) = judged(turn((call("c"), result("c", content))))
    assert found.side_file == "a" * 5_996 + "\n" + "b" * 6_000
    assert found.content == found.text


def test_images_stay_behind_the_preview_and_are_not_counted():
    assert judged(turn((call("c"), result("c", [IMAGE] * 9)))) == []
    assert judged(turn((call("c"), result("c", [{"type": "text", "text": "a" * 9_000}, IMAGE])))) == []
    content = [IMAGE, {"type": "text", "text": "a" * 12_000}, IMAGE]
    messages = turn((call("c"), result("c", content)))
    (found,) = judged(messages)
    assert found.side_file == "a" * 12_000
    assert found.content == [{"type": "text", "text": found.text}, IMAGE, IMAGE]
    assert next(results(replaced(messages, [found])[1]))["content"] == found.content


def test_a_document_that_is_text_is_judged_as_one():
    document = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "z" * 12_000}}
    (found,) = judged(turn((call("c"), result("c", [document]))))
    assert found.content == found.text and json.loads(found.side_file) == document


def test_a_block_of_an_unknown_type_is_told_as_json():
    block = {"type": "search_result", "title": "Straße", "content": [{"type": "text", "text": "z" * 12_000}]}
    (found,) = over_budget(turn((call("c"), result("c", [block]))), window=SMALL, meter=METER, is_decided=of_calls(()))
    assert json.loads(found.side_file) == block and "Straße" in found.text


def test_t57_the_preview_says_that_the_original_is_intact_and_names_a_recall_tool_only_where_there_is_one():
    messages = tool_turn("c", 9_000)
    without, having = judged(messages)[0].text, judged(messages, has_recall=True)[0].text
    assert "the original is intact in the log" in without and "recall" not in without
    assert "the original is intact in the log" in having and "recall tool" in having


def test_nothing_that_was_given_is_changed():
    messages = [asked(), *turn((call("c"), result("c", [{"type": "text", "text": "a" * 40_000}, IMAGE])))]
    before = copy.deepcopy(messages)
    after = replaced(messages, judged(messages))
    assert messages == before and after != before
    assert after[0] is messages[0] and after[1] is messages[1]


def test_other_members_of_a_result_are_kept():
    messages = turn((call("c"), result("c", "x" * 40_000, is_error=True, cache_control={"type": "ephemeral"})))
    (after,) = replaced(messages, judged(messages))[1]["content"]
    assert after["is_error"] is True and after["cache_control"] == {"type": "ephemeral"}


@pytest.mark.parametrize("content", [None, "", [], [None], ["text"], [{"type": []}], {"a": 1}, 7])
def test_odd_contents_are_no_trouble(content):
    assert (
        over_budget(turn((call("c"), result("c", content))), window=SMALL, meter=METER, is_decided=of_calls(())) == []
    )


# -- in the log -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("content", ["x" * 40_000, [{"type": "text", "text": "x" * 40_000}, IMAGE]])
def test_recorded_in_the_log_a_decision_gives_the_view_that_was_decided(content, tmp_path):
    with Sessions(str(tmp_path)).new(str(tmp_path)) as log:
        log.append(user("look"))
        log.append(assistant([call("c")]))
        uuid = log.append(user([result("c", content)]))
        log.flush()
        with Session.open(log.path) as session:
            given = list(session.view("wire"))
        found = judged(given)
        row = {"messageUuid": uuid, "toolUseId": "c", "blockIndex": 0, "kind": found[0].kind}
        log.replace_content([{**row, "replacement": found[0].content}])
        log.flush()
        with Session.open(log.path) as session:
            assert list(session.view("wire")) == replaced(given, found) != given


# -- the side file ----------------------------------------------------------------------------------------------------

HOSTILE = [
    "../../x",
    "/etc/passwd",
    "..",
    ".",
    "",
    "a/b",
    "a\\b",
    "nul\0",
    "-rf",
    "CON",
    "é" * 300,
    "x" * 5_000,
    "\ud800",
]


@pytest.mark.parametrize("call_id", HOSTILE)
def test_an_id_leads_nowhere(call_id, tmp_path):
    name = side_name(call_id, "text")
    assert os.path.basename(name) == name and name.isascii() and name.endswith(".txt")
    assert not name.startswith((".", "-")) or call_id == "-rf"
    assert len(name) <= 100
    (found,) = judged(turn((call(call_id), result(call_id, "x" * 40_000))))
    folder = tmp_path / "s" / "tool-results"
    path = write_side_file(found, folder=str(folder))
    assert os.listdir(tmp_path) == ["s"] and os.listdir(folder) == [os.path.basename(path)]


def test_different_ids_and_different_texts_have_different_files():
    given = [("a", "1"), ("a", "2"), ("A", "1"), ("a/", "1"), ("a_", "1"), ("a\\", "1")]
    assert len({side_name(*each).lower() for each in given}) == len(given)


@pytest.mark.parametrize("umask", [0, 0o077, 0o777])
def test_the_side_file_is_its_owners_only_and_whole(tmp_path, umask):
    (found,) = judged(tool_turn("toolu_01", 9_000))
    folder = tmp_path / "tool-results"
    folder.mkdir(mode=0o755)
    before = os.umask(umask)
    try:
        path = write_side_file(found, folder=str(folder))
    finally:
        os.umask(before)
    with open(path, encoding="utf-8") as file:
        assert file.read() == found.side_file
    assert os.listdir(folder) == [found.side_name] and found.side_name.startswith("toolu_01-")
    if sys.platform != "win32":
        assert stat.S_IMODE(os.lstat(path).st_mode) == 0o600
        assert stat.S_IMODE(os.lstat(folder).st_mode) == 0o700


def test_missing_folders_are_made_for_the_owner_only(tmp_path):
    (found,) = judged(tool_turn("c", 9_000))
    before = os.umask(0)
    try:
        write_side_file(found, folder=str(tmp_path / "session" / "tool-results"))
    finally:
        os.umask(before)
    if sys.platform != "win32":
        for each in (tmp_path / "session", tmp_path / "session" / "tool-results"):
            assert stat.S_IMODE(os.lstat(each).st_mode) == 0o700


def test_writing_again_leaves_the_file_as_it_is(tmp_path):
    (found,) = judged(tool_turn("c", 9_000))
    path = write_side_file(found, folder=str(tmp_path))
    before = os.lstat(path)
    assert write_side_file(found, folder=str(tmp_path)) == path
    assert os.lstat(path).st_ino == before.st_ino and os.listdir(tmp_path) == [found.side_name]


def test_a_torn_file_is_replaced(tmp_path):
    (found,) = judged(tool_turn("c", 9_000))
    path = tmp_path / found.side_name
    path.write_text(found.side_file[:100])
    write_side_file(found, folder=str(tmp_path))
    assert path.read_text() == found.side_file


def test_a_link_in_the_place_of_the_file_is_not_followed(tmp_path):
    (found,) = judged(tool_turn("c", 9_000))
    folder, victim = tmp_path / "results", tmp_path / "victim"
    folder.mkdir()
    victim.write_text("untouched")
    (folder / found.side_name).symlink_to(victim)
    path = write_side_file(found, folder=str(folder))
    assert victim.read_text() == "untouched" and not os.path.islink(path)


def test_a_link_in_the_place_of_the_folder_is_refused(tmp_path):
    (found,) = judged(tool_turn("c", 9_000))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "results").symlink_to(elsewhere)
    with pytest.raises(OSError):
        write_side_file(found, folder=str(tmp_path / "results"))
    assert os.listdir(elsewhere) == []


def test_half_of_a_surrogate_pair_is_written_as_an_escape(tmp_path):
    (found,) = judged(turn((call("c"), result("c", "\ud83d" * 12_000))))
    with open(write_side_file(found, folder=str(tmp_path)), encoding="utf-8") as file:
        assert file.read(6) == "\\ud83d"


def test_a_write_that_fails_leaves_nothing(tmp_path, monkeypatch):
    (found,) = judged(tool_turn("c", 9_000))

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="No space left") as failed:
        write_side_file(found, folder=str(tmp_path))
    assert failed.value.filename == str(tmp_path / found.side_name)
    assert os.listdir(tmp_path) == []


def test_a_replacement_without_a_whole_text_has_no_file(tmp_path):
    (found,) = judged(tool_turn("c", 9_000))
    with pytest.raises(ValueError, match="no text"):
        write_side_file(replace(found, side_file=None), folder=str(tmp_path))
