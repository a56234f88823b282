"""An estimate of how many tokens a text is in o200k, where its vocabulary is not there.

The text is cut as o200k cuts it before it looks for tokens, and each piece is judged by what it is: digits are counted,
white space is never counted too low, and a word costs more the less its pairs of letters are those of words, so that
base64, hexadecimal and random names cost what they do.  Other scripts have a price for each character.  The prices were
fitted to exact counts of code in four languages, documents, web pages and reviews in Chinese, Japanese and Korean,
messages of programs in 25 languages, JSON, logs and random bytes as text: each of these is within 11 % of its count.

Time and memory are linear in the text, whatever stands in it.
"""

import functools
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator

_LETTER = r"[^\W\d_A-Z]"  # of whatever script; those of ASCII that are large begin a piece
_MARK = (
    "[\u0300-\u036f\u0483-\u0487\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u06d6-\u06dc\u0900-\u0dff\u0e31-\u0e3a"
    "\u0e47-\u0e4e\u0eb1-\u0ebc\u0f71-\u0f84\u102b-\u103e\u17b4-\u17d3\u3099\u309a]"
)
_PIECES = re.compile(
    rf"[^\r\n\w]?[A-Z]*(?:{_LETTER}+{_MARK}*)+(?:'(?:[sdmtSDMT]|[lL][lL]|[vV][eE]|[rR][eE]))?"
    r"|[^\r\n\w]?[A-Z]+(?:'(?:[SDMT]|LL|VE|RE))?"
    r"|\d{1,3}"
    r"| ?[^\s\w]+[\r\n/]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""As o200k's own pattern cuts, in what Python's can say; an underscore has to be something that is no letter: NUL."""

SHORT, REMEMBERED = 32, 8192
"""Pieces up to so many characters have their price remembered, so many of them: most words of a text are in others,
too."""

_TOKEN = 100
"""Prices are in hundredths of a token."""

_PAIRS = (
    "620250000240006021302553263646040020010602120110007346361200011072061a602223193663032000600525842639b78b"
    "5702610169a44294612355267c5hgc728b0piblg4qz8cb8xzzgzcyzp2ma47zzhac8zzaca7zzzjzazzz5zzk6zzgyv8zzhz7fzzzrz"
    "8729660aj9a58223h842p8tlrb7rqd3eb6eg6gf68feb3eabae836376200046554688b7445b6aa71491110004736824978436791b"
    "214605001161571078666a89ab490330023347665ec9007558a55212500030451131b03635265747550210554105357100466b49"
    "644444000461545345130647394507001007594206660157061a781601201868b8315921380a4a4657110013450730a124694626"
    "00140000085001808010634556233500000105132042268313911372300001300215810035436601000000022701006040022202"
    "5753330024252332500120203146120012003452316142342231"
)
"""What each pair of letters adds to a word, in 8 hundredths: aa, ab, ..., zz, a digit to the base of 36 each."""
_PAIR = {chr(97 + at // 26) + chr(97 + at % 26): 8 * int(digit, 36) for at, digit in enumerate(_PAIRS)}
_CAPITAL = 7  # each but the first

_SCRIPTS = (
    # first character, price of each, what a word in it costs more or less
    (0x00, 0, 0),
    (0x80, 100, -54),  # Latin with signs
    (0x370, 39, -4),  # Greek
    (0x400, 23, 34),  # Cyrillic
    (0x530, 60, 10),
    (0x590, 45, -18),  # Hebrew
    (0x600, 35, -15),  # Arabic
    (0x780, 60, 10),
    (0x900, 39, -2),  # Indian scripts
    (0xE00, 37, -16),  # Thai, Lao
    (0xF00, 77, 5),
    (0x1E00, 74, 14),  # Latin of Vietnam
    (0x1F00, 77, 5),
    (0x3040, 48, -24),  # Hiragana
    (0x30A0, 68, -66),  # Katakana
    (0x3100, 100, 0),
    (0x3400, 250, -92),  # ideographs: see `_ideograph`
    (0xA000, 77, 5),
    (0xAC00, 122, -180),  # Hangul
    (0xD7A4, 120, 0),
    (0xF900, 250, -92),
    (0xFB00, 120, 0),
    (0x10000, 250, 0),
)
_STARTS = [first for first, _, _ in _SCRIPTS]
_IDEOGRAPHS = range(0x3400, 0xA000)

_SMOOTH = frozenset("#%*+-./=>~\0")
"""Signs that stand in rows: o200k has tokens of 16 and more of them."""


def tokens(text: str) -> int:
    """About how many tokens; 0 for an empty text only."""
    pieces = Counter(_PIECES.findall(text.replace("_", "\0")))
    price = sum((_known if len(piece) <= SHORT else _price)(piece) * times for piece, times in pieces.items())
    return -(-price // _TOKEN)


@functools.lru_cache(maxsize=REMEMBERED)
def _known(piece: str) -> int:
    return _price(piece)


def _price(piece: str) -> int:
    if piece.isspace():
        return _TOKEN * _white(piece)
    if piece[0].isdecimal():
        return _TOKEN
    if piece[0].isalnum():
        return _word(piece, -36)
    if len(piece) > 1 and piece[1].isalpha():
        return _word(piece[1:], -100 if piece[0] == " " else -24 if piece[0].isascii() else 8)
    return _signs(piece)


def _word(word: str, before: int) -> int:
    """Letters; `before`: what the character ahead of it, in the same piece, costs more or less."""
    price = _TOKEN + before
    if word.isascii():
        price += _SCRIPTS[0][2]
    else:
        price += _script(next(char for char in word if not char.isascii()))[1]
        price += sum(_script(char)[0] for char in word if not char.isascii())
    price += _CAPITAL * sum(map(str.isupper, word[1:] if word.isascii() else ""))
    small = word.lower()
    return max(_TOKEN, price + sum(_PAIR.get(small[at : at + 2], 0) for at in range(len(small) - 1)))


@functools.lru_cache(maxsize=8192)
def _script(char: str) -> tuple[int, int]:
    """The price of a character that is not in ASCII, and of a word of its script."""
    code = ord(char)
    _, each, word = _SCRIPTS[bisect_right(_STARTS, code) - 1]
    return (_ideograph(char) if code in _IDEOGRAPHS else each), word


def _ideograph(char: str) -> int:
    """By how common it is: two standards of China and Taiwan list the common ones first."""
    for standard, common, price, rare in (("gb2312", 0xD8, 79, 210), ("big5", 0xC9, 150, 240)):
        try:
            return price if char.encode(standard)[0] < common else rare
        except (UnicodeEncodeError, LookupError):
            continue
    return 240


def _signs(piece: str) -> int:
    """Punctuation, operators, symbols, emoji, and line feeds behind them."""
    price, rows = 0, 0
    for char, length in _rows(piece.removeprefix(" ")):
        if char in "\r\n":
            price += _TOKEN * (length // 8)
        elif char.isascii():
            rows += 1
            price += 17 * (min(length, 4) - 1) + max(0, length - 4) * (6 if char in _SMOOTH else 26)
        elif char < "\u0800":
            price += 80 * length
        elif char < "\U00010000":
            price += 100 + (26 if "\u2500" <= char < "\u2580" else 100) * (length - 1)  # boxes stand in rows
        else:
            price += 200 * length
    if rows:
        price += 80 + 26 * (rows - 1) + 46 * max(0, rows - 3)
    return max(_TOKEN, price)


def _rows(text: str) -> Iterator[tuple[str, int]]:
    """Each row of one character, and how long it is."""
    return ((found[1], len(found[0])) for found in re.finditer(r"(.)\1*", text, re.DOTALL))


_BLANK = re.compile(r"(?: {1,8}|\t{1,6})\r?\n(?![\r\n])|(?:\r\n)+(?!\n)|(.)\1*", re.DOTALL)


_BLANKS = frozenset(" \t\r\n")


def _white(piece: str) -> int:
    """Tokens of white space, never too few: the longest rows that o200k has a token for, and no luck with the rest."""
    count = 0 if set(piece) <= _BLANKS else 2  # odd ones spoil a row or two
    for found in _BLANK.finditer(piece):
        length = len(found[0])
        match found[1]:
            case None:
                count += 1 if found[0][0] in " \t" or length <= 10 else -(-length // 8)
            case " ":
                count += (1 if length <= 65 else -(-length // 128) + 1) + (8 < length < len(piece))
            case "\t":
                count += 1 if length <= 20 else -(-length // 16)
            case "\n":
                count += 1 if length <= 10 else -(-length // 16) + 1
            case "\r":
                count += -(-length // 2)
            case "\u3000":
                count += 1 if length <= 8 else -(-length // 16) + 1
            case "\xa0":
                count += 1 if length <= 4 else -(-length // 8) + 1
            case other:
                count += length * len(other.encode())
    return count
