"""A whole session as one archive, and sessions taken in."""

import json
import os
import stat
import zipfile
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rehydrate.clients.antigravity import conversion
from rehydrate.clients.antigravity import layout as antigravity
from rehydrate.clients.antigravity import transcript as antigravity_transcript
from rehydrate.clients.claude_code import layout as claude_code
from rehydrate.clients.claude_code import lineage, transcript
from rehydrate.conversation import Segment
from rehydrate.session import NewerVersion, NotASession, Place, SessionLog, assistant, user
from rehydrate.session.archive import export, import_records, import_session
from rehydrate.session.line import bare, check, sealed, seq_of
from rehydrate.session.reading import Session

DATA = Path(__file__).parents[1] / "data"
REAL = sorted(path for path in DATA.glob("claude-code/*/*.jsonl") if path.name != "hooks.jsonl")
ANTIGRAVITY = sorted(DATA.glob("antigravity/*/*/transcript_full.jsonl"))
ID = "11111111-1111-4111-8111-111111111111"
SAID = b'{"type":"user","uuid":"a","parentUuid":null,"cwd":"/w","message":{"role":"user","content":"hi"}}'


def lines_in(path):
    return Path(path).read_bytes().splitlines(keepends=True)


def plain(path):
    """The lines of a session's file without our numbers and checks."""
    return [bare(line) + b"\n" if check(line) else line for line in lines_in(path)]


@pytest.fixture
def write(tmp_path):
    """Writes a transcript of somebody else."""

    def write(*lines, end=b"\n", name=f"{ID}.jsonl"):
        path = tmp_path / "theirs" / "-w" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"\n".join(lines) + end)
        return str(path)

    return write


@pytest.fixture
def root(tmp_path):
    return str(tmp_path / "root")


@pytest.fixture
def ours(tmp_path):
    """A session of ours with a subagent, a remote agent and a stored result; its path."""
    place = Place(str(tmp_path / "ours"), "-w", ID)
    with SessionLog(place, cwd="/w") as log:
        log.append([user("ask"), assistant("answer"), {"type": "custom-title", "customTitle": "a title"}])
        log.append({**user("look"), "agentId": "one"})
    for name in ("subagents/agent-one.meta.json", "remote-agents/far.meta.json", "tool-results/t.txt"):
        path = Path(place.folder, name)
        path.parent.mkdir(exist_ok=True)
        path.write_text("{}")
    return place.path


def pack(path, members):
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members:
            archive.writestr(name, data)
    return str(path)


# -- export


def test_an_archive_unpacks_to_a_session_as_others_know_it(ours, tmp_path):
    export(ours, str(tmp_path / "a.zip"))
    with zipfile.ZipFile(tmp_path / "a.zip") as archive:
        held = {name: archive.read(name) for name in archive.namelist()}
    agents = (
        f"{ID}/remote-agents/far.meta.json",
        f"{ID}/subagents/agent-one.jsonl",
        f"{ID}/subagents/agent-one.meta.json",
    )
    assert list(held) == [f"{ID}.jsonl", *agents, f"{ID}/tool-results/t.txt"]
    assert held[f"{ID}.jsonl"] == b"".join(bare(line) + b"\n" for line in lines_in(ours))
    assert b'"crc"' not in held[f"{ID}/subagents/agent-one.jsonl"]


def test_the_same_session_gives_the_same_bytes(ours, tmp_path):
    export(ours, str(tmp_path / "a.zip"))
    os.utime(ours, (1, 1))
    export(ours, str(tmp_path / "b.zip"))
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()


def test_an_archive_is_for_its_owner_only(ours, tmp_path):
    export(ours, str(tmp_path / "a.zip"))
    assert stat.S_IMODE((tmp_path / "a.zip").stat().st_mode) == 0o600


def test_an_export_replaces_nothing(ours, tmp_path):
    (tmp_path / "a.zip").write_bytes(b"mine")
    with pytest.raises(FileExistsError):
        export(ours, str(tmp_path / "a.zip"))
    assert (tmp_path / "a.zip").read_bytes() == b"mine"


