"""`make demo` does what it says."""

import subprocess
import sys
from pathlib import Path

import pytest

RUN = Path(__file__).resolve().parents[1] / "demo" / "run.py"


@pytest.mark.skipif(not Path(sys.executable).with_name("rehydrate").exists(), reason="the command is not installed")
def test_the_demo_runs_to_its_end():
    done = subprocess.run([sys.executable, RUN], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "byte for byte as it was before" in done.stdout
