"""Edits of a JSON text that leave every byte they are not about as it was.

A text is parsed strictly, then edited by the places of its members; nothing is ever serialised again but what is new.
A path is a tuple of keys and indices from the top-level value down.
"""

import json
import re
from json.decoder import scanstring  # type: ignore[attr-defined]  # not in the stubs; part of the module since 3.0
from typing import Any, NamedTuple

Path = tuple[str | int, ...]

_BLANK = re.compile(r"[ \t\r\n]*")
_DIGITS_MAX = 4_000
"""Python refuses to read a whole number of more than 4,300 digits; no host has a use for one."""
_SKIPPER = json.JSONDecoder(parse_int=len)
"""Finds where a value ends; what it makes of numbers is of no use."""


class Unclear(ValueError):
    """Readers disagree on what such a text says, or whether it says anything."""


class Span(NamedTuple):
    """The place of one member of an object, or one element of an array, in the text."""

    start: int
    """Where its key begins; for an element where its value begins."""
    value: int
    """Where its value begins."""
    end: int
    """The first place after its value."""


def parse(data: bytes) -> tuple[str, Any]:
    """The text and its value.  ValueError, a clause that says what is wrong, when it is not strict JSON in UTF-8; it is
    Unclear where others may take the text all the same.
    """
    if data.startswith(b"\xef\xbb\xbf"):
        raise ValueError("it begins with a byte order mark (save it as UTF-8 without one)")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Unclear(f"it is not UTF-8 (byte {error.start})") from None
    try:
        return text, json.loads(text, object_pairs_hook=_object, parse_constant=_constant, parse_int=_whole)
    except RecursionError:
        raise Unclear("it is nested too deeply") from None
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        if text[error.pos : error.pos + 2] in ("//", "/*") or text[error.pos : error.pos + 1] == "#":
            raise ValueError(f"it holds a comment ({place})") from None
        raise ValueError(f"it is not JSON ({place}: {error.msg})") from None


def locate(text: str, path: Path) -> Span:
    """The place of what the path names.  KeyError or IndexError when there is no such thing."""
    at = _skip_blank(text, 0)
    span = Span(at, at, len(text))
    for key in path:
        span = _members(text, span.value)[key] if isinstance(key, str) else _elements(text, span.value)[key]
    return span


def with_value(text: str, path: Path, value: object) -> str:
    """The text with another value at the path, written as `with_member` would write it there."""
    span = locate(text, path)
    return text[: span.value] + _written(text, value, len(path)) + text[span.end :]


def with_member(text: str, key: str, value: object, *, within: Path = ()) -> str:
    """The text with a further member at the end of the object at `within`, in the style of the others."""
    depth = len(within) + 1
    member = f"{json.dumps(key)}: {_written(text, value, depth)}"
    parent = locate(text, within)
    return _appended(text, parent, list(_members(text, parent.value).values()), member, depth)


def with_element(text: str, path: Path, value: object) -> str:
    """The text with a further element at the end of the array at the path."""
    parent = locate(text, path)
    element = _written(text, value, len(path) + 1)
    return _appended(text, parent, _elements(text, parent.value), element, len(path) + 1)


def _appended(text: str, parent: Span, siblings: list[Span], item: str, depth: int) -> str:
    newline, indent = style(text)
    gap = newline + indent * depth
    if siblings:
        return f"{text[: siblings[-1].end]},{gap if indent else ' '}{item}{text[siblings[-1].end :]}"
    rest = text[parent.value + 1 :]
    if not indent:
        return f"{text[: parent.value + 1]}{item}{rest.lstrip()}"
    blank = _BLANK.match(rest).group()  # type: ignore[union-attr]  # it matches anywhere
    closing = "" if "\n" in blank else newline + indent * (depth - 1)
    return f"{text[: parent.value + 1]}{gap}{item}{closing}{rest}"


def without(text: str, path: Path) -> str:
    """The text without what the path names, and without the comma and the white space that came with it."""
    parent = locate(text, path[:-1])
    siblings = list((_members if isinstance(path[-1], str) else _elements_by_index)(text, parent.value).values())
    at = siblings.index(locate(text, path))
    if at > 0:
        return text[: siblings[at - 1].end] + text[siblings[at].end :]
    if len(siblings) > 1:
        return text[: siblings[0].start] + text[siblings[1].start :]
    rest = text[siblings[0].end :]
    if _BLANK.match(rest).group() in ("\n", "\r\n"):  # type: ignore[union-attr]  # it matches anywhere
        rest = rest.lstrip()
    return text[: parent.value + 1] + rest


def style(text: str) -> tuple[str, str]:
    """The line ending and the indent of the top-level members; an empty indent when they stand on one line."""
    newline = "\r\n" if re.search(r"\r\n", text) else "\n"
    members = list(_members(text, locate(text, ()).value).values())
    if not members:
        return newline, "  "
    before = text[: members[0].start]
    indent = before[len(before.rstrip(" \t")) :]
    return newline, indent if before.rstrip(" \t").endswith("\n") else ""


def _written(text: str, value: object, depth: int) -> str:
    newline, indent = style(text)
    if not indent:
        return json.dumps(value, ensure_ascii=False)
    return json.dumps(value, ensure_ascii=False, indent=indent).replace("\n", newline + indent * depth)


def _members(text: str, start: int) -> dict[str, Span]:
    """The members of the object at `start`, by key, in their order."""
    found: dict[str, Span] = {}
    at = _skip_blank(text, start + 1)
    while text[at] != "}":
        key, colon = scanstring(text, at + 1)
        value = _skip_blank(text, _skip_blank(text, colon) + 1)
        found[key] = Span(at, value, _end(text, value))
        at = _skip_blank(text, found[key].end)
        if text[at] == ",":
            at = _skip_blank(text, at + 1)
    return found


def _elements(text: str, start: int) -> list[Span]:
    """The elements of the array at `start`."""
    found: list[Span] = []
    at = _skip_blank(text, start + 1)
    while text[at] != "]":
        found.append(Span(at, at, _end(text, at)))
        at = _skip_blank(text, found[-1].end)
        if text[at] == ",":
            at = _skip_blank(text, at + 1)
    return found


def _elements_by_index(text: str, start: int) -> dict[int, Span]:
    return dict(enumerate(_elements(text, start)))


def _end(text: str, start: int) -> int:
    return _SKIPPER.raw_decode(text, start)[1]


def _skip_blank(text: str, at: int) -> int:
    return _BLANK.match(text, at).end()  # type: ignore[union-attr]  # it matches anywhere


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise Unclear(f"the key {key[:60]!r} is there twice")
            seen.add(key)
    return found


def _whole(digits: str) -> int | float:
    return int(digits) if len(digits) <= _DIGITS_MAX else float(digits)


def _constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")
