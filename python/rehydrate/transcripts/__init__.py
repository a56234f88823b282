"""What transcripts of entries tell, whoever wrote them.

`kept` keeps of a conversation what a rehydration can reach, and `calls` knows the tools.  Which entries count is
decided in `rehydrate.entries`.
"""
