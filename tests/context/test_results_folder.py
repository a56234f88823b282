"""The folder for results that are too long is of no use: the conversation goes on, and the log has them."""

import os
from pathlib import Path

import pytest

from rehydrate.context import CommitFailed
from rehydrate.session import Session, Sessions

from .engines import Agent, again, sent

LONG = "word of a long result " * 4_000


@pytest.fixture
def log(tmp_path):
    with Sessions(tmp_path).new(str(tmp_path)) as opened:
        yield opened


def a_file(folder):
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.write_text("I was here first.")


def a_link(folder):
    (elsewhere := folder.parent.parent / "elsewhere").mkdir(parents=True)
    folder.parent.mkdir(exist_ok=True)
    folder.symlink_to(elsewhere)


def a_broken_link(folder):
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.symlink_to("nowhere")


def closed(folder):
    if not hasattr(os, "geteuid") or os.geteuid() == 0:
        pytest.skip("nothing is closed to root")
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.parent.chmod(0o500)


def a_folder_in_the_place_of_each_file(folder):
    from rehydrate.context.results import side_name

    (folder / side_name("call_1", LONG) / "inside").mkdir(parents=True)


@pytest.mark.parametrize("break_", [a_file, a_link, a_broken_link, closed, a_folder_in_the_place_of_each_file])
def test_what_cannot_be_kept_in_a_file_is_shortened_all_the_same_and_told(log, break_):
    agent = Agent(log, window=40_000)
    agent.ask()
    made = agent.answer(agent.prepare(), calls=1)
    agent.engine.append(
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": made[0][0], "content": LONG}]}
    )
    folder = Path(log.place.folder, "tool-results")
    break_(folder)
    with pytest.warns(RuntimeWarning, match="this user can write to") as told:
        projection = agent.prepare()
    folder.parent.chmod(0o700)
    assert len(told) == 1 and str(folder) in str(told[0].message)
    (replacement,) = projection.pruned
    assert (replacement.side_file, replacement.side_name) == (None, None)
    assert "tool-results/" not in sent(projection)
    assert "the original is intact in the log of this session. Its first 1,500" in sent(projection)
    assert sent(agent.prepare()) == sent(projection)
    other = again(log, window=40_000)
    assert sent(other.prepare(agent.request)) == sent(projection)
    other.log.close()
    with Session.open(log.path) as session:
        assert LONG in [block.get("content") for record in session.view("raw") for block in _blocks(record)]


def _blocks(record):
    content = record.get("message", {}).get("content")
    return content if isinstance(content, list) else []


def test_where_nothing_can_be_written_the_turn_fails_as_before(log, monkeypatch):
    agent = Agent(log, window=40_000)
    agent.ask()
    made = agent.answer(agent.prepare(), calls=1)
    agent.engine.append(
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": made[0][0], "content": LONG}]}
    )

    def fail(*_, **__):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("rehydrate.context.replacing.write_side_file", fail)
        patched.setattr(type(log), "append_durable", fail)
        with pytest.warns(RuntimeWarning, match="No space left"), pytest.raises(CommitFailed) as found:
            agent.prepare()
    assert found.value.phase == "results"
    assert [each.side_name is not None for each in agent.prepare().pruned] == [True]


def test_a_preview_that_quotes_a_name_of_a_file_loses_only_what_we_said(log):
    text = ", and its text in the session's tool-results/x.txt" * 2_000
    agent = Agent(log, window=40_000)
    agent.ask()
    made = agent.answer(agent.prepare(), calls=1)
    agent.engine.append(
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": made[0][0], "content": text}]}
    )
    a_file(Path(log.place.folder, "tool-results"))
    with pytest.warns(RuntimeWarning):
        (replacement,) = agent.prepare().pruned
    assert f"follow.]\n{text[:1500]}\n[..." in replacement.text
