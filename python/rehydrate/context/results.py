"""Results of tools that are too long for the window: a preview in their place, the whole text in a file of its own.

A result is judged once, when it comes: whoever sends the list passes what was decided before, and the decision stands
in the log, so that the view is the same after a restart.  The original stays in the log untouched.

Sizes are in tokens, of one meter.  Everything but `write_side_file` is pure: same messages, same bytes.
"""

import contextlib
import hashlib
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from rehydrate.packing import keep_ends
from rehydrate.private import make_private, read_bytes
from rehydrate.session.file import sync_folder

from .messages import Block, Message
from .meter import FLAT, Meter, as_json
from .shorten import HEAD_PERCENT, is_cut

BATCH_PERCENT: Final = 15
"""Of the window that the results of one answer may take (spec D1)."""
BATCH_MIN_TOKENS: Final = 5_000
BATCH_MAX_TOKENS: Final = 100_000
FLOOR_TOKENS: Final = 200
"""A smaller result is never rewritten: there is little to gain, and what is left of it could be taken for data."""
PREVIEW_CHARS: Final = 2_000
"""Of a result that is too long, three quarters from its beginning and the rest from its end."""
INTACT: Final = "Nothing is damaged: the original is intact in the log of this session"
RECALL_HINT: Final = "; the recall tool brings it back"
"""Said only where the model has such a tool."""

_PREVIEWS: Final = (PREVIEW_CHARS, 1_000, 500, 250, 0)
"""Shorter ones are for a batch of so many results, or for a text of so many tokens, that previews of the usual length
would not fit either."""
_KINDS: Final = {"assistant": ("tool_use", "id"), "user": ("tool_result", "tool_use_id")}
"""Role -> what of its blocks is looked at, and which member says the call."""
_NOT_IN_NAMES: Final = re.compile(r"[^A-Za-z0-9_]+")
_NAME_CHARS: Final = 64

Kind = Literal["result-budget", "prune"]


@dataclass(frozen=True, slots=True)
class Replacement:
    """What is to stand in the place of a result from now on."""

    message: int
    """Index in the list that was looked at."""
    block: int
    """Index in the content of that message."""
    call_id: str
    kind: Kind
    text: str
    """What the model reads in its place."""
    tokens_freed: int
    """What the list is shorter for it, by the meter that decided; more than 0."""
    media: tuple[Block, ...] = ()
    """Images and the like that stay, behind the text."""
    side_file: str | None = None
    """The whole text, for `write_side_file`, where it is kept in a file beside the log; None: it is not."""
    side_name: str | None = None
    """The name of that file."""

    @property
    def content(self) -> str | list[Block]:
        """The new content of the result: the text alone, or as a block before what stays."""
        return _content(self.text, self.media)

    def without_file(self) -> "Replacement":
        """The same where the whole text could not be kept in a file: its text names none."""
        text = self.text.replace(_in_file(self.side_name), "", 1)  # what we say of it stands before the preview
        return replace(self, text=text, side_file=None, side_name=None)


@dataclass(frozen=True, slots=True)
class Result:
    """A result in a list of messages, with the call that it answers."""

    message: int
    """Index in the list."""
    index: int
    """Index in the content of the message."""
    block: Block
    call_id: str
    """Empty where it has none."""
    call: Block | None
    """None where the list has no call with its id."""
    turn: int
    """Index of the answer that made the call; of the result's own message where there is none."""


def results_of(messages: Sequence[Message]) -> list[Result]:
    """Every result in the list, in its order.  Of calls with the same id a result answers the last one before it, or
    the first one at all: results may stand before their calls.
    """
    latest: dict[str, tuple[int, Block]] = {}
    early: dict[str, list[int]] = {}
    found: list[Result] = []
    for at, message in enumerate(messages):
        content, role = message.get("content"), message.get("role")
        if isinstance(content, str) or not isinstance(content, Sequence) or role not in _KINDS:
            continue
        kind, id_ = _KINDS[role]
        for index, block in enumerate(content):
            if not isinstance(block, (dict, Mapping)) or block.get("type") != kind:
                continue
            name = block.get(id_)
            name = name if isinstance(name, str) else ""
            if role == "assistant":
                latest[name] = (at, block)
                for place in early.pop(name, ()):
                    found[place] = replace(found[place], call=block, turn=at)
            elif name in latest:
                found.append(Result(at, index, block, name, latest[name][1], latest[name][0]))
            else:
                early.setdefault(name, []).append(len(found))
                found.append(Result(at, index, block, name, None, at))
    return found


