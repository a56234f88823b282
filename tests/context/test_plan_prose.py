"""Prose in the summary of a plan: it improves nothing but that, and changes nothing else."""

from rehydrate.context.ledger import Ledger
from rehydrate.context.summary import read_summary
from tests.context.talk import assistant, user
from tests.context.test_plan import METER, planned, talk


def test_prose_is_in_the_summary_and_all_the_rest_is_as_without_it():
    ledger = Ledger().put("Decisions and rationale", "SQLite, since there is one writer.")
    messages = [user("Never push to main."), *talk(20), user("And now?")]
    without, _ = planned(messages, 4000, ledger=ledger)
    made, after = planned(messages, 4000, ledger=ledger, prose="## Files\n- Seventeen things\n\nare done.")
    known, told = read_summary(without.summary), read_summary(made.summary)
    assert told.prose == "### Files\n- Seventeen things\n\nare done."
    assert (told.items, told.statements, told.first) == (known.items, known.statements, known.first)
    assert (made.covered, made.ledger) == (without.covered, without.ledger)
    assert made.tokens == METER.messages(after) <= 4000


def test_prose_that_has_no_room_is_left_out_whole():
    made, _ = planned([*talk(20), user("And now?")], 3000, prose="long " * 900)
    assert made.outcome == "completed" and "long" not in made.summary


def test_of_the_prose_of_an_earlier_summary_the_first_lines_stay_where_there_is_room():
    lines = [f"{at:02} " + "z" * 90 for at in range(12)]
    _, after = planned([*talk(30), user("And now?")], 4000, prose="\n".join(lines))
    assert read_summary(after[0]["content"]).prose == "\n".join(lines)
    made, _ = planned([*after, assistant("Here."), *talk(30), user("And then?")], 3000)
    kept = read_summary(made.summary).prose.split("\n")
    assert 0 < len(kept) < 12 and kept == lines[: len(kept)]
    new, _ = planned([*after, assistant("Here."), *talk(30), user("And then?")], 3000, prose="Anew.")
    assert read_summary(new.summary).prose == "Anew."


def test_no_more_is_covered_than_may_be():
    messages = talk(20)
    for most in (0, 1, 5, 40):
        made, _ = planned(messages, 2500, covered_most=most)
        assert made.covered <= most
    assert planned(messages, 2500, covered_most=40)[0].covered > 0
