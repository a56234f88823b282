"""The entries of a tree: a sequence, and how its records hang together."""

import copy
import pickle
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rehydrate
from rehydrate.scan import Entry, _entries
from tests.helpers import write_lines

UUIDS = [f"{digit * 8}-0123-4567-89ab-cdef01234567" for digit in "0af"]


def entries_of(impl, folder, *rows):
    """Of records that say a uuid, a parent and a type; None leaves a member out."""
    names = ("uuid", "parentUuid", "type")
    records = [{name: said for name, said in zip(names, row, strict=False) if said is not None} for row in rows]
    return impl.read_tree(write_lines(folder / "t", records)).entries


@pytest.fixture
def some(impl, tmp_path, monkeypatch):
    monkeypatch.setattr(_entries, "_BATCH", 3)
    return entries_of(impl, tmp_path, *((str(at), str(at - 1), "user") for at in range(8)))


@pytest.fixture
def listed(some):
    return [some[at] for at in range(len(some))]


def test_they_are_a_sequence(some):
    assert isinstance(some, Sequence)
    assert bool(some)
    assert (len(some), some[0].uuid, some[-1].uuid) == (8, "0", "7")
    assert type(some[3]) is Entry


def test_a_place_that_no_record_has_is_an_index_error(some):
    for place in (8, -9, 1 << 70):
        for look in (some.__getitem__, some.parent, some.children, some.is_first):
            with pytest.raises(IndexError):
                look(place)


def test_a_place_is_an_integer(some):
    for look in (some.__getitem__, some.parent, some.children, some.is_first):
        with pytest.raises((TypeError, AttributeError)):
            look("1")


def test_places_count_from_the_end_too(some):
    assert (some.parent(-1), some.children(-2), some.is_first(-8)) == (6, [7], True)


def test_they_are_gone_through_forwards_and_backwards(some, listed):
    assert [each.uuid for each in some] == list("01234567")
    assert list(reversed(some)) == listed[::-1]


@pytest.mark.parametrize("start", [None, 0, 2, 7, 8, 20, -3, -20])
@pytest.mark.parametrize("stop", [None, 0, 2, 7, 8, 20, -3, -20])
@pytest.mark.parametrize("step", [None, 1, 2, -1, -3])
def test_they_are_sliced_as_a_list_is(some, listed, start, stop, step):
    assert some[start:stop:step] == listed[start:stop:step]
    if step is None:
        assert some.of_type("user", start or 0, stop) == list(range(8))[start or 0 : stop]


def test_they_equal_what_holds_the_same_entries(impl, tmp_path, some, listed):
    assert some == listed == some
    assert some == entries_of(impl, tmp_path, *((str(at), str(at - 1), "user") for at in range(8)))
    assert some != listed[:-1]
    assert some != [*listed[:-1], listed[0]]
    assert some != tuple(listed)
    with pytest.raises(TypeError):
        hash(some)


def test_an_entry_is_found_among_them(some):
    assert some[4] in some
    assert (some.index(some[4]), some.index(some[4], -4, 5), some.count(some[4])) == (4, 4, 1)
    assert ("4", "3", "user") not in some
    assert some.count(None) == 0
    with pytest.raises(ValueError, match="no such entry"):
        some.index(some[4], 5)


def test_they_cannot_be_changed(some):
    with pytest.raises(TypeError):
        some[0] = some[1]
    with pytest.raises(AttributeError):
        some.more = 1


def test_they_are_copied_and_pickled(some):
    for again in (pickle.loads(pickle.dumps(some)), copy.copy(some), copy.deepcopy(some)):
        assert type(again) is type(some)
        assert again == some
        assert [again.parent(at) for at in range(8)] == [some.parent(at) for at in range(8)]


def test_they_are_shown_in_a_few_words(some):
    assert repr(some) == "<8 entries>"


def test_no_record_is_no_entry(impl, tmp_path):
    none = entries_of(impl, tmp_path)
    assert (len(none), list(none), none.find("a"), none.of_type("user")) == (0, [], None, [])


def test_of_one_uuid_the_first_record_counts(impl, tmp_path):
    entries = entries_of(impl, tmp_path, ("a", None), ("b", "a"), ("a", "b"), ("b", "a"), (None, "a"))
    assert (entries.find("a"), entries.find("b")) == (0, 1)
    assert [entries.is_first(at) for at in range(5)] == [True, True, False, False, False]
    assert [entries.children(at) for at in range(5)] == [[1], [], [], [], []]
    assert [entries.parent(at) for at in range(5)] == [None, 0, 1, 0, 0]


def test_a_parent_may_stand_behind_its_child_and_be_missing(impl, tmp_path):
    entries = entries_of(impl, tmp_path, ("a", "c"), ("b", "c"), ("c", "no"), ("d", "a"))
    assert [entries.parent(at) for at in range(4)] == [2, 2, None, 0]
    assert [entries.children(at) for at in range(4)] == [[3], [], [0, 1], []]


def test_a_record_may_name_itself_and_parents_go_in_a_circle(impl, tmp_path):
    entries = entries_of(impl, tmp_path, ("a", "a"), ("b", "c"), ("c", "b"))
    assert [entries.parent(at) for at in range(3)] == [0, 2, 1]
    assert [entries.children(at) for at in range(3)] == [[], [2], [1]]


