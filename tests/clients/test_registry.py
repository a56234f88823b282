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
