"""Counters whose figures can be checked by hand."""


class Characters:
    """A character is a token."""

    name = "characters"
    is_exact = True

    def count(self, text):
        return len(text)
