"""Our `dataclass` gives the classes that the library's gives: both are held against each other."""

import copy
import dataclasses
import inspect
import pickle

import pytest

from rehydrate import dataclass as ours


class Makers:
    """The two, by one name each."""

    both = pytest.mark.parametrize("made", [ours, dataclasses], ids=["ours", "library"])


def classes(made):
    @made.dataclass(frozen=True, slots=True)
    class Frozen:
        """What it is."""

        name: str
        count: int = 3
        """More."""
        known: dict[str, int] = made.field(default_factory=dict)
        memo: object = made.field(default=None, repr=False, compare=False)

        @property
        def twice(self):
            return 2 * self.count

    @made.dataclass(slots=True)
    class Open:
        texts: list[str] = made.field(default_factory=list)
        text: str = ""

    @made.dataclass(frozen=True, slots=True)
    class Derived:
        left: int
        right: int = 2
        total: int = made.field(init=False)

        def __post_init__(self):
            object.__setattr__(self, "total", self.left + self.right)

    return Frozen, Open, Derived


CALLS = [
    ((), {}),
    (("a",), {}),
    (("a", 5), {"known": {"x": 1}}),
    (("a",), {"memo": 9, "count": 0}),
    (("a", 1, {}, None), {}),
    (("a", 1, {}, None, 5), {}),
    (("a",), {"name": "b"}),
    (("a",), {"nosuch": 1}),
    ((1, 2), {"total": 4}),
    ((["x"], "y"), {}),
]


def told(cls, values, named):
    try:
        one = cls(*values, **named)
    except TypeError as error:
        return str(error).split("__init__()")[-1]
    return repr(one), [getattr(one, each.name) for each in dataclasses.fields(one)], hashed(one)


def hashed(one):
    try:
        return hash(one)
    except TypeError as error:
        return str(error).split()[0]


@pytest.mark.parametrize(("values", "named"), CALLS)
def test_an_object_is_made_shown_and_hashed_as_the_librarys(values, named):
    for one, other in zip(classes(ours), classes(dataclasses), strict=True):
        assert told(one, values, named) == told(other, values, named)


def test_a_class_looks_as_the_librarys():
    for one, other in zip(classes(ours), classes(dataclasses), strict=True):
        for name in ("__name__", "__qualname__", "__module__", "__slots__", "__match_args__", "__annotations__"):
            assert getattr(one, name) == getattr(other, name), name
        parameters = [
            [(each.name, each.kind) for each in inspect.signature(cls).parameters.values()] for cls in (one, other)
        ]
        assert parameters[0] == parameters[1]
        assert not hasattr(one, "__dict__") or not hasattr(one.__new__(one), "__dict__")


@Makers.both
def test_objects_are_equal_by_the_fields_that_count(made):
    frozen, opened, _ = classes(made)
    assert frozen("a", memo=1) == frozen("a", memo=2) != frozen("b")
    assert frozen("a") != classes(made)[0]("a"), "of another class of the same name"
    assert opened() == opened() != opened(["x"])
    assert (frozen("a") == "a") is False


@Makers.both
def test_no_two_objects_share_what_a_factory_made(made):
    one, other = classes(made)[1](), classes(made)[1]()
    one.texts.append("x")
    assert (one.texts, other.texts) == (["x"], [])


@Makers.both
def test_a_frozen_object_cannot_be_changed(made):
    one = classes(made)[0]("a")
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'name'"):
        one.name = "b"
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'name'"):
        del one.name
    assert one.name == "a"


@Makers.both
def test_an_open_object_can_be_changed_in_its_fields_only(made):
    one = classes(made)[1]()
    one.text = "b"
    assert one.text == "b"
    with pytest.raises(AttributeError):
        one.more = 1


@Makers.both
@pytest.mark.parametrize("replace", [ours.replace, dataclasses.replace], ids=["our replace", "the library's"])
def test_a_field_is_replaced_and_what_is_derived_is_made_anew(made, replace):
    frozen, _, derived = classes(made)
    assert replace(frozen("a", 4, {"x": 1}, 7), count=5) == frozen("a", 5, {"x": 1}, 7)
    assert replace(frozen("a", memo=7), count=5).memo == 7
    assert replace(derived(1), right=5).total == 6
    with pytest.raises(TypeError):
        replace(frozen("a"), nosuch=1)


@Makers.both
def test_the_librarys_functions_take_it(made):
    frozen = classes(made)[0]
    assert dataclasses.is_dataclass(frozen) and dataclasses.is_dataclass(frozen("a"))
    assert dataclasses.asdict(frozen("a")) == {"name": "a", "count": 3, "known": {}, "memo": None}
    told = [(each.name, each.type, each.init, each.repr, each.compare) for each in dataclasses.fields(frozen)]
    assert told[-1] == ("memo", object, True, False, False)
    assert dataclasses.fields(frozen)[1].default == 3 and dataclasses.fields(frozen)[2].default_factory is dict


def test_an_object_is_copied_and_pickled():
    from rehydrate.conversation import FileTouch
    from rehydrate.recall.render import Item, Section

    for one in (
        FileTouch("/x", 3, 4, "read", None),
        Section("requests", 9, (), title="Requests"),
        Item(1, "user", "b", ""),
    ):
        for again in (copy.copy(one), copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
            assert again == one and repr(again) == repr(one)
