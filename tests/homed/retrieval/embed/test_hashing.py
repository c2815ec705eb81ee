"""The name of a space is another as soon as anything is another that its vectors depend on (B11)."""

from __future__ import annotations

from pathlib import Path

import pytest

from homed.retrieval.embed.encoders import Unfit
from homed.retrieval.embed.hashing import PIECE, SAMPLES, WHOLE, fingerprint


def test_words_and_small_files_count_whole(tmp_path: Path) -> None:
    file = tmp_path / "model.onnx"
    file.write_bytes(b"a" * 1000)
    names = {fingerprint("folder", "1", files=[file]), fingerprint("folder", "2", files=[file]), fingerprint("x", "1")}
    file.write_bytes(b"a" * 999 + b"b")
    names.add(fingerprint("folder", "1", files=[file]))
    names.add(fingerprint("folder", "1"))
    assert len(names) == 5
    assert fingerprint("folder", "1", files=[file]) == fingerprint("folder", "1", files=[file])
    assert fingerprint("folder", "a", "b") != fingerprint("folder", "ab")


@pytest.mark.parametrize("at", [0, WHOLE // 2, WHOLE + 99])
def test_a_large_file_is_sampled_from_end_to_end(tmp_path: Path, at: int) -> None:
    file = tmp_path / "weights"
    content = bytearray(WHOLE + 100)
    file.write_bytes(content)
    before = fingerprint("folder", files=[file])
    step = (len(content) - PIECE) // (SAMPLES - 1)
    begin = min(at, len(content) - 1) // step * step  # where a sample begins
    content[begin] = 1
    file.write_bytes(content)
    assert fingerprint("folder", files=[file]) != before


def test_the_size_of_a_large_file_counts(tmp_path: Path) -> None:
    file = tmp_path / "weights"
    names = set()
    for more in (1, 2):
        file.write_bytes(bytes(WHOLE + more))
        names.add(fingerprint("folder", files=[file]))
    assert len(names) == 2


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(Unfit, match="nothing cannot be read: No such file"):
        fingerprint("folder", files=[tmp_path / "nothing"])
