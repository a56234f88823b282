"""What is put in the place of results, as the log has it."""

import warnings
from collections.abc import Iterable, Sequence
from typing import Any

from .assembling import Assembled
from .results import Replacement, write_side_file


def kept_beside(found: Iterable[Replacement], *, folder: str) -> list[Replacement]:
    """What was decided, once the whole texts are in their files in `folder`.

    The log has each text, too: one that cannot be written there is left to it, and that is warned of; a folder that is
    of no use does not end the conversation.
    """
    kept = []
    for each in found:
        if each.side_file is not None:
            try:
                write_side_file(each, folder=folder)
            except OSError as error:
                warnings.warn(_UNUSABLE.format(folder=folder, error=error), RuntimeWarning, stacklevel=2)
                each = each.without_file()
        kept.append(each)
    return kept


_UNUSABLE = (
    "a result that is too long could not be written into {folder}, and only the log has it whole: make that a folder "
    "that this user can write to, or remove it ({error})"
)


def rows_of(found: Sequence[Replacement], work: Assembled) -> list[dict[str, Any]]:
    """The rows of a record for what was decided of `work`."""
    rows = []
    for each in found:
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
