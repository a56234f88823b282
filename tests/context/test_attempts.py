"""A model is asked three times at most, whatever it answers, and less is sent where it was too much."""

import asyncio
import concurrent.futures
from functools import cache

import pytest

from rehydrate.context.attempts import ATTEMPTS, Failed, Told, ask
from rehydrate.context.ledger import Ledger
from rehydrate.context.meter import Meter
from rehydrate.context.prose import TEXT_CHARS
from rehydrate.context.summariser import MAX_TOKENS, Aborted, Material
from rehydrate.context.tokens import Estimate
from tests.context.answering import CALL, NOTES, SOUND, UNSOUND, anthropic, text
from tests.context.talk import user


class APIError(Exception):
    """As the libraries of providers have them."""

    def __init__(self, message, status_code):
        super().__init__(message)
        self.status_code = status_code


@cache
def material(count=8):
    messages = [user(f"{number} " + "word " * 900) for number in range(count)]
    return Material.make(messages, ledger=Ledger(), meter=Meter(Estimate()))


def overflow(limit=None):
    said = "prompt is too long" if limit is None else f"prompt is too long: {4 * limit} tokens > {limit} maximum"
    return APIError(said, 400)


LONG = "x\n" * TEXT_CHARS
FAULTS = {
    "empty": ("", "empty_exhausted"),
    "nothing": (anthropic(), "empty_exhausted"),
    "refusal": (anthropic(text("No."), stop="refusal"), "empty_exhausted"),
    "tool calls": (anthropic(CALL["anthropic"]), "empty_exhausted"),
    "garbage": ("asdf" * 99, "empty_exhausted"),
    "no response": ({"x": 1}, "empty_exhausted"),
    "cut off": (anthropic(text("## Ob"), stop="max_tokens"), "insufficient_reduction"),
    "10 times too long": (f"{NOTES}\n{LONG}", "insufficient_reduction"),
    "not small enough": (f"{NOTES}\ntoo long", "insufficient_reduction"),
    "time-out": (TimeoutError(), "transient_exhausted"),
    "connection": (ConnectionResetError("Connection reset by peer"), "transient_exhausted"),
    "overloaded": (APIError("Overloaded", 529), "transient_exhausted"),
    "rate limit": (APIError("too many tokens per minute", 429), "transient_exhausted"),
    "no JSON": (ValueError("Expecting value: line 1 column 1 (char 0)"), "transient_exhausted"),
    "error in a response": ({"type": "error", "error": {"type": "overloaded_error"}}, "transient_exhausted"),
    "overflow": (overflow(), "context_exhausted"),
    "overflow in a response": ({"error": {"message": "prompt is too long"}}, "context_exhausted"),
}
"""What a summariser gives or raises -> the code when it does so each time."""
LASTING = {
    "auth": APIError("invalid x-api-key", 401),
    "no money": APIError("Your credit balance is too low", 400),
    "no such model": APIError("model: no-such-model", 404),
    "bad parameter": APIError("temperature is not supported", 400),
    "type": TypeError("summarise() takes 2 positional arguments"),
    "attribute": AttributeError("'NoneType' object has no attribute 'create'"),
    "key": KeyError("choices"),
    "import": ModuleNotFoundError("No module named 'provider'"),
    "no answer": None,
    "a number": 7,
}
"""What will be the same each time."""


class Model:
    """A summariser that gives or raises one thing after the other, the last one for ever."""

    def __init__(self, *answers):
        self.answers = answers
        self.requests = []

    def __call__(self, request):
        self.requests.append(request)
        answer = self.answers[min(len(self.requests), len(self.answers)) - 1]
        if isinstance(answer, BaseException):
            raise answer
        return answer


def run(function, timeout_s):
    assert timeout_s == 60
    return function()


def judge(said):
    return "too long" not in said


def asked(*answers, of=None, **more):
    model = Model(*answers)
    return ask(model, of or material(), format="anthropic", judge=judge, run=run, **more), model


@pytest.mark.parametrize(("format", "reply"), SOUND)
def test_a_sound_answer_is_told_at_once(format, reply):
    model = Model(reply)
    assert ask(model, material(), format=format, judge=judge, run=run) == Told(NOTES, 1)
    assert [request.attempt for request in model.requests] == [1]


@pytest.mark.parametrize(("wrong", "format", "reply"), UNSOUND)
def test_an_answer_that_is_no_summary_is_never_told(wrong, format, reply):
    found = ask(Model(reply), material(), format=format, judge=judge, run=run)
    assert found.code == ("insufficient_reduction" if wrong == "cut_off" else "empty_exhausted")


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_that_comes_each_time_fails_after_three_calls(fault):
    given, code = FAULTS[fault]
    found, model = asked(given)
    assert (found.code, found.attempts) == (code, ATTEMPTS) == (code, 3)
    assert [request.attempt for request in model.requests] == [1, 2, 3]
    assert found.error


@pytest.mark.parametrize("first", FAULTS)
@pytest.mark.parametrize("second", FAULTS)
def test_after_two_faults_the_third_answer_counts(first, second):
    found, model = asked(FAULTS[first][0], FAULTS[second][0], NOTES)
    assert found == Told(NOTES, 3)
    assert len(model.requests) == 3


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("before", [1, 2])
def test_the_code_is_that_of_the_last_fault(fault, before):
    other = "empty" if FAULTS[fault][1] != "empty_exhausted" else "time-out"
    found, _ = asked(*[FAULTS[other][0]] * before, FAULTS[fault][0])
    assert found.code == FAULTS[fault][1]