@pytest.mark.parametrize("uuid", UUIDS)
def test_what_is_nearly_a_uuid_is_another_one(impl, tmp_path, uuid):
    near = [uuid.upper(), uuid.replace("-", ""), f"{{{uuid}}}", uuid + " ", uuid[:-1], uuid[:8] + "_" + uuid[9:], ""]
    near += [uuid[:-1] + letter for letter in "gG\0é"]
    near = [each for each in near if each != uuid]
    entries = entries_of(impl, tmp_path, *((each, uuid) for each in [*near, uuid]))
    assert [entries.find(each) for each in [*near, uuid]] == list(range(len(near) + 1))
    assert [entries[at].uuid for at in range(len(near))] == near
    assert entries.children(len(near)) == list(range(len(near)))


def test_an_escaped_uuid_is_the_same_one(impl, tmp_path):
    escaped = "".join(f"\\u{ord(each):04x}" for each in UUIDS[1]).encode()
    tree = impl.read_tree(write_lines(tmp_path / "t", [b'{"uuid":"%b"}' % escaped, {"uuid": UUIDS[1]}]))
    assert [each.uuid for each in tree.entries] == [UUIDS[1]] * 2
    assert (tree.entries.find(UUIDS[1]), tree.entries.is_first(1)) == (0, False)


def test_a_lone_surrogate_names_none(impl, tmp_path):
    entries = entries_of(impl, tmp_path, ("a", None, "user"))
    assert (entries.find("\ud800"), entries.of_type("\ud800")) == (None, [])


def test_those_of_a_type_leave_out_what_is_written_again(impl, tmp_path):
    rows = [("a", None, "user"), (None, None, "mode"), ("a", None, "user"), (None, None, "mode"), ("b", None, "é")]
    entries = entries_of(impl, tmp_path, *rows, ("c", None), ("d", None, ""))
    assert (entries.of_type("user"), entries.of_type("mode"), entries.of_type("é")) == ([0], [1, 3], [4])
    assert (entries.of_type(""), entries.of_type("none")) == ([6], [])
    assert entries.types() == ["user", "mode", "user", "mode", "é", None, ""]


def test_types_without_number_are_told_apart(impl, tmp_path):
    entries = entries_of(impl, tmp_path, *((None, None, f"kind {at % 100}") for at in range(300)))
    for at in range(100):
        assert entries.of_type(f"kind {at}") == [at, at + 100, at + 200]


def naive(rows):
    """How records hang together, looked up one by one."""
    uuids = [row[0] for row in rows]

    def find(uuid):
        return uuids.index(uuid) if uuid in uuids else None

    first = [uuid is not None and uuids.index(uuid) == at for at, uuid in enumerate(uuids)]
    parents = [None if row[1] is None else find(row[1]) for row in rows]
    places = range(len(rows))
    children = [[at for at in places if first[at] and parents[at] == place != at] for place in places]
    kinds = {
        row[2]: [at for at in places if rows[at][2] == row[2] and (first[at] or uuids[at] is None)] for row in rows
    }
    return first, parents, children, kinds


names = st.sampled_from([None, "a", "b", "", "é", *UUIDS, *(each.upper() for each in UUIDS)])
rows = st.lists(st.tuples(names, names, st.sampled_from([None, "user", "mode", ""])), max_size=30)


@settings(deadline=None, max_examples=200, suppress_health_check=list(HealthCheck))
@given(rows)
def test_any_records_hang_together_as_when_they_are_looked_up_one_by_one(impl, tmp_path, some):
    entries = entries_of(impl, tmp_path, *some)
    first, parents, children, kinds = naive(some)
    places = range(len(some))
    assert [entries.is_first(at) for at in places] == first
    assert [entries.parent(at) for at in places] == parents
    assert [entries.children(at) for at in places] == children
    for kind in kinds.keys() - {None}:
        assert entries.of_type(kind) == kinds[kind]
    for row in some:
        if row[0] is not None:
            assert some[entries.find(row[0])][0] == row[0]


def test_without_site_they_are_no_registered_sequence_but_work_all_the_same(impl, tmp_path):
    path = write_lines(tmp_path / "t", [{"uuid": "a"}])
    code = f"import sys; sys.path.append({str(Path(rehydrate.__file__).parents[1])!r}); "
    code += f"from rehydrate.scan import {impl.__name__.rpartition('.')[2]} as impl; "
    code += f"print(list(impl.read_tree({str(path)!r}).entries)[0].uuid)"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "a"


def test_what_a_look_shows_is_the_same_as_one_asked_for_after_another(impl, tmp_path):
    rows = [("a", None, "user"), ("b", "a", "assistant"), ("a", "b", "user"), (None, "b", "x"), ("c", "lost")]
    entries = entries_of(impl, tmp_path, *rows)
    sign = _entries.Sign
    parents = [entries.parent(place) for place in range(len(entries))]
    assert [None if parent < 0 else parent for parent in entries.parents()] == parents == [None, 0, 1, 1, None]
    spoken = sign.FIRST | sign.USER | sign.ASSISTANT
    assert [each & spoken for each in entries.signs()] == [3, 5, 2, 0, 1]
    assert len(entries.files()) == len(entries)
