"""Whoever grants a capability reads what it means."""

from __future__ import annotations

import json
from pathlib import Path

from homed.wire.capabilities import WHAT, what
from homed.wire.methods import CAPABILITIES

ZH = Path(__file__).parents[3] / "plugins" / "webui" / "strings" / "kernel.zh.json"


def test_every_capability_has_a_sentence_and_no_other_has() -> None:
    assert WHAT.keys() == CAPABILITIES
    assert all(text.endswith(".") for text in WHAT.values())
    assert len(set(WHAT.values())) == len(WHAT)


def test_every_sentence_is_there_in_chinese() -> None:
    texts = json.loads(ZH.read_text("utf-8"))["texts"]
    assert [text for text in WHAT.values() if text not in texts] == []


def test_one_that_is_not_known_is_called_by_its_name() -> None:
    assert what("flying") == "flying"
