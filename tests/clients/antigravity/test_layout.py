import os
import stat

import pytest

from rehydrate.clients.antigravity import layout
from rehydrate.paths import copy_bytes
from tests.clients.antigravity.making import START_S, checkpoint, line, row, talk


def test_home_is_gemini_home_else_below_the_users_home(tmp_path):
    assert layout.home({"GEMINI_HOME": str(tmp_path)}) == str(tmp_path)
    assert layout.home({"HOME": "/home/someone"}) == "/home/someone/.gemini"
    assert layout.home({}).endswith("/.gemini")


def test_a_place_is_found_from_either_transcript_its_folder_and_the_conversations_folder(home):
    full = home.write("one", talk(0, 3))
    cut = home.write("one", talk(0, 3), name="transcript.jsonl")
    for path in (full, cut, str(home.logs("one")), str(home.conversation("one"))):
        place = layout.place_of(path)
        assert (place.session, place.path, place.lossy, place.joined) == ("one", full, False, False)
        assert (place.brain, place.app) == (str(home.app / "brain"), str(home.app))


def test_the_cut_file_alone_is_lossy(home):
    cut = home.write("one", talk(0, 3), name="transcript.jsonl")
    place = layout.place_of(str(home.logs("one")))
    assert (place.path, place.lossy) == (cut, True)


def test_the_known_layout_is_known_by_its_shape_under_any_application_folder(home, tmp_path):
    path = home.write("one", talk(0, 3), app=tmp_path / "some app")
    assert layout.place_of(path).app == str(tmp_path / "some app")


def test_outside_the_known_layout_the_id_is_the_folders_name(tmp_path):
    folder = tmp_path / "0184"
    folder.mkdir()
    (folder / "transcript_full.jsonl").write_bytes(line(talk(0, 0)[0]))
    place = layout.place_of(str(folder))
    assert (place.session, place.brain, place.app) == ("0184", None, None)


def test_a_file_of_another_name_is_taken_as_it_is(tmp_path):
    path = tmp_path / "copy" / "saved.jsonl"
    path.parent.mkdir()
    path.write_bytes(b"")
    place = layout.place_of(str(path))
    assert (place.session, place.path, place.lossy) == ("copy", str(path), False)


