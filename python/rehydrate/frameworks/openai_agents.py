"""OpenAI Agents SDK: a session that is an engine's log.

    session = RehydrateSession(Engine(log, window=200_000))
    config = RunConfig(call_model_input_filter=session.fit)
    result = await Runner.run(agent, "What is in this folder?", session=session, run_config=config)

What the SDK adds is in the log; what it gets is the engine's projection.  It asks for that once in a run, and `fit`
before each call of a model.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from rehydrate.context import Engine, InvalidProjection, Request, trim
from rehydrate.context.restore import restored_at
from rehydrate.session.marks import tombstone

try:
    from agents import SessionABC
    from agents.run import CallModelData, ModelInputData
except ImportError as error:
    raise ImportError("this needs the OpenAI Agents SDK: pip install 'rehydrate[openai-agents]'") from error

from .followed import Followed
from .openai_agents_items import FORM, FORMAT, Item, items_of, key_of, schema_of


class RehydrateSession(SessionABC):
    """A session of the SDK; methods raise what those of `Engine` and of `SessionLog` raise."""

    def __init__(self, engine: Engine) -> None:
        """`engine`: of a log that nobody else appends to meanwhile."""
        self.engine = engine
        """The engine that it is made of."""
        self.session_id = engine.log.session_id
        self._log = Followed(engine)
        self._request = Request(model="", format=FORMAT)
        self._held: list[object] | None = None
        """The keys of what the SDK has in its hands, by what it got and added; None: nobody has asked yet."""

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """What a model is sent of the conversation, compacted where that is due; with a `limit` the newest items as
        they were added, of those that no compaction has covered.
        """
        if limit is None:
            return await self._log.alone(self._projected)
        raw = FORM.write(await self._log.alone(self._log.messages))
        return raw[-limit:] if limit > 0 else []

    async def add_items(self, items: list[Any]) -> None:
        """Append items: written when this returns, requests and calls durably."""
        await self._log.alone(self._add, items)

    async def pop_item(self) -> Any:
        """Take the newest item out of every view but the raw one, and give it; None where there is none, or a
        compaction has covered it.
        """
        return await self._log.alone(self._pop)

    async def clear_session(self) -> None:
        """Begin anew, behind nothing: the log still has what was said, and no view shows it."""
        await self._log.alone(self._clear)

    async def fit(self, data: CallModelData[Any]) -> ModelInputData:
        """What a call of a model is to be sent: for `RunConfig.call_model_input_filter`.

        Where a run sends something else than the session holds, as behind the filter of a handoff, that is trimmed by
        itself, and nothing of it is remembered.
        """
        system, tools = data.model_data.instructions, [*data.agent.tools, *data.agent.handoffs]
        request = replace(self._request, system=system, tools=[schema_of(tool) for tool in tools])
        sent = await self._log.alone(self._fitted, data.model_data.input, request)
        return ModelInputData(input=sent, instructions=system)

    def _projected(self) -> list[Any]:
        items = list(self.engine.prepare(self._request).messages) if self._log.messages() else []
        self._held = [key_of(item) for item in items]
        return items

    def _add(self, items: Sequence[Item]) -> None:
        self.engine.append(*items, format=FORMAT)
        self.engine.log.flush()  # the SDK gives the result of the run next
        if self._held is not None:
            self._held += map(key_of, items)

    def _clear(self) -> None:
        entry = {"type": "system", "subtype": "clear", "content": "The conversation was cleared.", "parentUuid": None}
        if self.engine.log.tip is not None:
            self.engine.log.append_durable(entry)
        self._held = []

    def _fitted(self, given: Sequence[Item], request: Request) -> list[Any]:
        self._request = request
        keys, held = [key_of(item) for item in given], self._held
        if held is None:  # a run that goes on in another process
            last = [key_of(item) for item in FORM.write(self._log.messages())][-1:]
            held = keys[: len(keys) - keys[::-1].index(last[0])] if last and last[0] in keys else None
        if held and keys[: len(held)] == held:
            control = FORM.read(given[len(held) :])  # what the SDK has not added yet
            with suppress(InvalidProjection):  # a result among them, of a call that it has added
                return list(self.engine.prepare(replace(request, control=control)).messages)
        explained = self.engine.explain(request)
        if explained["available"] is None:
            return list(given)
        fixed = sum(explained["holders"].get(name, 0) for name in ("system", "tools"))
        return list(trim(given, budget=explained["available"] - fixed, format=FORMAT))

    def _pop(self) -> Item | None:
        log = self.engine.log
        log.flush()
        said = [each for each in restored_at(log.path, log.tip).sources if each["type"] in ("user", "assistant")]
        if not said:
            return None
        record = said[-1]
        *rest, popped = items_of(record["message"])
        if rest:
            (message,) = FORM.read(rest)
            log.append_durable([{"type": record["type"], "message": message}, tombstone(record["uuid"], "")])
        else:
            log.retract(record["uuid"])
            log.flush()
        if self._held:
            del self._held[-1]
        return popped
