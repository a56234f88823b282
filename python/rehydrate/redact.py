"""Masking of secrets: well-known token shapes and `KEY=value` secrets become `[redacted: kind]`.

Promises: linear time; a text without a hit comes back as it is and costs a handful of substring searches; masking twice
changes nothing more; what merely looks random (hashes, ids) is left alone, and so are placeholders (`$TOKEN`, `<key>`).
"""

import re
from collections.abc import Iterator

# No pattern has an unbounded run that something must follow, except where a look-behind lets it start only once per
# run: a failed attempt then costs a bounded number of characters, and a hit is consumed whole.
# Each: kind, the literals one of which stands in every hit, and the pattern.
_SHAPES = (
    ("aws key", "AKIA ASIA", r"(?<![A-Za-z0-9])(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])"),
    ("github token", "ghp_ gho_ ghu_ ghs_ ghr_", r"(?<![A-Za-z0-9])gh[pousr]_[A-Za-z0-9]{36,}"),
    ("github token", "github_pat_", r"(?<![A-Za-z0-9])github_pat_[A-Za-z0-9_]{22,}"),
    ("gitlab token", "glpat- glrt- gldt-", r"(?<![A-Za-z0-9])gl(?:pat|rt|dt)-[A-Za-z0-9_-]{20,}"),
    ("slack token", "xox xapp-", r"(?<![A-Za-z0-9])(?:xox[abeoprs]|xapp)-[A-Za-z0-9-]{10,}"),
    (
        "slack webhook",
        "hooks.slack.com/",
        r"(?<=hooks\.slack\.com/services/)T[A-Za-z0-9]{6,}/[A-Za-z0-9]{6,}/[A-Za-z0-9]{16,}",
    ),
    ("google key", "AIza", r"(?<![A-Za-z0-9])AIza[A-Za-z0-9_-]{35}"),
    ("google secret", "GOCSPX- ya29.", r"(?<![A-Za-z0-9])(?:GOCSPX-[A-Za-z0-9_-]{20,}|ya29\.[A-Za-z0-9_-]{20,})"),
    ("anthropic key", "sk-ant-", r"(?<![A-Za-z0-9])sk-ant-[A-Za-z0-9_-]{20,}"),
    (
        "openai key",
        "sk-",
        r"(?<![A-Za-z0-9_-])sk-(?:(?:proj|svcacct|admin)-[A-Za-z0-9_-]{20,}|or-v1-[0-9a-f]{40,}|[A-Za-z0-9]{32,})",
    ),
    ("stripe key", "k_live_ k_test_ whsec_", r"(?<![A-Za-z0-9])(?:[sr]k_(?:live|test)_|whsec_)[A-Za-z0-9]{16,}"),
    ("npm token", "npm_", r"(?<![A-Za-z0-9])npm_[A-Za-z0-9]{36}"),
    ("pypi token", "pypi-", r"(?<![A-Za-z0-9])pypi-[A-Za-z0-9_-]{50,}"),
    ("hugging face token", "hf_", r"(?<![A-Za-z0-9])hf_[A-Za-z0-9]{34,}"),
    ("sendgrid key", "SG.", r"(?<![A-Za-z0-9])SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}"),
    ("digitalocean token", "_v1_", r"(?<![A-Za-z0-9])do[opr]_v1_[a-f0-9]{64}"),
    ("telegram token", ":AA", r"(?<![0-9])[0-9]{8,10}:AA[A-Za-z0-9_-]{33}"),
    ("azure key", "AccountKey=", r"(?<=AccountKey=)[A-Za-z0-9+/]{86}=="),
    ("age key", "AGE-SECRET-KEY-", r"AGE-SECRET-KEY-1[A-Z0-9]{50,}"),
    (
        "jwt",
        "eyJ",
        r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}",
    ),
)

# A substring search costs next to nothing, so a literal is looked for before its pattern.
_LOOKED_FOR = tuple(
    (literal, re.compile(pattern), f"[redacted: {kind}]")
    for kind, literals, pattern in _SHAPES
    for literal in literals.split()
)

_BEGIN_KEY = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_END_KEY = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_KEY_CHARS = 64 * 1024
_KEY_BODY = re.compile(r"(?:[A-Za-z0-9+/=]{16,}|\\[nr]|[\r\n\t ])*")
_HEADER = re.compile(
    r"authorization[\"']?[ \t]{0,3}[:=][ \t]{0,3}[\"']?(?:bearer|basic|token)[ \t]{1,3}(?P<secret>[a-z0-9._~+/=-]{8,})",
    re.IGNORECASE,
)
_BEARER = re.compile(r"(?<![a-z0-9])bearer[ \t]{1,3}(?P<secret>[a-z0-9._~+/=-]{16,})", re.IGNORECASE)
_URL = re.compile(r"://[^\s/@:\"'<>]{0,100}:(?P<secret>[^\s/@\"'<>]{3,200})@")