def test_an_export_that_fails_leaves_nothing(write, tmp_path):
    with pytest.raises(NotASession):
        export(write(b'{"type":"mode"}'), str(tmp_path / "a.zip"))
    assert os.listdir(tmp_path) == ["theirs"]


def test_where_no_archive_or_session_can_be_made_the_error_names_the_folder(ours, write, tmp_path):
    with pytest.raises(FileNotFoundError) as lacking:
        export(ours, str(tmp_path / "gone" / "a.zip"))
    with pytest.raises(NotADirectoryError) as no_folder:
        import_session(write(SAID), root=ours)
    assert (lacking.value.filename, no_folder.value.filename) == (str(tmp_path / "gone"), ours)


def test_the_log_of_a_subagent_is_no_session(write, tmp_path, root):
    path = write(SAID, name="agent-7.jsonl")
    with pytest.raises(NotASession, match="subagent"):
        export(path, str(tmp_path / "a.zip"))
    with pytest.raises(NotASession, match="subagent"):
        import_session(path, root=root)
    with zipfile.ZipFile(tmp_path / "b.zip", "w") as archive:
        archive.writestr("agent-7.jsonl", SAID)
    with pytest.raises(NotASession):
        import_session(str(tmp_path / "b.zip"), root=root)


def test_records_taken_in_for_a_relative_folder_say_which_it_is(root, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    report = import_records([{"type": "user", "message": {"role": "user", "content": "hello"}}], root=root, cwd="work")
    assert {json.loads(line).get("cwd") for line in lines_in(report.path)} == {str(tmp_path / "work")}


def test_an_export_follows_no_link_and_says_what_it_leaves_out(ours, tmp_path):
    folder = Path(ours.removesuffix(".jsonl"), "subagents")
    (tmp_path / "secret").write_text("secret")
    (folder / "agent-two.jsonl").symlink_to(tmp_path / "secret")
    (folder / "workflows").symlink_to(tmp_path)
    (folder / "notes.txt").write_text("mine")
    report = export(ours, str(tmp_path / "a.zip"))
    assert report.left_out == ("subagents/agent-two.jsonl", "subagents/notes.txt", "subagents/workflows")
    assert b"secret" not in (tmp_path / "a.zip").read_bytes()


@pytest.mark.parametrize("name", ["", "subagents"])
def test_an_export_follows_no_link_to_a_folder(ours, tmp_path, name):
    folder = Path(ours.removesuffix(".jsonl"), name)
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")
    report = export(ours, str(tmp_path / "a.zip"))
    assert report.left_out == ((name,) if name else ())
    with zipfile.ZipFile(tmp_path / "a.zip") as archive:
        assert not [each for each in archive.namelist() if "agent-one" in each]


def test_a_file_whose_name_is_no_text_is_left_out(ours, tmp_path):
    folder = os.fsencode(ours.removesuffix(".jsonl"))
    try:
        os.close(os.open(folder + b"/tool-results/\xff", os.O_CREAT | os.O_WRONLY))
    except OSError:
        pytest.skip("this file system takes no such name")
    assert export(ours, str(tmp_path / "a.zip")).left_out == ("tool-results/\udcff",)


@pytest.mark.parametrize("name", ["x.json", ".jsonl", "...jsonl"])
def test_a_file_of_another_name_is_no_session(write, tmp_path, root, name):
    path = write(SAID, name=name)
    with pytest.raises(NotASession):
        export(path, str(tmp_path / "a.zip"))
    with pytest.raises(NotASession):
        import_session(path, root=root)


def test_an_export_takes_damaged_lines_along_and_tells_them(ours, tmp_path):
    data = Path(ours).read_bytes()
    Path(ours).write_bytes(data.replace(b'"answer"', b'"anSwer"') + b"{torn\n" + b'{"type":"mo')
    report = export(ours, str(tmp_path / "a.zip"))
    assert report.damage.count == 3
    assert [each.line for each in report.damage.first] == [3, 5, 6]
    assert report.damage.first[1].offset == len(data)
    with zipfile.ZipFile(tmp_path / "a.zip") as archive:
        held = archive.read(f"{ID}.jsonl").splitlines()
    assert b"anSwer" in held[2] and check(held[2]) is False
    assert held[4:] == [b"{torn", b'{"type":"mo']


# -- there and back


def test_an_archive_taken_in_is_the_session_again(ours, tmp_path, root):
    export(ours, str(tmp_path / "a.zip"))
    report = import_session(str(tmp_path / "a.zip"), root=root)
    assert (report.session_id, report.files, report.lines, report.damage.count) == (ID, 5, 6, 0)
    assert report.path == Place(root, "-w", ID).path
    assert lines_in(report.path) == lines_in(ours)
    agent = "subagents", "agent-one.jsonl"
    assert lines_in(Path(Place(root, "-w", ID).folder, *agent)) == lines_in(Path(ours.removesuffix(".jsonl"), *agent))


@pytest.mark.parametrize("path", REAL, ids=lambda path: f"{path.parent.name}-{path.name[:4]}")
def test_a_real_transcript_taken_in_exported_and_taken_in_again_has_every_byte(path, tmp_path):
    first = import_session(str(path), root=str(tmp_path / "1"))
    assert plain(first.path) == lines_in(path)
    assert all(check(line) for line in lines_in(first.path))
    assert [seq_of(line) for line in lines_in(first.path)] == list(range(1, first.lines + 1))[: len(lines_in(path))]
    export(first.path, str(tmp_path / "a.zip"))
    second = import_session(str(tmp_path / "a.zip"), root=str(tmp_path / "2"))
    assert lines_in(second.path) == lines_in(first.path)


def test_the_agents_of_a_transcript_come_along(tmp_path):
    [path] = (DATA / "claude-code" / "subagent").glob("*-*.jsonl")
    report = import_session(str(path), root=str(tmp_path))
    theirs = sorted((path.parent / path.stem / "subagents").iterdir())
    ours = sorted(Path(report.path.removesuffix(".jsonl"), "subagents").iterdir())
    assert [each.name for each in ours] == [each.name for each in theirs]
    assert plain(ours[0]) == lines_in(theirs[0])
    assert ours[1].read_bytes() == theirs[1].read_bytes()


ODD = st.one_of(
    st.binary(max_size=40),
    st.dictionaries(st.text(max_size=4), st.integers() | st.text(max_size=6) | st.none(), max_size=3).map(
        lambda value: json.dumps(value, separators=(",", ":")).encode()
    ),
    st.sampled_from(
        [
            *(
                b"{}",
                b"{ }",
                b'{"a":1}\r',
                b' {"a":1}',
                b'{"a":1} ',
                b'{"a":1}{"b":2}',
                b"[1]",
                b"}",
                b"{",
                b"\0\0",
                b"",
            ),
            *(b'{"a":1,"a":2}', b'{"n":' + b"9" * 5000 + b"}", b'{"seq":7,"crc":"x"}', b'{"a":{"seq":1}}'),
            *(
                sealed(b'{"a":1}', 3)[:-1].replace(b"1", b"2", 1),
                b'{"a":1,"seq":1,"crc":"00000000"}',
                b"\xef\xbb\xbf{}",
            ),
        ]
    ),
).filter(lambda line: b"\n" not in line and not check(line))


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines=st.lists(ODD, max_size=8), at=st.integers(0, 8), end=st.sampled_from([b"\n", b""]))
def test_any_lines_taken_in_and_exported_are_equal_line_for_line(tmp_path_factory, lines, at, end):
    tmp_path = tmp_path_factory.mktemp("any")
    lines.insert(at, SAID)
    path = tmp_path / f"{ID}.jsonl"
    path.write_bytes(b"\n".join(lines) + (end if lines[-1] != SAID else b"\n"))
    report = import_session(str(path), root=str(tmp_path / "root"))
    export(report.path, str(tmp_path / "a.zip"))
    with zipfile.ZipFile(tmp_path / "a.zip") as archive:
        assert archive.read(f"{ID}.jsonl") == path.read_bytes()


