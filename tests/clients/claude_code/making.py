"""Makes Claude Code conversations on disk, for the tests of this client."""

import json
import re
from datetime import datetime, timezone
from pathlib import Path

START_S = 1_796_000_000  # an arbitrary moment; each entry of a conversation is written a second after the one before
WORKSPACE = "/home/user/project"


def stamp(time_s):
    return datetime.fromtimestamp(time_s, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.000Z")


def session_id(number):
    """An id as the client makes them: `session_id(1)` begins with 00000001."""
    return f"{number:08x}-5555-4555-8555-555555555555"


def key_of(cwd):
    return re.sub("[^A-Za-z0-9]", "-", cwd)


class Talk:
    """The records of one conversation, each entry following the one before; `rows` may be changed at will."""

    def __init__(self, session, *, cwd=WORKSPACE, salt=""):
        self.session, self.cwd = session, cwd
        self.rows = []
        self.last = None
        self._made = 0
        self._salt = salt or session[:8]

    def entry(self, kind, **more):
        """Adds an entry and gives its uuid; `parent=` for another place in the tree."""
        self._made += 1
        uuid = f"{self._made:08x}-{self._salt[-4:]:0>4}-4000-8000-{self._salt:0>12}"
        parent = more.pop("parent", self.last)
        row = {"parentUuid": parent, "isSidechain": False, "type": kind, **more, "uuid": uuid}
        row |= {"timestamp": stamp(START_S + self._made), "cwd": more.get("cwd", self.cwd), "sessionId": self.session}
        self.rows.append(row)
        self.last = uuid
        return uuid

    def user(self, text, **more):
        return self.entry("user", message={"role": "user", "content": text}, **more)

    def assistant(self, text="", *calls, **more):
        """`calls`: (name, input), or (name, input, id)."""
        content = [{"type": "text", "text": text}] if text else []
        for at, (name, given, *rest) in enumerate(calls):
            used = rest[0] if rest else f"toolu_{self._made + 1}_{at}"
            content.append({"type": "tool_use", "id": used, "name": name, "input": given})
        name = more.pop("id", f"msg_{self._salt}_{self._made + 1}")
        return self.entry("assistant", message={"id": name, "role": "assistant", "content": content}, **more)

    def result(self, call, text="done", **more):
        content = [{"type": "tool_result", "tool_use_id": call, "content": text}]
        return self.entry("user", message={"role": "user", "content": content}, **more)

    def talk(self, *texts):
        """Requests and answers in turn; gives the uuid of the last."""
        for at, text in enumerate(texts):
            if at % 2:
                self.assistant(text)
            else:
                self.user(text)
        return self.last

    def compact(self, summary="a summary", **more):
        """A boundary and its summary; gives the uuid of the boundary."""
        said = {"trigger": "manual", "preTokens": 1_000, **more.pop("compactMetadata", {})}
        more = {"logicalParentUuid": self.last, **more}
        boundary = self.entry(
            "system", parent=None, subtype="compact_boundary", content="compacted", compactMetadata=said, **more
        )
        self.user(summary, isCompactSummary=True)
        return boundary

    def meta(self, kind, **more):
        """Adds a record that is no entry."""
        self.rows.append({"type": kind, **more, "sessionId": self.session})

    def fork(self, session, *, at=None, proof=False, renamed=False, hint=None):
        """A new conversation that begins with a copy of this one, up to the entry `at` (None: all of it).

        `proof`: as `/branch` writes it; `renamed` with new uuids, as the SDK does.  `hint`: member by which a
        background fork names its source.
        """
        made = Talk(session, cwd=self.cwd)
        entries = [row for row in self.rows if "uuid" in row]
        ends = [place for place, row in enumerate(entries) if row["uuid"] == at]
        names = {row["uuid"]: f"{row['uuid'][:8]}-{session[:4]}-4aaa-8aaa-{session[:12]:0>12}" for row in entries}
        for row in entries[: ends[0] + 1 if ends else None]:
            copy = {**row, "sessionId": session}
            if renamed:
                copy |= {"uuid": names[row["uuid"]], "parentUuid": names.get(row["parentUuid"])}
            if proof or renamed:
                copy["forkedFrom"] = {"sessionId": self.session, "messageUuid": row["uuid"]}
            if hint is not None and (hint != "requestSessionId" or row["type"] == "assistant"):
                copy.setdefault(hint, self.session)
            made.rows.append(copy)
            made.last = copy["uuid"]
        return made


def line(row):
    return (row if isinstance(row, bytes) else json.dumps(row, separators=(",", ":")).encode()) + b"\n"


class Home:
    """A configuration folder with conversations in it."""

    def __init__(self, folder: Path):
        self.config = folder / ".claude"
        self.projects = self.config / "projects"
        self.environ = {"HOME": str(folder)}

    def project(self, cwd=WORKSPACE):
        return self.projects / key_of(cwd)

    def write(self, talk, *, project=None):
        """The transcript of a `Talk`; `project`: another folder than that of its working directory."""
        path = (project or self.project(talk.cwd)) / f"{talk.session}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"".join(map(line, talk.rows)))
        return str(path)
