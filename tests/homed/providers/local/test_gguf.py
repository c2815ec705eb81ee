from __future__ import annotations

import os
import struct
from pathlib import Path

import pytest

from homed.errors import InvalidInput
from homed.providers.local import gguf


def header(version: int = 3, tensors: int = 5) -> bytes:
    return struct.pack("<4sIQQ", b"GGUF", version, tensors, 3) + b"more"


def test_a_header_like_that_of_a_model_passes(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(header())
    gguf.check(path)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "not a GGUF file"), (b"GGUF", "not a GGUF file"), (b"PK\x03\x04" + b"x" * 40, "not a GGUF file"),
        (header(version=1), "format not known"), (header(version=4), "format not known"),
        (header(tensors=0), "without a model"),
    ],
)  # fmt: skip
def test_anything_else_is_refused_with_the_reason(tmp_path: Path, content: bytes, why: str) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(content)
    with pytest.raises(InvalidInput, match=why) as caught:
        gguf.check(path)
    assert ".gguf" in caught.value.hint


def test_what_cannot_be_opened_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="No such file"):
        gguf.check(tmp_path / "none.gguf")
    with pytest.raises(InvalidInput, match="is not a file"):
        gguf.check(tmp_path)
    with pytest.raises(InvalidInput, match="no absolute path"):
        gguf.check(Path("m.gguf"))


def test_a_pipe_of_that_name_does_not_hold_it_up(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "m.gguf")
    with pytest.raises(InvalidInput, match="is not a file"):
        gguf.check(tmp_path / "m.gguf")
