"""Gives the harness one hooks.json after the other: `unshare -n python -m tests.rig.hookfiles PYTHON FOLDER`.

PYTHON has `google-antigravity`; FOLDER has files.json, {name: text, one character for each byte}, in which @WITNESS@
stands for a command in quotes.  FOLDER/ran.json says how often the command was run, by name.
"""

import argparse
import json
from pathlib import Path
from typing import Any

from .harness import Harness, Turn
from .model import Answer, FakeModel
from .network import require_private


class _Swapping(FakeModel):
    """Before it answers, the next file is put in place: the harness reads it again at each prompt."""

    def swap(self, file: Path, texts: list[str]) -> None:
        self.file, self.texts = file, iter(texts)
        self._next()

    def answer(self, body: dict[str, Any]) -> Answer:
        found = super().answer(body)
        self._next()
        return found

    def _next(self) -> None:
        text = next(self.texts, None)
        if text is not None:
            self.file.write_bytes(text.encode("latin-1"))


def main() -> None:
    """Plays the files that the folder holds, a prompt for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("python")
    parser.add_argument("folder", type=Path)
    given = parser.parse_args()
    require_private()
    files: dict[str, str] = json.loads((given.folder / "files.json").read_text())
    harness = Harness(python=given.python, folder=given.folder / "play", loop="older", threshold=1_000_000)
    harness.model = model = _Swapping(harness.folder / "requests")
    config, marks = harness.home / ".gemini" / "config", given.folder / "marks"
    config.mkdir(parents=True)
    marks.mkdir()
    names = list(files)
    witness = [json.dumps(f"echo ran >> {marks}/{number}; echo '{{}}'") for number in range(len(names))]
    texts = [files[name].replace("@WITNESS@", word) for name, word in zip(names, witness, strict=True)]
    model.swap(config / "hooks.json", texts)
    with model:
        harness.talk(*(Turn(f"Prompt {number}.", (Answer("Yes.", tokens=100),)) for number in range(len(names))))
    assert not model.answers, "the harness did not get through all prompts"
    ran = {name: _count(marks / str(number)) for number, name in enumerate(names)}
    (given.folder / "ran.json").write_text(json.dumps(ran))


def _count(mark: Path) -> int:
    return len(mark.read_text().splitlines()) if mark.exists() else 0


if __name__ == "__main__":
    main()
