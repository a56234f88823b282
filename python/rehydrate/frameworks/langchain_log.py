"""A conversation of LangChain in a log: what of it is there, and how what a graph holds gets there.

A graph's state may be all of a conversation (with a checkpointer) or one run of it (without), and people change it:
they take messages out, put others in their places, go back.  The log follows: what is new is appended; where what it
holds is no longer what the state says, it goes on from before that, and what was is on a branch that nobody is sent.
The package is not needed for it.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

from rehydrate.context import FORMATS, Engine
from rehydrate.context.replies import entries_of
from rehydrate.session import NotASession, Session

from .langchain_messages import FORMAT, View, Views

T = TypeVar("T")


class Logged(NamedTuple):
    """A message that is in the log."""

    uuid: str
    """Of its entry."""
    id: str | None
    """LangChain's own."""
    digest: str
    """See `langchain_messages.digest`."""


class Line(Generic[T]):
    """The messages of one log, oldest first.  `lock` is for whoever uses it.  `T`: the framework's messages."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.views = Views[T]()
        self.asking = threading.Lock()
        """Whoever asks a model has it until the answer is there."""
        self._logged: list[Logged] = []
        self._tip: str | None = None
        """The entry that the log ended with when `_logged` was right."""

    def base(self, engine: Engine, views: Sequence[View]) -> str:
        """What a state that is new follows: the uuid of the message before its first one, the session's id where none
        stands there.  Nothing is appended.
        """
        self._look(engine)
        first = self._first(engine, views, None)
        return self._logged[first - 1].uuid if first else engine.log.session_id

    def follow(self, engine: Engine, views: Sequence[View], base: str | None) -> None:
        """Bring the log up to what a state holds that follows `base`; None: nobody has said what it follows.  Raises
        what `Engine.append` raises.
        """
        self._look(engine)
        known, first = self._logged, self._first(engine, views, base)
        same = 0
        for logged, view in zip(known[first:], views, strict=False):
            if logged.digest != view["langchain"]["digest"]:
                break
            same += 1
        if views and first + same < len(known):  # it was changed: a line of descent goes on elsewhere with a request
            while same and (same == len(views) or views[same]["role"] != "user"):
                same -= 1
            del known[first + same :]
            self._branch(engine, views[same])
            same += 1
        for view in views[same:]:
            self.add(engine, engine.append(view, format=FORMAT), view)
        self.settle(engine)

    def add(self, engine: Engine, uuid: str | None, view: View) -> None:
        """A message was appended."""
        self._logged.append(_logged(str(uuid), view["langchain"]))
        self.settle(engine)

    def settle(self, engine: Engine) -> None:
        """The log ends with something that is known."""
        self._tip = engine.log.tip

    def _look(self, engine: Engine) -> None:
        if self._tip is None or self._tip != engine.log.tip:
            self._logged = _read(engine)

    def _first(self, engine: Engine, views: Sequence[View], base: str | None) -> int:
        """The message of the log that the state begins with; how many there are where it is a new one."""
        known = self._logged
        if base == engine.log.session_id:
            return 0
        for place in reversed(range(len(known))):
            if base is not None and known[place].uuid == base:
                return place + 1
        name = views[0]["langchain"]["own"].get("id") if views else None
        for place in reversed(range(len(known))):
            if name is not None and known[place].id == name:
                return place
        said = [view["langchain"]["digest"] for view in views]
        for place in range(max(0, len(known) - len(said)), len(known)):  # all of it is given again, or nobody answered
            if [each.digest for each in known[place:]] == said[: len(known) - place]:
                return place
        return len(known)

    def _branch(self, engine: Engine, view: View) -> None:
        """Append a message behind what is still known."""
        (entry,) = entries_of(FORMATS[FORMAT].read([view]))
        parent = self._logged[-1].uuid if self._logged else None
        self.add(engine, engine.log.append_durable({**entry, "parentUuid": parent}), view)


class Lines(Generic[T]):
    """The lines of an agent's engines: `engine` is one, of the one conversation that it has, or gives that of the
    conversation that runs.
    """

    def __init__(self, engine: Engine | Callable[[Any], Engine]) -> None:
        self._engine = engine
        self._thread: str | None = None
        """Whose conversation the one engine has."""
        self._made: WeakKeyDictionary[Engine, Line[T]] = WeakKeyDictionary()
        self._lock = threading.Lock()

    def of(self, runtime: Any) -> tuple[Engine, Line[T]]:
        """Of what runs; ValueError for another thread's run where there is but one engine."""
        thread = getattr(runtime.execution_info, "thread_id", None)
        with self._lock:
            if not isinstance(self._engine, Engine):
                engine = self._engine(runtime)
            else:
                engine, self._thread = self._engine, self._thread or thread
                if thread != self._thread:
                    raise ValueError(
                        f"the engine has the conversation of the thread {self._thread}, and this is {thread}: give "
                        "`RehydrateMiddleware` a function that gives an engine for each"
                    )
            return engine, self._made.setdefault(engine, Line())


def _logged(uuid: str, mark: Mapping[str, Any]) -> Logged:
    return Logged(uuid, mark["own"].get("id"), mark["digest"])


def _read(engine: Engine) -> list[Logged]:
    """What the log holds; what others have appended is no message of LangChain's, and passed over."""
    engine.log.flush()
    try:
        session = Session.open(engine.log.path)
    except (FileNotFoundError, NotASession):
        return []
    found = []
    with session:
        for record in session.view("scrollback", at=engine.log.tip):
            if record["type"] in ("user", "assistant", "system") and "wire" in str(record.get("message")):
                for view in FORMATS[FORMAT].write([record["message"]]):
                    if mark := view.get("langchain"):
                        found.append(_logged(record["uuid"], mark))
    return found
