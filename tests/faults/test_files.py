"""Files that are none, that change, or that nobody may read: the log itself, and what it names."""

import os
import socket
import subprocess

import pytest

from rehydrate.scan import _pure, _pure_lines
from tests.helpers import dump, step, write_lines
from tests.process.home import checkpoint, long_talk

from .worlds import SESSION, joined, run

SPECIAL = ["missing", "empty", "folder", "fifo", "socket", "link", "loop"]


def put(path, kind):
    """Something else in the place of a file."""
    path.unlink(missing_ok=True)
    if kind == "empty":
        path.touch()
    elif kind == "folder":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "socket":
        bound = socket.socket(socket.AF_UNIX)
        here = os.getcwd()
        os.chdir(path.parent)  # the length of a socket's path is limited
        bound.bind(path.name)
        os.chdir(here)
        bound.close()
    elif kind == "link":
        target = path.with_name("elsewhere")
        target.write_bytes(joined(b'{"step_index":1,"uuid":"u","type":"user"}'))
        path.symlink_to(target)
    elif kind == "loop":
        path.symlink_to(path.name)


@pytest.mark.parametrize("kind", SPECIAL)
def test_f01_f49_a_log_that_is_no_file_is_answered_with_nothing(world, kind):
    put(world.path, kind)
    assert world.fire() == ""


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_f01_a_log_that_may_not_be_read_is_answered_with_nothing(world):
    assert world.fire(joined(world.user("One."))) != ""
    world.path.chmod(0)
    assert world.fire() == ""


def failing(monkeypatch, at):
    """Let every read of the pure scanner that reaches the offset fail."""
    read = _pure_lines._pread

    def pread(fd, size, offset):
        if offset + size > at:
            if offset >= at:
                raise OSError(5, "Input/output error")
            size = at - offset
        return read(fd, size, offset)

    monkeypatch.setattr(_pure_lines, "_pread", pread)


@pytest.mark.parametrize("reach", [0, 100, 5_000])
def test_f15_where_a_read_fails_what_was_read_before_is_given_and_then_the_error(tmp_path, monkeypatch, reach):
    """Of the pure twin; the native one has its own in rust/tests/lines.rs."""
    path = write_lines(tmp_path / "t", [step(at) for at in range(500)])
    monkeypatch.setattr(_pure_lines, "CHUNK", 512)
    failing(monkeypatch, reach)
    found, read = _pure.iter_steps(path), []
    with pytest.raises(OSError, match="Input/output error"):
        for each in found:
            read.append(each.index)
    assert read == list(range(len(read)))
    assert found.cursor[1] == sum(len(dump(step(at))) + 1 for at in read) <= reach
    with pytest.raises(OSError, match="Input/output error"):
        _pure.scan_tail(path)
    assert _pure.probe_candidates([path], 3) == [None]


def test_f15_an_ancestor_that_cannot_be_read_is_left_out_and_said(antigravity):
    parent = SESSION[:-1] + "b"
    antigravity.write(parent, long_talk(0, 2))
    antigravity.write(SESSION, [*long_talk(6, 2, minute=1), checkpoint(12, minute=1)])
    assert "Request number 0 from step 0." in antigravity.fire()
    antigravity.state(SESSION).unlink()
    antigravity.transcript(parent).unlink()
    text = antigravity.fire()
    assert "from step 6." in text and "An ancestor of this conversation was not found" in text


def test_f15_a_sparse_log_is_read_through_its_holes(world):
    first, second = world.user("Before the hole."), world.user("Behind the hole.")
    boundary = joined(world.boundary()) if world.name == "antigravity" else b""
    with world.path.open("wb") as file:
        file.write(joined(first))
        file.seek(40_000_000)
        file.write(joined(second) + boundary)
    text = world.fire()
    assert "Before the hole." in text and "Behind the hole." in text


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="no /proc")
@pytest.mark.parametrize("path", ["/proc/self/status", "/proc/kmsg", "/dev/zero", "/dev/random", "/dev/tty", "/sys"])
def test_f15_f49_what_the_system_shows_as_files_is_no_log(world, path):
    assert world.asked(**{world.NAMED: path, "conversationId": None, "session_id": None,
                          "artifactDirectoryPath": None}) == ""  # fmt: skip


def test_f16_what_is_gone_between_listing_and_opening_is_none(impl, tmp_path):
    kept, gone = write_lines(tmp_path / "a", [step(1)]), write_lines(tmp_path / "b", [step(1)])
    os.unlink(gone)
    found = impl.probe_candidates([gone, kept], 1)
    assert found[0] is None and found[1].step == 1


def test_f16_among_very_many_conversations_the_newest_are_looked_at(antigravity):
    """More folders than are looked at; the parent is among those written last."""
    brain = antigravity.app / "brain"
    for number in range(21_000):
        os.mkdir(brain / f"{number:08x}")
    parent = "ffffffff-0000-4000-8000-000000000000"
    antigravity.write(parent, long_talk(0, 2))
    antigravity.write(SESSION, [*long_talk(6, 2, minute=1), checkpoint(12, minute=1)])
    text = antigravity.fire()
    for number in range(21_000):
        os.rmdir(brain / f"{number:08x}")
    assert "Request number 0 from step 0." in text and "Request number 1 from step 9." in text


