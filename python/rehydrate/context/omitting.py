"""What of a conversation is no longer sent because its provider has refused it: images and the like, and thoughts.

The decision is a record of the log, and the entries stay as they are.  An image is named by a digest of its block, so
it is left out wherever it stands: in a result, in what a compaction has kept, in a copy of the session.  Of thoughts,
all go that came before the record, and those that the loop of tools it stands in still brings: a loop has all of its
thoughts or none.

Pure.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from .messages import THOUGHTS, Block, Message, blocks, is_request
from .records import OMITTED
from .results import INTACT, is_media
from .view import Said

_NAMES = {"image": "An image", "audio": "A recording", "video": "A video", "document": "A document"}


def canonical(block: Block) -> bytes:
    """A block as the same bytes, whatever the order of its members."""
    return json.dumps(block, sort_keys=True, separators=(",", ":")).encode()


def digest_of(block: Block) -> str:
    """What a block is known by."""
    return sha256(canonical(block)).hexdigest()


def media_in(messages: Iterable[Message]) -> Iterator[Block]:
    """The images and the like in messages, those in results included."""
    for message in messages:
        for block in blocks(message):
            yield from filter(is_media, (block, *(blocks(block) if block.get("type") == "tool_result" else ())))


def without_thoughts(message: Message) -> Message:
    """The answer without its thoughts; the very message where it has none.  One with nothing else is empty then, and is
    not sent, unless another piece of the same answer says something.
    """
    content = message.get("content")
    if message.get("role") != "assistant" or isinstance(content, str):
        return message
    given = blocks(message)
    kept = [block for block in given if block.get("type") not in THOUGHTS]
    return {**message, "content": kept} if len(kept) < len(given) else message


def without_media(message: Message, digests: Collection[str]) -> Message:
    """The message with a line of text in the place of each of these images and the like; the very message where it has
    none of them.
    """
    content = message.get("content")
    if isinstance(content, str) or not any(digest_of(each) in digests for each in media_in((message,))):
        return message
    return {**message, "content": [_without(block, digests) for block in blocks(message)]}


def _without(block: Block, digests: Collection[str]) -> Block:
    if is_media(block):
        if digest_of(block) not in digests:
            return block
        what = _NAMES.get(str(block.get("type")), "Something")
        return {"type": "text", "text": f"[{what} was left out, as it could not be sent. {INTACT}.]"}
    inside = block.get("content")
    if block.get("type") == "tool_result" and isinstance(inside, Sequence) and not isinstance(inside, str):
        return {**block, "content": [_without(each, digests) for each in blocks(block)]}
    return block


@dataclass(slots=True)
class Omitting:
    """Leaves out what is to be left out of entries, each told in its order."""

    digests: frozenset[str] = frozenset()
    """Of images and the like."""
    ahead: int = 0
    """So many entries are still to come up to where thoughts were left out last."""
    is_thoughtless: bool = False
    """Whether thoughts are left out of what comes next."""
    thoughts: int = 0
    """Out of so many messages they were."""

    @classmethod
    def of(cls, records: Iterable[Mapping[str, Any]], entries: Sequence[str]) -> "Omitting":
        """`records`: of the log, those that hold for it; others than these decisions are passed over.  `entries`: the
        uuids of what will be told.
        """
        found = cls()
        places = {uuid: at for at, uuid in enumerate(entries)}
        for record in records:
            if record.get("type") != OMITTED:
                continue
            named = record.get("digests")
            found.digests |= {each for each in (named if isinstance(named, list) else ()) if isinstance(each, str)}
            if record.get("thoughts") is True:
                found.is_thoughtless = True
                found.ahead = max(found.ahead, places.get(str(record.get("after")), -1) + 1)
        return found

    def __bool__(self) -> bool:
        """Whether anything is left out."""
        return bool(self.digests) or self.is_thoughtless

    def inherited(self, messages: Sequence[Message]) -> Sequence[Message]:
        """What a checkpoint has left, which comes before all entries."""
        return tuple(map(self._left, messages)) if self else messages

    def next(self, said: Said | None) -> Said | None:
        """What the next entry says of itself; None where it says nothing."""
        if self.ahead:
            self.ahead -= 1
        elif said is not None and is_request(said.message):
            self.is_thoughtless = False
        if said is None or not self:
            return said
        message = self._left(said.message)
        return said if message is said.message else replace(said, message=message)

    def _left(self, message: Message) -> Message:
        whole = message
        message = without_thoughts(message) if self.is_thoughtless else message
        self.thoughts += message is not whole
        return without_media(message, self.digests) if self.digests else message
