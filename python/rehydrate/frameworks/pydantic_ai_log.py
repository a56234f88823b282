"""A history of pydantic-ai in a log.  The package is not needed for it."""

from collections.abc import Sequence

from rehydrate.context import Engine
from rehydrate.context.state import State

from .pydantic_ai_views import View, keys_of

FORMAT = "anthropic"
"""The form in which an engine is given the messages."""


def follow(engine: Engine, state: State, views: Sequence[View]) -> None:
    """Append what the log lacks of a history, behind the last that it has; what it has behind that was given up.

    `state`: what the log holds.  Raises what `Engine.append` and `SessionLog.retract` raise.
    """
    said, has = state.said, [keys_of(each.message) for each in state.said]
    known = set().union(*has, *map(keys_of, state.inherited))
    given = {key for view in views for key in view.keys}
    last = max((at for at, view in enumerate(views) if view.keys and known.issuperset(view.keys)), default=-1)
    if known & given:
        last_said = max((at for at, keys in enumerate(has) if keys & given), default=-1)
        for each, keys in zip(reversed(said[last_said + 1 :]), reversed(has[last_said + 1 :]), strict=True):
            if keys:
                engine.log.retract(each.uuid, reason="another history was given")
    fresh = [view.message(known) for view in views[last + 1 :]]
    engine.append(*(message for message in fresh if message["content"]), format=FORMAT)
