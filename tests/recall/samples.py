"""Conversations made up for tests of `rehydrate.recall`."""

from collections.abc import Iterable
from dataclasses import replace

from rehydrate.conversation import Boundary, Conversation, FileTouch, Segment, ToolCall, Turn
from rehydrate.files import Access
from rehydrate.recall import Rehydration, Section, build
from rehydrate.settings import Settings

PARENT = "11111111-aaaa"
CHILD = "22222222-bbbb"


def user(step: int, text: str | None, segment: int = 0) -> Turn:
    return Turn(step, "user", text, segment)


def said(step: int, text: str | None, *calls: ToolCall, segment: int = 0) -> Turn:
    return Turn(step, "assistant", text, segment, calls)


def called(step: int, *calls: ToolCall, segment: int = 0) -> Turn:
    return Turn(step, "assistant", "", segment, calls)


def boundary(step: int = 1000) -> Boundary:
    return Boundary(step, step, "0badcafe", 1, True, "made up", 0, 0)


def conversation(turns: Iterable[Turn] = (), touches: Iterable[FileTouch] = (), *, forks: int = 0) -> Conversation:
    """With `forks` ancestors, each of which ends 100 steps after it began."""
    segments = tuple(
        Segment(f"{index + 1}" * 8 + "-session", f"/logs/{index}", index * 100, index * 100 + 99)
        for index in range(forks + 1)
    )
    return Conversation("made-up", segments[-1].session, segments, tuple(turns), tuple(touches), boundary())


def touches(*rows: tuple[str, int, str], time_s: float | None = None) -> list[FileTouch]:
    """From (path, step, kind), oldest first."""
    return [FileTouch(path, step, order, kind, time_s) for order, (path, step, kind) in enumerate(rows)]


def rehydrated(
    made: Conversation, *, access: Access | None = None, settings: Settings | None = None, **changed: int | bool
) -> Rehydration:
    return build(made, replace(settings or Settings(), **changed), access=access or Access(()))


def section(whole: Rehydration, name: str) -> Section:
    return next(each for each in whole.sections if each.name == name)


def texts(found: Section) -> list[str]:
    return [item.text for item in found.items]
