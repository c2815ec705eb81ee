"""Whoever grants a capability reads what it means."""

from __future__ import annotations

from homed.sentences import catalogue
from homed.wire.capabilities import WHAT, what
from homed.wire.methods import CAPABILITIES


def test_every_capability_has_a_sentence_and_no_other_has() -> None:
    assert WHAT.keys() == CAPABILITIES
    assert all(text.endswith(".") for text in WHAT.values())
    assert len(set(WHAT.values())) == len(WHAT)


def test_every_sentence_is_there_in_chinese() -> None:
    texts = catalogue("kernel", "zh")["texts"]
    assert [text for text in WHAT.values() if text not in texts] == []


def test_one_that_is_not_known_is_called_by_its_name() -> None:
    assert what("flying") == "flying"
