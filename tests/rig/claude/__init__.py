"""The real Claude Code CLI against a fake model: real transcripts, compactions and hooks, with no network and no key.

`cli` fetches the CLI from npm, `server` is the model it talks to, `box` gives it a throw-away home and a workspace,
`drive` holds conversations with it (in print mode, and on a screen of its own), `probe` is a hook that only looks,
`hooks` are the ways in which a hook is registered, `scenarios` are the conversations, `evidence` is what they left, and
`python -m tests.rig.claude SCENARIO FOLDER` plays one of them in a network namespace that holds nothing but loopback.
Linux with util-linux `unshare`, Node and npm; tmux for what is interactive; standard library only.
"""
