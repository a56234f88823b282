"""The same from asyncio."""

import asyncio
import inspect
import threading

import pytest

from rehydrate.session import AsyncSession, AsyncSessionLog, SessionLog, assistant, user
from rehydrate.session.file import LogFile
from tests.entries.making import chat
from tests.session.making import uuids, write_session

from .conftest import records


def methods(kind):
    return {name: each for name, each in vars(kind).items() if inspect.isfunction(each) and not name.startswith("_")}


def test_every_method_of_a_log_is_there_with_the_same_parameters():
    ours, log = methods(AsyncSessionLog), methods(SessionLog)
    assert ours.keys() - {"tip"} == log.keys()
    for name, each in log.items():
        assert inspect.signature(ours[name]).parameters == inspect.signature(each).parameters
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


def test_a_subagent_has_a_log_for_asyncio_too(place):
    async def work():
        async with AsyncSessionLog(SessionLog(place, cwd="/")) as log:
            await log.append(user("hello"))
            child = await log.sidechain("a1", type="Explore")
            await child.append(user("look"))
            assert child.agent_id == "a1"

    asyncio.run(work())
    assert [each["type"] for each in records(place.agent_path("a1"))] == ["session", "user"]


def test_the_loop_goes_on_while_the_disk_is_waited_for(place, monkeypatch):
    free = threading.Event()
    real = LogFile.append

    def slow(self, bodies, **how):
        assert free.wait(30)
        real(self, bodies, **how)

    monkeypatch.setattr(LogFile, "append", slow)

    async def work():
        async with AsyncSessionLog(SessionLog(place, cwd="/")) as log:
            task = asyncio.create_task(log.append_durable(user("hello")))
            await asyncio.sleep(0)
            free.set()
            assert await task == await log.tip()

    asyncio.run(work())


def test_a_session_is_read_and_each_method_does_its_work(tmp_path):
    path = write_session(tmp_path / "s.jsonl", b"{torn", *chat("a", "b", "c"))

    async def work():
        async with await AsyncSession.open(path) as session:
            views = await asyncio.gather(*(session.view("active", at="b") for _ in range(8)))
            return views, await session.verify(), session.session.leaf

    views, damage, leaf = asyncio.run(work())
    assert [uuids(view) for view in views] == [["a", "b"]] * 8
    assert ([each.line for each in damage], leaf) == ([2], "c")


def test_a_session_that_is_not_there_is_an_error_of_the_system(tmp_path):
    with pytest.raises(FileNotFoundError):
        asyncio.run(AsyncSession.open(tmp_path / "none.jsonl"))
