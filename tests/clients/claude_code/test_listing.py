"""What a list tells of a conversation, and how many there are."""

import os

import pytest

from rehydrate.clients.claude_code import layout, listing
from rehydrate.conversation import KEPT_CHARS
from tests.helpers import DATA

from .making import Home, Talk, session_id

ONE, TWO = session_id(1), session_id(2)


@pytest.fixture
def home(tmp_path):
    return Home(tmp_path)


def summarized(home, talk):
    return listing.summarize(layout.place_of(home.write(talk)))


def talk(*texts, session=ONE):
    made = Talk(session)
    made.talk(*texts)
    return made


class TestSummary:
    def test_the_size_is_that_of_the_transcript(self, home):
        made = talk("one", "two")
        assert summarized(home, made).size == os.path.getsize(home.write(made))

    def test_every_entry_is_a_step_but_once(self, home):
        made = talk("one", "two", "three")
        made.meta("last-prompt", lastPrompt="three")
        made.rows += made.rows[:2]
        assert summarized(home, made).steps == 3

    def test_each_compaction_counts_but_no_replay_of_one(self, home):
        made = talk("one", "two")
        made.compact()
        made.talk("three", "four")
        made.compact()
        made.rows += [row for row in made.rows if row.get("subtype")]
        assert summarized(home, made).boundaries == 2

    def test_it_is_an_error_when_the_file_is_gone(self, home):
        place = layout.place_of(home.write(talk("one")))
        os.unlink(place.path)
        with pytest.raises(FileNotFoundError):
            listing.summarize(place)


class TestTitle:
    def test_the_first_line_of_the_first_request_where_there_is_nothing_better(self, home):
        assert summarized(home, talk("\n Fix the cache.  \nThen test it.", "done")).asked == "Fix the cache."

    def test_what_is_no_request_is_passed_over(self, home):
        made = Talk(ONE)
        made.user("<command-name>/clear</command-name>")
        made.user("Caveat", isMeta=True)
        made.user("[Request interrupted by user]")
        made.user("Real")
        assert summarized(home, made).asked == "Real"

    def test_the_better_ones_in_their_order(self, home):
        made = talk("first", "done")
        seen = [summarized(home, made).asked]
        for kind, name in (("last-prompt", "lastPrompt"), ("ai-title", "aiTitle"), ("custom-title", "customTitle")):
            made.meta(kind, **{name: f"by {kind}"})
            seen.append(summarized(home, made).asked)
        assert seen == ["first", "by last-prompt", "by ai-title", "by custom-title"]

    def test_the_last_custom_title_wins_though_it_stands_before_a_compaction(self, home):
        made = talk("one", "two")
        made.meta("custom-title", customTitle="old")
        made.meta("custom-title", customTitle="new")
        made.compact()
        assert summarized(home, made).asked == "new"

    def test_one_that_is_kept_beside_the_transcript_counts_as_a_custom_one(self, home):
        made = talk("one", "two")
        made.meta("ai-title", aiTitle="by the model")
        place = layout.place_of(home.write(made))
        os.makedirs(place.folder)
        with open(os.path.join(place.folder, "custom-title.json"), "w") as file:
            file.write('{"customTitle": "beside"}')
        assert listing.summarize(place).asked == listing.title(place) == "beside"

    def test_one_that_another_writer_gave_a_uuid_is_a_title_and_no_step(self, home):
        made = talk("one", "two")
        made.meta("custom-title", customTitle="mine (fork)", uuid="c0ffee00-0000-4000-8000-000000000000")
        told = summarized(home, made)
        assert (told.asked, told.steps) == ("mine (fork)", 2)

    @pytest.mark.parametrize("text", ["<command-name>/compact</command-name>", "[Request interrupted by user]", " "])
    def test_a_last_prompt_that_is_no_request_is_none(self, home, text):
        made = talk("first", "done")
        made.meta("last-prompt", lastPrompt=text)
        assert summarized(home, made).asked == "first"

    def test_the_summary_of_another_conversation_is_none(self, home):
        made = talk("first", "done")
        made.meta("summary", summary="theirs", leafUuid="99999999-0000-4000-8000-000000000000")
        assert summarized(home, made).asked == "first"
        made.meta("summary", summary="ours", leafUuid=made.last)
        assert summarized(home, made).asked == "ours"

    def test_a_long_one_is_kept_in_part(self, home):
        assert summarized(home, talk("x" * 100_000)).asked == "x" * KEPT_CHARS

    def test_there_may_be_none(self, home):
        made = Talk(ONE)
        made.assistant("hello")
        assert summarized(home, made).asked is None


class TestCount:
    def test_each_conversation_once(self, home):
        home.write(talk("one"))
        home.write(talk("one"), project=home.project("/srv/other"))
        home.write(talk("two", session=TWO))
        assert sorted(listing.count(home.environ).ids) == [ONE, TWO]

    def test_a_folder_that_cannot_be_listed_is_told(self, home, monkeypatch):
        home.write(talk("one"))
        home.write(talk("two", session=TWO))
        listed = os.listdir

        def refuse(path):
            if str(path) == str(home.project()):
                raise PermissionError(13, "Permission denied", path)
            return listed(path)

        monkeypatch.setattr(os, "listdir", refuse)
        counted = listing.count(home.environ)
        assert not counted.ids and "Permission denied" in counted.problems[0] and str(home.project()) in str(counted)

    def test_without_a_home_there_is_nothing_to_tell(self, tmp_path):
        assert listing.count({"HOME": str(tmp_path)}) == listing.Census((), ())


@pytest.mark.parametrize("name", sorted(each.name for each in (DATA / "claude-code").iterdir()))
def test_a_real_conversation_has_a_title_steps_and_a_size(name):
    for path in (DATA / "claude-code" / name).glob("*-*.jsonl"):
        told = listing.summarize(layout.place_of(str(path)))
        assert told.asked and told.steps and told.size
        assert told.boundaries == ("compact" in name)
