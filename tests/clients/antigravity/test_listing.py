"""What a list tells of a conversation, and how many there are."""

import os

import pytest

from rehydrate.clients.antigravity import layout, listing
from rehydrate.conversation import KEPT_CHARS

from .making import checkpoint, line, message, model, record, row, talk, user


def summarized(home, session="c1"):
    return listing.summarize(layout.find(home.environ, session))


def test_steps_are_counted_from_the_very_first_one(home):
    home.write("c1", talk(12, 20))
    assert summarized(home).steps == 21


def test_a_file_without_a_step_has_none(home):
    home.write("c1", [{"type": "USER_INPUT"}])
    assert summarized(home).steps == 0


def test_the_size_is_that_of_the_transcript(home):
    path = home.write("c1", talk(0, 5))
    assert summarized(home).size == os.path.getsize(path)


def test_the_size_of_chunks_is_that_of_all(home):
    data = b"".join(map(line, talk(0, 50)))
    home.write_chunks("c1", data, 1_000)
    assert (summarized(home).size, summarized(home).steps) == (len(data), 51)


def test_boundaries_that_are_no_compaction_do_not_count(home):
    home.write("c1", [user(0, "a"), checkpoint(1, "{{ CHECKPOINT 0 }}"), checkpoint(2), checkpoint(3, status="ERROR")])
    assert summarized(home).boundaries == 1


def test_the_first_line_of_the_first_request_is_kept(home):
    home.write("c1", [model(0, "hello"), user(1, "\n Fix the cache.  \nThen test it."), user(2, "Other")])
    assert summarized(home).asked == "Fix the cache."


@pytest.mark.parametrize("first", [user(0, " "), record(0, "USER_INPUT", "x", source="SYSTEM_SDK"), message(0, "x")])
def test_what_is_no_request_is_passed_over(home, first):
    home.write("c1", [first, user(1, "Real")])
    assert summarized(home).asked == "Real"


def test_without_a_request_there_is_no_line(home):
    home.write("c1", [model(0, "hello")])
    assert summarized(home).asked is None


def test_a_long_line_is_kept_in_part(home):
    home.write("c1", [user(0, "x" * 100_000)])
    assert summarized(home).asked == "x" * KEPT_CHARS


def test_a_transcript_that_is_gone_is_an_error_of_the_system(home):
    path = home.write("c1", talk(0, 2))
    place = layout.find(home.environ, "c1")
    os.unlink(path)
    with pytest.raises(FileNotFoundError):
        listing.summarize(place)


class TestCount:
    def test_every_application_counts(self, home):
        home.write("c1", talk(0, 1))
        home.write("c2", talk(0, 1), app=home.root / "antigravity-ide", name="transcript.jsonl")
        home.write_chunks("c3", b"{}\n")
        census = listing.count(home.environ)
        assert (sorted(census.ids), census.problems) == (["c1", "c2", "c3"], ())

    def test_those_that_can_be_counted_are_those_that_can_be_listed(self, home):
        home.write("c1", talk(0, 1))
        os.utime(home.write("c2", []), (0, 0))
        (home.logs("c3") / "transcript.jsonl").mkdir(parents=True)
        listed = {place.session for place in layout.every(home.environ)}
        assert listed == set(listing.count(home.environ).ids) == {"c1", "c2"}

    def test_a_conversation_without_a_transcript_is_said(self, home):
        home.conversation("old").mkdir(parents=True)
        (home.conversation("old").parent / "a file").touch()
        assert listing.count(home.environ).problems == (
            "1 conversation has no transcript that can be read, such as old",
        )

    def test_several_are_counted(self, home):
        home.conversation("b").mkdir(parents=True)
        home.conversation("a").mkdir(parents=True)
        assert listing.count(home.environ).problems == (
            "2 conversations have no transcript that can be read, such as a",
        )

    def test_a_link_in_place_of_a_transcript_is_said(self, home):
        home.logs("c1").mkdir(parents=True)
        (home.logs("c1") / "transcript_full.jsonl").symlink_to("/etc/passwd")
        assert "such as c1" in listing.count(home.environ).problems[0]

    def test_a_folder_that_cannot_be_listed_is_said(self, home):
        home.remember(row("c1", 1))
        (home.app / "brain").write_text("no folder")
        (problem,) = listing.count(home.environ).problems
        assert problem.startswith(f"the conversations in {home.app}/brain could not be listed: ")

    def test_where_nothing_is_nothing_is_said(self, home):
        assert listing.count(home.environ) == listing.Census((), ())
