import asyncio

from rehydrate.context import AsyncEngine, Engine, Request
from rehydrate.session import Sessions


def test_an_engine_works_from_asyncio(tmp_path):
    async def main():
        with Sessions(tmp_path).new(str(tmp_path)) as log:
            engine = AsyncEngine(await asyncio.to_thread(Engine, log, window=100_000))
            request = Request(model="m", format="anthropic")
            uuid = await engine.append({"role": "user", "content": "hello"})
            await engine.pin(uuid)
            item = await engine.put("Exact next action", "say hello")
            projection = await engine.prepare(request)
            reply = await engine.observe(
                {"input_tokens": 20, "output_tokens": 5}, {"role": "assistant", "content": "Hi."}
            )
            await engine.close(item)
            explained = await engine.explain()
            return projection.messages, reply, await engine.compact(), explained["tokens"], explained["ledger"]

    messages, reply, compacted, tokens, ledger = asyncio.run(main())
    assert messages == [{"role": "user", "content": "hello"}]
    assert isinstance(reply, str)
    assert compacted is None
    assert (tokens, ledger) == (25, 0)


def test_several_requests_are_prepared_at_once(tmp_path):
    async def main():
        with Sessions(tmp_path).new(str(tmp_path)) as log:
            engine = AsyncEngine(Engine(log, window=100_000))
            await engine.append({"role": "user", "content": "hello"})
            request = Request(model="m", format="openai-chat")
            found = await asyncio.gather(*(engine.prepare(request) for _ in range(8)))
            return {each.revision for each in found}

    assert len(asyncio.run(main())) == 1
