"""What a provider means when it refuses a request: `classify(error)`.

There is no common form of errors: each provider has texts, codes and status codes of its own, and gateways wrap those
of others.  So everything that an error says about itself is read, in this order: a limit of requests or tokens in time,
then a request that is too large, then messages that are in no valid order, then images and documents, then the rest.
The first is a veto: "too many tokens per minute" is no overflow, whatever its status is.

Pure.  Nothing of an error is called but its properties, and what those raise counts as nothing said.
"""

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["context", "media", "malformed", "rate_limit", "transient", "auth", "other"]

TEXT_CHARS = 20_000
"""So much of an error is read: some quote the request that was refused."""
DEPTH = 8
"""So deep is an error read: members of members, JSON within texts, and what caused it."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """What an error means for a conversation."""

    kind: Kind
    """`context`: the request is too large.  `media`: an image or a document is too large, too many, or none that the
    model takes.  `malformed`: the messages are in no order that the provider takes, or thoughts are not those that it
    gave.  `rate_limit`: too much in a time.  `transient`: it may go well the next time.  `auth`: the account may not,
    or has not paid.  `other`: anything else."""
    limit: int | None = None
    """How many tokens are allowed, as the error says; None: it does not say."""
    tokens: int | None = None
    """How many tokens the request had, as the error says, without those kept for the answer where it tells them apart;
    None: it does not say."""
    lacks_thoughts: bool = False
    """`malformed`: thoughts are missing, and to leave out more of them would not help."""


def classify(error: BaseException | Mapping[str, Any] | str) -> Refusal:
    """What an error means: an exception of a provider's library or of a framework around it, the body of a response, or
    its text.
    """
    said = _Said()
    said.read(error, depth=0)
    text = _plain(" ".join(said.texts)[:TEXT_CHARS])
    said.statuses.update(int(each[1]) for each in _STATUS.finditer(text))
    kind = _kind(text, said.statuses)
    if kind != "context":
        return Refusal(kind, lacks_thoughts=kind == "malformed" and _LACKING.search(text) is not None)
    return Refusal(kind, said.limit or _number(_LIMITS, text), said.tokens or _number(_TOKENS, text))


def _kind(text: str, statuses: set[int]) -> Kind:
    if "insufficient_quota" in text:
        return "auth"  # nothing that time changes, though its status is that of a rate limit
    if 429 in statuses or _RATE.search(text):
        return "rate_limit"
    if 402 in statuses:
        return "auth"
    for kind, phrases in _PHRASES:
        if phrases.search(text):
            return kind
    if 413 in statuses:
        return "context"
    if statuses & {401, 403} or _AUTH.search(text):
        return "auth"
    if statuses & {408, 409, 425} or any(each >= 500 for each in statuses) or _TRANSIENT.search(text):
        return "transient"
    return "other"


class _Said:
    """What an error says: its texts, and the status codes that it has."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.statuses: set[int] = set()
        self.limit: int | None = None
        self.tokens: int | None = None

    def read(self, said: object, *, depth: int) -> None:
        if depth > DEPTH or sum(map(len, self.texts)) > TEXT_CHARS:
            return
        if isinstance(said, bytes):
            said = said[:TEXT_CHARS].decode("utf-8", "replace")
        if isinstance(said, str):
            self._read_text(said, depth)
        elif isinstance(said, Mapping):
            self._read_members(said, depth)
        elif isinstance(said, Sequence):
            for each in said[:DEPTH]:
                self.read(each, depth=depth + 1)
        elif isinstance(said, BaseException):
            self._read_exception(said, depth)

    def _read_text(self, text: str, depth: int) -> None:
        self.texts.append(text[:TEXT_CHARS])
        if len(text) <= TEXT_CHARS and text.lstrip()[:1] in ("{", "["):
            with suppress(ValueError, RecursionError):
                self.read(json.loads(text), depth=depth + 1)

    def _read_members(self, members: Mapping[Any, Any], depth: int) -> None:
        for name, value in list(members.items())[:100]:
            if name in _STATUS_NAMES:
                self._read_status(value)
            if name == "n_ctx" and type(value) is int:
                self.limit = value
            elif name == "n_prompt_tokens" and type(value) is int:
                self.tokens = value
            self.read(value, depth=depth + 1)

    def _read_exception(self, error: BaseException, depth: int) -> None:
        # The names of its classes say what it is where its text does not: TimeoutError("").
        self.texts.extend(each.__name__ for each in type(error).__mro__[:-1] if each not in _COMMON)
        self.read(_property(str, error), depth=depth + 1)
        for name in _STATUS_NAMES:
            self._read_status(_attribute(error, name))
        for name in ("body", "message", "code", "type", "details"):
            self.read(_attribute(error, name), depth=depth + 1)
        response = _attribute(error, "response")
        if isinstance(response, Mapping):  # as boto3 has it
            self.read(response, depth=depth + 1)
        else:
            self._read_status(_attribute(response, "status_code"))
            self.read(_attribute(response, "text"), depth=depth + 1)
        self.read(error.__cause__ or error.__context__, depth=depth + 1)

    def _read_status(self, value: object) -> None:
        if isinstance(value, str) and len(value) == 3 and value.isdecimal():
            value = int(value)
        if isinstance(value, int) and 400 <= value <= 599:
            self.statuses.add(value)


