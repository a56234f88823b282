"""What a provider has counted for one call, whatever it calls the numbers.

    provider          prompt                         completion                        total
    openai-chat       prompt_tokens                  completion_tokens                 total_tokens
    openai-responses  input_tokens                   output_tokens                     total_tokens
    anthropic         input_tokens +                 output_tokens                     -
                      cache_read_input_tokens +
                      cache_creation_input_tokens
    gemini            promptTokenCount               candidatesTokenCount +            totalTokenCount
                                                     thoughtsTokenCount
    bedrock           inputTokens +                  outputTokens                      totalTokens
                      cacheReadInputTokens +
                      cacheWriteInputTokens

What OpenAI and Gemini say of cached tokens is a part of the prompt's number; what OpenAI says of thoughts, of the
completion's.
Where Anthropic has compacted during the call, `iterations` tells each pass, and the last one of type `message` counts.
Names count in snake case too, as the providers' own Python packages write them.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call; None where the provider did not say, or said what is no count."""

    prompt: int | None
    """What was sent."""
    completion: int | None
    """What was answered, thoughts included."""
    total: int | None
    """The provider's own sum, which may hold more than the two."""

    @property
    def floor(self) -> int | None:
        """What the context holds after the call, at the least; None where neither total nor both parts are known."""
        parts = None if self.prompt is None or self.completion is None else self.prompt + self.completion
        return max((each for each in (self.total, parts) if each is not None), default=None)


@dataclass(frozen=True, slots=True)
class _Names:
    """Members to add up, in snake case: the first is needed, the others are 0 where they are absent."""

    prompt: tuple[str, ...]
    completion: tuple[str, ...]
    total: tuple[str, ...] = ()


_PROVIDERS: Mapping[str, _Names] = {
    "openai-chat": _Names(("prompt_tokens",), ("completion_tokens",), ("total_tokens",)),
    "openai-responses": _Names(("input_tokens",), ("output_tokens",), ("total_tokens",)),
    "anthropic": _Names(("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"), ("output_tokens",)),
    "gemini": _Names(
        ("prompt_token_count",), ("candidates_token_count", "thoughts_token_count"), ("total_token_count",)
    ),
    "bedrock": _Names(
        ("input_tokens", "cache_read_input_tokens", "cache_write_input_tokens"), ("output_tokens",), ("total_tokens",)
    ),
}
PROVIDERS = tuple(_PROVIDERS)

_SUMS = re.compile(r"(?:total_token|model|(?:cumulative|accumulated|aggregate|lifetime|session)_?\w*)_usage|num_turns")
"""Members, in snake case, that only sums over several calls have: of a session's log, or of an agent's result."""


def usage_of(raw: Mapping[str, Any], *, provider: str) -> Usage:
    """The usage in a provider's reply, `raw` being its member `usage` (Gemini: `usageMetadata`) as a mapping.

    Only whole numbers from 0 count.  `ValueError` for another provider than one of `PROVIDERS`, and for a sum over
    several calls, which says nothing of what the context holds; `TypeError` for what is no mapping.
    """
    if not isinstance(raw, Mapping):
        raise TypeError(f"a usage is an object, as the provider gave it, and no {type(raw).__name__}")
    if not isinstance(provider, str) or provider not in _PROVIDERS:
        raise ValueError(f"{provider!r:.80} is no provider whose usage is known; there are {', '.join(PROVIDERS)}")
    said: Mapping[str, Any] = {_snake(name): value for name, value in raw.items()}
    _refuse_sums(said)
    if provider == "anthropic":
        said = _last_pass(said)
    names = _PROVIDERS[provider]
    return Usage(
        prompt=_sum(said, names.prompt), completion=_sum(said, names.completion), total=_sum(said, names.total)
    )


def _snake(name: object) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", str(name)).lower()


def _refuse_sums(said: Mapping[str, Any]) -> None:
    sums = [name for name in said if _SUMS.fullmatch(name)]
    requests = said.get("requests")
    if isinstance(requests, int) and requests > 1:
        sums.append("requests")
    if isinstance(said.get("total"), Mapping):
        sums.append("total")
    if sums:
        raise ValueError(f"a usage with `{sums[0]}` is a sum over several calls; give that of the last call alone")


def _last_pass(said: Mapping[str, Any]) -> Mapping[str, Any]:
    """Anthropic's usage, or of several passes that of the last message."""
    passes = said.get("iterations")
    if isinstance(passes, Sequence):
        for each in reversed(passes):
            if isinstance(each, Mapping) and each.get("type") == "message":
                return each
    return said


def _sum(said: Mapping[str, Any], names: Iterable[str]) -> int | None:
    """The sum of these members; None where the first is no count, or another one is there and is none."""
    found = [said.get(name) for name in names]
    if not found or found[0] is None:
        return None
    counts = [0 if each is None else each for each in found]
    return sum(counts) if all(type(each) is int and each >= 0 for each in counts) else None
