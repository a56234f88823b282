"""What is put in the place of results, as the log has it."""

from collections.abc import Sequence
from typing import Any

from .assembling import Assembled
from .results import Replacement, write_side_file


def rows_of(found: Sequence[Replacement], work: Assembled, *, folder: str) -> list[dict[str, Any]]:
    """The rows of a record for what was decided of `work`; whole texts are in their files in `folder` before that.

    Raises OSError.
    """
    rows = []
    for each in found:
        if each.side_file is not None:
            write_side_file(each, folder=folder)
        block = work.messages[each.message]["content"][each.block]
        uuid, index = _place_of(block, work, each.message)
        rows.append(
            {
                "messageUuid": uuid,
                "toolUseId": each.call_id,
                "blockIndex": index,
                "kind": each.kind,
                "replacement": each.content,
            }
        )
    return rows


def _place_of(block: object, work: Assembled, message: int) -> tuple[str, int]:
    """The entry that a block stands in, and its index there."""
    for place in work.sources[message]:
        said = work.said[place]
        content = said.message["content"]
        for index, own in enumerate(content if isinstance(content, list) else ()):
            if own is block:
                return said.uuid, index
    raise LookupError(f"message {message} holds a result that no entry has")
