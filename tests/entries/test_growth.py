"""Twice as many records cost twice as much, whatever their shape: counted in lines of our code, not in time."""

import sys
from collections import Counter
from pathlib import Path

import pytest

import rehydrate
from rehydrate.clients.claude_code import layout, transcript
from rehydrate.entries.log import Log
from rehydrate.entries.scope import Scope
from rehydrate.entries.view import full_view
from rehydrate.session import branch
from rehydrate.session.reading import Session
from tests.entries.making import assistant, attachment, boundary, call, chat, result, summary, user
from tests.helpers import write_lines

PACKAGE = str(Path(rehydrate.__file__).parent)
NAME = "00000000-0000-4000-8000-000000000001.jsonl"


def blocks(count, *, id=None):
    """A request and so many answers with a call each; with an `id` they are the blocks of one answer."""
    chain = [f"b{number}" for number in range(count)]
    rows = zip(chain, ["a", *chain], strict=False)
    return [user("a", None), *(assistant(each, up, call(f"c-{each}"), id=id) for each, up in rows)]


def results_at_the_end(count):
    """All results of one answer follow its blocks."""
    found = [result(f"r{n}", f"b{n}", f"c-b{n}") for n in range(count)]
    return [*blocks(count, id="m"), *found, assistant("e", f"r{count - 1}")]


def results_without_a_parent(count):
    """Only its call tells where a result belongs."""
    found = [result(f"r{n}", f"lost{n}", f"c-b{n}") for n in range(count)]
    return [*blocks(count, id="m"), *found, assistant("e", f"b{count - 1}")]


def results_beside(count):
    """Of the two results of each block one stands beside the line of descent."""
    records, parent = [user("a", None)], "a"
    for n in range(count):
        records.append(assistant(f"b{n}", parent, call(f"c{n}"), call(f"d{n}"), id="m"))
        records += [result(f"r{n}", f"b{n}", f"c{n}"), result(f"s{n}", f"b{n}", f"d{n}")]
        parent = f"r{n}"
    return [*records, assistant("e", parent)]


def answers_beside(count):
    """As many answers as there are follow one request, each with its result."""
    rows = [assistant(f"b{n}", "a", call(f"c{n}"), id=f"m{n}") for n in range(count)]
    rows += [result(f"r{n}", f"b{n}", f"c{n}") for n in range(count)]
    return [user("a", None), *rows, assistant("e", f"r{count - 1}")]


def late_results(count):
    """An answer gets one result after another, when the conversation has long gone on."""
    first = [user("a", None), assistant("b", "a", call("c0")), user("x", "b"), assistant("y", "x")]
    return [*first, *(result(f"r{n}", "b", f"c{n}") for n in range(count))]


def requests_only(count):
    """Something stands beside each request, and there is no answer that it could belong to."""
    records, parent = [user("a", None)], "a"
    for n in range(count):
        records += [user(f"b{n}", parent), attachment(f"x{n}", f"b{n}")]
        parent = f"b{n}"
    return records


def compactions(count, *, speak=True, known=True):
    records, parent = chat("a", "b"), "b"
    for n in range(count):
        records.append(boundary(f"B{n}", logical=parent if known else "lost"))
        parent = f"B{n}"
        if speak:
            records += [summary(f"s{n}", parent), assistant(f"t{n}", f"s{n}")]
            parent = f"t{n}"
    return records


def silent_compactions(count):
    return compactions(count, speak=False)


def compactions_of_nothing(count):
    return compactions(count, known=False)


def undone_compactions(count):
    return [*compactions(count), user("z", "b"), assistant("y", "z")]


def results_of_what_is_gone(count):
    """The results of many answers come last, each behind an entry that is nowhere."""
    rows, parent = [user("a", None)], "a"
    for n in range(count):
        rows += [user(f"u{n}", parent), assistant(f"b{n}", f"u{n}", call(f"c{n}"), id=f"m{n}")]
        parent = f"b{n}"
    return [*rows, *(result(f"r{n}", f"gone{n}", f"c{n}") for n in range(count)), user("end", parent)]


def cost(work):
    """How many lines of our code run."""
    counted = Counter()

    def trace(frame, event, argument):
        if not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        counted[event] += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return counted["line"]


def assert_linear(work, tmp_path, shape, few=80):
    """`work` is given a file of the shape, then one of twice the count."""
    found = []
    for count in (few, 2 * few):
        (tmp_path / str(count)).mkdir()
        path = write_lines(tmp_path / str(count) / NAME, shape(count))
        found.append(cost(lambda path=path: work(path)))
    few, many = found
    assert many < 2.2 * few, f"{few:,} lines of code for half of it, {many:,} for all"


def view(path):
    with Log(path) as log:
        full_view(Scope(log))


def survey(path):
    transcript.boundaries(layout.place_of(path))


@pytest.mark.parametrize(
    "shape",
    [results_at_the_end, results_without_a_parent, results_beside, answers_beside, late_results, requests_only],
    ids=lambda shape: shape.__name__,
)
def test_a_view_grows_with_its_records(tmp_path, shape):
    assert_linear(view, tmp_path, shape)


def copy(path):
    with Session.open(path) as session:
        branch(session)


@pytest.mark.parametrize(
    "shape", [results_at_the_end, results_of_what_is_gone, answers_beside], ids=lambda shape: shape.__name__
)
def test_a_branch_grows_with_its_records(tmp_path, shape):
    assert_linear(copy, tmp_path, shape, 600)  # more than a log keeps decoded


@pytest.mark.parametrize(
    "shape",
    [compactions, silent_compactions, compactions_of_nothing, undone_compactions],
    ids=lambda shape: shape.__name__,
)
def test_a_survey_grows_with_the_compactions(tmp_path, shape):
    assert_linear(survey, tmp_path, shape)
