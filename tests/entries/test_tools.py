from rehydrate.entries.view import full_view, model_view
from tests.entries.making import assistant, attachment, boundary, call, chat, names, result, summary, text, user


def view_of(scope):
    return names(scope, full_view(scope).entries)


def answer(*parts, id="m"):
    """(uuid, parent, block) each."""
    return [assistant(uuid, parent, block, id=id) for uuid, parent, block in parts]


def test_results_that_stand_beside_the_line_come_back_in_file_order(scope_of):
    blocks = answer(("b", "a", text("Two.")), ("c", "b", call("1")), ("d", "c", call("2")))
    results = [result("r1", "c", "1"), result("r2", "d", "2")]
    scope = scope_of(user("a", None), *blocks, *results, assistant("e", "r2"))
    assert view_of(scope) == ["a", "b", "c", "d", "r1", "r2", "e"]


def test_blocks_that_stand_beside_the_line_come_back(scope_of):
    blocks = answer(("b", "a", call("1")), ("c", "b", call("2")))
    results = [result("r2", "c", "2"), result("r1", "b", "1")]
    scope = scope_of(user("a", None), *blocks, *results, assistant("e", "r1"))
    assert view_of(scope) == ["a", "b", "c", "r2", "r1", "e"]


def test_blocks_that_share_a_parent_come_back(scope_of):
    blocks = answer(("b", "a", text("One.")), ("c", "a", call("1")))
    scope = scope_of(user("a", None), *blocks, result("r", "c", "1"), assistant("e", "r"))
    assert view_of(scope) == ["a", "b", "c", "r", "e"]


def test_a_result_known_only_by_the_entry_that_it_names_comes_back(scope_of):
    blocks = answer(("b", "a", call("1")), ("c", "b", call("2")))
    other = result("r1", "x", "1", sourceToolAssistantUUID="b")
    scope = scope_of(
        user("a", None), *blocks, attachment("x", "b"), other, result("r2", "c", "2"), assistant("e", "r2")
    )
    assert view_of(scope) == ["a", "b", "c", "r1", "r2", "e"]


def test_a_result_known_only_by_its_call_comes_back(scope_of):
    blocks = answer(("b", "a", call("1")), ("c", "b", call("2")))
    scope = scope_of(user("a", None), *blocks, result("r1", "lost", "1"), result("r2", "c", "2"), assistant("e", "r2"))
    assert view_of(scope) == ["a", "b", "c", "r1", "r2", "e"]


def test_a_result_that_follows_another_result_comes_back(scope_of):
    blocks = answer(("b", "a", call("1")), ("c", "b", call("2")))
    results = [result("r1", "b", "1"), result("r2", "r1", "2"), attachment("x", "r1")]
    scope = scope_of(user("a", None), *blocks, *results, assistant("e", "x"))
    assert view_of(scope) == ["a", "b", "c", "r1", "r2", "x", "e"]


def test_answers_with_nothing_beside_them_are_not_decoded(scope_of):
    turns = [
        user("a", None),
        assistant("b", "a", call("1")),
        result("r", "b", "1"),
        assistant("c", "r"),
        user("d", "c"),
    ]
    scope = scope_of(
        *turns, *answer(("e", "d", call("2")), ("f", "e", call("3"))), result("s", "e", "2"), user("g", "f")
    )
    decoded = set()
    record = scope.log.record
    scope.log.record = lambda index: decoded.add(index) or record(index)
    assert view_of(scope)[-4:] == ["e", "f", "s", "g"]
    assert decoded.isdisjoint([scope.at("a"), scope.at("b"), scope.at("r")])


def test_a_second_result_of_a_call_does_not_come_back(scope_of):
    scope = scope_of(
        user("a", None),
        assistant("b", "a", call("1")),
        result("r", "b", "1"),
        assistant("c", "r"),
        result("s", "b", "1"),
    )
    assert view_of(scope) == ["a", "b", "r", "c"]


def test_the_branch_that_was_left_does_not_come_back(scope_of):
    scope = scope_of(
        *chat("a", "b"), user("c", "b"), assistant("d", "c", call("1")), result("r", "d", "1"), user("e", "b")
    )
    assert view_of(scope) == ["a", "b", "e"]


def test_nothing_from_before_a_compaction_comes_back_into_the_models_view(scope_of):
    blocks = answer(("b", "a", call("1")), ("c", "b", call("2")))
    results = [result("r1", "b", "1"), result("r2", "c", "2")]
    mark = boundary("B", preserved=("s", ["c", "r2"]))
    scope = scope_of(user("a", None), *blocks, *results, mark, summary("s", "B"), user("d", "s"))
    assert names(scope, model_view(scope).entries) == ["B", "s", "c", "r2", "d"]


def test_dead_branches_are_not_decoded_for_a_call_that_has_no_result(scope_of):
    dead = [user("x", "a"), assistant("y", "x", call("9")), result("z", "y", "9"), *chat("p", "q", parent="z")]
    scope = scope_of(user("a", None), assistant("b", "a", call("1")), *dead, user("c", "b"), assistant("d", "c"))
    decoded = []
    record = scope.log.record
    scope.log.record = lambda index: decoded.append(index) or record(index)
    assert view_of(scope) == ["a", "b", "c", "d"]
    assert scope.at("z") not in decoded
