"""What transcripts of entries tell, whoever wrote them: the conversation, its compactions, its ancestors, its title.

A client whose transcripts have entries that name their parents says where they lie (`place`) and what it is called; the
rest is the same for all of them.  `reading` makes the conversation, of which `kept` keeps what a rehydration can reach
and `calls` knows the tools; `lineage` follows it to its ancestors by what `origins` finds; `listing` tells of it in a
list; `window` looks at a file's start and end alone.  Which entries count is decided in `rehydrate.entries`.
"""