# -- import


def test_big_numbers_and_keys_written_twice_are_kept(write, root):
    odd = b'{"type":"x","n":123456789012345678901234567890,"a":1,"a":2,"f":1.0000000000000000001}'
    report = import_session(write(SAID, odd), root=root)
    assert bare(lines_in(report.path)[1]) == odd


def test_a_transcript_that_begins_like_an_archive_is_a_transcript(write, root):
    report = import_session(write(b"PK\x03\x04", SAID), root=root)
    assert plain(report.path) == [b"PK\x03\x04\n", SAID + b"\n"]


def test_damaged_lines_come_along_and_are_told(write, root):
    report = import_session(write(SAID, b"{torn", b'{"a":1}x', b"", SAID, b'{"unfi', end=b""), root=root)
    assert report.damage.count == 3
    assert [each.line for each in report.damage.first] == [2, 3, 6]
    assert all(each.path == report.path for each in report.damage.first)
    read = Path(report.path).read_bytes()
    assert [
        read[each.offset :].startswith(start)
        for each, start in zip(report.damage.first, (b"{torn", b'{"a":1}x', b'{"unfi'), strict=True)
    ] == [True] * 3


def test_a_line_with_a_wrong_check_stays_wrong(write, root):
    wrong = sealed(SAID, 1)[:-1].replace(b"hi", b"ho")
    report = import_session(write(SAID, wrong), root=root)
    assert lines_in(report.path)[1] == wrong + b"\n"
    assert (report.damage.count, report.damage.first[0].line) == (1, 2)


