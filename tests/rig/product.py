"""The product's command line, run in a throw-away home by the interpreter and from the package of this process."""

import os
import subprocess
import sys
from pathlib import Path

import rehydrate

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
LIMIT_S = 60


def clean_environ(home: Path) -> dict[str, str]:
    """What runs in the throw-away home sees; of the caller's environment only the choice of the backend.

    The harness hands its own environment to hooks, so the hook runs on the backend that the tests run on.
    """
    chosen = {key: os.environ[key] for key in ("REHYDRATE_PURE",) if key in os.environ}
    return {"PATH": PATH, "HOME": str(home), "LANG": "C.UTF-8", "TZ": "UTC", **chosen}


def run_rehydrate(*arguments: str, home: Path) -> str:
    """The standard output of `rehydrate ARGUMENTS`; RuntimeError with all output when its status is not 0."""
    package = Path(str(rehydrate.__file__)).parent.parent
    done = subprocess.run(
        [sys.executable, "-c", "import sys; from rehydrate.cli import main; sys.exit(main())", *arguments],
        cwd=home,
        env=clean_environ(home) | {"PYTHONPATH": str(package)},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
    )
    if done.returncode != 0:
        raise RuntimeError(f"rehydrate {' '.join(arguments)}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout
