"""Texts and messages cut to a number of tokens: three quarters of what stays is from the beginning, one quarter from
the end, and a mark between the two says how much is missing.

What comes back never counts more than its limit, by the meter that is given.  No cut goes through a surrogate pair.
Calls are left as they are: a model would take a cut input for what it called.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from rehydrate.packing import keep_ends, share

from .messages import THOUGHTS, Block, Message, blocks
from .meter import Meter

HEAD_PERCENT = 75
FLOOR = 64
"""Tokens: no text in a shortened unit is cut to less than that, since what is left would look like the whole."""
_PROBES = 10
"""How often a cut is tried at most; each try looks for a longer or shorter one than the one before."""
_CLOSE_PERCENT = 97
"""A cut that fills so much of its limit is not improved."""
_TRIES = 4
"""How often a list that counts more than its parts is cut further."""
_MEDIA = {"image": "an image", "audio": "a recording", "document": "a document"}


def shorten(text: str, *, limit: int, meter: Meter) -> str:
    """The text where it counts at most `limit` tokens, else its beginning and end with a mark between; empty where not
    even the mark has room.
    """
    whole = count(text, meter)
    if whole <= limit:
        return text
    best = _cut(text, 0)
    used = count(best, meter)
    if used > limit:
        return ""
    fits, over = 0, len(text)
    keep = (limit - used) * len(text) // whole
    for _ in range(_PROBES):
        keep = min(max(keep, fits + 1), over - 1)
        if keep <= fits:
            break
        tried = _cut(text, keep)
        tokens = count(tried, meter)
        if tokens > limit:
            over = keep
            keep = min(keep * limit // tokens, (fits + over) // 2 if fits else keep)
        else:
            best, fits, used = tried, keep, tokens
            if tokens * 100 >= limit * _CLOSE_PERCENT:
                break
            keep = min(keep + (limit - tokens) * max(keep, 1) // max(tokens, 1) + 1, (fits + over + 1) // 2)
    return best


def count(text: str, meter: Meter) -> int:
    """Tokens of a text in a message."""
    return meter.block({"type": "text", "text": text})


def shorten_unit(messages: Sequence[Message], *, limit: int, meter: Meter) -> list[Message] | None:
    """The messages of one unit within `limit` tokens: without thoughts, with placeholders for images, its longest texts
    cut; None where that is not enough, or something in it could not be told apart from the whole.
    """
    bare = [_bare(message) for message in messages]
    if not all(message["content"] for message in bare):
        return None
    if not all(block.get("type") in ("text", "tool_use", "tool_result") for each in bare for block in blocks(each)):
        return None
    return _fit(bare, limit=limit, floor=FLOOR, meter=meter)


def cut_request(message: Message, *, limit: int, meter: Meter) -> Message | None:
    """A request within `limit` tokens: first images become placeholders, then its texts are cut; None where not even
    the mark has room.
    """
    bare = _bare(message)
    found = _fit([bare], limit=limit, floor=1, meter=meter)
    if found is not None:
        return found[0]
    text = "\n".join(_words(block) for block in blocks(bare))
    frame = meter.message({**bare, "content": ""})
    cut = shorten(text, limit=limit - frame, meter=meter)
    while cut:
        found_message = {**bare, "content": cut}
        excess = meter.message(found_message) - limit
        if excess <= 0:
            return found_message
        cut = shorten(text, limit=count(cut, meter) - excess, meter=meter)
    return None


def _cut(text: str, keep: int) -> str:
    """`keep` characters of the text, or a few less, and the mark."""
    head = keep * HEAD_PERCENT // 100
    return keep_ends(text, head=head, tail=keep - head, is_cut=is_cut, mark=_mark)[0]


def is_cut(text: str, at: int) -> bool:
    """Whether the text may be parted before the character at `at`: anywhere but in a surrogate pair."""
    return not (0 < at < len(text) and "\ud800" <= text[at - 1] <= "\udbff" and "\udc00" <= text[at] <= "\udfff")


def _mark(left_out: int) -> str:
    return f"\n[… {left_out:,} characters left out here …]\n"


def _bare(message: Message) -> dict[str, Any]:
    """Without thoughts, and placeholders for what is to be seen or heard."""
    content = message.get("content")
    if isinstance(content, str):
        return {**message}
    kept = []
    for block in blocks(message):
        if block.get("type") in THOUGHTS:
            continue
        inside = block.get("content")
        if block.get("type") == "tool_result" and isinstance(inside, Sequence) and not isinstance(inside, str):
            block = {**block, "content": [_seen(each) for each in blocks(block)]}
        kept.append(_seen(block))
    return {**message, "content": kept}


def _seen(block: Block) -> Block:
    kind = _MEDIA.get(str(block.get("type")))
    return block if kind is None else {"type": "text", "text": f"[{kind} was here; it is left out]"}


def _words(block: Block) -> str:
    text = block.get("text")
    return text if isinstance(text, str) else f"[{block.get('type')} left out]"


def _fit(messages: Sequence[Message], *, limit: int, floor: int, meter: Meter) -> list[Message] | None:
    """The messages with every text above one size cut to that size, so that all count at most `limit`."""
    total = sum(meter.message(message) for message in messages)
    if total <= limit:
        return list(messages)
    sizes = [count(text, meter) for message in messages for text in _texts(message)]
    room = sum(sizes) - (total - limit)
    for _ in range(_TRIES):
        cap = share(sizes, room)
        if cap < floor:
            break
        found: list[Message] = [_shortened(message, cap, meter) for message in messages]
        excess = sum(meter.message(message) for message in found) - limit
        if excess <= 0:
            return found if sum(1 for message in found for _ in _texts(message)) == len(sizes) else None
        room -= excess
    return None


def _texts(message: Message) -> Iterator[str]:
    """The texts that may be cut, none of them empty."""
    content = message.get("content")
    if isinstance(content, str):
        if content:
            yield content
        return
    for block in blocks(message):
        if block.get("type") == "tool_result":
            yield from _texts(block)
        elif block.get("type") == "text" and block.get("text"):
            yield block["text"]


def _shortened(message: Message, cap: int, meter: Meter) -> dict[str, Any]:
    """The message with every text of it that counts more than `cap` cut to that."""
    content = message.get("content")
    if isinstance(content, str):
        return {**message, "content": shorten(content, limit=cap, meter=meter)}
    changed: list[Block] = []
    for block in blocks(message):
        if block.get("type") == "tool_result" and block.get("content"):
            block = _shortened(block, cap, meter)
        elif block.get("type") == "text" and block.get("text"):
            block = {**block, "text": shorten(block["text"], limit=cap, meter=meter)}
        changed.append(block)
    return {**message, "content": changed}
