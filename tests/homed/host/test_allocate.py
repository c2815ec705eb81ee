"""The book of an area: first fit, merging, owners; nothing overlaps and nothing leaks, whoever does what."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from homed.errors import ProtocolError
from homed.host.allocate import Allocator, Block
from homed.wire.layout import PAGE

OWNERS = ("kernel", "mule", "donkey")


def test_the_first_gap_that_fits_is_taken_and_neighbours_merge() -> None:
    book = Allocator(PAGE, 9 * PAGE)
    a, b, c = (book.alloc(2 * PAGE, "mule") for _ in range(3))
    assert a
    assert b
    assert c
    assert (a.off, b.off, c.off) == (PAGE, 3 * PAGE, 5 * PAGE)
    book.free(b.off, "mule")
    small = book.alloc(1, "mule")
    assert small == Block(3 * PAGE, 1, PAGE, "mule")
    assert book.alloc(3 * PAGE, "mule") is None, "four pages are free, no three side by side"
    book.free(small.off, "mule")
    book.free(a.off, "mule")
    book.free(c.off, "mule")
    assert list(book.gaps()) == [(PAGE, 8 * PAGE)]


def test_only_the_owner_frees_and_only_once() -> None:
    book = Allocator(0, 4 * PAGE)
    block = book.alloc(10, "mule")
    assert block
    for off, owner in ((block.off, "donkey"), (block.off + 1, "mule"), (3 * PAGE, "mule"), (-1, "mule")):
        with pytest.raises(ProtocolError):
            book.free(off, owner)
    assert book.in_use == PAGE
    book.free(block.off, "mule")
    with pytest.raises(ProtocolError):
        book.free(block.off, "mule")


@pytest.mark.parametrize(("start", "end"), [(1, PAGE), (0, PAGE + 1), (PAGE, PAGE), (-PAGE, PAGE)])
def test_an_area_begins_and_ends_at_a_page(start: int, end: int) -> None:
    with pytest.raises(ValueError, match="page"):
        Allocator(start, end)


class Book(RuleBasedStateMachine):
    """Allocations, frees, thefts and deaths in any order, beside a model that marks every page."""

    def __init__(self) -> None:
        super().__init__()
        self.pages = 40
        self.book = Allocator(PAGE, (1 + self.pages) * PAGE)
        self.model: dict[int, tuple[int, str]] = {}

    def taken(self) -> set[int]:
        return {page for off, (pages, _) in self.model.items() for page in range(off // PAGE, off // PAGE + pages)}

    @rule(length=st.integers(1, 20 * PAGE), owner=st.sampled_from(OWNERS))
    def alloc(self, length: int, owner: str) -> None:
        need, taken = -(-length // PAGE), self.taken()
        fits = [at for at in range(1, 2 + self.pages - need) if all(page not in taken for page in range(at, at + need))]
        block = self.book.alloc(length, owner)
        if not fits:
            assert block is None
            return
        assert block is not None
        assert block.off == fits[0] * PAGE, "the first that fits"
        assert (block.length, block.room, block.owner) == (length, need * PAGE, owner)
        self.model[block.off] = need, owner

    @precondition(lambda self: self.model)
    @rule(data=st.data(), owner=st.sampled_from(OWNERS))
    def free(self, data: Any, owner: str) -> None:
        off = data.draw(st.sampled_from(sorted(self.model)))
        if self.model[off][1] == owner:
            assert self.book.free(off, owner).off == off
            del self.model[off]
        else:
            with pytest.raises(ProtocolError):
                self.book.free(off, owner)

    @rule(off=st.integers(-PAGE, 50 * PAGE), owner=st.sampled_from(OWNERS))
    def free_what_is_not_there(self, off: int, owner: str) -> None:
        if off not in self.model:
            with pytest.raises(ProtocolError):
                self.book.free(off, owner)

    @rule(owner=st.sampled_from(OWNERS))
    def die(self, owner: str) -> None:
        mine = [off for off, (_, whose) in self.model.items() if whose == owner]
        assert self.book.free_all(owner) == len(mine)
        for off in mine:
            del self.model[off]

    @invariant()
    def nothing_overlaps_and_nothing_leaks(self) -> None:
        blocks = [(b.off, b.room) for b in self.book.blocks()]
        assert blocks == sorted((off, pages * PAGE) for off, (pages, _) in self.model.items())
        spans = sorted([*blocks, *self.book.gaps()])
        at = PAGE
        for off, size in spans:
            assert off == at, "no byte twice, none forgotten"
            at += size
        assert at == (1 + self.pages) * PAGE
        gaps = list(self.book.gaps())
        assert all(a + size < b for (a, size), (b, _) in itertools.pairwise(gaps)), "neighbours are merged"
        assert self.book.in_use == sum(size for _, size in blocks)


Book.TestCase.settings = settings(deadline=None, max_examples=60, stateful_step_count=40)
TestBook = Book.TestCase
