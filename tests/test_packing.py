"""What is packed by both: as many things as have room, and of a text its two ends."""

from itertools import count

from hypothesis import given
from hypothesis import strategies as some

from rehydrate.packing import keep_ends, leading, share


def test_things_are_taken_up_to_the_first_that_has_no_room():
    assert leading(["aa", "bbb", "c"], 4, cost=len) == (["aa"], 2, False)


def test_things_that_fill_the_room_exactly_are_all_taken():
    assert leading(["aa", "bb"], 4, cost=len) == (["aa", "bb"], 4, True)


def test_of_nothing_all_is_taken():
    assert leading([], 0, cost=len) == ([], 0, True)


def test_no_more_is_asked_for_than_the_first_that_has_no_room():
    things = count()
    assert leading(things, 3, cost=int) == ([0, 1, 2], 3, False)
    assert next(things) == 4


def test_what_small_ones_leave_of_their_share_is_for_large_ones():
    assert share([10, 1, 10], 12) == 5


def test_what_has_room_is_not_cut():
    assert share([3, 8], 11) == 8


def test_of_nothing_nothing_is_cut():
    assert share([], 5) == 0


@given(some.lists(some.integers(0, 30), min_size=1), some.integers(0, 300))
def test_each_has_as_much_as_all_have_room_for(sizes, room):
    most = share(sizes, room)
    assert sum(min(size, most) for size in sizes) <= room
    assert most == max(sizes) or sum(min(size, most + 1) for size in sizes) > room


def keep(text, head, tail, *, uncut=()):
    return keep_ends(
        text, head=head, tail=tail, is_cut=lambda _, at: at not in uncut, mark=lambda left_out: f"<{left_out}>"
    )


def test_the_mark_between_the_ends_says_what_is_left_out():
    assert keep("abcdefgh", 3, 2) == ("abc<3>gh", 3)


def test_a_place_that_is_no_cut_is_left_out_on_both_sides():
    assert keep("abcdefgh", 3, 2, uncut={3, 6}) == ("ab<5>h", 5)


@given(some.text(max_size=20), some.integers(0, 25), some.integers(0, 25), some.sets(some.integers(1, 19)))
def test_what_is_kept_and_what_is_left_out_are_the_text(text, head, tail, uncut):
    head = min(head, len(text))
    uncut = {at for at in uncut if at < len(text)}
    kept, left_out = keep(text, head, tail, uncut=uncut)
    start, _, end = kept.rpartition(f"<{left_out}>")
    assert len(start) <= head
    assert len(end) <= tail
    assert len(start) + left_out + len(end) == len(text)
    assert text.startswith(start)
    assert text.endswith(end)