def _attribute(holder: object, name: str) -> object:
    return _property(lambda it: getattr(it, name, None), holder)


def _property(get: Any, holder: object) -> object:
    try:
        return get(holder)
    except Exception:  # an error that cannot be read says nothing
        return None


def _plain(text: str) -> str:
    """In lower case, without what quotes names and words: those differ with how often an error was wrapped."""
    text = text.replace("\\n", " ").lower()
    return re.sub(r"\s+", " ", re.sub(r"[`'\"\\*]+", "", text))


def _number(patterns: "Sequence[re.Pattern[str]]", text: str) -> int | None:
    """What the first of the patterns that is found has."""
    found = next(filter(None, (each.search(text) for each in patterns)), None)
    return None if found is None else int(re.sub(r"[,_]", "", found[1]))


def _any(*phrases: str) -> "re.Pattern[str]":
    return re.compile("|".join(phrases))


def _each(*phrases: str) -> "tuple[re.Pattern[str], ...]":
    return tuple(map(re.compile, phrases))


_COMMON = frozenset({Exception, BaseException, ValueError, RuntimeError, OSError})
_STATUS_NAMES = ("status_code", "code", "status", "http_status", "HTTPStatusCode", "httpStatusCode", "statusCode")
_STATUS = re.compile(r"(?:^|(?:error|status|code|http)[ :=(]{1,3})([45]\d\d)(?=[ :,.)}]|$)")

_RATE = _any(
    r"rate[ _-]?limit",
    r"too many requests",
    r"throttl",
    r"\b(?:tokens?|requests?) per (?:second|min|minute|hour|day|week|month)",
    r"\b[tr]p[md]\b",
    r"too many tokens, please wait",
    r"resource[ _]?exhausted",
    r"exceeded (?:your|the) (?:current )?quota",
)