def test_the_lines_of_our_own_file_are_numbered_anew(write, root):
    report = import_session(write(sealed(SAID, 8)[:-1], sealed(b'{"type":"mode"}', 9)[:-1]), root=root)
    assert lines_in(report.path) == [sealed(SAID, 1), sealed(b'{"type":"mode"}', 2)]


def test_what_is_taken_in_can_be_appended_to(write, root):
    report = import_session(write(SAID, b'{"unfi', end=b""), root=root)
    with SessionLog(Place.of(report.path), cwd="/w") as log:
        log.append(assistant("more"))
    assert json.loads(lines_in(report.path)[-1])["parentUuid"] == "a"
    assert check(lines_in(report.path)[0])


def test_a_session_is_put_under_the_folder_it_names_or_that_is_given(write, root):
    path = write(SAID)
    assert import_session(path, root=root).path == Place(root, "-w", ID).path
    assert import_session(path, root=root, cwd="/else").path == Place(root, "-else", ID).path


def test_a_session_that_names_no_folder_needs_one(write, root):
    with pytest.raises(NotASession, match="working directory"):
        import_session(write(SAID.replace(b"cwd", b"CWD")), root=root)


@pytest.mark.parametrize("cwd", ["/a\0b", "/a" * 500_000], ids=lambda cwd: ascii(cwd)[:20])
def test_what_can_be_no_folder_is_not_what_a_session_names(write, root, cwd):
    odd = SAID.replace(b'"/w"', json.dumps(cwd).encode())
    with pytest.raises(NotASession, match="working directory"):
        import_session(write(odd), root=root)
    assert import_session(write(odd, SAID), root=root).path == Place(root, "-w", ID).path


def test_a_session_that_is_there_is_not_replaced(write, root):
    path = write(SAID)
    import_session(path, root=root)
    with pytest.raises(FileExistsError):
        import_session(path, root=root)
    assert os.listdir(root) == ["-w"]


@pytest.mark.parametrize("lines", [(), (b"{torn",), (b'{"type":"mode","cwd":"/w"}',), (b'{"type":"user","cwd":"/w"}',)])
def test_a_file_in_which_nobody_speaks_is_no_session(write, root, lines):
    with pytest.raises(NotASession):
        import_session(write(*lines), root=root)
    assert os.listdir(root) == []


