"""The shelf: who sees what, whole on disk or not at all."""

from __future__ import annotations

import json
import os
from pathlib import Path
from unittest import mock

import pytest

from plugins.seq import grammar, shelf
from plugins.seq.shelf import BadShelf, Kept, Shelf

ONE = grammar.parse({"name": "one", "groups": [{"name": "g", "tools": [{"tool": "t", "args": {"文": "茶 $$"}}]}]})
TWO = grammar.parse({"name": "one", "description": "another", "groups": [{"name": "g", "tools": [{"tool": "t"}]}]})


def test_it_comes_back_as_it_was_saved_and_only_its_owner_reads_the_file(tmp_path: Path) -> None:
    path = tmp_path / "sequences.json"
    assert not shelf.load(path).all()
    kept = [Kept(ONE, "owner", guests=True), Kept(TWO, "trusted:qq:1", role="trusted")]
    shelf.save(path, Shelf(kept))
    assert shelf.load(path).all() == kept
    assert path.stat().st_mode & 0o777 == 0o600
    assert os.listdir(tmp_path) == ["sequences.json"]


def test_a_save_that_fails_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "sequences.json"
    shelf.save(path, Shelf([Kept(ONE, "owner")]))
    with mock.patch("os.fsync", side_effect=OSError(28, "no space")), pytest.raises(OSError, match="no space"):
        shelf.save(path, Shelf())
    assert shelf.load(path).all() == [Kept(ONE, "owner")]
    assert os.listdir(tmp_path) == ["sequences.json"]


def test_each_sees_their_own_and_what_the_owner_offers() -> None:
    both = Shelf([Kept(ONE, "owner", guests=True), Kept(TWO, "guest:x")])
    assert both.seen_from("owner") == {"one": ONE}
    assert both.seen_from("guest:x") == {"one": TWO}
    assert both.seen_from("guest:y") == {"one": ONE}
    assert both.own("guest:y") == {}
    assert both.without("owner", "one").seen_from("guest:y") == {}
    assert Shelf([Kept(TWO, "guest:x", guests=True)]).seen_from("guest:y") == {}, "only the owner's are offered"
    assert both.with_(Kept(TWO, "owner")).seen_from("guest:y") == {}


@pytest.mark.parametrize(
    "body",
    [
        "{",
        "[]",
        "[" * 100_000,
        json.dumps({"version": 2, "sequences": []}),
        json.dumps({"version": 1, "sequences": [1]}),
        json.dumps({"version": 1, "sequences": [{"scope": 1, "guests": False, "role": "owner", "sequence": {}}]}),
        json.dumps({"version": 1, "sequences": [{"scope": "owner", "guests": False, "role": "x", "sequence": {}}]}),
        json.dumps({"version": 1, "sequences": [{"scope": "owner", "guests": False, "role": "owner", "sequence": {}}]}),
    ],
)
def test_a_file_that_is_none_of_ours_is_said_to_be_one(tmp_path: Path, body: str) -> None:
    path = tmp_path / "sequences.json"
    path.write_text(body, "utf-8")
    with pytest.raises(BadShelf, match=r"sequences\.json"):
        shelf.load(path)
