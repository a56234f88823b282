"""Members of a record changed in its bytes: what is not changed stays as it is, byte for byte.

Nothing is decoded but the keys, so numbers of any size, keys written twice and bytes that are no UTF-8 come through.
"""

import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from rehydrate.entries.log import may_be_escaped

_SIGN = re.compile(rb'["{}\[\],:]')
_PLAIN = re.compile(r"[A-Za-z0-9_.:-]*", re.ASCII)
"""Text that is written in one way only where no letter is escaped."""


def with_members(raw: bytes, values: Mapping[str, bytes], *, known: Mapping[str, object]) -> bytes:
    """The record with members of its top level set to values that are JSON already; what it has not is added at its
    end.

    `raw`: one whole object, from brace to brace, with a member or more.  `known`: of some of these members the value
    that a full parse gives, None for one that is missing or null: what is known need not be looked for.
    """
    rest = {}
    is_escaped = may_be_escaped(raw)
    added = b""
    for name, value in values.items():
        key = _key(name)
        if is_escaped or name not in known:
            rest[name] = value
        elif key not in raw:
            added += b",%b:%b" % (key, value)
        elif (changed := _replaced(raw, name, known[name], value)) is not None:
            raw = changed
        else:
            rest[name] = value
    if rest:
        raw, missing = _walked(raw, rest)
        added += b"".join(b',"%b":%b' % (name.encode(), rest[name]) for name in missing)
    return b"%b%b}" % (raw[:-1], added) if added else raw


def _replaced(raw: bytes, name: str, known: object, value: bytes) -> bytes | None:
    """With another value where the member can stand in one place only; None where it may be elsewhere.

    A quote inside a string is escaped, so the key in its quotes is a key or a whole string.  When it is there but once,
    and the record is known to have that member, it is that.
    """
    key = _key(name)
    if not isinstance(known, str) or raw.count(key) != 1 or not _is_plain(known):
        return None
    changed = raw.replace(b'%b:"%b"' % (key, known.encode()), b"%b:%b" % (key, value), 1)
    return None if changed is raw else changed


@lru_cache(maxsize=64)  # the same few for every entry
def _key(name: str) -> bytes:
    return b'"%b"' % name.encode()


@lru_cache(maxsize=64)
def _is_plain(text: str) -> bool:
    return _PLAIN.fullmatch(text) is not None


def _walked(raw: bytes, values: Mapping[str, bytes]) -> tuple[bytes, list[str]]:
    """With other values, found by walking the record; and the members that it has not."""
    pieces = []
    at = 0
    missing = dict.fromkeys(values)
    for name, start, end in _members(raw):
        if name in values:
            pieces += [raw[at:start], values[name]]
            at = end
            missing.pop(name, None)
    return b"".join([*pieces, raw[at:]]), list(missing)


def _members(raw: bytes) -> Iterator[tuple[str, int, int]]:
    """The members of the top level: the key, and where its value begins and ends."""
    depth, at = 0, 0
    name, start, end = "", -1, -1
    while (found := _SIGN.search(raw, at)) is not None:
        sign, at = found[0], found.end()
        if sign == b'"':
            at = _string_end(raw, at)
            if depth == 1 and start < 0:
                name = _text(raw[found.start() : at])
        elif sign in b"{[":
            depth += 1
        elif sign == b":" and depth == 1:
            start = at
        if (sign == b"," and depth == 1) or (sign in b"}]" and depth == 1):
            if start >= 0:
                end = found.start()
                value = raw[start:end]
                yield name, start + len(value) - len(value.lstrip()), start + len(value.rstrip())
            start = -1
        if sign in b"}]":
            depth -= 1


def _string_end(raw: bytes, at: int) -> int:
    """Behind the quote that ends the string whose first character is at `at`."""
    while True:
        quote = raw.index(b'"', at)
        slashes = quote
        while slashes > at and raw[slashes - 1] == 0x5C:
            slashes -= 1
        at = quote + 1
        if (quote - slashes) % 2 == 0:
            return at


def _text(raw: bytes) -> str:
    try:
        return str(json.loads(raw.decode("utf-8", "replace"), strict=False))
    except ValueError:
        return ""
