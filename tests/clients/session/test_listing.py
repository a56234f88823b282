"""What a list tells of one's own sessions, and how many there are."""

import os

from rehydrate.clients.session import layout, listing
from rehydrate.session import assistant, user
from rehydrate.transcripts.listing import Census

from .conftest import OTHER, SESSION


def test_a_summary_tells_its_size_its_entries_and_its_first_request(begin):
    path = begin(user("Fix the tide tables.\nAll."), assistant("Fixed."))
    told = listing.summarize(layout.place_of(path))
    assert (told.size, told.steps, told.boundaries) == (os.path.getsize(path), 2, 0)
    assert told.asked == listing.title(layout.place_of(path)) == "Fix the tide tables."


def test_a_title_that_the_host_gave_stands_above_it(begin):
    path = begin({"type": "custom-title", "customTitle": "Tides"}, user("Fix the tide tables."))
    assert listing.title(layout.place_of(path)) == "Tides"


def test_all_are_counted(begin, environ):
    begin(user("a")), begin(user("b"), session=OTHER, key="-srv-other")
    assert sorted(listing.count(environ).ids) == [SESSION, OTHER]


def test_a_named_folder_that_cannot_be_listed_is_told(tmp_path):
    told = listing.count({layout.ROOTS: str(tmp_path / "gone")})
    assert told == Census((), (f"the sessions in {tmp_path}/gone could not be listed: No such file or directory",))