_SIZE = r"context[ _-]?(?:length|window|size|limit)"
_MUCH = r"(?:exceed|overflow|larger|greater|longer|maximum|too (?:long|large|big|many)|of only)"
_CONTEXT = _any(
    rf"{_MUCH}[^\n.]{{0,60}}{_SIZE}",
    rf"{_SIZE}[^\n.]{{0,60}}(?:exceed|overflow|reached)",
    r"context ?overflow",
    r"prompt[^\n.]{0,40} (?:is )?too long",
    r"prompt exceeds",
    r"maximum prompt length",
    r"max_prompt_tokens_exceeded",
    r"input[^\n.]{0,40} (?:is )?too long",
    r"input (?:length|tokens?|token count|text)[^\n]{0,40} exceeds?",
    r"prompt token count[^\n]{0,40} exceeds?",
    r"number of (?:input )?tokens[^\n]{0,60} exceed",
    r"too many (?:input |prompt )?tokens",
    r"exceed(?:ed|s|ing)?[^\n.]{0,40} (?:input )?token limit",
    r"token[ _]limit[ _]exceed",
    r"inputs? tokens \+ max_new_tokens must be",
    r"must have less than \d+ tokens",
    r"range of input length should be",
    r"model max length exceeded",
    r"expected maxlength: \d+, actual",
    r"member must have length less than or equal to",
    r"reduce the length of (?:the|your) (?:messages|prompt|input)",
    r"reduce your prompt",
    r"invalid (?:messages|input)\S*: (?:string|array) too long",
    r"request[_ ]?too[_ ]?large",
    r"request (?:payload )?(?:size )?exceeds the (?:maximum size|limit)",
    r"request size exceeds",
    r"(?:payload|entity|content) too large",
)
_MALFORMED = _any(
    r"tool_(?:use|result|calls?)[^\n]{0,80}(?:without|corresponding|must be|unexpected|unique|immediately)",
    r"unexpected tool_use_id",
    r"must be a response to a prec",
    r"must be followed by tool messages",
    r"tool_call_ids? [^\n]{0,60}not (?:found|have response)",
    r"no tool (?:output|call) found for",
    r"without its required",
    r"function (?:call|response) (?:turn|parts?)",
    r"toolresult blocks",
    r"toolresult[^\n]{0,60}tooluse",
    r"unexpected role",
    r"expected last role",
    r"message_order",
    r"not the same number of function calls",
    r"roles must alternate",
    r"(?:must|should) (?:start|begin|end) with (?:a|the) user",
    r"first message must use the user role",
    r"signature in thinking",
    r"(?:redacted_)?thinking[^\n]{0,40} blocks?[^\n]{0,40}(?:cannot be|must)",
    r"expected thinking or redacted_thinking",
    r"thought[ _]signature",
    r"reasoning_content[^\n]{0,60}(?:must|missing|required)",
    r"missing reasoning_content",
    r"encrypted[ _]content[^\n]{0,80}(?:not be (?:verified|decrypted)|invalid)",
    r"invalid_encrypted_content",
    r"item with id \S+ not found",
)
_LACKING = _any(
    r"expected thinking or redacted_thinking",
    r"missing (?:a |the )?thought[ _]signature",
    r"thought[ _]signature[^\n]{0,40}(?:missing|required)",
    r"reasoning_content[^\n]{0,60}(?:must be passed|missing|required)",
    r"missing reasoning_content",
)
_IMAGE = r"\b(?:images?|image_url|input_image|pdfs?|documents?|audio|videos?|media(?! type))\b"
_TROUBLE = (
    r"(?:exceed|too (?:large|big|many)|maximum|max allowed|not (?:be )?(?:process|support)|only supported|unsupported|"
    r"unable to process|could not (?:process|load|read|decode)|invalid|cannot identify|appears to be)"
)
_MEDIA = _any(
    rf"{_IMAGE}[^\n]{{0,80}}{_TROUBLE}",
    rf"{_TROUBLE}[^\n]{{0,40}}{_IMAGE}",
    r"image_(?:parse|too|file|size|content)_\w+",
    r"invalid_image",
    r"pdf pages",
)
_PHRASES: "tuple[tuple[Kind, re.Pattern[str]], ...]" = (
    ("context", _CONTEXT),
    ("malformed", _MALFORMED),
    ("media", _MEDIA),
)
_AUTH = _any(
    r"api[ _-]?key",
    r"authenticat",
    r"unauthori[sz]ed",
    r"permission[ _]?(?:denied|error)",
    r"access ?denied",
    r"credit balance",
    r"insufficient (?:balance|credits|funds)",
    r"security token",
    r"expired ?token",
)
_TRANSIENT = _any(
    r"overloaded",
    r"over capacity",
    r"tim(?:ed? ?out|e-out)",
    r"connect(?:ion)?[ _]?(?:error|reset|refused|aborted|closed)",
    r"temporar(?:y|ily)",
    r"service ?unavailable",
    r"internal ?server",
    r"server_error",
    r"bad gateway",
    r"try again later",
    r"incomplete (?:chunked )?read",
    r"peer closed",
)

_N = r"(\d[\d,_]{0,15})"
_LIMITS = _each(
    rf"> {_N} maximum",
    rf"\d \+ \d[\d,]* > {_N}",
    rf"maximum (?:context|prompt) length is {_N}",
    rf"with {_N} maximum context length",
    rf"maximum number of tokens allowed \({_N}",
    rf"(?:must be|should be) <= {_N}",
    rf"less than {_N} tokens",
    rf"range of input length should be \[1, {_N}",
    rf"limit is {_N}",
    rf"available context size \({_N}",
    rf"n_ctx: {_N}",
    rf"context (?:length|window) (?:of only |of |is |\(?(?:context length )?){_N}",
    rf"maximum allowed length \({_N}",
    rf"(?:configured )?limit of {_N}",
    rf"token limit: {_N}",
    rf"max(?:imum)? (?:input )?length(?: is|:) ?{_N}",
    rf"cannot exceed {_N}",
)
_TOKENS = _each(
    rf"{_N} tokens? > \d",
    rf"{_N} \+ \d[\d,]* > \d",
    rf"\({_N} in (?:the messages|your prompt)",
    rf"\({_N} of text input",
    rf"(?:resulted in|requested about|request has|contains|supplied) {_N}",
    rf"requested {_N} tokens",
    rf"token count (?:of |\(){_N}",
    rf"given: {_N}",
    rf"current length is {_N}",
    rf"request \({_N} tokens",
    rf"n_keep: {_N}",
    rf"keep the first {_N}",
    rf"requested tokens \({_N}",
    rf"input length \({_N}",
    rf"total length {_N}",
    rf"(?:received|got) {_N}",
    rf"\({_N} tokens\) is too long",
)
