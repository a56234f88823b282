"""How small a compaction has to make a conversation.

Everything is in tokens of one meter, in whole numbers.
"""

CEILING = 50_000
"""No result is larger, however large the window."""
SMALLEST = 5_000
"""What is smaller than that passes, if it is smaller than what it was made of."""
SOURCE_PERCENT = 80
WINDOW_PERCENT = 50
LEAST_PERCENT = 5
"""Of the handoff line: a result may be so large, however large the fixed part is.  In less than that a conversation
would be lost to gain nothing."""


def target_of(*, source: int, window: int | None, fixed: int, handoff_line: int | None) -> int:
    """What a result may count at most.

    `source`: the messages before.  `window`: None where nobody knows it.  `fixed`: system and tools.  `handoff_line`:
    below it the next request is to be, fixed part included; it counts where the fixed part alone is below it, and a
    result may have `LEAST_PERCENT` of it anyhow.  None: there is none.
    """
    limit = min(CEILING, max(SMALLEST, source * SOURCE_PERCENT // 100))
    if window is not None:
        limit = min(limit, window * WINDOW_PERCENT // 100)
    if handoff_line is not None and handoff_line > fixed:
        limit = min(limit, max(handoff_line - fixed, handoff_line * LEAST_PERCENT // 100))
    return max(0, min(limit, source - 1))
