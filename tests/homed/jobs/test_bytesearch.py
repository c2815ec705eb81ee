"""Looking for bytes in a folder: every place is found, also across pieces, and nothing else is."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homed.jobs import bytesearch
from homed.jobs.bytesearch import Haystack, search

BYTES = st.binary(min_size=4, max_size=40)


@given(
    st.lists(BYTES, min_size=1, max_size=8), st.lists(st.one_of(st.binary(max_size=60), st.integers(0, 7)), max_size=20)
)
def test_it_finds_what_a_plain_search_finds(needles: list[bytes], parts: list[bytes | int]) -> None:
    data = b"".join(part if isinstance(part, bytes) else needles[part % len(needles)] for part in parts)
    found = {(number, start) for number, start, _ in Haystack(list(enumerate(needles))).find(data)}
    plain = set()
    for number, needle in enumerate(needles):
        at = data.find(needle)
        while at >= 0:
            plain.add((number, at))
            at = data.find(needle, at + 1)
    assert found == plain


def test_what_lies_across_pieces_is_found_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bytesearch, "CHUNK", 1000)
    chance, needle = random.Random(1), "说过的话 a sentence".encode()
    for start in (0, 1, 980, 990, 999, 1000, 1001, 2995, 4990):
        data = bytearray(chance.randbytes(5000))
        data[start : start + len(needle)] = needle
        (tmp_path / "file").write_bytes(data)
        answer = search(tmp_path, [(7, needle), (8, b"x" * 400)])
        assert answer["finds"] == [("file", 7, start)], start


def test_every_file_but_those_left_out_and_no_link(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("the words")
    root = tmp_path / "root"
    for name in ("a", "b/c", "b/d/e", "backups/f", "backups2/g", "h/backups/i"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x the words y")
    (root / "link").symlink_to(outside)
    (root / "folder").symlink_to(root / "b")
    os.mkfifo(root / "pipe")
    answer = search(root, [(0, b"the words")], ["backups", "b/d"])
    assert answer["finds"] == [(name, 0, 2) for name in ("a", "b/c", "backups2/g", "h/backups/i")]
    assert (answer["files"], answer["bytes"], answer["unread"], answer["cut"]) == (4, 52, [], False)


def test_as_a_process(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x the words y")
    asked = {"root": str(tmp_path), "needles": [[3, b"the words".hex()]], "skip": []}
    done = subprocess.run(
        [sys.executable, "-P", "-m", "homed.jobs.bytesearch"], input=json.dumps(asked).encode() + b"\n",
        capture_output=True, check=True,
    )  # fmt: skip
    assert json.loads(done.stdout)["finds"] == [["a", 3, 2]]
    assert done.stderr == b""
