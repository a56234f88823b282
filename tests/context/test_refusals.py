"""What errors of providers mean.

`refusals.jsonl` has what providers say, one refusal a line: which provider, what it means, what is allowed and what was
sent, and the error as it was given.
"""

import json
from pathlib import Path

import pytest

from rehydrate.context.refusals import DEPTH, TEXT_CHARS, Refusal, classify

ROWS = [json.loads(line) for line in Path(__file__).with_name("refusals.jsonl").read_text("utf-8").splitlines()]
TOO_LONG = "prompt is too long: 200251 tokens > 200000 maximum"


@pytest.mark.parametrize("row", ROWS, ids=[f"{at}-{row['provider']}-{row['kind']}" for at, row in enumerate(ROWS)])
def test_what_a_provider_says_is_understood(row):
    lacks_thoughts = row.get("lacks_thoughts", False)
    assert classify(row["error"]) == Refusal(row["kind"], row["limit"], row["tokens"], lacks_thoughts)


class _Error(Exception):
    """As libraries of providers have them: a status, the body, and the response."""

    def __init__(self, *said, **about):
        super().__init__(*said)
        self.__dict__.update(about)


class RateLimitError(_Error):
    pass


class ContextWindowExceededError(_Error):
    pass


class _Response:
    def __init__(self, status_code, text):
        self.status_code = status_code
        self.text = text


@pytest.mark.parametrize(
    "error",
    [
        _Error("refused", status_code=400, body={"error": {"type": "invalid_request_error", "message": TOO_LONG}}),
        _Error("refused", body=json.dumps({"error": {"message": TOO_LONG}}).encode()),
        _Error("refused", response=_Response(400, json.dumps({"error": {"message": TOO_LONG}}))),
        _Error("refused", response={"Error": {"Message": TOO_LONG}, "ResponseMetadata": {"HTTPStatusCode": 400}}),
        _Error(f"Error code: 400 - {{'error': {{'message': '{TOO_LONG}'}}}}"),
        _Error("", message=TOO_LONG),
        ValueError(TOO_LONG),
    ],
)
def test_an_exception_is_read_wherever_its_library_keeps_what_was_said(error):
    assert classify(error) == Refusal("context", 200_000, 200_251)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (_Error("no body", status_code=413), "context"),
        (_Error("no body", code=413), "context"),
        (_Error("no body", response={"ResponseMetadata": {"HTTPStatusCode": 413}}), "context"),
        (ContextWindowExceededError("no body"), "context"),
        (_Error(TOO_LONG, status_code=429), "rate_limit"),
        (RateLimitError(TOO_LONG), "rate_limit"),
        (_Error("no body", status_code=401), "auth"),
        (_Error("no body", status_code=402), "auth"),
        (_Error("no body", status_code=403), "auth"),
        (_Error("no body", status_code=400), "other"),
        (_Error("no body", status_code=404), "other"),
        (_Error("no body", status_code=408), "transient"),
        (_Error("no body", status_code=500), "transient"),
        (_Error("no body", status_code=529), "transient"),
        (TimeoutError(), "transient"),
        (ConnectionResetError(104, "no words for it"), "transient"),
        (KeyError("context"), "other"),
        (TypeError("unexpected keyword argument 'max_tokens'"), "other"),
    ],
)
def test_what_has_no_text_is_known_by_its_status_or_its_class(error, kind):
    assert classify(error).kind == kind


def test_what_a_framework_wraps_is_looked_at():
    try:
        try:
            raise _Error("refused", body={"error": {"message": TOO_LONG}})
        except _Error as error:
            raise RuntimeError("the model failed") from error
    except RuntimeError as error:
        assert classify(error) == Refusal("context", 200_000, 200_251)


class _Hostile(Exception):
    def __str__(self):
        raise RuntimeError("no text for you")

    @property
    def status_code(self):
        raise KeyError("status")

    @property
    def response(self):
        return self


@pytest.mark.parametrize(
    "error",
    [
        _Hostile(),
        {"error": [None, 1, 2.5, True, b"\xff"]},
        "[" * 100_000,
        "\x00\ud800",
        {"code": 10**30},
        {"error": {"n_ctx": "many", "code": True}},
    ],
)
def test_an_error_that_cannot_be_read_means_nothing(error):
    assert classify(error) == Refusal("other")


def test_an_error_that_holds_itself_is_read_to_a_depth():
    error = {"message": "nothing"}
    error["error"] = error
    assert classify(error) == Refusal("other")
    caused = _Error("nothing")
    caused.body, caused.__cause__ = error, caused
    assert classify(caused) == Refusal("other")
    deep = {"message": TOO_LONG}
    for _ in range(DEPTH + 1):
        deep = {"error": deep}
    assert classify(deep) == Refusal("other")


def test_the_end_of_a_long_error_is_not_read():
    assert classify("x" * TEXT_CHARS + TOO_LONG) == Refusal("other")
    assert classify("x " * 1_000 + TOO_LONG).kind == "context"


@pytest.mark.parametrize(
    "piece", ["input ", "tool_use ", "context length ", "exceed ", "1", "image ", "(", "function "]
)
def test_a_long_error_of_the_same_words_is_read_soon(piece):
    classify(piece * TEXT_CHARS)