def batch_limit(window: int) -> int:
    """Tokens that the results of one answer may take together; one alone may take half of that."""
    return min(BATCH_MAX_TOKENS, max(BATCH_MIN_TOKENS, window * BATCH_PERCENT // 100))


def over_budget(
    messages: Sequence[Message],
    *,
    window: int,
    meter: Meter,
    is_decided: Callable[[Block], bool],
    has_recall: bool = False,
) -> list[Replacement]:
    """What is to be put in the place of results, so that none and no batch of them takes more than its share, in the
    order of the list; empty where nothing is too long.

    First whatever is too long alone, then the longest of a batch until it fits.  `window`: of the model, in tokens.
    `is_decided`: which results are left as they are, because something was decided of them before.
    `has_recall`: whether the model has a tool that brings results back.  Images, sounds and documents stay and are not
    counted.  A batch of very many results may stay over its share: none under FLOOR_TOKENS goes.
    """
    limit = batch_limit(window)
    batches: dict[int, list[Result]] = {}
    for result in results_of(messages):
        batches.setdefault(result.turn, []).append(result)
    found: list[Replacement] = []
    for batch in batches.values():
        sizes = [meter.block(_without_media(result.block)) for result in batch]
        if sum(sizes) <= limit and max(sizes) <= limit // 2:
            continue
        open_ = [at for at, each in enumerate(batch) if sizes[at] >= FLOOR_TOKENS and not is_decided(each.block)]
        for chars in _PREVIEWS:
            short = {at: _shortened(batch[at], chars, meter=meter, has_recall=has_recall) for at in open_}
            taken = _take(short, sizes, limit=limit)
            after = [size - taken[at].tokens_freed if at in taken else size for at, size in enumerate(sizes)]
            if sum(after) <= limit and all(after[at] <= limit // 2 for at in open_):
                break
        found += taken.values()
    return sorted(found, key=lambda each: (each.message, each.block))


def _take(short: Mapping[int, Replacement], sizes: Sequence[int], *, limit: int) -> dict[int, Replacement]:
    """Of the replacements of a batch those that are needed, and that are shorter than what they replace."""
    taken = {}
    total = sum(sizes)
    for at in sorted(short, key=lambda at: (-sizes[at], at)):
        if total <= limit and sizes[at] <= limit // 2:
            break
        if short[at].tokens_freed > 0:
            taken[at] = short[at]
            total -= short[at].tokens_freed
    return taken


def _shortened(result: Result, chars: int, *, meter: Meter, has_recall: bool) -> Replacement:
    whole, media = content_text(result.block.get("content")), media_of(result.block.get("content"))
    name = side_name(result.call_id, whole)
    text = _preview(whole, chars, name=name, has_recall=has_recall)
    return replacement_of(result, "result-budget", text, meter=meter, media=media, side_file=whole, side_name=name)


def _preview(whole: str, chars: int, *, name: str, has_recall: bool) -> str:
    about = (
        f"[This result of {len(whole):,} characters is too long to be shown whole. "
        f"{INTACT}{_in_file(name)}{RECALL_HINT if has_recall else ''}."
    )
    if not chars:
        return f"{about}]"
    if len(whole) <= chars:
        return f"{about}]\n{whole}"
    head = chars * HEAD_PERCENT // 100
    tail = chars - head
    shown, _ = keep_ends(whole, head=head, tail=tail, is_cut=is_cut, mark=_mark)
    return f"{about} Its first {head:,} and last {tail:,} characters follow.]\n{shown}"


def _mark(left_out: int) -> str:
    return f"\n[... {left_out:,} characters left out ...]\n"


def _in_file(name: str | None) -> str:
    return f", and its text in the session's tool-results/{name}"


def replacement_of(
    result: Result,
    kind: Kind,
    text: str,
    *,
    meter: Meter,
    media: tuple[Block, ...] = (),
    side_file: str | None = None,
    side_name: str | None = None,
) -> Replacement:
    """The replacement with what it frees, which is not more than 0 where it is no shorter."""
    content = _content(text, media)
    freed = meter.block(result.block) - meter.block({**result.block, "content": content})
    return Replacement(result.message, result.index, result.call_id, kind, text, freed, media, side_file, side_name)


def replaced(messages: Sequence[Message], replacements: Iterable[Replacement]) -> list[Message]:
    """The list with the replacements in it, which were decided of this same list; messages that have none are those
    that were given.
    """
    new: dict[int, dict[int, Replacement]] = {}
    for each in replacements:
        new.setdefault(each.message, {})[each.block] = each
    made = list(messages)
    for at, rows in new.items():
        content = [
            {**block, "content": rows[index].content} if index in rows else block
            for index, block in enumerate(messages[at]["content"])
        ]
        made[at] = {**messages[at], "content": content}
    return made


def content_text(content: object) -> str:
    """All that a result says: its text, and as JSON what is neither that nor an image or the like."""
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, Sequence):
        return as_json(content)
    return "\n".join(_said(block) for block in content if not is_media(block))


def media_of(content: object) -> tuple[Block, ...]:
    """The images, sounds and documents of a result, which a budget of text leaves alone."""
    if isinstance(content, str) or not isinstance(content, Sequence):
        return ()
    return tuple(block for block in content if is_media(block))


def _said(block: object) -> str:
    if isinstance(block, Mapping) and block.get("type") == "text" and isinstance(block.get("text"), str):
        return str(block["text"])
    return block if isinstance(block, str) else as_json(block)


def is_media(block: object) -> bool:
    """Whether it is what has a flat cost; a document may be text."""
    if not isinstance(block, Mapping) or not isinstance(kind := block.get("type"), str) or kind not in FLAT:
        return False
    source = block.get("source")
    return not isinstance(source, Mapping) or source.get("type") not in ("text", "content")


def side_name(call_id: str, text: str) -> str:
    """The name of the file for the whole text of a result: the id as far as it is plain, for people, and a digest of
    the id and the text.  Ids come from strangers, and some providers count them from 0 in every answer.
    """
    plain = _NOT_IN_NAMES.sub("_", call_id)[:_NAME_CHARS] or "result"
    digest = hashlib.sha256(f"{call_id}\0{text}".encode("utf-8", "surrogatepass")).hexdigest()
    return f"{plain}-{digest[:16]}.txt"


def results_folder(path: str) -> str:
    """Where readers of such sessions look for results that are too large for the file of this path."""
    return os.path.join(path.removesuffix(".jsonl"), "tool-results")


def write_side_file(replacement: Replacement, *, folder: str) -> str:
    """Keep the whole text of a result in the folder of the session's results, before the decision is written to the
    log; gives the path.

    For its owner only, whole or not at all, and on disk when it returns; one that is there already is left.  Half of a
    surrogate pair, which UTF-8 cannot hold, is written as an escape.  Raises ValueError for a replacement that has no
    such text, and the OSError of the system; then half of it is never there.
    """
    if replacement.side_file is None or replacement.side_name is None:
        raise ValueError("the replacement has no text that is kept in a file")
    data = replacement.side_file.encode("utf-8", "backslashreplace")
    make_private(folder)
    path = os.path.join(folder, replacement.side_name)
    if read_bytes(path, most=len(data)) == data:
        _sync(folder)  # whoever has put it there may not have come so far
        return path
    # A name of its own: another process may be writing the same text.
    fd, temporary = tempfile.mkstemp(prefix=".", suffix=".tmp", dir=folder)
    try:
        with os.fdopen(fd, "wb") as file:
            if hasattr(os, "fchmod"):
                os.fchmod(fd, 0o600)  # whatever the umask
            file.write(data)
            file.flush()
            os.fsync(fd)
        os.replace(temporary, path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        if isinstance(error, OSError):
            error.filename = path
        raise
    _sync(folder)
    return path


def _sync(folder: str) -> None:
    sync_folder(folder)
    sync_folder(os.path.dirname(folder))  # which may be new, too


def _content(text: str, media: Sequence[Block]) -> str | list[Block]:
    return [{"type": "text", "text": text}, *media] if media else text


def _without_media(block: Block) -> Block:
    content = block.get("content")
    if isinstance(content, str) or not isinstance(content, Sequence) or not media_of(content):
        return block
    return {**block, "content": [each for each in content if not is_media(each)]}
