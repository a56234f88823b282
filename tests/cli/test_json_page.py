"""`docs/json.md` names every member that a command prints with `--json`."""

import json
import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "json.md").read_text("utf-8")
SECTIONS = dict(re.findall(r"(?ms)^## ([^\n]+)\n(.*?)(?=^## |\Z)", PAGE))


def members(value):
    """The names in a document, at any depth."""
    if isinstance(value, dict):
        return set(value).union(*map(members, value.values()))
    return set().union(*map(members, value)) if isinstance(value, list) else set()


def words(section):
    """What stands there as code, and the last name of `boundary.step`."""
    return {each.rpartition(".")[2] for each in re.findall(r"`([^`]+)`", SECTIONS[section])}


@pytest.mark.parametrize(
    "section, command",
    [
        ("show", ["show", "--json"]),
        ("lineage", ["lineage", "--json"]),
        ("sessions", ["sessions", "--json"]),
        ("install and uninstall", ["install", "antigravity", "--dry-run", "--json"]),
        ("install and uninstall", ["uninstall", "antigravity", "--json"]),
        ("doctor", ["doctor", "--json"]),
        ("config", ["config", "--json"]),
    ],
    ids=["show", "lineage", "sessions", "install", "uninstall", "doctor", "config"],
)
def test_the_page_names_every_member(laid_out, section, command):
    printed = members(laid_out.run(*command).json)
    assert printed
    assert printed <= words(section)


@pytest.mark.parametrize("options", [[], ["--tail"]])
def test_the_page_names_every_member_of_scan(laid_out, options):
    printed = laid_out.run("scan", laid_out.transcript(laid_out.C), "--json", *options)
    assert members(json.loads(printed.out.splitlines()[-1])) <= words("scan")


def test_the_page_names_the_reason_of_a_refusal(laid_out):
    (laid_out.home / "config").mkdir()
    (laid_out.home / "config" / "hooks.json").write_text("[]")
    done = laid_out.run("install", "antigravity", "--json")
    assert done.json[0]["action"] == "refused"
    assert members(done.json) <= words("install and uninstall")
