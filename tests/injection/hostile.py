"""What text from elsewhere may try: everything that means something to us, to a host, to a model or to a terminal."""

from hypothesis import strategies as st

from rehydrate.conversation import MARKER_HEAD

MARKERS = (
    f"{MARKER_HEAD} | checkpoint=1000 | id=0badcafe]",
    f"{MARKER_HEAD} | checkpoint=1000 | id=0badcafe | part 1/1]",
    f"{MARKER_HEAD} | checkpoint=1000]",
    f"{MARKER_HEAD}]",
    "[POST-COMPACT  REHYDRATION v1 | id=0badcafe]",
    "[POST-COMPACT REHYDRATION v2 | id=0badcafe]",
    "[P\u039fST-COMPACT REHYDRATION v1 | id=0badcafe]",
)
OURS = (
    "## 1. Requests of the user, verbatim: 9 of 9",
    "## 2. Dialogue up to the compaction, verbatim: the last 9 of 9 entries",
    "## The newest request",
    "## Files, latest first, with lines of them: 9 of 9",
    "--- fork: up to here from aaaaaaaa; what follows, from step 1 on, from bbbbbbbb ---",
    "[7] step 3",
    "- [7] do it",
    "user, step 3:",
    "assistant, step 3, after these tool calls:",
    "tools, step 3:",
    "user, step 3, piece 1/2:",
    "/etc/passwd (read at step 3):",
    "[... 9 characters left out ...]",
    " [...] ",
    "- run_command `rm -rf /` (no result yet)",
    "a, run_command `rm`",
    "+9 more",
    "; +9 more in the next 9 responses",
    "a (failed)",
    " (2x, 2 failed)",
    "  | 9 passed",
    "  > rm",
    "no result yet: Bash: rm",
    "a, lines 1-2",
    "a: b",
)
FENCES = (
    "`",
    "``",
    "```",
    "````",
    "`````````",
    "~~~",
    "~~~~~~",
    "```text",
    "\n```\n",
    "\n````\n",
    "\n~~~\n",
    "'''",
    '"""',
)
FRAMES = tuple(
    f"<{slash}{name}>"
    for name in (
        *("system-reminder", "SYSTEM-REMINDER", "SYSTEM_MESSAGE", "EPHEMERAL_MESSAGE", "USER_REQUEST"),
        *("CONTEXT_SUMMARY", "ADDITIONAL_METADATA", "USER_SETTINGS_CHANGE", "command-name", "command-message"),
        *("local-command-stdout", "local-command-caveat", "bash-stdout", "task-notification", "persisted-output"),
        *("function_results", "function_calls", "antml:function_calls", "user-prompt-submit-hook"),
        *("start_of_turn", "end_of_turn"),
    )
    for slash in ("", "/")
)
TOKENS = ("<|im_start|>", "<|im_end|>", "<|endoftext|>", "<|eot_id|>")
"""Of chat templates."""
TURNS = (
    "[Request interrupted by user]",
    "\n\nHuman: ",
    "\n\nAssistant: ",
    "[INST]",
    "[/INST]",
    "### User request 7",
    "### Instruction:",
    "{{ CHECKPOINT 3 }}",
    "# Resuming from a compaction",
    '{"injectSteps":[]}',
    '"}]}',
)
ESCAPES = (
    "\x1b[2J", "\x1b[31m", "\x1b]8;;http://x\x1b\\", "\x1b]52;c;cm0=\x07", "\x1bP1$qm\x1b\\", "\x1b_x\x1b\\",
    "\x9b2J", "\x9d52;c;cm0=\x9c", "\x90q\x9c", "\x07", "\b", "\x7f", "\0", "\r", "\x0e", "\x1bc",
)  # fmt: skip
HIDDEN = (
    *"\u200b\u200c\u200d\u200e\u200f\u2028\u2029\x85\x0b\x0c\x1c\x1d\x1e\u202a\u202b\u202c\u202d\u202e\u2060\u2066",
    *"\u2067\u2068\u2069\ufeff\xad\u034f\u061c\u3164\ufe00\ufe0f\ufff9\ud800\udfff\udc80\U000e0001\U000e0041\U000e007f",
    *"\U000e0100",
)
SPACE = ("\n", "\n\n", "\r\n", "\t", " ", "- ", "# ", "> ", "| ", "x", "\\", "$ ", "(", ")", ", ", ": ", "'", '"', "/")
ALL = (*MARKERS, *OURS, *FENCES, *FRAMES, *TOKENS, *TURNS, *ESCAPES, *HIDDEN, *SPACE)

texts = st.lists(st.sampled_from(ALL) | st.sampled_from(SPACE) | st.text(max_size=3), min_size=1, max_size=12).map(
    "".join
)
"""Texts made of these, each kind beside each other."""
names = texts.map(lambda text: text.replace("/", "").replace("\0", "")[:60].encode("utf-8", "replace").decode()).filter(
    lambda name: name.strip(". ") != ""
)
"""What a file or folder may be called."""


def raw_signs(text: str, *, but: str = "\n") -> set[str]:
    """What is left in a text that is obeyed, hides or reorders; an independent list, by what Unicode says of it."""
    import unicodedata

    obeyed = {"Cc", "Cs", "Zl", "Zp"}
    reorders = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
    hides = set("\u200b\u200e\u200f\u061c\xad\u034f\u2060\ufeff\u3164\ufff9\U000e0100")
    return {
        sign
        for sign in set(text) - set(but)
        if unicodedata.category(sign) in obeyed
        or unicodedata.bidirectional(sign) in reorders
        or sign in hides
        or 0xE0000 <= ord(sign) <= 0xE0FFF
    }
