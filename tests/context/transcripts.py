"""Random conversations in the neutral form, for hypothesis: parallel calls, results out of order, loops with thoughts,
images, long single messages, huge results, surrogates, an open call at the end.
"""

from hypothesis import strategies as st

from tests.context.talk import assistant, call, result, text, thought, user

IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
ODD = st.text(st.characters(exclude_categories=()), min_size=1, max_size=30)
"""Surrogates that stand alone included."""
RULES = st.sampled_from(
    ["Never push to main.", "FACT: the port is 8080.", "FACT: the port is 9090.", "The deadline is 2027-03-01."]
)


@st.composite
def words(draw):
    kind = draw(st.integers(0, 9))
    if kind == 0:
        return draw(ODD)
    if kind == 1:
        return draw(RULES)
    piece = draw(st.sampled_from(["word ", "漢字", '{"a": 1}, ', "line\n", "😀", "aGVsbG8", "    "]))
    return f"{draw(st.integers(0, 99))} " + piece * draw(st.sampled_from([1, 5, 20, 60, 200] if kind < 9 else [3000]))


def thoughts():
    return st.lists(words().map(lambda each: thought(each)), max_size=1)


@st.composite
def requests(draw):
    parts = draw(st.lists(words().map(text) | st.just(IMAGE), min_size=1, max_size=3))
    return user(parts[0]["text"]) if len(parts) == 1 and parts[0] is not IMAGE else user(*parts)


@st.composite
def steps(draw, number, is_open=False):
    names = [f"call_{number}_{each}" for each in range(draw(st.sampled_from([1, 1, 2, 10])))]
    said = draw(st.lists(words().map(text), max_size=1))
    answer = assistant(*draw(thoughts()), *said, *(call(name, path=draw(words())[:200]) for name in names))
    if is_open:
        names = names[1:]
    contents = [draw(words() | st.just([text("Seen."), IMAGE])) for _ in names]
    results = [result(name, content) for name, content in zip(names, contents, strict=True)]
    return [answer, *([user(*draw(st.permutations(results)))] if results else [])]


@st.composite
def conversations(draw, may_be_open=True, number=0):
    """Messages that are arranged and valid; `number`: where the ids of the calls begin."""
    messages = []
    for _ in range(draw(st.integers(1, 4))):
        messages.append(draw(requests()))
        for _ in range(draw(st.integers(0, 5))):
            messages += draw(steps(number))
            number += 1
        if draw(st.booleans()):
            messages.append(assistant(*draw(thoughts()), text(draw(words()))))
    if draw(st.booleans()):
        messages.append(draw(requests()))
    if may_be_open and draw(st.integers(0, 3)) == 0:
        messages += draw(steps(number, is_open=True))
    return messages
