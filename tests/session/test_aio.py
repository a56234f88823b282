"""The same from asyncio."""

import asyncio
import inspect
import threading

import pytest

from rehydrate.session import AsyncSessionLog, SessionLog, assistant, user
from rehydrate.session.file import LogFile

from .conftest import records


def methods(kind):
    return {name: each for name, each in vars(kind).items() if inspect.isfunction(each) and not name.startswith("_")}


def test_every_method_of_a_log_is_there_with_the_same_parameters():
    ours, log = methods(AsyncSessionLog), methods(SessionLog)
    assert ours.keys() - {"tip"} == log.keys()
    for name, each in log.items():
        assert inspect.signature(ours[name]) == inspect.signature(each)
        assert inspect.iscoroutinefunction(ours[name])


def test_all_of_it_is_written(place):
    async def work():
        async with AsyncSessionLog(SessionLog(place, cwd="/")) as log:
            first = await log.append_durable(user("hello"))
            failed = await log.append(assistant("half"))
            await log.retract(failed)
            assert await log.tip() == first
            await log.snip([failed])
            await log.replace_content([])
            await log.compact("short", trigger="manual", pre_tokens=3)
            await log.abort("enough")
            await log.flush()
            assert (log.path, log.session_id, log.agent_id) == (place.path, place.session_id, None)
        with pytest.raises(ValueError):
            await log.append(user("more"))

    asyncio.run(work())
    assert [each["type"] for each in records(place.path)] == [
        *("session", "user", "assistant", "tombstone", "system", "content-replacement", "system", "user", "user"),
    ]


def test_the_loop_goes_on_while_the_disk_is_waited_for(place, monkeypatch):
    free = threading.Event()
    real = LogFile.append

    def slow(self, bodies, *, durable):
        assert free.wait(30)
        real(self, bodies, durable=durable)

    monkeypatch.setattr(LogFile, "append", slow)

    async def work():
        async with AsyncSessionLog(SessionLog(place, cwd="/")) as log:
            task = asyncio.create_task(log.append_durable(user("hello")))
            await asyncio.sleep(0)
            free.set()
            assert await task == await log.tip()

    asyncio.run(work())
