import subprocess
import sys

import pytest

from rehydrate import clients


def test_a_module_of_a_client_is_imported_when_it_is_asked_for():
    listed = "print(sorted(m for m in sys.modules if m.startswith('rehydrate.clients.')))"
    code = f"import sys; from rehydrate import clients; {listed}"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
    assert clients.module("antigravity", "layout").__name__ == "rehydrate.clients.antigravity.layout"


def test_a_client_that_is_not_known_is_named():
    with pytest.raises(ValueError, match="no client 'nobody'; known: antigravity"):
        clients.module("nobody", "layout")


@pytest.mark.parametrize("client", clients.FOLDERS)
def test_every_client_offers_what_is_needed_to_look_at_its_conversations(client):
    names = {
        "layout": "place_of recognises find every modified_s worked_in workspaces_of readable skills denied NAMED_BY",
        "transcript": "survey pending read",
        "lineage": "trace",
        "listing": "summarize title count",
        "contract": "DELIVERY private_folder",
    }
    for module, offered in names.items():
        assert set(offered.split()) <= set(dir(clients.module(client, module)))


@pytest.mark.parametrize("client", clients.HOOKED)
def test_every_client_with_a_hook_offers_what_is_needed_to_run_it(client):
    names = {
        "layout": "home",
        "contract": "read_payload locate reply",
        "install": "found hooks_file plan_install plan_uninstall",
        "arrival": "REMEMBERED",
    }
    for module, offered in names.items():
        assert set(offered.split()) <= set(dir(clients.module(client, module)))


def test_what_our_own_library_writes_has_no_hook():
    assert clients.OWN in clients.FOLDERS and clients.OWN not in clients.HOOKED
