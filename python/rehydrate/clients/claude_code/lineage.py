"""Whose fork a conversation is, as for all transcripts of entries."""

from rehydrate.transcripts.lineage import trace as trace
