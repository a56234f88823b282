"""`rehydrate doctor` on a home in which the vendor's own harness has compacted and our hook has delivered."""

import json

import pytest

from tests.rig.evidence import MARKER
from tests.rig.product import run_rehydrate


@pytest.fixture(scope="module", params=["older", "newer"])
def played(request, play):
    return play("mid-turn", request.param)


@pytest.fixture(scope="module")
def rows(played):
    """By check; `run_rehydrate` fails where the status is not 0."""
    told = json.loads(run_rehydrate("doctor", "--json", home=played.folder / "home"))
    assert len({row["check"] for row in told}) == len(told)
    return {row["check"]: row for row in told}


def test_every_check_is_well(rows):
    assert [row for row in rows.values() if not row["ok"]] == []


def test_the_delivery_is_named_with_its_parts_and_the_steps_of_its_markers(played, rows):
    checkpoint = played.checkpoints[-1]
    name, count = MARKER.match(checkpoint.parts[0])[2], len(checkpoint.parts)
    parts = f"parts 1-{count} of {count}" if count > 1 else "parts 1 of 1"
    steps = [
        record["step_index"]
        for record in played.records
        if record["type"] == "SYSTEM_MESSAGE" and f"id={name}" in record["content"]
    ]
    assert len(steps) == count
    marks = f"marker{'s' if count > 1 else ''} at step{'s' if count > 1 else ''} {', '.join(map(str, steps))}"
    told = f"compaction at step {checkpoint.step} of {played.facts['conversation']}: delivery {name}, {parts}, {marks}"
    assert rows["delivery"]["detail"] == told


def test_the_view_is_that_of_the_newest_compaction(played, rows):
    checkpoint = played.checkpoints[-1]
    assert f"in {len(checkpoint.parts)} part" in rows["view"]["detail"]
    assert f"for the compaction at step {checkpoint.step}" in rows["view"]["detail"]


def test_the_transcript_is_read_without_damage(played, rows):
    assert f"{len(played.records):,} records" in rows["transcript"]["detail"]
    assert "damaged" not in rows["transcript"]["detail"]
