"""Random conversations, and what judges the messages that become of them.

Nothing in here imports the package: the formats, the rules of the providers and the counting are written a second time,
from what the providers document, so that a mistake of ours is not made twice.
"""
