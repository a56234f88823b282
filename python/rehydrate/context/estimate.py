"""An estimate of o200k's tokens, of the standard library alone."""

import re

_PIECES = re.compile(
    r"""[^\r\n\w]?[A-Z]*[a-z]+|[^\r\n\w]?[A-Z]+|_[A-Za-z]+|[0-9]{1,3}|[\u3040-\uffff]|\s*[\r\n]+|\s+(?!\S)|\s+|[^\s\w]{1,3}|.""",
    re.S,
)


def tokens(text: str) -> int:
    """Tokens; 0 for an empty text only."""
    return sum(1 + (len(piece) > 8) for piece in _PIECES.findall(text))