@pytest.mark.parametrize("fault", LASTING)
@pytest.mark.parametrize("before", [0, 1, 2])
def test_what_will_not_change_is_not_asked_again(fault, before):
    found, model = asked(*[""] * before, LASTING[fault], NOTES)
    assert (found.code, found.attempts) == ("deterministic", before + 1)
    assert len(model.requests) == before + 1


@pytest.mark.parametrize(
    "fault", [*(fault for fault, _ in FAULTS.values()), *LASTING.values()], ids=[*FAULTS, *LASTING]
)
def test_a_fault_is_the_same_while_a_refusal_is_being_handled(fault):
    alone, _ = asked(fault)
    try:
        raise overflow(10)
    except APIError:
        beside, _ = asked(fault)
    assert beside == alone


@pytest.mark.parametrize(
    "abort",
    [Aborted(), KeyboardInterrupt(), asyncio.CancelledError(), concurrent.futures.CancelledError(), SystemExit()],
)
@pytest.mark.parametrize("before", [0, 1, 2])
def test_an_abort_comes_out_as_it_is(abort, before):
    model = Model(*[""] * before, abort)
    with pytest.raises(type(abort)) as raised:
        ask(model, material(), format="anthropic", judge=judge, run=run)
    assert raised.value is abort
    assert len(model.requests) == before + 1


@pytest.mark.parametrize("at", [1, 2, 3])
def test_a_call_that_takes_too_long_is_a_fault_that_passes(at):
    model = Model(NOTES)
    calls = []

    def slow(function, timeout_s):
        calls.append(timeout_s)
        if len(calls) <= at:
            raise TimeoutError
        return function()

    found = ask(model, material(), format="anthropic", judge=judge, run=slow)
    assert found == (Told(NOTES, at + 1) if at < 3 else Failed("transient_exhausted", "TimeoutError", 3))


def test_what_the_judge_raises_comes_out():
    def fails(said):
        raise OSError("disk")

    with pytest.raises(OSError, match="disk"):
        ask(Model(NOTES), material(), format="anthropic", judge=fails, run=run)


def test_a_text_beyond_all_measure_is_not_judged():
    seen = []
    ask(Model(f"{NOTES}\n{LONG}"), material(), format="anthropic", judge=lambda said: not seen.append(said), run=run)
    assert seen == []


# -- what is sent the next time ------------------------------------------------------------------------------------


def prompts(*answers, of=None):
    return [request.prompt for request in asked(*answers, of=of)[1].requests]


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        *(("empty", "was empty"), ("refusal", "declined"), ("tool calls", "called a tool"), ("cut off", "cut off")),
        *(("garbage", "none of the seven headings"), ("not small enough", "too long, with")),
    ],
)
def test_the_next_prompt_says_what_was_wrong(fault, said):
    first, second = prompts(FAULTS[fault][0], NOTES)
    assert second.startswith(first)
    assert said in second.removeprefix(first)


@pytest.mark.parametrize("fault", ["time-out", "rate limit", "no JSON"])
def test_what_passes_is_asked_for_again_as_it_was(fault):
    first, second = prompts(FAULTS[fault][0], NOTES)
    assert first == second


def test_what_was_wrong_is_said_until_something_else_is():
    _, second, third = prompts("", TimeoutError(), NOTES)
    assert second == third


def test_each_overflow_makes_half_of_the_request():
    whole = material(64)
    first, second, third = prompts(overflow(), of=whole)
    assert len(second) < 0.55 * len(first)
    assert len(third) < 0.6 * len(second)


def test_an_overflow_that_says_the_limit_makes_the_request_fit_it_at_once():
    whole = material(64)
    count = whole.meter.counter.count
    limit = (whole.tokens + MAX_TOKENS) // 4
    _, second = prompts(overflow(limit), NOTES, of=whole)
    assert count(second) <= limit - MAX_TOKENS or count(second) * 4 <= whole.tokens


def test_in_a_small_window_the_answer_has_half_of_it():
    whole = material(64)
    _, model = asked(overflow(8_192), NOTES, of=whole)
    assert [request.max_tokens for request in model.requests] == [MAX_TOKENS, 4_096]
    assert whole.meter.counter.count(model.requests[1].prompt) * 4 * 8_192 <= 4_096 * whole.tokens


def test_an_overflow_of_what_cannot_be_less_is_the_end():
    found, model = asked(overflow(), of=material(1).within(1_100).smaller() or material(1).within(1_200))
    assert found.code == "context_exhausted"
    assert len(model.requests) <= 3


def test_an_overflow_is_sent_with_less_each_time():
    whole = material(64)
    sizes = [len(each) for each in prompts(overflow(10), of=whole)]
    assert sizes == sorted(set(sizes), reverse=True)


# -- what is said of it ----------------------------------------------------------------------------------------------


def test_an_error_is_told_in_a_line_without_secrets():
    key = "sk-proj-" + "Zk3vT9qLw2Xb7Rm5Nc8Hd1Jf6Gs4Py0A"  # one that is of nobody
    found, _ = asked(APIError(f"Incorrect API key provided: {key}.\n" * 99, 401))
    assert found.error.startswith("APIError: Incorrect API key provided: [redacted: openai key].")
    assert key not in found.error
    assert "\n" not in found.error
    assert len(found.error) <= 300


def test_a_coroutine_is_a_mistake_that_is_told(recwarn):
    async def answer(request):
        return NOTES

    found = ask(answer, material(), format="anthropic", judge=judge, run=run)
    assert found == Failed(
        "deterministic", "TypeError: a summariser gives a text or a response as a mapping, and gave a coroutine", 1
    )
    assert not list(recwarn)


def test_a_model_that_may_be_asked_once_is_asked_once():
    found, model = asked("", NOTES, attempts=1)
    assert (found.code, found.attempts) == ("empty_exhausted", 1)
    assert len(model.requests) == 1
