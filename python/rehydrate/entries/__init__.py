"""Transcripts whose entries name their parents: from bytes to what was said, in what order, and what a model saw.

The file is a log that is only ever added to: branches that were given up, copies, subagents and everything before a
compaction stay in it.  Which of its entries make up the conversation is decided here, by structure first: a record is
only decoded when a view holds it, or when the structure alone cannot tell.

`log` is the index and the records behind it, `scope` how much of it is looked at, `ends` where the conversation ends,
`chain` the line of descent, `compaction` what a compaction kept, `tools` what belongs to one answer, `view` the views
put together, `turns` how the conversation stands, `messages` what one record says, `metadata` what the file says about
it.

Promises: any file gives an answer, whatever its entries hold and wherever their parents lead; unknown types and members
change nothing; the same bytes give the same answer.
"""
