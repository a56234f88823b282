"""Transcripts of other programs, taken in: an engine goes on with each, and compacts it like one's own."""

from pathlib import Path

import pytest

from rehydrate.clients.antigravity import conversion
from rehydrate.clients.antigravity import layout as antigravity
from rehydrate.context import check
from rehydrate.session import Place, SessionLog
from rehydrate.session.archive import import_records, import_session

from .engines import FORMATS, again, engine_of, request_of, sent
from .talk import assistant, user

DATA = Path(__file__).parents[1] / "data"
ANTIGRAVITY = sorted(DATA.glob("antigravity/*/*/transcript_full.jsonl"))
CLAUDE_CODE = sorted(DATA.glob("claude-code/**/*.jsonl"))
CLAUDE_CODE = [path for path in CLAUDE_CODE if path.name != "hooks.jsonl" and not path.name.startswith("agent-")]


def taken_in(path, root):
    """A log of ours with what it says."""
    if path.name == "transcript_full.jsonl":
        place = antigravity.place_of(str(path))
        report = import_records(conversion.entries(place), root=root, cwd="/w", session_id=place.session)
    else:
        report = import_session(str(path), root=root, cwd="/w")
    return SessionLog(Place.of(report.path), cwd="/w")


def named(path):
    return "-".join(path.relative_to(DATA).parts[:2])


@pytest.mark.parametrize("path", [*ANTIGRAVITY, *CLAUDE_CODE], ids=named)
def test_a_transcript_of_another_program_is_gone_on_with_and_compacted(path, tmp_path):
    with taken_in(path, str(tmp_path)) as log:
        engine = engine_of(log, window=100_000)
        engine.append(user("Go on. " + "Look at everything once more. " * 40), assistant("I did. " * 200))
        engine.append(user("And what now?"), assistant("Nothing. " * 300), user("The last request."))
        for format in FORMATS:
            check(engine.prepare(request_of(format)).messages, format=format)
        made = engine.compact()
        assert made is not None and made.figures["after"] < made.figures["before"]
        other = again(log, window=100_000)
        for format in FORMATS:
            projection = engine.prepare(request_of(format))
            check(projection.messages, format=format)
            assert "The last request." in sent(projection)
            assert sent(other.prepare(request_of(format))) == sent(projection)
        other.log.close()


def test_there_are_transcripts_of_both():
    assert len(ANTIGRAVITY) >= 5 and len(CLAUDE_CODE) >= 8
