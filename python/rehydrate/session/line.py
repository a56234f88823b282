"""An entry as a line of a session's file, and back.

A line is one compact JSON object.  Its last two members are ours: `seq`, its number in the file from 1, and `crc`, the
CRC-32 of all that stands before the comma in front of it, as eight lower-case hex digits.  Other writers' lines have
neither and are read all the same.

Promises: any changed byte of a sealed line is found; what was sealed comes back byte for byte.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from zlib import crc32

from rehydrate.scan._decode import DEPTH_MAX, is_deep

_SEAL = re.compile(rb'([,{])"seq":([0-9]{1,18}),"crc":"[0-9a-f]{8}"\}\Z')
_CHECK = re.compile(rb',"crc":"[0-9a-f]{8}"\}\Z')
_CHECK_BEGIN = b',"crc":"'
_CHECK_BYTES = len(',"crc":"01234567"}')
_CHANGED = re.compile(rb'[,{]"seq":[0-9]{1,18}.{18}\Z', re.S)
"""A line whose check is not even one any more."""
_SURROGATE = re.compile("[\ud800-\udfff]")


def encode(record: Mapping[str, object]) -> bytes:
    """The record as JSON, with nothing to spare and no line break in it.

    Half a surrogate pair, which UTF-8 cannot hold, is written as an escape.  Raises ValueError for a number that JSON
    does not know (NaN, an infinity) and for what is nested beyond measure or holds itself, TypeError for what is no
    JSON at all.
    """
    return to_bytes(to_text(record))


def to_text(record: Mapping[str, object]) -> str:
    """The text that `encode` gives the bytes of; raises what that raises."""
    try:
        text = _text(record if type(record) is dict else dict(record))
    except RecursionError:
        raise ValueError("the entry is nested too deep, or holds itself") from None
    if text.count("{") + text.count("[") > DEPTH_MAX and is_deep(text.encode("utf-8", "replace"), DEPTH_MAX):
        raise ValueError(f"the entry is nested deeper than the {DEPTH_MAX} levels that are read")
    return text


def to_bytes(text: str) -> bytes:
    """Of JSON its UTF-8, half surrogate pairs as escapes."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text).encode()


def sealed(body: bytes, seq: int) -> bytes:
    """The line for what `encode` gave, its number and check and the line feed with it."""
    head = b'%b,"seq":%d' % (body[:-1], seq) if len(body) > 2 else b'{"seq":%d' % seq
    return head + b',"crc":"%08x"}\n' % crc32(head)


def seal_all(bodies: Sequence[bytes], seq: int) -> bytes:
    """The lines for several, numbered from `seq`."""
    return b"".join([sealed(body, number) for number, body in enumerate(bodies, seq)])


def check(line: bytes) -> bool | None:
    """Whether a line is what was sealed; None when it was never sealed.  With or without its line feed."""
    line = line.removesuffix(b"\n")
    tail = line[-_CHECK_BYTES:]
    if tail.startswith(_CHECK_BEGIN) and tail == b'%b%08x"}' % (_CHECK_BEGIN, crc32(memoryview(line)[:-_CHECK_BYTES])):
        return True
    start = max(0, len(line) - 64)
    return False if _CHECK.search(line, start) or _CHANGED.search(line, start) else None


def bare(line: bytes) -> bytes:
    """The line less its number, its check and its line feed: what was sealed, byte for byte."""
    line = line.removesuffix(b"\n")
    found = _SEAL.search(line, max(0, len(line) - 64))
    if found is None:
        return line
    return line[: found.start() + (found[1] == b"{")] + b"}"


def seq_of(line: bytes) -> int | None:
    """The number that a line says it has; None when it says none.  Whether its check is right is not asked."""
    line = line.removesuffix(b"\n")
    found = _SEAL.search(line, max(0, len(line) - 64))
    return int(found[2]) if found else None


def _encoder() -> Callable[[Mapping[str, Any]], str]:
    plain = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False, check_circular=False)
    try:  # what `encode` makes anew for each record, made once: a third of the time that a short one takes
        make: Any = json.encoder.c_make_encoder  # type: ignore[attr-defined]
        once = make(None, plain.default, json.encoder.encode_basestring, None, ":", ",", False, False, False)
        return lambda record: "".join(once(record, 0))
    except (AttributeError, TypeError):  # it is None, or another one: nobody has promised it
        return plain.encode


_text = _encoder()