def test_a_session_of_a_later_format_is_refused(write, root):
    with pytest.raises(NewerVersion):
        import_session(write(b'{"type":"session","format":2}', SAID), root=root)


@pytest.mark.parametrize("name", ["", "subagents/agent-one.jsonl"])
def test_a_session_of_which_any_log_has_a_later_format_is_not_taken_in_or_packed(ours, tmp_path, root, name):
    archive = tmp_path / "a.zip"
    export(ours, str(archive))
    head = b'{"type":"session","format":2}\n'
    path = Path(ours.removesuffix(".jsonl"), name) if name else Path(ours)
    path.write_bytes(head + path.read_bytes())
    with zipfile.ZipFile(archive) as members:
        data = [(each, members.read(each)) for each in members.namelist()]
    later = pack(
        tmp_path / "b.zip", [(each, head * each.endswith(name or f"{ID}.jsonl") + what) for each, what in data]
    )
    for refused in (
        partial(export, ours, str(tmp_path / "c.zip")),
        *(partial(import_session, each, root=root) for each in (ours, later)),
    ):
        with pytest.raises(NewerVersion, match="has format 2"):
            refused()
    assert sorted(os.listdir(tmp_path)) == ["a.zip", "b.zip", "ours", "root"] and os.listdir(root) == []


def test_files_taken_in_are_for_their_owner_only(write, root):
    report = import_session(write(SAID), root=root)
    modes = [stat.S_IMODE(os.stat(path).st_mode) for path in (report.path, os.path.dirname(report.path), root)]
    assert modes == [0o600, 0o700, 0o700]


@pytest.mark.parametrize("path", REAL, ids=lambda path: f"{path.parent.name}-{path.name[:4]}")
def test_the_client_of_claude_code_reads_what_was_taken_in_as_it_reads_the_transcript(path, tmp_path):
    report = import_session(str(path), root=str(tmp_path / "projects"))
    ours, theirs = (claude_code.place_of(each) for each in (report.path, str(path)))
    one, two = (transcript.read(each, lineage.trace(each).segments, boundary=None) for each in (ours, theirs))
    assert (one.turns, one.touches, one.damaged) == (two.turns, two.touches, two.damaged)


# -- archives of others


@pytest.mark.parametrize(
    "name",
    [
        *("/etc/passwd", f"{ID}/../x", "../x.jsonl", f"{ID}/subagents/../../x", f"{ID}/subagents/agent-a/b.jsonl"),
        *(f"{ID}/subagents/workflows/../agent-x.jsonl", f"{ID}/subagents/", f"{ID}/live/1.json", f"{ID}/x", "y.jsonl"),
        *(f"{ID}/tool-results/a\\b", f"{ID}/tool-results/..", "other/tool-results/a", f"{ID}/remote-agents/x.sh"),
    ],
)
def test_an_archive_with_a_file_of_another_name_is_refused_whole(tmp_path, root, name):
    path = pack(tmp_path / "a.zip", [(f"{ID}.jsonl", SAID + b"\n"), (name, b"x")])
    with pytest.raises(NotASession, match="belongs to no session"):
        import_session(path, root=root)
    assert os.listdir(root) == []


@pytest.mark.parametrize("mode", [stat.S_IFLNK, stat.S_IFCHR, stat.S_IFDIR, stat.S_IFIFO])
def test_an_archive_with_anything_but_files_is_refused(tmp_path, root, mode):
    info = zipfile.ZipInfo(f"{ID}/tool-results/x")
    info.external_attr = (mode | 0o777) << 16
    path = pack(tmp_path / "a.zip", [(f"{ID}.jsonl", SAID + b"\n"), (info, b"/etc/passwd")])
    with pytest.raises(NotASession):
        import_session(path, root=root)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_an_archive_with_a_file_twice_is_refused(tmp_path, root):
    twice = (f"{ID}/tool-results/x", b"")
    with pytest.raises(NotASession):
        import_session(pack(tmp_path / "a.zip", [(f"{ID}.jsonl", SAID + b"\n"), twice, twice]), root=root)


