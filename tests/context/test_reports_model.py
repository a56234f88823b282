"""What users of other engines reported where a model writes the summary, tried at the whole engine."""

from itertools import pairwise
from pathlib import Path

import pytest

from rehydrate.context import Request
from rehydrate.context.summariser import Material
from rehydrate.context.summary import read_summary

from .agents import SYSTEM
from .answering import NOTES, SOUND, UNSOUND
from .engines import FORMATS, engine_of, sent
from .summarisers import GOOD, REQUEST, WINDOW, Overflow, Scripted, compacted, copied, summary_in

SHAPELESS = {
    "a placeholder": "[summary]",
    "only white space": " \n\t",
    "a call as text": '<tool_call>{"name": "ls"}</tool_call>',
}
MISTAKES = {"nothing": None, "a number": 7, "a list": [GOOD], "bytes": GOOD.encode()}
"""What a summariser never gives by right."""


def prepared(log, format, summariser=None):
    system = SYSTEM if format == "anthropic" else None
    return engine_of(log, window=WINDOW, summariser=summariser).prepare(Request("m", format, system=system))


def is_without_a_trace(due, folder, model, format="anthropic", *, calls=3):
    """Whether what a model answers each time, so often, leads to what is sent without one."""
    log = copied(due, folder / "model")
    projection = prepared(log, format, model)
    assert len(model.requests) == calls
    assert (projection.checkpoint.strategy, projection.checkpoint.outcome) == ("fallback", "fallback")
    assert sent(projection) == sent(prepared(copied(due, folder / "plain"), format))
    log.flush()
    return projection.failure, Path(log.path).read_text("utf-8")


def test_t35_a_model_that_has_nothing_to_summarise_is_not_asked_and_no_placeholder_is_committed(
    due, tmp_path, monkeypatch
):
    plain, _ = compacted(due, tmp_path / "plain")
    monkeypatch.setattr(Material, "is_empty", property(lambda self: True))
    model = Scripted(GOOD)
    projection, _ = compacted(due, tmp_path / "model", model)
    assert not model.requests
    assert sent(projection) == sent(plain) and projection.failure is None
    assert read_summary(summary_in(projection)).prose == ""


def test_t35_no_model_is_asked_twice_about_the_same(due, tmp_path):
    model = Scripted(GOOD)
    engine = engine_of(copied(due, tmp_path), window=WINDOW, summariser=model)
    engine.prepare(REQUEST)
    asked = len(model.requests)
    assert engine.prepare(REQUEST).checkpoint is None
    assert len(model.requests) == asked == 1
    for _ in range(9):  # a host that wants it smaller and smaller
        if engine.compact() is None:
            break
    asked = len(model.requests)
    assert engine.compact() is None
    assert len(model.requests) == asked < 9


@pytest.mark.parametrize(
    ("lack", "format", "response"), [each for each in UNSOUND if each[0] in ("empty", "refusal", "cut_off")]
)
def test_t36_what_is_empty_or_refuses_is_never_committed(due, tmp_path, lack, format, response):
    failure, written = is_without_a_trace(due, tmp_path, Scripted(response), format)
    assert failure == ("insufficient_reduction" if lack == "cut_off" else "empty_exhausted")
    assert "I cannot" not in written


@pytest.mark.parametrize(
    ("lack", "format", "response"), [each for each in UNSOUND if each[0] in ("tool_calls", "not_text")]
)
def test_t37_a_call_of_a_tool_or_what_is_no_text_is_never_committed(due, tmp_path, lack, format, response):
    failure, _ = is_without_a_trace(due, tmp_path, Scripted(response), format)
    assert failure == "empty_exhausted"


@pytest.mark.parametrize("shape", SHAPELESS)
def test_t37_what_is_no_summary_is_never_committed(due, tmp_path, shape):
    failure, written = is_without_a_trace(due, tmp_path, Scripted(SHAPELESS[shape]))
    assert failure == "empty_exhausted"
    assert "tool_call>" not in written and "[summary]" not in written


@pytest.mark.parametrize("mistake", MISTAKES)
def test_t37_what_a_summariser_gives_by_mistake_is_never_committed(due, tmp_path, mistake):
    failure, _ = is_without_a_trace(due, tmp_path, Scripted(MISTAKES[mistake]), calls=1)
    assert failure == "deterministic"


@pytest.mark.parametrize(("format", "response"), SOUND)
def test_t37_of_a_response_only_the_text_is_the_summary(due, tmp_path, format, response):
    projection = prepared(copied(due, tmp_path), format, Scripted(response))
    assert projection.checkpoint.strategy == "llm"
    told = [item.payload for item in read_summary(summary_in(projection)).items if item.payload.startswith("of ")]
    assert told == [line[2:] for line in NOTES.split("\n") if line.startswith("- ")]


@pytest.mark.parametrize("format", FORMATS)
def test_t60_a_summary_request_that_overflows_is_made_smaller_until_it_fits(due, tmp_path, format):
    sizes = []

    def model(request):
        sizes.append(len(request.prompt))
        if len(sizes) < 3:
            raise Overflow
        return GOOD

    projection = prepared(copied(due, tmp_path), format, model)
    assert projection.checkpoint.strategy == "llm"
    assert len(sizes) == 3 and all(one > other for one, other in pairwise(sizes))


def test_t60_one_that_never_fits_leads_to_the_plan_without_a_model(due, tmp_path):
    model = Scripted(Overflow())
    plain, _ = compacted(due, tmp_path / "plain")
    projection, _ = compacted(due, tmp_path / "model", model)
    assert projection.failure == "context_exhausted"
    assert sent(projection) == sent(plain)
    assert all(len(one.prompt) > len(other.prompt) for one, other in pairwise(model.requests))


def test_t60_one_that_cannot_fit_the_window_is_not_sent(due, tmp_path, monkeypatch):
    monkeypatch.setattr(Material, "within", lambda self, tokens: None)
    model = Scripted(GOOD)
    projection, _ = compacted(due, tmp_path, model)
    assert (projection.failure, model.requests) == ("context_exhausted", [])
