"""Records -> boundaries, and records -> `Conversation`, as for all transcripts of entries."""

from functools import partial

from rehydrate.transcripts import reading
from rehydrate.transcripts.reading import boundaries as boundaries
from rehydrate.transcripts.reading import pending as pending
from rehydrate.transcripts.reading import survey as survey

read = partial(reading.read, client="claude-code")
