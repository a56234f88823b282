"""What one append is about to write: entries become lines, each behind the one that it follows.

Nothing of a log is changed here but that agents' logs may be opened; a batch that is refused was never there.
"""

from collections.abc import Mapping

from .stamp import BEGIN, MESSAGES, Entry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .log import SessionLog


class Batch:
    """What one append is about to write."""

    __slots__ = ("_aside", "_log", "agents", "begins", "bodies", "elsewhere", "has_tip", "tip", "uuids")

    def __init__(self, log: "SessionLog") -> None:
        self._log = log
        self._aside: str | None = None
        """The last entry of a sidechain that is in the session's own file."""
        self.bodies: list[bytes] = []
        self.elsewhere: dict[str, list[Entry]] = {}
        """What goes to the logs of agents, by their ids."""
        self.agents: list[tuple[SessionLog, Batch]] = []
        self.uuids: set[str] = set()
        self.begins = False
        """Whether a session begins with it."""
        self.has_tip = False
        self.tip: str | None = None
        """Uuid of the last entry; nothing without `has_tip`."""

    def add(self, entry: Entry) -> None:
        """Raises ValueError or TypeError for what is no entry."""
        log = self._log
        if type(entry) is not dict and not isinstance(entry, Mapping):
            raise TypeError(
                f"an entry is a mapping, as user(...) and assistant(...) make it, and no {type(entry).__name__}"
            )
        kind = entry.get("type")
        if not isinstance(kind, str) or not kind:
            raise ValueError("an entry needs a `type`, as user(...) and assistant(...) give it")
        agent_id = entry.get("agentId")
        if agent_id is not None and agent_id != log.agent_id:
            if not isinstance(agent_id, str):
                raise ValueError("the agentId of an entry is a text")
            self.elsewhere.setdefault(agent_id, []).append(entry)
            return
        if kind not in MESSAGES:
            self.bodies.append(log._stamp.metadata(entry))
            return
        uuid = entry.get("uuid")
        is_aside = "isSidechain" in entry and entry["isSidechain"] is True and log.agent_id is None
        if uuid is None:
            uuid = log._stamp.new_uuid()
        elif not isinstance(uuid, str) or not uuid:
            raise ValueError("the uuid of an entry is a text")
        elif not is_aside and (uuid in self.uuids or log._is_known(uuid)):
            self.has_tip, self.tip = True, uuid
            return
        named = entry.get("parentUuid")
        if named is not None and not isinstance(named, str):
            raise ValueError("the parentUuid of an entry is a text, or null")
        parent = self._aside if is_aside else self.tip if self.has_tip else log.tip
        self.bodies.append(log._stamp.message(entry, parent=parent, uuid=uuid))
        if is_aside:
            self._aside = uuid
            return
        self.uuids.add(uuid)
        self.has_tip, self.tip = True, uuid
        self.begins = self.begins or kind in BEGIN
