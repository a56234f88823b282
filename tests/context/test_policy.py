import pytest

from rehydrate.context import Policy


@pytest.mark.parametrize(
    "lines",
    [
        {"handoff_percent": 80},
        {"handoff_percent": 0},
        {"compaction_percent": 101},
        {"handoff_percent": 100, "compaction_percent": None},
        {"prune_percent": 0},
        {"reserve": -1},
    ],
)
def test_lines_that_are_out_of_order_are_refused(lines):
    with pytest.raises(ValueError, match=r"line|reserve"):
        Policy(**lines)


def test_a_tool_that_nobody_has_declared_may_write():
    policy = Policy(tools={"read_file": "read"})
    assert policy.rank({"name": "read_file"}) == "read"
    assert policy.rank({"name": "anything"}) == "write"
