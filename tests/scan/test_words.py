"""The search for words in bytes."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

few = st.binary(max_size=40).map(lambda drawn: bytes(byte % 3 for byte in drawn))


@given(raw=few, words=st.lists(few.filter(len).map(lambda word: word[:3]), max_size=4), start=st.integers(0, 45))
@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_first_of_some_words_is_found(impl, raw, words, start):
    places = [at for at in range(start, len(raw)) if any(raw.startswith(word, at) for word in words)]
    assert impl.find_any(raw, words, start) == (places[0] if places else None)


@pytest.mark.parametrize("padding", [0, 1, 31, 4_000])
def test_a_word_is_found_wherever_it_stands(impl, padding):
    raw = b"x" * padding + b'"agentId"' + b"x" * padding
    assert impl.find_any(raw, (b'"text"', b'"agentId"')) == padding
