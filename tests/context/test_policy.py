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


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"tools": {"ls": "raed"}}, "'ls'.*'raed'"),
        ({"tools": {"ls": None}}, "'ls'.*None"),
        ({"workspace": "src"}, "'src' is no absolute path"),
        ({"workspace": ""}, "no absolute path"),
        ({"cache_lifetime_s": -1}, "-1 seconds"),
    ],
)
def test_what_cannot_be_meant_is_refused(given, told):
    with pytest.raises(ValueError, match=told):
        Policy(**given)


def test_a_tool_that_nobody_has_declared_may_write():
    policy = Policy(tools={"read_file": "read"})
    assert policy.rank({"name": "read_file"}) == "read"
    assert policy.rank({"name": "anything"}) == "write"
