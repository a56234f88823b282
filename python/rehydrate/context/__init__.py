"""What of a log a model is sent: a token budget, pruning, compaction, and checkpoints that survive a crash.

from rehydrate.context import trim

messages = trim(messages, budget=100_000)  # without a log: nothing is remembered between two calls
"""

from .trim import trim

__all__ = ["trim"]
