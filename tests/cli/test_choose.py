"""Which conversation is meant."""

import os
import shutil

import pytest

from rehydrate import state
from rehydrate.cli.choose import NotFound, choose


def chosen(shell, named=None, folder=None):
    return choose(named, environ=os.environ, folder=str(folder or shell.cwd)).place


def test_an_id_means_its_conversation(laid_out):
    assert chosen(laid_out, laid_out.B).session == laid_out.B


def test_the_beginning_of_an_id_is_enough(laid_out):
    assert chosen(laid_out, laid_out.B[:4]).session == laid_out.B


def test_a_client_may_stand_before_the_id(laid_out):
    assert chosen(laid_out, f"antigravity:{laid_out.B[:6]}").session == laid_out.B


def test_a_whole_id_is_meant_before_those_that_begin_with_it(laid_out):
    shutil.copytree(laid_out.app / "brain" / laid_out.B, laid_out.app / "brain" / laid_out.B[:4])
    assert chosen(laid_out, laid_out.B[:4]).session == laid_out.B[:4]


def test_a_beginning_that_several_have_names_them(laid_out):
    shutil.copytree(laid_out.app / "brain" / laid_out.B, laid_out.app / "brain" / "9b1dffff")
    with pytest.raises(NotFound, match=r"several .*9b1dffff"):
        chosen(laid_out, "9b1d")


def test_one_id_under_two_applications_is_one_conversation(laid_out):
    there = laid_out.home / "antigravity-ide" / "brain" / laid_out.B
    shutil.copytree(laid_out.app / "brain" / laid_out.B, there)
    for log in there.rglob("*.jsonl"):
        os.utime(log, (4e9, 4e9))
    assert chosen(laid_out, laid_out.B[:5]).path.startswith(str(there))


@pytest.mark.parametrize("up", range(4))
def test_a_transcript_or_a_folder_above_it_means_its_conversation(laid_out, up):
    path = laid_out.transcript(laid_out.B)
    path = [path, path.parent, path.parents[2], path.with_name("transcript.jsonl")][up]
    assert chosen(laid_out, str(path)).session == laid_out.B


def test_outside_the_known_layout_the_folders_name_is_the_id(shell):
    folder = shell.folder / "saved"
    folder.mkdir()
    (folder / "transcript.jsonl").write_text("{}\n")
    assert chosen(shell, str(folder)).session == "saved"


@pytest.mark.parametrize("named", ["", "nothing", "antigravity:", "antigravity:nothing", "./nothing", "../x", "a\0b"])
def test_what_is_not_there_is_not_found(laid_out, named):
    with pytest.raises(NotFound):
        chosen(laid_out, named)


class TestNewest:
    def test_of_this_folder(self, laid_out):
        os.utime(laid_out.transcript(laid_out.B), (4e9, 4e9))
        assert chosen(laid_out).session == laid_out.B

    def test_of_a_folder_inside_the_workspace(self, laid_out):
        os.utime(laid_out.transcript(laid_out.C), (4e9, 4e9))
        assert chosen(laid_out, folder=laid_out.cwd / "tidepool").session == laid_out.C

    def test_reached_by_a_link(self, laid_out):
        (laid_out.folder / "link").symlink_to(laid_out.cwd)
        assert chosen(laid_out, folder=laid_out.folder / "link").session

    def test_a_sibling_is_not_inside(self, laid_out):
        with pytest.raises(NotFound, match="name one"):
            chosen(laid_out, folder=f"{laid_out.cwd}-2")

    def test_workspaces_that_only_the_hook_was_told_of(self, laid_out):
        other = laid_out.folder / "other"
        path = str(laid_out.transcript(laid_out.A))
        spot = state.spot_for(
            "antigravity", laid_out.A, transcript=path, folder=os.path.dirname(path), environ=os.environ
        )
        with state.locked(spot) as store:
            store.save(state.State(laid_out.A, path, workspaces=(str(other),)), durable=False)
        assert chosen(laid_out, folder=other).session == laid_out.A

    def test_the_root_is_nobodys_workspace(self, laid_out):
        history = laid_out.app / "history.jsonl"
        history.write_text(history.read_text().replace(str(laid_out.cwd), "/"))
        with pytest.raises(NotFound):
            chosen(laid_out)


def test_without_any_conversation_that_is_said(shell):
    with pytest.raises(NotFound, match=r"no conversation .* yet"):
        chosen(shell)


def test_a_folder_without_one_is_told_the_newest_of_all(laid_out):
    with pytest.raises(NotFound, match=r"newest of all is antigravity:\w+"):
        chosen(laid_out, folder=laid_out.folder / "elsewhere")
