"""Messages as plain text for a model that is to write about them and not to follow them.

Each piece of text has a mark that says what it is.  How marks are told from text is for whoever writes them down.
"""

from collections.abc import Iterator, Sequence

from ..packing import keep_ends, share
from .messages import FOREIGN, THOUGHTS, Block, Message, blocks, kind_of, squeezed
from .meter import as_json
from .shorten import HEAD_PERCENT, is_cut

Piece = tuple[str, str]
"""A mark, one line, and the text that it is of."""

LEAST_ENDS = 64
"""Characters: a text that is cut to less has no end and no mark for what is left out."""
NAME_CHARS = 80


def pieces(unit: Sequence[Message], *, chars: int) -> Iterator[Piece]:
    """What the messages of a unit say, in order, of each message at most so many characters; thoughts are left out, and
    for images and the like there is a word.
    """
    names: dict[object, str] = {}
    for message in unit:
        said = list(_said(message, names))
        most = share([len(text) for _, text in said], chars)
        for mark, text in said:
            yield mark, clip(text, chars=most)


def clip(text: str, *, chars: int) -> str:
    """The text in at most so many characters: where it is too long its beginning and its end, and between them how much
    is left out.
    """
    if len(text) <= chars:
        return text
    room = chars - len(_left_out(len(text)))
    if room < LEAST_ENDS:
        return keep_ends(text, head=chars, tail=0, is_cut=is_cut, mark=lambda _: "")[0]
    head = room * HEAD_PERCENT // 100
    return keep_ends(text, head=head, tail=room - head, is_cut=is_cut, mark=_left_out)[0]


def name(text: object) -> str:
    """A name in a mark: one line, and not a long one."""
    return squeezed(str(text), NAME_CHARS)


def _said(message: Message, names: dict[object, str]) -> Iterator[Piece]:
    who = "a summary that another program has made" if kind_of(message) == FOREIGN else name(message.get("role"))
    for block in blocks(message):
        kind = block.get("type")
        if kind == "tool_use":
            names[block.get("id")] = tool = name(block.get("name"))
            yield f"{who}, calls {tool}", as_json(block.get("input"))
        elif kind == "tool_result":
            of = names.get(block.get("tool_use_id"), "a tool")
            failed = ", which failed" if block.get("is_error") is True else ""
            yield f"result of {of}{failed}", "\n".join(filter(None, map(_text, blocks(block))))
        elif text := _text(block):
            yield who, text


def _text(block: Block) -> str:
    if block.get("type") in THOUGHTS:
        return ""
    text = block.get("text")
    if block.get("type") == "text":
        return text if isinstance(text, str) and text.strip() else ""
    return f"[{name(block.get('type'))}, left out here]"


def _left_out(chars: int) -> str:
    return f"\n[… {chars:,} characters left out …]\n"
