"""A log looked at from outside, by who is not the host: nothing is written, and what only the host knows is taken from
the last request.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rehydrate.session.place import AGENT

from .breaker import Breaker, breaker_key
from .engine import ANY
from .meter import Meter
from .policy import Policy
from .projection import Request
from .restore import Restored, restore
from .scene import Scene, Stage
from .state import read
from .wire import FORMATS


class _AsLast(Meter):
    """Counts for the system and the tools, which no log holds, what they had in the last request."""

    def __init__(self, fixed: int) -> None:
        super().__init__()
        self._fixed = fixed

    def fixed(self, *, system: object, tools: Sequence[Mapping[str, Any]] | None) -> int:
        """The same, whatever they are."""
        return self._fixed


@dataclass(frozen=True, slots=True)
class Look:
    """What the next request would be made of, as far as a log tells."""

    path: str
    restored: Restored
    scene: Scene
    meter: Meter
    window: int | None
    """Tokens; None: neither the caller nor a checkpoint says."""
    model: str | None
    """None: nobody says."""
    format: str
    breaker: Breaker
    """How asking a model for summaries has gone."""

    @classmethod
    def at(
        cls,
        path: str,
        *,
        at: str | None = None,
        window: int | None = None,
        policy: Policy | None = None,
        model: str | None = None,
        format: str | None = None,
    ) -> "Look":
        """`at`: as for `restore`.  `policy`: of the host; None: nobody knows it.  `format`: a name in `FORMATS`.

        What else is None is what it was in the last request.  Raises what `restore` raises.
        """
        restored = restore(path, at=at)
        state = read(path, tip=None if at is None else restored.tip)
        last = state.usage or {}
        if window is None and state.checkpoint is not None:
            window = state.checkpoint.figures.get("window") or None
        known = last.get("model")
        model = model or (known if isinstance(known, str) else None)
        format = format or str(last.get("format"))
        if format not in FORMATS:
            format = ANY.format
        fixed = last.get("fixed")
        meter = _AsLast(fixed if type(fixed) is int and fixed > 0 else 0)
        stage = Stage(window=window, meter=meter, policy=policy or Policy())
        scene = stage.scene(state, Request(model=model or "", format=format))
        breaker = Breaker.of(state.breaker, key=_key(path, restored.session_id))
        return cls(path, restored, scene, meter, window, model, format, breaker)


def _key(path: str, session_id: str) -> str:
    """Whose breaker that of the log is."""
    folder, name = os.path.split(os.path.abspath(path))
    agent_id = name.removeprefix(AGENT).removesuffix(".jsonl") if name.startswith(AGENT) else ""
    folder = os.path.dirname(os.path.dirname(folder)) if agent_id else folder
    return breaker_key(workspace=os.path.basename(folder), session=f"{session_id}/{agent_id}")