def test_an_archive_that_would_take_too_much_is_refused_before_it_is_unpacked(tmp_path, root):
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"{ID}.jsonl", SAID + b"\n" * 1_000_000)
    with pytest.raises(NotASession, match="more than 1,000,000 bytes"):
        import_session(str(tmp_path / "a.zip"), root=root, bytes_most=1_000_000)


def test_an_archive_that_lies_about_a_size_gives_no_more_than_it_says(tmp_path, root):
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"{ID}.jsonl", SAID + b"\n" * 1_000_000)
    data = (tmp_path / "a.zip").read_bytes()
    size = (len(SAID) + 1_000_000).to_bytes(4, "little")
    (tmp_path / "a.zip").write_bytes(data.replace(size, (10).to_bytes(4, "little")))
    with pytest.raises(NotASession):
        import_session(str(tmp_path / "a.zip"), root=root)
    assert os.listdir(root) == []


@pytest.mark.parametrize("cut", [30, -1, -30])
def test_an_archive_that_was_cut_is_refused(ours, tmp_path, root, cut):
    export(ours, str(tmp_path / "a.zip"))
    (tmp_path / "b.zip").write_bytes((tmp_path / "a.zip").read_bytes()[:cut])
    with pytest.raises(NotASession):
        import_session(str(tmp_path / "b.zip"), root=root)


@pytest.mark.parametrize("at", range(100, 400, 40))
def test_an_archive_with_changed_bytes_is_refused(ours, tmp_path, root, at):
    export(ours, str(tmp_path / "a.zip"))
    data = bytearray((tmp_path / "a.zip").read_bytes())
    data[at : at + 8] = b"\xff" * 8
    (tmp_path / "b.zip").write_bytes(data)
    with pytest.raises(NotASession):
        import_session(str(tmp_path / "b.zip"), root=root)
    assert os.listdir(root) == []


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """The bytes of an archive."""
    path = tmp_path_factory.mktemp("sound") / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"{ID}.jsonl", (SAID + b"\n") * 50)
        archive.writestr(f"{ID}/subagents/agent-one.meta.json", b"{}")
    return path.read_bytes()


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    changes=st.lists(st.tuples(st.integers(0, 10_000), st.binary(min_size=1, max_size=4)), min_size=1, max_size=3),
    cut=st.none() | st.integers(0, 10_000),
)
def test_whatever_happened_to_an_archive_it_is_refused_or_taken_in_whole(sound, tmp_path_factory, changes, cut):
    folder = tmp_path_factory.mktemp("any")
    data = bytearray(sound)
    for at, found in changes:
        at %= len(data)
        data[at : at + len(found)] = found
    (folder / "a.zip").write_bytes(data if cut is None else data[: cut % len(data)])
    try:
        report = import_session(str(folder / "a.zip"), root=str(folder / "root"))
    except NotASession:
        assert os.listdir(folder / "root") == []
    else:
        assert plain(report.path) == [SAID + b"\n"] * 50
        assert os.listdir(folder / "root") == ["-w"]
        assert sorted(os.listdir(folder)) == ["a.zip", "root"]


def test_a_line_beyond_measure_in_an_archive_is_refused(tmp_path, root, monkeypatch):
    monkeypatch.setattr("rehydrate.session.archive.LINE_MOST", 1_000)
    path = pack(tmp_path / "a.zip", [(f"{ID}.jsonl", SAID + b"\n" + b"x" * 1_001)])
    with pytest.raises(NotASession, match="1,000 bytes"):
        import_session(path, root=root)


# -- records