@pytest.mark.parametrize("path", ["", "/nowhere/at/all", "\0", "/x\0y", "\ud800", "/dev/zero", "/dev/null"])
def test_f58_what_is_no_regular_transcript_is_no_place(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert layout.place_of(path) is None


def test_a_link_and_a_fifo_are_no_transcripts(home, tmp_path):
    real = tmp_path / "elsewhere.jsonl"
    real.write_bytes(line(talk(0, 0)[0]))
    logs = home.logs("one")
    logs.mkdir(parents=True)
    (logs / "transcript_full.jsonl").symlink_to(real)
    assert layout.place_of(str(logs)) is None
    os.mkfifo(logs / "transcript.jsonl")
    assert layout.place_of(str(logs)) is None


def test_a_linked_brain_folder_is_the_users_own_business(home, tmp_path):
    path = home.write("one", talk(0, 3))
    (tmp_path / "link").symlink_to(home.root)
    assert layout.place_of(path.replace(".gemini", "link")).session == "one"


def test_chunks_are_the_transcript_where_the_flat_file_is_missing(home):
    data = b"".join(map(line, [*talk(0, 40), checkpoint(41)]))
    home.write_chunks("one", data, size=700)
    home.write("one", talk(0, 3), name="transcript.jsonl")
    place = layout.place_of(str(home.conversation("one")))
    assert (place.joined, place.lossy, place.session) == (True, False, "one")
    with layout.readable(place) as whole:
        folder = os.path.dirname(whole.path)
        assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
        with open(whole.path, "rb") as file:
            assert file.read() == data
        assert whole.origin == place.origin == place.path
    assert not os.path.exists(folder)


def test_chunks_are_joined_in_the_order_of_their_numbers(home):
    folder = home.logs("one") / "chunks" / "transcript_full"
    folder.mkdir(parents=True)
    for name, text in (("100000000", b"c"), ("00000002", b"b"), ("00000001", b"a"), ("note", b"x")):
        (folder / f"{name}.jsonl").write_bytes(text)
    with layout.opened(str(folder)) as path, open(path, "rb") as file:
        assert file.read() == b"abc"


def test_f53_of_a_chunk_that_grows_while_it_is_joined_what_it_had_is_taken(home, monkeypatch):
    chunks = home.write_chunks("one", b"abc" * 1_000, size=1_000)
    growing = iter(layout.chunks_in(chunks))

    def copy(source, target, size):
        with open(next(growing), "ab") as chunk:
            chunk.write(b"x")
        copy_bytes(source, target, size)

    monkeypatch.setattr(layout, "copy_bytes", copy)
    with layout.opened(chunks) as path, open(path, "rb") as file:
        assert file.read() == b"abc" * 1_000


@pytest.mark.parametrize("start", [0, 1, 4_095, 4_097, 11_096, 200_000, 300_000, 304_096, 900_000])
def test_chunks_to_be_read_from_an_offset_on_are_joined_with_a_hole_before_what_proves_the_cursor(home, start):
    data = bytes(range(1, 251)) * 1_200
    chunks = home.write_chunks("one", data, size=7_000)
    with layout.opened(chunks, start=start) as path, open(path, "rb") as file:
        kept = min(max(0, start - 4_096), len(data))
        assert file.read() == b"\0" * kept + data[kept:]
        assert os.fstat(file.fileno()).st_blocks * 512 < len(data) - kept + 20_000


def test_chunks_are_the_transcript_where_the_flat_file_starts_later(home):
    home.write_chunks("one", b"".join(map(line, talk(0, 40))), size=700)
    home.write("one", talk(20, 40))
    assert layout.place_of(str(home.logs("one"))).joined


def test_chunks_are_passed_over_where_the_flat_file_is_whole(home):
    records = talk(7, 40)
    home.write_chunks("one", b"".join(map(line, records)), size=700)
    path = home.write("one", records)
    assert layout.place_of(str(home.logs("one"))).path == path


def test_chunks_with_a_first_line_longer_than_one_are_compared_by_size(home):
    long = [{**talk(3, 3)[0], "content": "x" * 5000}, *talk(4, 9)]
    home.write_chunks("one", b"".join(map(line, long)), size=700)
    home.write("one", talk(4, 9))
    assert layout.place_of(str(home.logs("one"))).joined
    home.write("one", long)
    assert not layout.place_of(str(home.logs("one"))).joined


def test_an_id_is_looked_for_under_every_application_and_the_newest_wins(home):
    old = home.write("one", talk(0, 3))
    new = home.write("one", talk(0, 3), app=home.root / "antigravity-ide")
    os.utime(old, (START_S, START_S))
    os.utime(new, (START_S + 9, START_S + 9))
    assert layout.find(home.environ, "one").path == new
    os.utime(old, (START_S + 99, START_S + 99))
    assert layout.find(home.environ, "one").path == old


@pytest.mark.parametrize(
    "session", ["", ".", "..", "a/b", "../brain/one", "a\0b", "\ud800", "x" * 300, "unknown", None]
)
def test_an_id_that_could_lead_elsewhere_finds_nothing(home, session):
    home.write("one", talk(0, 3))
    assert layout.find(home.environ, session) is None


def test_every_conversation_is_listed_the_newest_first(home):
    for n, session in enumerate(("b", "a", "c")):
        path = home.write(session, talk(0, 1), app=home.root / layout.APPS[n])
        os.utime(path, (START_S + n, START_S + n))
    (home.app / "brain" / "empty").mkdir()
    assert [place.session for place in layout.every(home.environ)] == ["c", "a", "b"]
    assert [place.session for place in layout.every(home.environ, prefix="a")] == ["a"]


def test_f16_a_conversation_that_vanishes_while_listing_is_skipped(home):
    for session in ("a", "b"):
        home.write(session, talk(0, 1))
    listed = layout.every(home.environ)
    gone = {"a": "b", "b": "a"}[next(listed).session]
    (home.logs(gone) / "transcript_full.jsonl").unlink()
    assert list(listed) == []


def test_history_rows_are_read_tolerantly(home):
    home.remember(
        row("one", START_S, "/fork now"),
        b"not json",
        b'["a list"]',
        b'{"display":3,"timestamp":"soon","workspace":[],"conversationId":null}',
        b'{"display":"/branch","timestamp":1e300,"conversationId":"two","workspace":"/w\\ud800"}',
        row(None, START_S, "/forked"),
    )
    rows = layout.history(str(home.app))
    assert [(r.session, r.forks, r.time_s) for r in rows] == [
        ("one", True, START_S),
        (None, False, None),
        ("two", True, None),
        (None, False, START_S),
    ]
    assert rows[2].workspace is None


def test_only_the_end_of_a_long_history_is_read(home):
    home.remember(row("first", START_S, workspace="/first"))
    home.remember(*[row("many", START_S, "x" * 1000, workspace="/many") for _ in range(600)])
    home.remember(row("last", START_S, workspace="/last"))
    rows = layout.history(str(home.app))
    assert {r.session for r in rows} == {"many", "last"}
    assert 450 < len(rows) < 530


def test_workspaces_are_those_of_the_named_conversations_in_their_order(home):
    home.remember(row("a", 1, workspace="/x"), row("b", 2, workspace="/y"), row("c", 3, workspace="/z"))
    home.remember(row("a", 4, workspace="/x"), row("b", 5, workspace=""))
    place = layout.place_of(home.write("a", talk(0, 1)))
    assert layout.workspaces_of(place, ["b", "a"]) == ("/x", "/y")


def test_without_a_history_there_are_no_rows(home, tmp_path):
    assert layout.history(str(home.app)) == [] and layout.history(None) == []
    home.app.mkdir(parents=True)
    os.mkfifo(home.app / "history.jsonl")
    assert layout.history(str(home.app)) == []


def test_the_applications_own_files_are_denied_and_the_users_skills_are_not(home):
    place = layout.place_of(home.write("a", talk(0, 1)))
    assert str(home.app / "history.jsonl") in layout.denied(place)
    assert str(home.app / "log") in layout.denied(place)
    assert str(home.app / "builtin") in layout.denied(place)
    assert str(home.app / "skills") in layout.skills(place)
    assert str(home.root / "config" / "skills") in layout.skills(place)


def test_f49_what_took_the_place_of_a_file_after_the_look_is_not_opened(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "real").write_text("secret")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    for name in ("fifo", "link", "."):
        with pytest.raises(OSError):
            layout.open_file(str(tmp_path / name))
