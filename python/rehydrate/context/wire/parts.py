"""What the formats have in common: how a neutral message keeps what only one of them knows, and what the validator
sees of a list.

A message or a block that was read from a format has a member `wire` where it needs one: `{"format": <its name>, ...}`.
It counts only when it is written in the same format.
"""

import json
import math
import re
import reprlib
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, NoReturn

from ..messages import THOUGHTS, Block, Message

OURS = frozenset({"wire", "rehydrate"})
"""Members of messages and blocks that never leave in a request."""
THOUGHT_TYPES = tuple(sorted(THOUGHTS))
"""As a tuple, which anything can be looked up in."""
NONE: Mapping[str, Any] = MappingProxyType({})
DEEPEST = 512
"""Levels of lists and objects in a message: beyond some of them, no encoder of JSON writes it."""
NO_INPUT = ("bad_input", "has a call whose input is no object")
"""The fault of a call that APIs refuse which take objects."""
_MOST_BITS = 14_000
"""Of a whole number: Python refuses to write one of more than 4,300 digits."""


class Turn(NamedTuple):
    """What the validator sees of one message (in a format of items: of the items of one answer)."""

    place: int
    """Its index in the list, from 0; of an answer of several items that of the first."""
    side: str
    """`user`, `assistant` or `system`."""
    calls: Sequence[str] = ()
    """The ids of calls in it, in order."""
    results: Sequence[str] = ()
    """The ids that the results in it answer, in order."""
    said: bool = False
    """Whether it holds anything but calls, results and thoughts."""
    thoughts: Sequence[object] = ()
    """What of it the model has thought, as it stands; with `==` two of them are told apart."""
    key: object = None
    """Of an answer: what it is known by, its calls or else its words."""
    faults: Sequence[tuple[str, str]] = ()
    """What is wrong with the message itself: code and what of it, to follow "message N"."""
    tied: Mapping[str, object] = NONE
    """Id of an item or a call -> the reasoning (its id, its signature) that it may not be sent without."""


def own(holder: Mapping[str, Any], format: str) -> Mapping[str, Any]:
    """What a format has kept in a message or a block; empty where it is another's or nothing was kept."""
    wire = holder.get("wire")
    if wire is None:
        return NONE
    return wire if isinstance(wire, (dict, Mapping)) and wire.get("format") == format else NONE


def is_foreign(block: Block, format: str) -> bool:
    """Whether a block was read from another format."""
    wire = block.get("wire")
    return wire is not None and isinstance(wire, (dict, Mapping)) and wire.get("format") != format


def kept(format: str, members: Mapping[str, Any]) -> dict[str, Any]:
    """The member `wire` for what a format has to keep: texts, and `members` that are not empty."""
    found = {name: value for name, value in members.items() if value or value == ""}
    return {"wire": {"format": format, **found}} if found else {}


def others(members: Mapping[str, Any], known: frozenset[str]) -> dict[str, Any]:
    """The members that are not known."""
    if members.keys() <= known:
        return {}
    return {name: value for name, value in members.items() if name not in known}


def kept_others(format: str, members: Mapping[str, Any], known: frozenset[str]) -> dict[str, Any]:
    """The member `wire` for what a format has to keep where that is the members that are not known."""
    return {} if members.keys() <= known else kept(format, {"members": others(members, known)})


def fail(place: int, what: str) -> NoReturn:
    """Says that something is no message."""
    raise ValueError(f"message {place} {what}")


def mapping_at(message: object, place: int) -> Mapping[str, Any]:
    """The message, where it is one at all."""
    if not isinstance(message, (dict, Mapping)):
        fail(place, f"is no object but {type(message).__name__}")
    wrong = not_json(message)
    if wrong is not None:
        fail(place, wrong)
    return message


