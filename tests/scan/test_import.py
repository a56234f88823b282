"""What importing the scanner costs, and which implementation is chosen."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import rehydrate
from rehydrate import scan
from tests.helpers import NATIVE_MISSING, needs_native

ROOT = Path(rehydrate.__file__).parents[1]


def run(code, *options, **environ):
    """What a fresh interpreter prints."""
    environ = {"PATH": os.environ.get("PATH", ""), **environ}
    code = f"import sys; before = set(sys.modules); sys.path.append({str(ROOT)!r}); {code}"
    done = subprocess.run(
        [sys.executable, "-S", *options, "-c", code], env=environ, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


LOADED = "import rehydrate.scan; print(*sorted(m for m in set(sys.modules) - before if not m.startswith('rehydrate')))"


@needs_native
def test_importing_the_native_scanner_loads_no_module_of_the_standard_library():
    assert run(LOADED, "-I") == ""


@needs_native
def test_using_the_native_scanner_loads_none_either(tmp_path):
    (tmp_path / "t").write_bytes(b'{"step_index":1,"type":"CHECKPOINT","a":"\\u00e9"}\n')
    use = f"import rehydrate.scan as s; p = {str(tmp_path / 't')!r}; c = s.scan_tail(p).cursor; s.probe(p); "
    use += "s.find_step(p, 1); s.probe_many([p]); s.probe_candidates([p], 1); "
    use += "list(s.iter_steps(p, types=['CHECKPOINT'], cursor=c)); "
    use += "list(s.iter_records(p, ['a', 'step_index'], where={'type': {'CHECKPOINT'}})); s.read_tree(p); "
    assert run(use + LOADED, "-I") == ""


def test_importing_the_pure_scanner_loads_neither_json_nor_re():
    loaded = run(LOADED, REHYDRATE_PURE="1").split()
    heavy = {"json", "re", "typing", "collections", "dataclasses", "functools", "itertools", "enum", "pathlib", "mmap"}
    assert not heavy & set(loaded)


def test_the_members_of_a_payload_are_found_without_json_or_re():
    use = 'from rehydrate.scan._pure_members import members; assert members(b\'{"a":[1.5,"x\\\\n"]}\'); '
    assert not {"json", "re"} & set(run(use + LOADED, REHYDRATE_PURE="1").split())


@pytest.mark.parametrize("first", ["", "import os; "])
def test_rehydrate_pure_forces_the_twin(first):
    code = first + "from rehydrate.scan import BACKEND; print(BACKEND)"
    assert run(code, REHYDRATE_PURE="1") == "python"
    wanted = "python" if NATIVE_MISSING else "rust"
    assert run(code) == wanted
    assert run(code, REHYDRATE_PURE="0") == wanted
    assert run(code, REHYDRATE_PURE="") == wanted


def test_without_the_compiled_module_the_twin_is_taken():
    code = "sys.modules['rehydrate._native'] = None; from rehydrate.scan import BACKEND; print(BACKEND)"
    assert run(code) == "python"


def test_everything_public_is_documented():
    assert scan.BACKEND in ("rust", "python")
    for name in scan.__all__:
        if name not in ("BACKEND", "Cursor"):
            assert getattr(scan, name).__doc__, name


def test_the_public_operations_are_those_of_the_implementation(impl, tmp_path, monkeypatch):
    monkeypatch.setattr(scan, "_chosen", impl)
    path = tmp_path / "t"
    path.write_bytes(b'{"step_index":1,"type":"CHECKPOINT"}\n{"step_index":2}')
    cursor = scan.cursor_at(path, 0)
    assert scan.scan_tail(path, cursor).last_step == 1
    assert scan.probe(path).last_step == 1
    assert scan.probe_many([path], follow_symlinks=False)[0].last_step == 1
    assert scan.find_step(path, 2, slack=1).step == 1
    assert scan.probe_candidates([path], 2, slack=1)[0].step == 1
    assert len(list(scan.iter_steps(path, types={"CHECKPOINT"}, steps=(0, 1), cursor=cursor))) == 1
    assert len(list(scan.iter_closed(path, types=None, steps=(2, 2), cursor=cursor))) == 1
    assert list(scan.iter_records(path, ["step_index"], where={"type": {"CHECKPOINT"}})) == [(1, 0, 36)]
    assert scan.read_tree(path).entries == [(None, None, "CHECKPOINT", 0, 36)]


@needs_native
def test_the_entries_of_a_tree_are_loaded_when_they_are_asked_for():
    assert run("import rehydrate.scan; print('rehydrate.scan._entries' in sys.modules)") == "False"
    assert run("from rehydrate.scan import Entries; print(Entries.__name__)") == "Entries"
    assert set(scan.__all__) <= set(dir(scan))
    with pytest.raises(AttributeError, match="nothing"):
        scan.nothing  # noqa: B018


def test_the_package_names_its_parts_and_loads_them_when_asked():
    assert run("import rehydrate; print('rehydrate.scan' in sys.modules)") == "False"
    assert run("import rehydrate; print(rehydrate.scan.__name__, rehydrate.__version__)") == "rehydrate.scan 0.1.0"
    assert {"scan", "__version__"} <= set(dir(rehydrate))
    with pytest.raises(AttributeError, match="nothing"):
        rehydrate.nothing  # noqa: B018
