"""What is given as something that it is not: each is one sentence that says what it is to be."""

import asyncio

import pytest

from rehydrate.context import (
    AsyncEngine,
    Engine,
    Item,
    Ledger,
    Meter,
    Policy,
    Request,
    check,
    classify,
    trim,
    usage_of,
    verify,
    violations,
)
from rehydrate.context.errors import ContextError
from rehydrate.session import Sessions

from .talk import assistant, user

ODD = {
    "nothing": None,
    "a number": 7,
    "a fraction": 1.5,
    "no number": float("nan"),
    "yes": True,
    "bytes": b"x",
    "a text": "text",
    "an empty text": "",
    "a list": [1],
    "an empty list": [],
    "an object": {"a": 1},
    "an empty object": {},
    "a set": {1},
    "something": object(),
    "a list of nothing": [None],
    "a message without a content": [{"role": "user"}],
    "a message of a number": [{"role": "user", "content": 7}],
}
PYTHON = ("object has no", "object is not", "not supported between", "unsupported operand", "unhashable", "unpack")
"""What Python itself says of something that is not what it was taken for."""


def begun(folder, **more):
    engine = Engine(Sessions(folder).new(str(folder)), window=50_000, **more)
    engine.append(user("Hi."))
    engine.prepare(Request("m", "anthropic"))
    return engine


def of_engine(use):
    return lambda folder, odd: use(begun(folder), odd)


USES = {
    "made of": lambda folder, odd: Engine(odd, window=9),
    **{
        name: (lambda folder, odd, name=name: begun(folder, **{name: odd}).compact())
        for name in ("meter", "policy", "summariser", "prepared", "before_compaction", "clock")
    },
    **{
        f"{call}({name}=)": of_engine(
            lambda engine, odd, call=call, name=name: getattr(engine, call)(
                Request(**{"model": "m", "format": "anthropic", name: odd})
            )
        )
        for call in ("prepare", "explain")
        for name in ("model", "format", "tools", "control")
    },
    "prepare": of_engine(lambda engine, odd: engine.prepare(odd)),
    "explain": of_engine(lambda engine, odd: engine.explain(odd)),
    "observe usage": of_engine(lambda engine, odd: engine.observe(odd, assistant("Yes."))),
    "observe reply": of_engine(lambda engine, odd: engine.observe({}, odd)),
    "observe provider": of_engine(lambda engine, odd: engine.observe({}, assistant("Yes."), provider=odd)),
    "append": of_engine(lambda engine, odd: engine.append(odd)),
    "append format": of_engine(lambda engine, odd: engine.append(user("Hi."), format=odd)),
    "overflow": of_engine(lambda engine, odd: engine.overflow(odd)),
    "overflow partial": of_engine(lambda engine, odd: engine.overflow("prompt is too long", partial=odd)),
    "cut_off usage": of_engine(lambda engine, odd: engine.cut_off(odd, assistant("Yes."), limit=9)),
    "cut_off reply": of_engine(lambda engine, odd: engine.cut_off({}, odd, limit=9)),
    "cut_off limit": of_engine(lambda engine, odd: engine.cut_off({}, assistant("Yes."), limit=odd)),
    "cut_off highest": of_engine(lambda engine, odd: engine.cut_off({}, assistant("Yes."), limit=9, highest=odd)),
    "compact": of_engine(lambda engine, odd: engine.compact(odd)),
    "compact focus": of_engine(lambda engine, odd: engine.compact("manual", odd)),
    "pin": of_engine(lambda engine, odd: engine.pin(odd)),
    "put heading": of_engine(lambda engine, odd: engine.ledger.put(odd, "x")),
    "put payload": of_engine(lambda engine, odd: engine.ledger.put("x", odd)),
    "put status": of_engine(lambda engine, odd: engine.ledger.put("x", "y", status=odd)),
    "put supersedes": of_engine(lambda engine, odd: engine.ledger.put("x", "y", supersedes=odd)),
    "close": of_engine(lambda engine, odd: engine.ledger.close(odd)),
    "close status": of_engine(lambda engine, odd: engine.ledger.close(engine.ledger.put("x", "y"), status=odd)),
    "AsyncEngine": lambda folder, odd: AsyncEngine(odd),
    "AsyncEngine.prepare": of_engine(lambda engine, odd: asyncio.run(AsyncEngine(engine).prepare(odd))),
    "AsyncEngine.put": of_engine(lambda engine, odd: asyncio.run(AsyncEngine(engine).put(odd, "x"))),
    "trim": lambda folder, odd: trim(odd, budget=9),
    "trim budget": lambda folder, odd: trim([user("Hi.")], budget=odd),
    "trim format": lambda folder, odd: trim([user("Hi.")], budget=9, format=odd),
    "trim meter": lambda folder, odd: trim([user("Hi.")], budget=9, meter=odd),
    "check": lambda folder, odd: check(odd, format="anthropic"),
    "violations": lambda folder, odd: violations(odd, format="gemini"),
    "violations format": lambda folder, odd: violations([user("Hi.")], format=odd),
    "violations source": lambda folder, odd: violations([user("Hi.")], format="anthropic", source=odd),
    "usage_of": lambda folder, odd: usage_of(odd, provider="gemini"),
    "usage_of provider": lambda folder, odd: usage_of({}, provider=odd),
    "classify": lambda folder, odd: classify(odd),
    "verify": lambda folder, odd: verify(odd),
    "Meter": lambda folder, odd: Meter(odd).messages([user("Hi.")]),
    "Ledger.put": lambda folder, odd: Ledger().put(odd, "x"),
    "Ledger.close": lambda folder, odd: Ledger().close(odd, status="done"),
    "Item heading": lambda folder, odd: Item(odd, "x"),
    "Item payload": lambda folder, odd: Item("x", odd),
    **{
        f"Policy {name}": (lambda folder, odd, name=name: Policy(**{name: odd})) for name in Policy.__dataclass_fields__
    },
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("use", USES)
def test_what_is_given_by_mistake_is_taken_or_is_one_sentence_about_it(tmp_path, use):
    for number, (name, odd) in enumerate(ODD.items()):
        try:
            USES[use](tmp_path / str(number), odd)
        except (TypeError, ValueError, LookupError, OSError, ContextError) as error:
            said = str(error)
            assert type(error) not in (KeyError, IndexError) and said, (name, error)
            assert not any(each in said for each in PYTHON), (name, said)


REFUSED = {
    "put heading": ["a number", "nothing", "a list"],
    "put payload": ["a number", "nothing", "bytes"],
    "prepare(control=)": ["a text", "nothing", "a list", "a message of a number"],
    "prepare(model=)": ["nothing", "a list"],
    "prepare(tools=)": ["a text", "a number"],
    "trim budget": ["a text", "nothing", "a fraction", "yes"],
    "trim": ["a text", "an object", "nothing"],
    "violations": ["a text", "an object", "nothing"],
    "usage_of": ["a text", "a list", "nothing"],
    "cut_off limit": ["a text", "nothing"],
    "compact focus": ["a number", "bytes"],
    "summariser": ["a text", "a number"],
    "clock": ["nothing", "a number"],
    "AsyncEngine": ["nothing", "something"],
    "Policy reserve": ["a text", "a fraction"],
    "Policy tools": ["nothing", "a list"],
}


@pytest.mark.parametrize(("use", "name"), [(use, name) for use, names in REFUSED.items() for name in names])
def test_what_cannot_be_meant_is_a_type_error(tmp_path, use, name):
    with pytest.raises(TypeError):
        USES[use](tmp_path, ODD[name])