def not_json(value: object) -> str | None:
    """What no encoder of JSON could write of a value, None where there is nothing like that; an object of another type
    is for the host's own encoder.
    """
    todo = [(value, 1)]
    while todo:
        each, level = todo.pop()
        if isinstance(each, (dict, Mapping)):
            for name in each:
                if not isinstance(name, str):
                    return "holds a member whose name is no text"
            inside: Iterable[object] = each.values()
        elif isinstance(each, (list, tuple)):
            inside = each
        else:
            if isinstance(each, int) and each.bit_length() > _MOST_BITS:
                return "holds a number that is too long to be written"
            continue
        if level > DEEPEST:
            return f"is nested in more than {DEEPEST} levels"
        for one in inside:
            if type(one) is not str and one is not None:  # most of them are texts
                todo.append((one, level + 1))
    return None


def shown(value: object) -> str:
    """A value in a sentence for people, whatever it is."""
    try:
        return reprlib.repr(value)
    except (ValueError, RecursionError):
        return f"something of the type {type(value).__name__}"


def list_at(value: object, place: int, what: str) -> list[Mapping[str, Any]]:
    """A list of objects."""
    if not isinstance(value, (list, Sequence)) or isinstance(value, (str, bytes)):
        fail(place, f"has {what} that is no list")
    for each in value:
        if not isinstance(each, (dict, Mapping)):
            fail(place, f"has in {what} what is no object")
    return list(value)


def text_at(members: Mapping[str, Any], name: str, place: int) -> str:
    """A member that is a text."""
    value = members.get(name)
    if not isinstance(value, str):
        fail(place, f"lacks `{name}`, or it is no text")
    return value


_DATA = re.compile(r"data:([^;,]*);base64,", re.ASCII)


def source_of(url: str) -> dict[str, str]:
    """The source of an image or a document for an address; for a `data:` address its bytes."""
    head = _DATA.match(url)
    if head is None:
        return {"type": "url", "url": url}
    return {"type": "base64", "media_type": head[1], "data": url[head.end() :]}


def url_of(source: object) -> str | None:
    """The address for a source, None where it has none (a file that one provider keeps)."""
    if not isinstance(source, Mapping):
        return None
    url = source.get("url")
    if source.get("type") == "url" and isinstance(url, str):
        return url
    if source.get("type") == "base64":
        return f"data:{source.get('media_type', '')};base64,{source.get('data', '')}"
    return None


def placeholder(block: Block) -> str:
    """What stands for a block that a format has no form for."""
    return f"[{block.get('type')}, which cannot be shown here]"


def parsed(arguments: str) -> dict[str, Any]:
    """The arguments of a call as an object; under `arguments` as they stand, where a model has written none."""
    if not arguments:
        return {}
    try:
        found = _decoded(arguments)
    except (ValueError, RecursionError):
        return {"arguments": arguments}
    if not isinstance(found, dict) or (arguments.count("[") + arguments.count("{") > DEEPEST and not_json(found)):
        return {"arguments": arguments}
    return found


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError("JSON cannot be written with a number as large as that")
    return number


_DECODER = json.JSONDecoder(parse_constant=_no_number, parse_float=_finite)


def _decoded(text: str) -> Any:
    """As the decoder has it, faster where nothing stands around the value."""
    if text[:1] == "{":
        try:
            found, end = _DECODER.scan_once(text, 0)  # type: ignore[attr-defined]
        except StopIteration:
            pass  # the decoder says what is wrong
        else:
            if end == len(text):
                return found
    return _DECODER.decode(text)


def dumped(value: object) -> str:
    """JSON of a value as short as it goes, characters as they are."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except TypeError as error:
        raise ValueError("a response or the input of a call holds what JSON cannot: write it as a text") from error


def as_input(value: object) -> dict[str, Any]:
    """An object for the input of a call that is none: what a text says, else the value under `arguments`."""
    if value is None:
        return {}
    return parsed(value) if isinstance(value, str) else {"arguments": value}


def calls_key(calls: Sequence[str], words: Sequence[str]) -> object:
    """What an answer is known by."""
    return tuple(calls) or "\n".join(words)


def without_ours(message: Message) -> dict[str, Any]:
    """A message or a block without what never leaves."""
    return {name: value for name, value in message.items() if name not in OURS}
