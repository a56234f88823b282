"""A hook before a compaction, and summaries that the host has prepared."""

import asyncio
import warnings
from concurrent import futures

import pytest

from rehydrate.context import Aborted, CompactionBlocked, Prepared, Request
from rehydrate.context.assembling import assemble
from rehydrate.context.records import ATTEMPT
from rehydrate.context.summary import read_summary
from rehydrate.context.validate import violations
from rehydrate.context.view import Said
from rehydrate.context.wire import FORMATS
from rehydrate.context.written import covered_by
from rehydrate.session import Session, SessionLog

from .agents import SYSTEM, tools
from .engines import engine_of, sent, types_in
from .summarisers import GOOD, REQUEST, WINDOW, Scripted, compacted, copied, summary_in
from .talk import assistant, step, text, thought, user

TEXT = "# Memory\nThe host has kept this in mind."


def block(about):
    raise CompactionBlocked("not now")


# -- the hook ---------------------------------------------------------------------------------------------------------


def test_a_hook_is_told_what_is_to_be_compacted_and_why(due, tmp_path):
    told = []
    engine = engine_of(copied(due, tmp_path), window=WINDOW, before_compaction=told.append)
    projection = engine.prepare(REQUEST)
    assert projection.checkpoint is not None and projection.blocked is None
    (about,) = told
    assert (about.reason, about.focus, about.path) == ("threshold", None, engine.log.path)
    assert about.tokens >= projection.snapshot.compaction_line
    engine.compact("turn_limit", focus="ports")
    assert (told[1].reason, told[1].focus) == ("turn_limit", "ports")


def test_what_a_hook_forbids_is_not_compacted_in_any_way_and_sent_as_it_is(due, tmp_path):
    model = Scripted(GOOD)
    log = copied(due, tmp_path)
    whole = engine_of(log, window=10 * WINDOW).prepare(REQUEST)
    before = types_in(log)
    engine = engine_of(log, window=WINDOW, before_compaction=block, summariser=model)
    projection = engine.prepare(REQUEST)
    assert (projection.blocked, projection.checkpoint, projection.failure) == ("not now", None, None)
    assert sent(projection) == sent(whole)
    assert not model.requests and types_in(log) == before


def test_what_a_hook_forbids_and_does_not_fit_is_the_hooks_error(due, tmp_path):
    large = Request(model="m", format="anthropic", system=SYSTEM + " word" * 2_000, tools=tools("anthropic"))
    engine = engine_of(copied(due, tmp_path), window=WINDOW, before_compaction=block)
    with pytest.raises(CompactionBlocked, match="not now"):
        engine.prepare(large)


def test_a_compaction_that_was_asked_for_raises_what_the_hook_says(due, tmp_path):
    engine = engine_of(copied(due, tmp_path), window=WINDOW, before_compaction=block)
    before = types_in(engine.log)
    with pytest.raises(CompactionBlocked, match="not now"):
        engine.compact()
    assert types_in(engine.log) == before


def test_a_hook_that_crashes_does_not_block_and_is_a_warning(due, tmp_path):
    plain, _ = compacted(due, tmp_path / "plain")
    with pytest.warns(RuntimeWarning, match="boom"):
        projection, _ = compacted(due, tmp_path / "hook", before_compaction=Scripted(ValueError("boom")))
    assert sent(projection) == sent(plain)


@pytest.mark.parametrize("stop", [KeyboardInterrupt, Aborted, asyncio.CancelledError, futures.CancelledError])
def test_what_the_user_stops_in_a_hook_ends_the_turn_and_leaves_nothing(due, tmp_path, stop):
    engine = engine_of(copied(due, tmp_path), window=WINDOW, before_compaction=Scripted(stop()))
    before = types_in(engine.log)
    with pytest.raises(stop):
        engine.prepare(REQUEST)
    assert types_in(engine.log) == before


def test_what_a_hook_puts_and_appends_is_in_what_is_compacted(due, tmp_path):
    def hook(about):
        engine.ledger.put("Open risks or blockers", "put by the hook")
        engine.append({"role": "assistant", "content": "Before that."}, {"role": "user", "content": "And now?"})

    engine = engine_of(copied(due, tmp_path), window=WINDOW, before_compaction=hook)
    projection = engine.prepare(REQUEST)
    assert "put by the hook" in summary_in(projection)
    assert projection.messages[-1] == {"role": "user", "content": "And now?"}
    other = engine_of(SessionLog(engine.log.place, cwd="/"), window=WINDOW)
    assert sent(other.prepare(REQUEST)) == sent(projection)


# -- a prepared summary -----------------------------------------------------------------------------------------------


def entries(path):
    """Uuid, role and content of what was said, in order."""
    with Session.open(path) as session:
        return [
            (record["uuid"], record["message"]["role"], record["message"]["content"])
            for record in session.view("raw")
            if record["type"] in ("user", "assistant")
        ]


def with_prepared(due, folder, prepared, summariser=None):
    given = (lambda: prepared(None)) if callable(prepared) else lambda: prepared
    return compacted(due, folder, summariser, prepared=given)[0]


