"""Turning JSON bytes into Python values: the rules that both implementations share, written once.

Text is decoded with replacement, a lone surrogate becomes U+FFFD, NaN, the infinities and numbers beyond a double
become None, and an integer of more than 4,300 digits becomes a str: whatever comes out can be encoded again.  `json`
and `re` are loaded by the first value that needs them.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

DEPTH_MAX = 512
"""Levels of nesting that are decoded; a record's own braces are the first."""
DIGITS_MAX = 4300
"""Digits of an integer that is still decoded as an int."""

_FLOAT_MAX = 1.7976931348623157e308
_decoder: "Any" = None
_short_decoder: "Any" = None
"""For what is too short for an integer of too many digits: then Python need not be asked to read each."""
_escapes: "Any" = None


class Digits(str):
    """An integer with too many digits for an int, as it is written: what tells it from text."""

    __slots__ = ()


def load(raw: bytes, offset: int) -> "dict[str, Any]":
    """A record's bytes (one whole object) as a dict.  ValueError, naming the offset, when it is nested too deep."""
    if is_deep(raw, DEPTH_MAX):
        raise ValueError(f"record at offset {offset} is nested deeper than {DEPTH_MAX} levels")
    try:
        record: dict[str, Any] = _parse(raw)
    except RecursionError:  # the caller's own stack is nearly used up
        raise ValueError(f"record at offset {offset} is nested too deep to be decoded from here") from None
    return record


def load_line(line: bytes) -> "dict[str, Any] | None":
    """A line that is one whole object, white space apart, as `load` would give it; None when that is not sure."""
    if not line.startswith(b"{"):
        return None
    # A split passes over other bytes many times faster than a count does.
    most = DEPTH_MAX + 1
    if len(line.split(b"{", most)) + len(line.split(b"[", most)) - 2 > DEPTH_MAX:
        return None
    try:
        record: dict[str, Any] = _parse(line)
    except (ValueError, RecursionError):
        return None
    return record


def index(found: object) -> "int | None":
    """A decoded value as a step: an integer within 64 bits, else None."""
    if isinstance(found, int) and not isinstance(found, bool) and -(1 << 63) <= found < 1 << 63:
        return found
    return None


def value(raw: bytes) -> object:
    """A member's bytes (one whole value) as `load` would give it; None when the record would be nested too deep."""
    if raw[:1] == b'"':
        return text(raw)
    if is_deep(raw, DEPTH_MAX - 1):
        return None
    try:
        return _parse(raw)
    except RecursionError:
        return None


def text(raw: bytes) -> "str | None":
    """A member's bytes as str; None when they are no JSON string."""
    if raw[:1] != b'"':
        return None
    if b"\\" not in raw:
        return raw[1:-1].decode("utf-8", "replace")
    found: str = _parse(raw)
    return found


def _parse(raw: bytes) -> "Any":
    global _decoder, _short_decoder
    if _decoder is None:
        from json import JSONDecoder

        _decoder = JSONDecoder(strict=False, parse_constant=_none, parse_float=_float, parse_int=_int)
        _short_decoder = JSONDecoder(strict=False, parse_constant=_none, parse_float=_float)
    words = raw.decode("utf-8", "replace")
    if "\\u" in words and ("\\ud" in words or "\\uD" in words):
        words = _without_lone_surrogates(words)
    found, stop = _decode(words)
    if words[stop:].strip(" \t\n\r"):
        raise ValueError("more than one value")
    return found


def _decode(words: str) -> "tuple[Any, int]":
    """The value that begins there and where it ends; `decode` would look for white space in front, too."""
    if len(words) <= DIGITS_MAX:
        try:
            found: tuple[Any, int] = _short_decoder.raw_decode(words)
        except ValueError:  # no value, or the process allows fewer digits
            pass
        else:
            return found
    found = _decoder.raw_decode(words)
    return found


def is_deep(raw: bytes, limit: int) -> bool:
    """Whether a valid value has more than `limit` levels of nesting."""
    if len(raw) <= limit or raw.count(b"{") + raw.count(b"[") <= limit:
        return False
    # Without the escapes every quote begins or ends a string, so every other part is outside of strings.
    parts = raw.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')
    depth = 0
    for byte in b"".join(parts[::2]):
        if byte == 0x7B or byte == 0x5B:
            depth += 1
            if depth > limit:
                return True
        elif byte == 0x7D or byte == 0x5D:
            depth -= 1
    return False


def _without_lone_surrogates(words: str) -> str:
    global _escapes
    if _escapes is None:
        import re

        pair = "u[dD][89abAB][0-9a-fA-F]{2}\\\\u[dD][c-fC-F][0-9a-fA-F]{2}"
        _escapes = re.compile(f"\\\\(?:{pair}|(?P<lone>u[dD][89a-fA-F][0-9a-fA-F]{{2}})|.)", re.DOTALL)
    return str(_escapes.sub(lambda found: "\\ufffd" if found["lone"] else found[0], words))


def _none(_constant: str) -> None:
    return None


def _float(digits: str) -> "float | None":
    number = float(digits)
    return number if -_FLOAT_MAX <= number <= _FLOAT_MAX else None


def _int(digits: str) -> "int | str":
    if len(digits.lstrip("-")) > DIGITS_MAX:
        return Digits(digits)
    try:
        return int(digits)
    except ValueError:  # the process allows fewer
        return Digits(digits)
