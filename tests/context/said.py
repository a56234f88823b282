"""What holds after a user has said something, for the tests of how that is found out."""

from rehydrate.context.statements import statements


def said(*texts):
    """The texts of the statements after these messages of the user."""
    return [each.text for each in statements([{"role": "user", "content": text} for text in texts])]
