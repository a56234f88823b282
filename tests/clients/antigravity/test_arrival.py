"""How a log shows that the host went on."""

from rehydrate.clients.antigravity import arrival
from tests.clients.antigravity.making import START_S, checkpoint, model, record, result, talk, user


def test_answers_behind_an_offset_are_counted(home):
    path = home.write("one", [*talk(0, 3), checkpoint(4)])
    with open(path, "rb") as file:
        offset = len(file.read())
    assert arrival.answers_after(path, offset) == 0
    path = home.write("one", [*talk(0, 3), checkpoint(4), user(5, "x"), model(6, "a"), result(7), model(8, "b")])
    assert arrival.answers_after(path, offset) == 2
    assert arrival.answers_after(path, 0) == 4


def test_a_step_that_is_written_twice_counts_once(home):
    path = home.write("one", [model(0, "a", status="RUNNING"), model(0, "a")])
    assert arrival.answers_after(path, 0) == 1


def test_an_offset_behind_the_end_has_none(home):
    assert arrival.answers_after(home.write("one", talk(0, 3)), 1 << 30) == 0


def test_an_answer_to_a_request_after_a_moment(home):
    path = home.write("one", talk(0, 3))
    assert arrival.is_answered_since(path, START_S + 1)
    assert not arrival.is_answered_since(path, START_S + 2)


def test_a_request_without_an_answer_is_none(home):
    assert not arrival.is_answered_since(home.write("one", [*talk(0, 3), user(4, "x")]), START_S + 3)


def test_a_request_without_a_time_is_none(home):
    path = home.write("one", [user(0, "x", created_at="soon"), model(1, "a")])
    assert not arrival.is_answered_since(path, 0)


def test_what_a_hook_injected_is_no_request(home):
    path = home.write("one", [record(0, "USER_INPUT", "x", source="SYSTEM_SDK"), model(1, "a")])
    assert not arrival.is_answered_since(path, 0)