@pytest.mark.parametrize("kind", ["fifo", "socket", "folder", "link", "loop", "empty", "missing"])
def test_f49_f50_a_file_of_the_conversation_that_is_none_is_not_read(world, kind):
    file, other = world.work / "file.py", world.work / "other.py"
    other.write_text("what stands here\n")
    put(file, kind)
    lines = [world.user("One."), world.said("Look.", ("read", str(file)), ("read", str(other))), world.user("Two.")]
    text = world.fire(joined(*lines))
    text = world.whole() if world.name == "claude-code" else text
    assert "what stands here" in text and "step_index" not in text


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/random", "/dev/tty", "/proc/self/environ", "/proc/1/maps", "/sys"])
def test_f49_a_device_that_the_conversation_names_is_not_read(world, path):
    lines = [world.user("One."), world.said("Look.", ("read", path), ("edit", path)), world.user("Two.")]
    text = world.fire(joined(*lines), **({"cwd": "/"} if world.name == "claude-code" else {}))
    assert "One." in text and "PATH=" not in text


def test_f50_f54_no_link_dots_or_other_spelling_leads_to_a_secret(world):
    home, work = world.folder, world.work
    (home / ".ssh").mkdir()
    (home / ".ssh" / "id_rsa").write_text("PRIVATE WORDS\n")
    (work / ".env").write_text("PRIVATE WORDS\n")
    (work / "server.pem").write_text("PRIVATE WORDS\n")
    (work / ".git").mkdir()
    (work / ".git" / "config").write_text("PRIVATE WORDS\n")
    (work / "notes.txt").symlink_to(home / ".ssh" / "id_rsa")
    (work / "linked").symlink_to(home / ".ssh")
    names = [home / ".ssh/id_rsa", work / "notes.txt", work / "linked/id_rsa", work / "../.ssh/id_rsa", work / ".env",
             work / ".ENV", work / "server.pem", work / ".git/config", f"/proc/self/root{home}/.ssh/id_rsa",
             f"/proc/self/cwd/{work}/.env", f"//{work}//.env"]  # fmt: skip
    lines = [world.user("One.")]
    for name in names:
        lines.append(world.said("Look.", ("read", str(name)), ("edit", str(name))))
    text = world.fire(joined(*lines, world.user("Two.")))
    text += world.whole() if world.name == "claude-code" else ""
    assert "Two." in text and "PRIVATE WORDS" not in text


def test_f52_the_root_is_no_workspace(antigravity):
    file = antigravity.work / "notes.py"
    file.write_text("in the workspace\n")
    named = [("read", "/etc/passwd"), ("read", str(file))]
    data = joined(antigravity.user("One."), antigravity.said("Look.", *named), antigravity.boundary())
    antigravity.path.write_bytes(data)
    text = antigravity.asked(workspacePaths=["/", str(antigravity.work)])
    assert "in the workspace" in text and "root:" not in text


@pytest.mark.parametrize("kind", ["2 GB", "binary", "weights", "within"])
def test_f53_only_text_of_at_most_2_mib_is_read_with_its_real_end(antigravity, kind):
    file = antigravity.work / ("model.safetensors" if kind == "weights" else "big.txt")
    if kind == "2 GB":
        with file.open("wb") as made:
            made.write(b"the very head")
            made.truncate(2 << 30)
    else:
        body = b"the very head " + b"x" * 1_900_000 + b" the very tail"
        file.write_bytes(body.replace(b"x", b"\0", 1) if kind == "binary" else body)
    text = antigravity.fire(joined(antigravity.user("One."), antigravity.said("Look.", ("read", str(file)))))
    shown = kind == "within"
    assert ("the very head" in text, "the very tail" in text, "characters left out, they are in" in text) == (
        shown,
    ) * 3


def test_f56_a_file_that_was_changed_since_it_was_seen_says_so(world):
    changed, same, gone = (world.work / name for name in ("changed.py", "same.py", "gone.py"))
    changed.write_text("new words\n")
    same.write_text("old words\n")
    os.utime(same, (1_000_000_000, 1_000_000_000))
    looks = [world.said("Look.", ("read", str(each))) for each in (changed, same, gone)]
    os.utime(changed, (1_900_000_000, 1_900_000_000))
    text = world.fire(joined(world.user("One."), *looks, world.user("Two.")))
    text = world.whole() if world.name == "claude-code" else text
    labels = {line.split(" (", 1)[0].rsplit("/", 1)[1]: line for line in text.splitlines() if line.startswith("/")}
    assert "changed on disk since then" in labels["changed.py"]
    assert "changed on disk" not in labels["same.py"]
    assert "gone.py" not in labels and "gone.py" in text


def test_f59_a_working_folder_that_is_gone_costs_nothing(world):
    gone = world.folder / "gone"
    gone.mkdir()
    world.path.write_bytes(joined(world.user("One."), world.boundary() if world.name == "antigravity" else b""))
    words = " ".join("'" + word.replace("'", "'\\''") + "'" for word in world.command())
    done = subprocess.run(
        ["sh", "-c", f"cd '{gone}' && rmdir '{gone}' && {words}"],
        input=world.stdin(), capture_output=True, env=world.environ, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")
    assert "One." in world.text_of(done.stdout)


@pytest.mark.parametrize("name", ["$(touch here)", 'it\'s "quoted"', "a;b`id`", "new\nline", "-rf", "é 漢"])
def test_f59_a_working_folder_is_data_whatever_its_name(tmp_path, world, name):
    folder = tmp_path / name
    folder.mkdir()
    (folder / "file.py").write_text("what stands here\n")
    before = sorted(os.listdir(tmp_path))
    lines = [world.user("One."), world.said("Look.", ("read", str(folder / "file.py")))]
    if world.name == "antigravity":
        world.path.write_bytes(joined(*lines, world.boundary()))
        text = world.asked(workspacePaths=[str(folder)])
    else:
        world.path.write_bytes(joined(*lines))
        assert "One." in world.fire(cwd=str(folder))
        text = world.whole()
    assert "what stands here" in text
    done = run(world, cwd=folder)
    assert (done.returncode, done.stderr) == (0, b"")
    assert sorted(each for each in os.listdir(tmp_path) if each != ".local") == before
