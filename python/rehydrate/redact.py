"""Masking of secrets: well-known token shapes and `KEY=value` secrets become `[redacted: kind]`.

Promises: linear time; a text without a hit comes back as it is and costs a few substring searches; masking twice
changes nothing more; what merely looks random (hashes, ids) is left alone, and so are placeholders (`$TOKEN`, `<key>`).

A token is found on one line, also URL-encoded where its own characters need no encoding, and in the escapes of JSON and
of a terminal; a private key over many lines.  What is encoded once more (base64) is found only behind `Basic `.
"""

import re
from collections.abc import Callable, Iterator
from functools import cache

from rehydrate.secret_shapes import BEFORE, KEPT, SHAPES

# No pattern has an unbounded run that something must follow which the run itself could hold, and nothing is tried but
# where a literal stands: a failed attempt costs a bounded number of characters, and a hit is consumed whole.
MARGIN = 600
"""What a cut leaves of a secret is masked when it is so long, or longer; shorter it may not be known for one."""
_SHORTEST = 20
"""No shape is shorter, and none holds white space: of most texts only a few words are looked at."""

# Where a token may begin: not inside of a word, but for the letter that ends an escape of JSON, a URL or a terminal.
_START = re.compile(
    r"(?<![A-Za-z0-9])|(?<=\\[bfnrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\\u[0-9A-Fa-f]{4})|(?<=\\x[0-9A-Fa-f]{2})"
    r"|(?<=[\[;][0-9]m)|(?<=[\[;][0-9]{2}m)"
)
_REST = re.compile("[A-Za-z0-9_]*")
"""What is glued to a token, another one too, goes with it, so that nothing begins where it ended."""
_DUMMY = re.compile("example|your|xxxx|placeholder|dummy|sample|changeme|redacted", re.IGNORECASE)

_BEGIN_KEY = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_END_KEY = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_KEY_CHARS = 64 * 1024
_KEY_BODY = re.compile(r"(?:[A-Za-z0-9+/=]{16,}|\\[nr]|[\r\n\t ])*")
_HEADER = (
    r"(?i)authorization(?:\\?[\"'])?[ \t]{0,3}[:=][ \t]{0,3}(?:\\?[\"'])?(?:bearer|basic|token)[ \t]{1,3}"
    r"(?P<secret>[a-z0-9._~+/=-]{8,})"
)
_BEARER = r"(?i)(?<![a-z0-9])bearer[ \t]{1,3}(?P<secret>[a-z0-9._~+/=-]{16,})"
_URL = r"://[^\s/@:\"'<>]{0,100}:(?P<secret>[^\s/@\"'<>]{3,200})@"

