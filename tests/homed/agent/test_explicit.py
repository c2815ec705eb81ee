"""What was asked for by name is not told once more, and that ends."""

from __future__ import annotations

from homed.agent.explicit import MOST, SCOPES, Explicit


def test_it_is_seen_as_long_as_the_turn_that_asked_is() -> None:
    explicit = Explicit()
    explicit.saw("owner", "turn_1", ["ida", "ravensburg"])
    assert explicit.seen("owner", ["turn_0", "turn_1"]) == {"ida", "ravensburg"}
    assert explicit.seen("owner", ["turn_2"]) == frozenset()
    explicit.saw("owner", "turn_2", ["ida"])
    assert explicit.seen("owner", ["turn_1"]) == {"ravensburg"}


def test_no_scope_knows_what_another_asked_for() -> None:
    explicit = Explicit()
    explicit.saw("owner", "turn_1", ["ida"])
    assert explicit.seen("guest:chat:anna", ["turn_1"]) == frozenset()


def test_it_is_bounded_and_the_oldest_goes_first() -> None:
    """E29: it grew for ever, and nothing was told any more."""
    explicit = Explicit()
    explicit.saw("owner", "turn_1", map(str, range(MOST)))
    explicit.saw("owner", "turn_1", ["0", "new"])
    seen = explicit.seen("owner", ["turn_1"])
    assert len(seen) == MOST
    assert "1" not in seen, "the oldest"
    assert {"0", "new"} <= seen, "asked for again just now"
    for number in range(SCOPES + 5):
        explicit.saw(f"guest:{number}", "turn_1", ["x"])
    assert explicit.seen("owner", ["turn_1"]) == frozenset()
    assert explicit.seen(f"guest:{SCOPES + 4}", ["turn_1"]) == {"x"}
