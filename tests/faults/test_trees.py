"""Lines of descent that are broken, cut or crossed: circles, missing parents, forks of forks, rewinds, ties."""

import json
import os
import sqlite3

import pytest

from tests.clients.claude_code.making import Talk, session_id
from tests.process.home import checkpoint, long_talk, said, user

from .worlds import SESSION, joined

BROKEN = "The order of the file was followed"


def rewired(lines, **parents):
    """The lines with other parents: by the number of the line, the number of another, or words that name none."""
    rows = [json.loads(line) for line in lines]
    for at, parent in parents.items():
        rows[int(at[1:])]["parentUuid"] = rows[parent]["uuid"] if isinstance(parent, int) else parent
    return [json.dumps(row, separators=(",", ":")).encode() for row in rows]


@pytest.mark.parametrize(
    ("parents", "is_broken"),
    [({"n0": 3}, True), ({"n2": 2}, True), ({"n0": 0}, True), ({"n1": 2, "n2": 1}, True), ({"n2": "never"}, True),
     ({"n0": "never"}, True), ({}, False)],
    ids=["circle of all", "self parent", "first is its own", "circle of two", "missing", "first missing", "none"],
)  # fmt: skip
def test_f35_a_broken_line_of_descent_ends_and_is_said(claude, parents, is_broken):
    lines = [claude.user("One."), claude.said("Two."), claude.user("Three."), claude.said("Four.")]
    values = claude.fire(joined(*rewired(lines, **parents)))
    whole = claude.whole()
    assert "Three." in values and "One." in whole
    assert (BROKEN in whole) == is_broken


def test_f35_of_two_leaves_the_last_one_is_the_conversation(claude):
    lines = [claude.user("Root."), claude.user("The branch that was left."), claude.user("The one that goes on.")]
    text = claude.fire(joined(*rewired(lines, n2=0)))
    assert "Root." in text and "The one that goes on." in text and "was left" not in text


def chain(antigravity, count):
    """Conversations, each the fork of the one before; the last is the one that is compacted."""
    names = [f"{n:08x}-0000-4000-8000-0000000000aa" for n in range(count - 1)] + [SESSION]
    for n, name in enumerate(names):
        words = [user(4 * n, f"Words of {n}.", minute=n), *(said(4 * n + k, "Yes.", minute=n) for k in (1, 2, 3))]
        antigravity.write(name, words)
    antigravity.append(SESSION, checkpoint(4 * count, minute=count))
    return names


def test_f36_forks_of_forks_beyond_the_limit_are_cut_and_that_is_said(antigravity):
    chain(antigravity, 11)
    text = antigravity.fire()
    assert [f"Words of {n}." in text for n in range(11)] == [False] * 2 + [True] * 9
    assert "An ancestor of this conversation was not found" in text


@pytest.mark.parametrize("how", ["deleted", "moved"])
def test_f36_an_ancestor_that_is_deleted_or_moved_cuts_the_line_and_that_is_said(antigravity, how):
    names = chain(antigravity, 4)
    folder = antigravity.app / "brain" / names[1]
    folder.rename(antigravity.folder / "elsewhere")
    text = antigravity.fire()
    assert "Words of 2." in text and "Words of 1." not in text
    assert "An ancestor of this conversation was not found" in text


def forks(claude, count):
    """Branches of branches; the last is the session that is compacted."""
    talk = Talk(session_id(900), cwd=str(claude.work))
    talk.talk("Words of 0.", "Yes.")
    claude.write(talk)
    for n in range(1, count):
        talk = talk.fork(session_id(900 + n) if n < count - 1 else claude._talk.session, proof=True)
        talk.talk(f"Words of {n}.", "Yes.")
        claude.write(talk)
    return talk


def test_f36_forks_of_forks_of_a_copying_client_lose_nothing_and_claim_no_loss(claude):
    forks(claude, 11)
    claude.fire()
    whole = claude.whole()
    assert all(f"Words of {n}." in whole for n in range(11))
    assert "was not found" not in whole


def test_f36_a_source_that_is_gone_is_replaced_by_its_copy(claude):
    forks(claude, 3)
    for path in claude.path.parent.glob("000003*.jsonl"):
        path.unlink()
    claude.fire()
    assert all(f"Words of {n}." in claude.whole() for n in range(3))


def test_f37_between_equal_parents_the_smaller_id_wins_and_nothing_after_the_fork_leaks(antigravity):
    for name in ("bbbbbbbb-0000-4000-8000-000000000000", "aaaaaaaa-0000-4000-8000-000000000000"):
        words = [user(0, f"Asked in {name[:8]}."), said(1, "Yes."), *(said(n, "WENT ON") for n in range(2, 6))]
        antigravity.write(name, words)
    antigravity.write(SESSION, [*long_talk(2, 2, minute=1), checkpoint(9, minute=1)])
    text = antigravity.fire()
    assert "Asked in aaaaaaaa." in text and "Asked in bbbbbbbb." not in text and "WENT ON" not in text


@pytest.mark.parametrize(("last", "is_parent"), [(5, True), (4, True), (3, True), (2, False)])
def test_f37_a_step_or_two_may_be_missing_before_the_fork(antigravity, last, is_parent):
    parent = [user(n, f"Parent {n}.") for n in range(last + 1)]
    antigravity.write(SESSION[:-1] + "b", parent)
    antigravity.write(SESSION, [*long_talk(6, 2, minute=1), checkpoint(12, minute=1)])
    text = antigravity.fire()
    assert ("Parent 0." in text) == is_parent
    assert ("was not found" in text) != is_parent


