"""The public names of `rehydrate.session`."""

import importlib
import pkgutil

from rehydrate import session


def test_every_public_name_is_what_it_says_even_when_all_modules_are_loaded():
    loaded = {each.name for each in pkgutil.iter_modules(session.__path__)}
    for name in loaded:
        importlib.import_module(f"rehydrate.session.{name}")
    assert not loaded & set(session.__all__), "a module of that name would stand in its place"
    for name in session.__all__:
        assert getattr(session, name) is not None
