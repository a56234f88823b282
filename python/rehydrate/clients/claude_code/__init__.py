"""Claude Code: its transcripts, its hook, its registration."""
