"""What of a log a model is sent: a token budget, pruning, compaction, and checkpoints that survive a crash."""
