"""The result types behave as named tuples do."""

import copy
import pickle

import pytest

from rehydrate.scan import Candidate, Entries, Entry, Found, Mark, Probe, Step, Tail, Tree


def test_fields_are_members_and_places():
    mark = Mark(7, 0, length=12)
    assert mark == (7, 0, 12)
    assert (mark.step, mark.offset, mark.length) == tuple(mark)
    assert Mark._fields == Mark.__match_args__ == ("step", "offset", "length")
    assert repr(mark) == "Mark(step=7, offset=0, length=12)"
    assert hash(mark) == hash((7, 0, 12))


def test_they_can_be_replaced_copied_pickled_and_matched():
    probe = Probe(1, "a", 2, "b", 3)
    assert probe._replace(size=4) == (1, "a", 2, "b", 4)
    assert probe._asdict() == {
        "first_step": 1,
        "first_created_at": "a",
        "last_step": 2,
        "last_created_at": "b",
        "size": 3,
    }
    for again in (copy.copy(probe), copy.deepcopy(probe), pickle.loads(pickle.dumps(probe)), Probe._make(list(probe))):
        assert (type(again), again) == (Probe, probe)
    match probe:
        case Probe(first, _, last):
            assert (first, last) == (1, 2)


def test_a_wrong_number_of_values_or_a_wrong_name_is_a_type_error():
    for call in (
        lambda: Mark(1, 2),
        lambda: Mark(1, 2, 3, 4),
        lambda: Mark(1, 2, 3, length=3),
        lambda: Mark(1, 2, long=3),
        lambda: Mark(1, 2, 3)._replace(size=1),
    ):
        with pytest.raises(TypeError):
            call()


def test_they_cannot_be_changed():
    with pytest.raises(AttributeError):
        Found(1, None, 0, 1).step = 2


def test_they_have_no_other_members():
    for each in (Mark(1, 2, 3), Step(1, "A", None, None, None, 0, 2, b"{}")):
        assert not hasattr(each, "__dict__")
        with pytest.raises(AttributeError):
            each.more = 1


def test_a_subclass_keeps_the_fields():
    class Placed(Mark):
        more: int

        def end(self):
            return self.offset + self.length

    placed = Placed(1, 2, 3)
    assert (placed.end(), placed._fields, placed._replace(step=7)) == (5, Mark._fields, (7, 2, 3))
    assert type(placed._replace(step=7)) is Placed


def test_they_are_pickled_by_every_protocol_and_made_of_all_their_values():
    step = Step(1, "A", None, None, None, 0, 2, b"{}")
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        again = pickle.loads(pickle.dumps(step, protocol))
        assert (type(again), again) == (Step, step)
    with pytest.raises(TypeError):
        Mark._make([1, 2])


def test_every_type_is_documented():
    for kind in (Candidate, Entries, Entry, Found, Mark, Probe, Step, Tail, Tree):
        assert kind.__doc__


def test_every_operation_gives_its_type(impl, tmp_path):
    (tmp_path / "t").write_bytes(b'{"step_index":1,"type":"CHECKPOINT"}\n')
    tail = impl.scan_tail(tmp_path / "t")
    assert (type(tail), type(tail.cursor), type(tail.boundaries), type(tail.boundaries[0])) == (Tail, tuple, list, Mark)
    assert (type(tail.lines), type(tail.damaged_offsets), type(tail.restarted)) == (int, list, bool)
    assert type(impl.probe(tmp_path / "t")) is Probe
    assert type(impl.find_step(tmp_path / "t", 1)) is Found
    tree = impl.read_tree(tmp_path / "t")
    assert (type(tree), type(tree.entries), type(tree.entries[0])) == (Tree, Entries, Entry)
    assert (type(tree.lines), type(tree.damaged_offsets)) == (int, list)
    assert type(impl.probe_candidates([tmp_path / "t"], 1)[0]) is Candidate
    [found] = impl.iter_steps(tmp_path / "t")
    assert (type(found), type(found.raw)) == (Step, bytes)
    assert type(next(impl.iter_records(tmp_path / "t", ["type"]))) is tuple
