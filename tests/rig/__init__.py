"""The vendor's own harness against a fake model: real agent loops, compactions and hooks, with no network and no key.

`venv` fetches the harness from PyPI, `model` is the server it talks to, `harness` gives it a throw-away home and a
workspace, `drive` is the program that the harness' own Python runs, `scenarios` are the conversations, and
`python -m tests.rig SCENARIO FOLDER` plays one of them in a network namespace that holds nothing but loopback.
Linux with util-linux `unshare`; standard library only.  `claude` is the like for the Claude Code CLI.
"""