# `: str =` is an annotation of Python's or TypeScript's, `=>` stands in Ruby's and PHP's tables.
_EQUALS = r"(?:\\?[\"'])?(?P<equals>[ \t]{0,3}(?::[ \t]{0,2}[Ss]tr(?:ing)?[ \t]{0,2}=|=>|:?=|:)[ \t]{0,3})"
_VALUE = (
    rf"(?i)(?P<name>passw(?:or)?d|passphrase|secret|token|key(?:_base)?|pass|pwd){_EQUALS}(?:"
    r"(?P<quote>\\?[\"'])(?P<quoted>[^\r\n\"'\\]{4,512})(?P=quote)|(?P<bare>[^\s\"'`,;&|<>(){}\[\]\\]{4,512}))"
)
# What a name ends with, as it is looked for in lower case.  A `key` is a secret only behind one of some words.  Each
# begins with letters of its own, which are looked for faster than anything else.
_TAIL = r"(?:\\?[\"'])?[ \t]{0,3}[:=]"
_OF_KEYS = ("api", "access", "private", "secret", "auth", "encryption", "signing", "account", "app", "master")
_BEHIND = "|".join(f"(?<={word}key)|(?<={word}[_-]key)" for word in _OF_KEYS)
# What a token is for that tells where a list goes on, or which request was meant.
_NO_SECRETS = ("next", "page", "continuation", "output", "input", "change", "request")
_NO_SECRET = "".join(f"(?<!{word}token)(?<!{word}[_-]token)" for word in _NO_SECRETS)
_NAMES = {
    literal: pattern + _TAIL
    for literal, pattern in (
        ("passw", "passw(?:or)?d"),
        ("passphrase", "passphrase"),
        ("secret", "secret(?<!:secret)"),
        ("token", f"token{_NO_SECRET}"),
        ("key", f"key(?:{_BEHIND})(?:_base)?"),
        ("_pass", "pass(?<=_pass)"),
        ("_pwd", "pwd(?<=_pwd)"),
    )
}
_PLACEHOLDER = (
    r"(?i)[$%<{*#]|&lt;|arn:|\[redacted|\.\.|---|xxx|(?:your|example|sample|dummy|fake|placeholder|change|replace|insert|todo)(?![a-z0-9])|"
    r"changeme|(?:none|null|undefined|true|false|string|password|passwd|pass|secret|token|test|optional|required)\Z"
)
_DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
_CONSTANT = re.compile("_?[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|[A-Za-z_][A-Za-z0-9_]*(?:[_a-z0-9]Key|Token|Secret|Password)")
_CAMEL = re.compile("_?[A-Za-z][a-z]+(?:[A-Z]{1,3}[a-z]+)*[0-9]{0,4}")
_WORDS = re.compile("[a-z]+(?:_[a-z]+)+")
_UUID = re.compile("[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_DIGITS = re.compile("[0-9]+")
_CODE_FOLLOWS = re.compile(r"[(\[{<]|[ \t]{1,3}=")
_NAME = r"(?i)[a-z_.-]*(?:password|passwd|passphrase|secret|token|key)[a-z_.-]*"


def mask(text: str) -> str:
    """The text with every secret that is known by its shape replaced by `[redacted: kind]`."""
    text = mask_key_blocks(text)
    text = _mask_shapes(text)
    if "://" in text and "@" in text:
        text = _compiled(_URL).sub(_mask_url, text)
    folded = text.lower()
    if "authorization" in folded:
        text = _compiled(_HEADER).sub(_mask_header, text)
    if "bearer" in folded:
        text = _compiled(_BEARER).sub(_mask_bearer, text)
    return _mask_assignments(text)


def _mask_shapes(text: str) -> str:
    words = " ".join([word for word in text.split() if len(word) >= _SHORTEST])
    if words:
        for literal, tries in _literals().items():
            if literal in words:
                for each in tries:
                    text = each(text)
    return text


@cache
def _literals() -> dict[str, list[Callable[[str], str]]]:
    """For each literal what masks the shapes that it is of."""
    found: dict[str, list[Callable[[str], str]]] = {}
    for kind, literals, after, widths in SHAPES:
        for literal in literals.split():
            found.setdefault(literal, []).append(_Shape(kind, literal, after, widths, kept=0).mask)
    for kind, literals, after in KEPT:
        for literal in literals.split():
            found.setdefault(literal, []).append(_Shape(kind, literal, after, (0,), kept=len(literal)).mask)
    return found


class _Shape:
    """One literal of a shape."""

    def __init__(self, kind: str, literal: str, after: str, widths: tuple[int, ...], *, kept: int) -> None:
        self._literal = literal
        self._masked = f"[redacted: {kind}]"
        self._pattern = BEFORE.get(literal, "") + re.escape(literal) + after  # compiled where it is needed
        self._widths = widths
        self._kept = kept

    def mask(self, text: str) -> str:
        kept: list[str] = []
        pattern = _compiled(self._pattern)
        done = 0
        at = text.find(self._literal)
        while at >= 0:
            next_at = at + 1
            for width in self._widths:
                start = at - width
                found = pattern.match(text, start) if start >= done and _is_start(text, start) else None
                if found and _is_dummy(found[0]):
                    next_at = found.end()
                elif found:
                    kept += text[done : start + self._kept], self._masked
                    end = _REST.match(text, found.end())
                    done = next_at = end.end() if end else found.end()
                    break
            at = text.find(self._literal, next_at)
        return "".join(kept) + text[done:] if kept else text


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Only what is met is compiled: all of the patterns would take longer than a delivery."""
    return re.compile(pattern)


def _is_start(text: str, at: int) -> bool:
    return not text[at].isalnum() or _START.match(text, at) is not None


def _is_dummy(token: str) -> bool:
    """Whether a token is made up to show what one looks like."""
    return set(token[-12:]) <= set("xX0*_.-") or _DUMMY.search(token) is not None


def _mask_assignments(text: str) -> str:
    """Tried only where a name stands: the pattern, which minds no letter case, is slow at looking for its own start."""
    folded = text.lower()
    if len(folded) != len(text):  # letters that are two in lower case: positions would not agree
        folded = "".join(each if len(low := each.lower()) != 1 else low for each in text)
    kept: list[str] = []
    done = at = 0
    for start in sorted(_named(folded)):
        found = _compiled(_VALUE).match(text, start) if start >= at else None
        if found:
            at = found.end()
            masked = _mask_assignment(found)
            if masked != found[0]:
                kept += text[done:start], masked
                done = at
    return "".join(kept) + text[done:] if kept else text


def _named(folded: str) -> Iterator[int]:
    for literal, pattern in _NAMES.items():
        if literal in folded:
            for found in _compiled(pattern).finditer(folded):
                yield found.start()


def mask_key_blocks(text: str) -> str:
    """Private keys, from the opening line to the closing one, or as far as what follows looks like a key."""
    if "PRIVATE KEY" not in text:
        return text
    kept: list[str] = []
    at = 0
    end = _END_KEY.search(text)
    while begin := _BEGIN_KEY.search(text, at):
        while end and end.start() < begin.end():
            end = _END_KEY.search(text, begin.end())
        if end and end.start() - begin.end() <= _KEY_CHARS:
            stop = end.end()
        else:
            body = _KEY_BODY.match(text, begin.end())
            stop = body.end() if body and body[0].strip() else begin.end()
        kept.append(text[at : begin.start()])
        # The opening line alone is a word about keys, not a key.
        kept.append("[redacted: private key]" if stop > begin.end() else begin[0])
        at = stop
    kept.append(text[at:])
    return "".join(kept)


def _mask_url(match: re.Match[str]) -> str:
    return match[0] if _is_placeholder(match["secret"]) else _masked(match, "secret", "password")


def _mask_header(match: re.Match[str]) -> str:
    return _masked(match, "secret", "authorization")


def _mask_bearer(match: re.Match[str]) -> str:
    """Without a header's name before it, a digit tells a token from a word."""
    return _masked(match, "secret", "authorization") if _has_digit(match["secret"]) else match[0]


def _mask_assignment(match: re.Match[str]) -> str:
    """`NAME=value` and `"name": "value"` with the value masked, if it can be a secret at all."""
    group = "bare" if match["quoted"] is None else "quoted"
    value = match[group]
    if _is_placeholder(value) or _compiled(_NAME).fullmatch(value) or _WORDS.fullmatch(value):
        return match[0]
    if match["name"].lower() == "token" and _UUID.fullmatch(value):
        return match[0]
    for_environment = match["name"].isupper() and match["equals"] == "="
    for_people = match["name"].lower().startswith("pass")
    if for_environment:
        secret = not _is_expression(match, value) if group == "bare" else True
    elif group == "bare":
        code = _is_expression(match, value) or _is_name(value, for_people=for_people)
        secret = len(value) >= 7 and _is_mixed(value) and not code
    else:
        least = 6 if for_people else 12
        secret = len(value) >= least and " " not in value and (for_people or _is_mixed(value) or len(value) >= 32)
    return _masked(match, group, "secret") if secret else match[0]


def _masked(match: re.Match[str], group: str, kind: str) -> str:
    start, end = match.start(group) - match.start(), match.end(group) - match.start()
    return f"{match[0][:start]}[redacted: {kind}]{match[0][end:]}"


def _is_expression(match: re.Match[str], value: str) -> bool:
    """Whether an unquoted value is code: much of what follows `TOKEN=` is a call, a name, a type or a number."""
    return (
        _CODE_FOLLOWS.match(match.string, match.end()) is not None
        or _DOTTED.fullmatch(value) is not None
        or "::" in value
        or "://" in value
        or (len(value) < 6 and value.isdigit())
    )


def _is_name(value: str, *, for_people: bool) -> bool:
    """Whether an unquoted value is a name of code, as what people choose for a password often is too."""
    if _CONSTANT.fullmatch(value):
        return True
    snake = "_" in value and value.isidentifier() and len(_DIGITS.findall(value)) < 2
    return not for_people and (snake or _CAMEL.fullmatch(value) is not None)


def _is_mixed(value: str) -> bool:
    return _has_digit(value) and any(character.isalpha() for character in value)


def _has_digit(value: str) -> bool:
    return any(character.isdigit() for character in value)


def _is_placeholder(value: str) -> bool:
    return (
        _compiled(_PLACEHOLDER).match(value) is not None
        or "EXAMPLE" in value
        or value.endswith("...")
        or len(set(value)) < 3
    )
