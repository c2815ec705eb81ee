"""The committed start order is what the modules say today, and names only what is there."""

from __future__ import annotations

from importlib.util import find_spec

from homed.facilities import COMMITTED, ROOT, arrange, collect, render
from homed.failpoints import NAMES
from homed.order import ORDER
from homed.wire.facilities import FACILITIES


def test_the_committed_order_is_not_stale() -> None:
    assert COMMITTED.read_text("utf-8") == render(arrange(collect(ROOT))), "run: python -m homed.facilities"


def test_the_modules_exist_and_their_facilities_are_words_that_a_manifest_may_use() -> None:
    assert all(find_spec(provider.module) is not None for provider in ORDER)
    assert {provider.facility for provider in ORDER} <= FACILITIES


def test_each_stands_after_what_it_needs() -> None:
    for place, provider in enumerate(ORDER):
        assert set(provider.needs) <= {before.facility for before in ORDER[:place]}


def test_each_has_its_failpoint() -> None:
    points = {name.removeprefix("facility.") for name in NAMES if name.startswith("facility.")}
    assert points >= {provider.facility for provider in ORDER}
    assert points <= FACILITIES