@pytest.mark.parametrize(("child_minute", "is_parent"), [(0, False), (9, True)])
def test_f37_what_was_written_after_the_fork_began_is_no_parent(antigravity, child_minute, is_parent):
    antigravity.write(SESSION[:-1] + "b", [user(n, f"Parent {n}.", minute=5) for n in range(6)])
    antigravity.write(SESSION, [*long_talk(6, 2, minute=child_minute), checkpoint(12, minute=child_minute)])
    assert ("Parent 0." in antigravity.fire()) == is_parent


def test_f37_what_the_source_said_after_the_fork_never_comes_back(claude):
    source = Talk(session_id(901), cwd=str(claude.work))
    at = source.talk("Before the fork.", "Yes.")
    source.talk("AFTER THE FORK.", "Yes.")
    claude.write(source)
    fork = source.fork(claude._talk.session, at=at, proof=True)
    fork.talk("In the fork.", "Yes.")
    claude.write(fork)
    text = claude.fire() + claude.whole()
    assert "Before the fork." in text and "In the fork." in text and "AFTER THE FORK" not in text


def test_f39_a_boundary_on_a_branch_that_was_rewound_is_void(claude):
    kept = [claude.user("Kept."), claude.said("Yes.")]
    dead = [claude.user("The long word that caused it."), claude.boundary(), claude.said("ON THE DEAD BRANCH.")]
    live = [claude.user("Said instead."), claude.said("Yes, instead.")]
    lines = b"\n".join([*kept, *dead, *live]).split(b"\n")
    rows = [json.loads(line) for line in lines]
    rows[-2]["parentUuid"] = rows[1]["uuid"]
    text = claude.fire(joined(*(json.dumps(row).encode() for row in rows))) + claude.whole()
    assert "Kept." in text and "Said instead." in text
    assert "caused it" not in text and "DEAD BRANCH" not in text and "a summary" not in text


def test_f39_after_a_rewind_past_a_boundary_the_next_one_is_delivered(antigravity):
    antigravity.write(SESSION, [*long_talk(), checkpoint(12)])
    assert antigravity.fire()
    antigravity.append(SESSION, user(11, "Said instead.", minute=5), checkpoint(12, minute=6))
    assert "Said instead." in antigravity.fire()
    assert antigravity.fire() == ""


# -- hints in a database


def reference(session):
    name = session.encode()
    return b"\x28\x02\x32" + bytes([len(name)]) + name


def rivals(antigravity):
    """Two that could be the parent: without the hint `a` is, with it `b`; the path of the database."""
    for name in "ab":
        antigravity.write(f"{name * 8}-0000-4000-8000-000000000000", [user(0, f"Asked in {name}."), said(1, "Yes.")])
    antigravity.write(SESSION, [*long_talk(2, 2, minute=1), checkpoint(9, minute=1)])
    folder = antigravity.app / "conversations"
    folder.mkdir()
    return folder / f"{SESSION}.db"


def made(path, *, wal=False, table="parent_references"):
    connection = sqlite3.connect(path, isolation_level=None)
    if wal:
        connection.execute("pragma journal_mode=wal")
    connection.execute(f"create table {table} (idx integer, data blob)")
    connection.execute(f"insert into {table} values (0, ?)", (reference("bbbbbbbb-0000-4000-8000-000000000000"),))
    return connection


def spoilt_page(path):
    connection = made(path)
    connection.executemany("insert into parent_references values (?, ?)", [(n, b"x" * 900) for n in range(1, 60)])
    connection.close()
    data = bytearray(path.read_bytes())
    data[4_096:20_000] = b"\xa5" * (20_000 - 4_096)
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("state", "parent"),
    [("locked", "b"), ("live wal", "b"), ("wal without shm", "b"), ("empty wal", "b"), ("other schema", "a"),
     ("other column", "a"), ("corrupt page", "a"), ("no database", "a"), ("wal is a folder", "a"), ("fifo", "a")],
)  # fmt: skip
def test_f17_a_hint_in_a_database_is_read_or_passed_over_and_nothing_appears_beside_it(antigravity, state, parent):
    path = rivals(antigravity)
    connection = None
    if state == "locked":
        connection = made(path)
        connection.execute("begin exclusive")
    elif state in ("live wal", "wal without shm", "empty wal"):
        connection = made(path, wal=True)
        if state == "wal without shm":
            path.with_name(path.name + "-shm").unlink()
        elif state == "empty wal":
            connection.execute("pragma wal_checkpoint(truncate)")
            connection.close()
            connection = None
            path.with_name(path.name + "-wal").write_bytes(b"")
    elif state == "other schema":
        made(path, table="later_references").close()
    elif state == "other column":
        connection = sqlite3.connect(path)
        connection.execute("create table parent_references (n integer)")
        connection.close()
        connection = None
    elif state == "corrupt page":
        spoilt_page(path)
    elif state == "no database":
        path.write_bytes(b"no database at all" * 1_000)
    elif state == "wal is a folder":
        made(path).close()
        path.with_name(path.name + "-wal").mkdir()
    else:
        os.mkfifo(path)
    before = sorted(each.name for each in path.parent.iterdir())
    text = antigravity.fire()
    assert sorted(each.name for each in path.parent.iterdir()) == before
    if connection is not None:
        connection.close()
    assert f"Asked in {parent}." in text and f"Asked in {'ba'[parent == 'b']}." not in text
