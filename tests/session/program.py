"""A program of somebody who uses the library, with the types that a reader of its reference expects.

It is checked as our own code is, so that a type that fits badly is seen, and a test runs it.
"""

import asyncio
from collections.abc import Mapping, Sequence

from rehydrate.session import (
    AsyncSession,
    AsyncSessionLog,
    Content,
    DamagedLine,
    Entry,
    Gap,
    Holder,
    Interruption,
    Kind,
    Locked,
    Place,
    Polled,
    Record,
    Report,
    Restored,
    ResumedAgent,
    Session,
    SessionError,
    SessionLog,
    Sessions,
    View,
    agents_of,
    assistant,
    branch,
    closed,
    export,
    fork,
    import_session,
    live,
    poll_remote,
    remember_remote,
    restore,
    result,
    resume_agent,
    user,
)


def call(name: str) -> dict[str, object]:
    return {"type": "tool_use", "id": name, "name": "ls", "input": {"path": "."}}


def write(sessions: Sessions, cwd: str) -> Place:
    blocks: Content = [{"type": "text", "text": "I look."}, call("c1")]
    with sessions.new(cwd, git_branch="main") as log:
        first: str | None = log.append_durable(user("What is here?"))
        assert first is not None
        log.append({"type": "custom-title", "customTitle": "Looking"})
        more: list[Entry] = [assistant(blocks, message={"id": "m1"}), user([result("c1", "README.md")])]
        log.append(more)
        log.append(assistant("One file."))
        log.snip([first], note="old")
        log.replace_content([{"toolUseId": "c1", "replacement": "[a list]"}])
        log.retract(log.append(assistant("half")) or "", reason="overloaded")
        log.compact("There is one file.", trigger="manual", checkpoint={"goals": ["look"]})
        helper: SessionLog = log.sidechain("one", type="helper", description="counts", inherits=True)
        helper.append(user("Count them."))
        log.append([user("And now?"), assistant([call("c2")])])
        log.abort("stopped", request=user("Never mind."))
        try:
            log.retract("nothing")
        except (Locked, SessionError) as error:
            print(error.path, error.line, error.offset)
        except ValueError as error:
            print(error)
    return log.place


def read(path: str) -> list[Mapping[str, object]]:
    kinds: list[Kind] = ["raw", "scrollback", "active", "wire"]
    with Session.open(path) as session:
        views: list[View] = [session.view(kind) for kind in kinds]
        first: Record = views[0][0]
        few: Sequence[Record] = views[1][:2]
        damage: tuple[DamagedLine, ...] = session.damage
        gaps: tuple[Gap, ...] = views[1].gaps
        title: str = session.title
        folder: str | None = session.cwd
        metadata: Mapping[str, Record] = session.metadata
        set_up: Restored = restore(session, modes=["plan"])
        print(first["type"], len(few), damage, gaps, title, folder, list(metadata), set_up.dropped)
        return list(closed(views[3]))


def go_on(sessions: Sessions, cwd: str) -> None:
    place: Place | None = sessions.latest(cwd)
    assert place is not None
    with sessions.resume(place) as resumed:
        interruption: Interruption | None = resumed.interruption
        calls = () if interruption is None else interruption.calls
        messages: list[Mapping[str, object]] = list(resumed.wire)
        holders: list[Holder] = live(place)
        agent: ResumedAgent = resume_agent(resumed.log, "one")
        agent.log.append(assistant("One."))
        print([each.name for each in calls], len(messages), [each.pid for each in holders], agent.about["agentType"])
    with Session.open(place.path) as session:
        copy: Place = branch(session, at=session.leaf)
        with fork(session) as forked:
            forked.append(user("Or else?"))
    print(copy.session_id, agents_of(place))


def pack(place: Place, archive: str, root: str) -> int:
    packed: Report = export(place.path, archive)
    taken_in: Report = import_session(archive, root=root)
    remember_remote(place, "far", {"url": "https://example.org/1"})
    polled: list[Polled] = poll_remote(place, lambda agent: "archived" if agent.id == "far" else "running")
    return packed.damage.count + taken_in.damage.count + len(polled)


async def from_asyncio(place: Place, cwd: str) -> int:
    async with AsyncSessionLog(SessionLog(place, cwd=cwd)) as log:
        await log.append_durable(user("From elsewhere."))
    async with await AsyncSession.open(place.path) as session:
        view: View = await session.view("wire")
        return len(view)


def main(root: str, cwd: str) -> int:
    sessions = Sessions(root, modes=["plan"])
    place = write(sessions, cwd)
    assert read(place.path)[-1]["role"] == "assistant"
    go_on(sessions, cwd)
    asyncio.run(from_asyncio(place, cwd))
    return pack(place, f"{root}.zip", f"{root}-2")
