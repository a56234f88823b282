"""How many tokens a text is: exactly, by a vocabulary that is on the machine, or by a calibrated estimate.

The measure is o200k, the vocabulary of OpenAI's models since GPT-4o.  Nothing is ever downloaded.  The same text has
the same count in every process with the same counter, text that looks like a special token (`<|endoftext|>`) is text
like any other, and no text makes a count fail.
"""

import functools
import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable
from typing import Any, Protocol

from rehydrate.context import estimate

REMEMBERED_CHARS = 1 << 23
"""What a counter remembers at the least and, twice that, at the most: characters of the texts that it has counted."""


_COMPILED = "bpe_openai._bindings"


class TokenCounter(Protocol):
    """What counts tokens; a host may bring its own."""

    @property
    def name(self) -> str:
        """For people: what the numbers are."""

    @property
    def is_exact(self) -> bool:
        """Whether a count is what the vocabulary gives, and no estimate."""

    def count(self, text: str, /) -> int:
        """Tokens; the same for the same text; 0 for an empty one only."""


class _Remembered:
    """Counts by text, the latest ones; threads may share it."""

    def __init__(self, count: Callable[[str], int]) -> None:
        self._count = count
        self._chars = 0
        self._new: dict[str, int] = {}
        self._old: dict[str, int] = {}

    def __call__(self, text: str) -> int:
        known = self._new.get(text)
        if known is None:
            known = self._old.get(text)
            if known is None:
                known = self._count(text)
            if self._chars > REMEMBERED_CHARS:
                self._old, self._new, self._chars = self._new, {}, 0
            self._new[text] = known
            self._chars += len(text)
        return known


def _compiled() -> Any:
    """The compiled module of `bpe-openai`, alone.

    The Python around it, which importing it the usual way would run, reads three vocabularies that the compiled module
    has already (a second of work, 60 MB), and refuses texts of a million characters or 200,000 tokens.
    """
    loaded = sys.modules.get(_COMPILED)
    if loaded is not None:
        return loaded
    package = importlib.util.find_spec("bpe_openai")
    found = package and importlib.machinery.PathFinder.find_spec(_COMPILED, package.submodule_search_locations)
    if not found or not found.loader:
        raise ImportError("an exact count of tokens needs the extra `tokens`: pip install 'rehydrate[tokens]'")
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    # Whoever imports the package afterwards is to find this one: some compiled modules refuse to be loaded twice.
    return sys.modules.setdefault(_COMPILED, module)


class Exact:
    """Tokens of o200k, with the extra `tokens`; `ImportError` without it."""

    name = "o200k"
    is_exact = True

    def __init__(self) -> None:
        tokenizer = _compiled().tokenizer_for_encoding("o200k_base")

        def count(text: str) -> int:
            try:
                return int(tokenizer.count(text))
            except UnicodeEncodeError:  # half a surrogate pair, which is sent as U+FFFD
                return int(tokenizer.count(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")))

        self.count = _Remembered(count)


class Estimate:
    """About as many tokens as o200k has for the text: see `rehydrate.context.estimate`."""

    name = "estimate of o200k"
    is_exact = False

    def __init__(self) -> None:
        self.count = _Remembered(estimate.tokens)


@functools.cache
def default_counter() -> TokenCounter:
    """The exact one where the extra `tokens` is installed, else the estimate; one for the process."""
    try:
        return Exact()
    except ImportError:
        return Estimate()


Ratio = tuple[int, int]
"""What a provider has counted of a request, and what our counter has."""
SAME: Ratio = (1, 1)
"""Nothing is known."""


def taught(known: Ratio, *, ours: int, theirs: int) -> Ratio:
    """What is known after a request of which our counter has `ours` tokens, and its provider has counted `theirs`.

    Of requests of about the same size the greatest ratio counts.  One of twice the size says more of the vocabulary,
    and less of what a provider adds to every request: it counts alone.
    """
    if ours < Learnt.LEAST:
        return known
    theirs = max(ours, min(theirs, Learnt.MOST * ours))
    is_larger = ours >= 2 * known[1]
    is_more = 2 * ours >= known[1] and theirs * known[1] > known[0] * ours
    return (theirs, ours) if is_larger or is_more else known


def raised(tokens: int, ratio: Ratio) -> int:
    """So many tokens of ours as the provider counts them, rounded up."""
    theirs, ours = ratio
    return -(-tokens * theirs // ours)


def lowered(tokens: int, ratio: Ratio) -> int:
    """The most tokens of ours that the provider counts as no more than so many."""
    theirs, ours = ratio
    return tokens * ours // theirs


class Learnt:
    """An upper bound for a model of another vocabulary, learnt from what its provider has counted.

    A count is that of `counter` times the ratio that is known (see `learn`), at least 1.
    """

    LEAST = 1_000
    """Tokens by our count below which a sample is passed over: what a provider adds to every request would be most of
    the ratio."""
    MOST = 4
    """A ratio above this is no matter of vocabulary: something was sent that was not counted."""

    is_exact = False

    def __init__(self, counter: TokenCounter, ratio: Ratio = SAME) -> None:
        """`ratio`: what is known already."""
        self.counter = counter
        self.name = f"{counter.name}, raised to what was counted"
        self._ratio = ratio

    def learn(self, *, ours: int, theirs: int) -> None:
        """The same request: its tokens by `counter`, and as the provider has counted them.  Of requests of about the
        same size the greatest ratio counts; one of twice the size counts alone.
        """
        self._ratio = taught(self._ratio, ours=ours, theirs=theirs)

    def count(self, text: str, /) -> int:
        """Tokens, rounded up."""
        return raised(self.counter.count(text), self._ratio)