def test_records_become_a_session(root):
    given = [{"type": "user", "uuid": "a", "message": {"role": "user", "content": "hi"}, "x": 1}, assistant("ho")]
    report = import_records(given, root=root, cwd="/w", session_id=ID)
    head, asked, answered = map(json.loads, lines_in(report.path))
    assert (report.path, report.lines) == (Place(root, "-w", ID).path, 3)
    assert (head["type"], head["format"], head["cwd"]) == ("session", 1, "/w")
    assert (asked["parentUuid"], asked["sessionId"], asked["x"]) == (None, ID, 1)
    assert (answered["parentUuid"], answered["isSidechain"], answered["cwd"]) == ("a", False, "/w")


@pytest.mark.parametrize("record", [{"role": "user", "content": "hi"}, {"type": ""}, {"type": 3}])
def test_a_record_without_a_type_is_none(root, record):
    with pytest.raises(ValueError, match="type"):
        import_records([user("hi"), record], root=root, cwd="/w")
    assert os.listdir(root) == []


def test_records_in_which_nobody_speaks_make_no_session(root):
    with pytest.raises(NotASession):
        import_records([{"type": "mode"}], root=root, cwd="/w")
    assert os.listdir(root) == []


def test_an_antigravity_transcript_becomes_a_session_with_a_compaction(root):
    [path] = (DATA / "antigravity" / "compact").glob("*/transcript_full.jsonl")
    place = antigravity.place_of(str(path))
    report = import_records(conversion.entries(place), root=root, cwd="/w", session_id=place.session)
    records = [json.loads(line) for line in lines_in(report.path)]
    assert [each["uuid"] for each in records[1:]] == [each["uuid"] for each in conversion.entries(place)]
    assert records[1]["timestamp"] == "2026-11-30T09:56:06Z"
    assert any(each.get("subtype") == "compact_boundary" for each in records)


@pytest.mark.parametrize("path", ANTIGRAVITY, ids=lambda path: path.parent.parent.name)
def test_an_antigravity_transcript_taken_in_says_what_its_own_client_reads(path, root):
    place = antigravity.place_of(str(path))
    segment = Segment(place.session, place.path, 0, None)
    theirs = antigravity_transcript.read(place, [segment], boundary=None)
    report = import_records(conversion.entries(place), root=root, cwd="/w", session_id=place.session)
    found = claude_code.place_of(report.path)
    ours = transcript.read(found, lineage.trace(found).segments, boundary=None)
    spoken = [(turn.role, turn.text.strip()) for turn in ours.turns if turn.text and turn.text.strip()]
    assert spoken == [(turn.role, turn.text.strip()) for turn in theirs.turns if turn.text and turn.text.strip()]
    tools = [call.name for turn in ours.turns for call in turn.calls]
    assert tools == [call.name for turn in theirs.turns for call in turn.calls]


@pytest.mark.parametrize("path", ANTIGRAVITY, ids=lambda path: path.parent.parent.name)
def test_nothing_of_an_antigravity_transcript_is_without_its_other_half(path, root):
    place = antigravity.place_of(str(path))
    report = import_records(conversion.entries(place), root=root, cwd="/w", session_id=place.session)
    with Session.open(report.path) as session:
        view = session.view("wire")
    assert view.gaps == ()
    assert not [why for _, why in view.left_out if "call" in why]


def test_no_folder_is_looked_into_in_which_nothing_of_a_session_can_lie(ours, tmp_path):
    Path(Place.of(ours).folder, "subagents", "workflows", "w", "a", "b").mkdir(parents=True)  # it may go on for ever
    assert export(ours, str(tmp_path / "out.zip")).left_out == ("subagents/workflows/w/a",)


def test_an_import_that_fails_at_the_very_end_leaves_nothing_and_can_be_tried_again(ours, tmp_path, root, monkeypatch):
    archive = export(ours, str(tmp_path / "out.zip")).path
    rename = os.rename

    def fails(source, target):
        if target.endswith(".jsonl"):
            raise OSError(28, "full")
        rename(source, target)

    with monkeypatch.context() as patch:
        patch.setattr("rehydrate.session.whole.os.rename", fails)
        with pytest.raises(OSError, match="full"):
            import_session(archive, root=root)
    assert os.listdir(Path(root, "-w")) == []
    assert import_session(archive, root=root).files == 5
