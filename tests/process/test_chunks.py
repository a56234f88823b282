"""A conversation that exists only as chunks is answered as its flat file would be, without all of it being joined."""

import json
import os

import pytest

from rehydrate import invocation, stretches

from .home import Home, Recorder, as_line, checkpoint, long_talk, said, system_message

C = "c0ffee00-0000-4000-8000-0000000000cc"
CHUNK_BYTES = 700


class Chunked(Home):
    """A home whose conversations lie in chunks only."""

    def set(self, data):
        folder = self.logs(C) / "chunks" / "transcript_full"
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.iterdir():
            old.unlink()
        for at in range(0, len(data), CHUNK_BYTES):
            (folder / f"{at // CHUNK_BYTES:08}.jsonl").write_bytes(data[at : at + CHUNK_BYTES])

    def payload(self, session, **more):
        return super().payload(session, **more) | {"transcriptPath": ""}


class Flat(Home):
    """A home whose conversations lie in one file each."""

    def set(self, data):
        self.logs(C).mkdir(parents=True, exist_ok=True)
        self.transcript(C).write_bytes(data)


@pytest.fixture
def homes(tmp_path):
    return Chunked(tmp_path / "chunked"), Flat(tmp_path / "flat")


def lines(*records):
    return b"".join(map(as_line, records))


def remembered(home):
    """The state without what differs from home to home."""
    state = json.loads(home.state(C).read_bytes())
    return {key: value for key, value in state.items() if key not in ("transcript", "workspaces", "lineage")}


def test_each_of_a_row_of_invocations_has_the_answer_and_the_state_of_the_flat_file(homes):
    sent = []

    def answers(data):
        for home in homes:
            home.set(data)
        chunked, flat = (home.hook(C) for home in homes)
        assert chunked == flat
        assert remembered(homes[0]) == remembered(homes[1])
        sent.append(len(chunked))
        return chunked

    log = lines(*long_talk())
    answers(log)
    log += lines(*long_talk(12, 10))
    answers(log)
    torn = lines(checkpoint(42))
    answers(log + torn[:-20])
    (text,) = answers(log + torn)
    log += torn
    answers(log)
    log += lines(system_message(43, text), *long_talk(44, 10))
    answers(log)
    answers(log + lines(checkpoint(74)))
    answers(log)
    other = lines(*long_talk(count=30, minute=3))
    answers(other)
    answers(other + lines(checkpoint(90)))
    answers(other + lines(checkpoint(90)))
    assert sent == [0, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0]


def test_where_nothing_is_new_only_the_end_of_the_chunks_is_copied(homes, monkeypatch):
    home, _ = homes
    payload = json.dumps(home.payload(C)).encode()
    scan_tail, copied = invocation.scan_tail, []

    def measured(path, cursor, **more):
        copied.append(os.stat(path).st_blocks * 512)
        return scan_tail(path, cursor, **more)

    def invoke():
        copied.clear()
        reply = Recorder()
        invocation.invoke("antigravity", payload, message="systemMessage", reply=reply, environ=home.environ)
        return reply.sent

    for module in (invocation, stretches):
        monkeypatch.setattr(module, "scan_tail", measured)
    log = lines(*long_talk(), *[said(12 + n, "x" * 2_000) for n in range(300)])
    home.set(log)
    assert invoke() == [] and copied[0] > 600_000
    log += lines(said(400, "more"))
    home.set(log)
    assert invoke() == [] and len(copied) == 1 and copied[0] < 50_000
    home.set(log + lines(checkpoint(401)))
    assert len(invoke()) == 1 and len(copied) == 2