_ASSIGNMENT = re.compile(
    r"(?P<name>password|passwd|passphrase|secret|token|api[_-]?key|(?:secret|access|private)[_-]?key)"
    r"(?:\\?[\"'])?(?P<equals>[ \t]{0,3}(?::?=|:)[ \t]{0,3})(?:"
    r"(?P<quote>\\?[\"'])(?P<quoted>[^\r\n\"'\\]{4,512})(?P=quote)|(?P<bare>[^\s\"'`,;&|<>(){}\[\]\\]{4,512}))",
    re.IGNORECASE,
)
_ASSIGNMENT_LITERALS = (
    "passw",
    "passphrase",
    "secret",
    "token",
    *(word + gap + "key" for word in ("api", "access", "private") for gap in ("", "_", "-")),
)
_PLACEHOLDER = re.compile(
    r"[$%<{*#]|\[redacted|\.\.|---|xxx|(?:your|example|sample|dummy|fake|placeholder|change|replace|insert|todo)(?![a-z0-9])|"
    r"changeme|(?:none|null|undefined|true|false|string|password|passwd|pass|secret|token|test|optional|required)\Z",
    re.IGNORECASE,
)
_DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
_NAME = re.compile(r"[a-z_.-]*(?:password|passwd|passphrase|secret|token|key)[a-z_.-]*", re.IGNORECASE)


def mask(text: str) -> str:
    """The text with every secret that is known by its shape replaced by `[redacted: kind]`."""
    if "PRIVATE KEY" in text:
        text = _mask_key_blocks(text)
    for literal, pattern, masked in _LOOKED_FOR:
        if literal in text:
            text = pattern.sub(masked, text)
    if "://" in text and "@" in text:
        text = _URL.sub(_mask_url, text)
    folded = text.lower()
    if "authorization" in folded:
        text = _HEADER.sub(_mask_header, text)
    if "bearer" in folded:
        text = _BEARER.sub(_mask_bearer, text)
    if any(literal in folded for literal in _ASSIGNMENT_LITERALS):
        text = _mask_assignments(text)
    return text


def _mask_assignments(text: str) -> str:
    """Tried only where a name stands: the pattern, which minds no letter case, is slow at looking for its own start."""
    folded = text.lower()
    if len(folded) != len(text):  # letters that are two in lower case: positions do not agree
        return _ASSIGNMENT.sub(_mask_assignment, text)
    kept: list[str] = []
    at = 0
    for start in sorted(_occurrences(folded)):
        found = _ASSIGNMENT.match(text, start) if start >= at else None
        if found:
            kept += text[at:start], _mask_assignment(found)
            at = found.end()
    return "".join(kept) + text[at:] if kept else text


def _occurrences(folded: str) -> Iterator[int]:
    for literal in _ASSIGNMENT_LITERALS:
        at = folded.find(literal)
        while at >= 0:
            yield at
            at = folded.find(literal, at + 1)


def _mask_key_blocks(text: str) -> str:
    """Private keys, from the opening line to the closing one, or as far as what follows looks like a key."""
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
    if _is_placeholder(value) or _NAME.fullmatch(value):
        return match[0]
    for_environment = match["name"].isupper() and match["equals"] == "="
    for_people = match["name"].lower().startswith("pass")
    if for_environment:
        secret = not _is_expression(match, value) if group == "bare" else True
    elif group == "bare":
        secret = len(value) >= 7 and _is_mixed(value) and not _is_expression(match, value)
    else:
        least = 6 if for_people else 12
        secret = len(value) >= least and " " not in value and (for_people or _is_mixed(value) or len(value) >= 32)
    return _masked(match, group, "secret") if secret else match[0]


def _masked(match: re.Match[str], group: str, kind: str) -> str:
    start, end = match.start(group) - match.start(), match.end(group) - match.start()
    return f"{match[0][:start]}[redacted: {kind}]{match[0][end:]}"


def _is_expression(match: re.Match[str], value: str) -> bool:
    """Whether an unquoted value is code: much of what follows `TOKEN=` is a call, a name, a type or a number."""
    after = match.string[match.end() : match.end() + 1]
    return (
        after in tuple("([{<")
        or bool(_DOTTED.fullmatch(value))
        or "://" in value
        or (len(value) < 6 and value.isdigit())
    )


def _is_mixed(value: str) -> bool:
    return _has_digit(value) and any(character.isalpha() for character in value)


def _has_digit(value: str) -> bool:
    return any(character.isdigit() for character in value)


def _is_placeholder(value: str) -> bool:
    return _PLACEHOLDER.match(value) is not None or len(set(value)) < 3
