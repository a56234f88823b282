"""What has to be known of a conversation's place: the client knows the rest."""

from collections.abc import Sequence
from typing import Protocol


class Place(Protocol):
    """One conversation on disk, among others of its kind."""

    @property
    def session(self) -> str:
        """Conversation id."""

    @property
    def path(self) -> str:
        """The transcript."""

    @property
    def agent(self) -> bool:
        """Whether it is a subagent's transcript, which is no conversation of its own."""

    @property
    def project(self) -> str | None:
        """The folder that holds it and its siblings; None outside the known layout, where it has none."""

    def sibling(self, session: str) -> "Place | None":
        """The conversation with that id that it can be a fork of; None where there is none."""

    def siblings(self) -> "Sequence[Place]":
        """The other conversations of its folder, those written last first."""
