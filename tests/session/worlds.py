"""What the writer of `writer.py` leaves, looked at after it was killed or its calls have failed."""

import os
import shutil
from collections import Counter
from pathlib import Path

from rehydrate import scan
from rehydrate.session import Place, SessionLog, live, user

from . import writer
from .conftest import records


class World:
    """Where it writes."""

    def __init__(self, folder):
        self.root = str(folder / "root")
        self.place = Place(self.root, writer.KEY, writer.SESSION)
        self.said = []
        self._known = []

    def clear(self):
        self.said = []
        shutil.rmtree(self.root, ignore_errors=True)

    def told(self, word):
        """Of which entries it has said so, for each file."""
        names = {line.split(" ")[1] for line in self.said if line.startswith(f"{word} ")} - {""}
        return names - {"s1"}, names & {"s1"}

    def files(self):
        return self.place.path, self.place.agent_path(writer.AGENT)

    def is_new(self):
        """Whether nothing like it was left, and told, before."""
        state = [Path(path).read_bytes() if os.path.exists(path) else None for path in self.files()]
        state = [each and [line[:60] for line in each.splitlines()] for each in state], self.said
        if state in self._known:
            return False
        self._known.append(state)
        return True

    def go_on(self):
        """Each file can be gone on with, and holds all that was told to be durable, each line whole.  Gives for each
        the bytes that were in it, and the names of its entries.
        """
        for path, agent_id, durable in zip(self.files(), [None, writer.AGENT], self.told("durable"), strict=True):
            before = Path(path).read_bytes() if os.path.exists(path) else b""
            with SessionLog(self.place, cwd="/srv/project", agent_id=agent_id) as log:
                assert log.tip is None or log.tip in {each.uuid for each in scan.read_tree(path).entries}
                uuid = log.append_durable(user("goes on"))
            rows = records(path)
            assert rows[0]["type"] == "session"
            uuids = [each["uuid"] for each in rows if "uuid" in each]
            assert durable <= set(uuids) and uuids[-1] == uuid
            assert max(Counter(uuids).values()) == 1
            assert all(each.get("parentUuid") in (None, *uuids) for each in rows)
            assert Path(path).read_bytes().startswith(before.rpartition(b"\n")[0])
            yield before, {*uuids[:-1], *(each["customTitle"] for each in rows if "customTitle" in each)}
        assert live(self.place) == []
