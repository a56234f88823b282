"""Whatever the entries hold and wherever their parents lead: an answer, and every record accounted for."""

from tempfile import TemporaryDirectory

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rehydrate.entries.ends import latest_leaf
from rehydrate.entries.log import Log
from rehydrate.entries.metadata import collapses, metadata, title
from rehydrate.entries.scope import Scope
from rehydrate.entries.turns import interruption, usage, waiting
from rehydrate.entries.view import account, full_view, model_view, sent
from tests.entries.strategies import records
from tests.helpers import dump


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(records, max_size=14), st.booleans())
def test_any_tree_is_read_and_every_record_accounted_for(rows, agent):
    with TemporaryDirectory() as folder:
        path = f"{folder}/a.jsonl"
        with open(path, "wb") as file:
            file.write(b"".join(dump(row) + b"\n" for row in rows))
        with Log(path) as log:
            scope = Scope(log, agent=agent)
            latest_leaf(scope)
            for view in (full_view(scope), model_view(scope)):
                assert len(set(view.entries)) == len(view.entries)
                assert sum(account(scope, view).values()) == len(log) == len(rows)
                list(sent(scope, view, folder="f"))
                interruption(log, view.entries)
                usage(log, view.entries, free=view.preserved)
                waiting(log, view.entries)
                title(scope, view.entries)
                collapses(scope, boundary=view.boundary)
            metadata(scope)
            model = model_view(scope)
            assert model.boundary is None or model.entries[0] == model.boundary or not model.entries
            for end in range(len(log)):
                full_view(scope.before(end))