def test_a_prepared_summary_is_taken_and_no_model_is_asked(due, tmp_path):
    plain, _ = compacted(due, tmp_path / "plain")
    through = entries(due)[-8][0]
    model = Scripted(GOOD)
    projection = with_prepared(due, tmp_path / "own", Prepared(TEXT, through), model)
    assert (projection.checkpoint.strategy, projection.checkpoint.outcome) == ("llm", "completed")
    assert not model.requests and projection.failure is None
    said, known = read_summary(summary_in(projection)), read_summary(summary_in(plain))
    assert said.prose == "Memory\nThe host has kept this in mind."
    assert {item.id for item in known.items} <= {item.id for item in said.items}


@pytest.mark.parametrize("stop", [KeyboardInterrupt, Aborted, asyncio.CancelledError, futures.CancelledError])
def test_what_the_user_stops_while_a_summary_is_prepared_ends_the_turn(due, tmp_path, stop):
    plain, _ = compacted(due, tmp_path / "plain")
    log = copied(due, tmp_path / "own")
    model = Scripted(GOOD)
    with pytest.raises(stop):
        engine_of(log, window=WINDOW, summariser=model, prepared=lambda: Scripted(stop())(None)).prepare(REQUEST)
    assert not model.requests and types_in(log)[-1] == (ATTEMPT, "interrupted")
    assert sent(engine_of(log, window=WINDOW).prepare(REQUEST)) == sent(plain)


def test_what_a_prepared_summary_does_not_cover_stays_whole(due, tmp_path):
    made = entries(due)
    for back in (4, 6, 9, 12):
        uuid = made[-back][0]
        projection = with_prepared(due, tmp_path / str(back), Prepared(TEXT, uuid))
        shown = str(projection.messages)
        assert projection.checkpoint.strategy == "llm"
        assert all(str(content)[1:-1] in shown for _, _, content in made[-back + 1 :])
        assert not violations(list(projection.messages), format="anthropic")


@pytest.mark.parametrize(
    "prepared",
    [
        None,
        Prepared("", "x"),
        Prepared(" \n", "x"),
        Prepared(TEXT, "nobody"),
        Prepared(TEXT, ""),
        Prepared("too long " * 9_000, "x"),
        Prepared(None, "x"),
        Prepared(7, "x"),
        Prepared(TEXT, None),
        "A text alone.",
        {"text": TEXT, "through": "x"},
        7,
        Scripted(ValueError("boom")),
        TEXT,
        {"text": TEXT, "through": "x"},
        *(Prepared(odd, "x") for odd in (None, 5, b"bytes", [TEXT], {"text": TEXT}, float("nan"))),
        *(Prepared(TEXT, odd) for odd in (None, 5, [], {})),
    ],
)
def test_a_prepared_summary_that_cannot_be_taken_leads_the_usual_way(due, tmp_path, prepared):
    if isinstance(prepared, Prepared) and prepared.through == "x":
        prepared = Prepared(prepared.text, entries(due)[-8][0])
    plain, _ = compacted(due, tmp_path / "plain")
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        projection = with_prepared(due, tmp_path / "own", prepared)
    assert sent(projection) == sent(plain) and projection.checkpoint.id == plain.checkpoint.id
    assert [str(each.message) for each in warned if "boom" in str(each.message)] or not isinstance(prepared, Scripted)
    model = Scripted(GOOD)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert with_prepared(due, tmp_path / "model", prepared, model).checkpoint.strategy == "llm"
    assert len(model.requests) == 1


def test_one_that_leaves_too_much_whole_leads_the_usual_way(due, tmp_path):
    plain, _ = compacted(due, tmp_path / "plain")
    projection = with_prepared(due, tmp_path / "own", Prepared(TEXT, entries(due)[3][0]))
    assert sent(projection) == sent(plain)


def work_of(messages):
    return assemble((), [Said(f"e{at}", at, message) for at, message in enumerate(messages)])


def test_the_cut_goes_back_so_that_no_call_is_parted_from_its_results():
    work = work_of([user("Do."), *step("a", "b"), *step("c"), assistant("Done."), user("And?")])
    assert [covered_by(work, f"e{at}") for at in range(7)] == [1, 1, 3, 3, 5, 6, 7]
    assert covered_by(work, "e7") is None


def test_the_cut_goes_back_so_that_no_loop_with_thoughts_is_parted():
    loop = [*step("a", before=[thought()]), *step("b", before=[thought()]), assistant(thought(), text("Done."))]
    work = work_of([user("First."), assistant("Yes."), user("Do."), *loop, user("And?")])
    assert [covered_by(work, f"e{at}") for at in range(9)] == [1, 2, 2, 2, 2, 2, 2, 8, 9]
    going_on = work_of([user("First."), assistant("Yes."), user("Do."), *loop[:4]])
    assert covered_by(going_on, "e6") == 2


@pytest.mark.parametrize("format", FORMATS)
def test_a_prepared_summary_through_any_entry_makes_a_valid_list(due, tmp_path, format):
    request = Request(model="m", format=format, system=SYSTEM if format == "anthropic" else None)
    for at, (uuid, _, _) in enumerate(entries(due)[-14:]):
        log = copied(due, tmp_path / f"{at}")
        projection = engine_of(log, window=WINDOW, prepared=lambda uuid=uuid: Prepared(TEXT, uuid)).prepare(request)
        assert projection.checkpoint is not None
        assert not violations(list(projection.messages), format=format)
        log.close()
