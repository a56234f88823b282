"""What entries are filled in with."""

import json
import re

from hypothesis import given
from hypothesis import strategies as st

from rehydrate.session import stamp as stamps
from rehydrate.session.stamp import Stamp

from .test_line import RECORDS, TEXT

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


@given(RECORDS, st.none() | TEXT, TEXT, TEXT, st.none() | TEXT, st.none() | TEXT)
def test_the_short_way_gives_the_bytes_of_the_long_one(entry, parent, uuid, cwd, branch, agent_id):
    stamp = Stamp(session_id="s", agent_id=agent_id, cwd=cwd, version="1", git_branch=branch)
    stamp.now = lambda: "2026-01-01T00:00:00.000Z"
    short = {"type": "user", **{name: each for name, each in entry.items() if name not in stamps.FILLED}}
    given = stamp.message(short, parent=parent, uuid=uuid)
    assert given == stamp.message({**short, "seq": 3, "crc": "x"}, parent=parent, uuid=uuid)
    record = json.loads(given)
    assert record.items() >= json.loads(json.dumps(short)).items()
    assert record["isSidechain"] is (agent_id is not None)
    assert (record.get("agentId"), "gitBranch" in record) == (
        json.loads(json.dumps(agent_id)),
        branch is not None,
    )


def test_uuids_are_random_ones_and_none_comes_twice():
    stamp = Stamp(session_id="s", agent_id=None, cwd="/", version="1", git_branch=None)
    found = [stamp.new_uuid() for _ in range(5_000)]
    assert len(set(found)) == 5_000 and all(map(UUID.fullmatch, found))
    assert {each[19] for each in found} == set("89ab")


def test_the_time_is_that_of_now_in_utc_to_the_millisecond(monkeypatch):
    stamp = Stamp(session_id="s", agent_id=None, cwd="/", version="1", git_branch=None)
    for now, text in (
        (1_772_366_400_007, "12:00:00.007"),
        (1_772_366_400_999, "12:00:00.999"),
        (1_772_366_401_000, "12:00:01.000"),
    ):
        monkeypatch.setattr(stamps.time, "time_ns", lambda now=now: now * 1_000_000)
        assert stamp.now() == f"2026-03-01T{text}Z"
