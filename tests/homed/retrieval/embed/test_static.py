"""Texts as means of their words, across languages where the files are aligned."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from homed.retrieval.embed.encoders import Unfit
from homed.retrieval.embed.static import StaticEncoder, load
from tests.homed.retrieval.embed.kit import local_in
from tests.homed.retrieval.embed.test_wordfile import axis, written

ENGLISH = {
    "the": axis(5), "cat": axis(0), "cats": axis(0), "sleeps": axis(1), "train": axis(2), "late": axis(3),
    "bank": axis(4),
}  # fmt: skip
CHINESE = {"的": axis(5), "猫": axis(0), "睡觉": axis(1), "火车": axis(2), "晚点": axis(3), "银行": axis(4)}


def opened(tmp_path: Path, *files: Path) -> StaticEncoder:
    return load({"files": [str(file) for file in files], "made": str(tmp_path / "made")}, lambda: None)


def both(tmp_path: Path) -> tuple[Path, Path]:
    return written(tmp_path / "cc.en.300.vec", ENGLISH), written(tmp_path / "cc.zh.300.vec.gz", CHINESE)


def best(encoder: StaticEncoder, text: str, among: list[str]) -> int:
    rows = encoder.texts([text, *among], query=False)
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return int(np.argmax(rows[1:] @ rows[0]))


def test_texts_of_like_meaning_are_near_also_across_languages(tmp_path: Path) -> None:
    encoder = opened(tmp_path, *both(tmp_path))
    among = ["The train is late!", "the CATS", "at the bank"]
    assert [best(encoder, text, among) for text in ("猫在睡觉", "火车晚点了。", "银行")] == [1, 0, 2]
    assert best(encoder, "train", ["猫", "火车", "银行"]) == 1
    assert not encoder.texts(["zzz 123 ?!"], query=False).any()


def test_words_are_cut_by_the_dictionary(tmp_path: Path) -> None:
    encoder = opened(tmp_path, *both(tmp_path))
    sleeping, cat = encoder.texts(["睡觉", "猫"], query=False)
    assert np.allclose(encoder.texts(["睡觉猫"], query=False)[0], sleeping + cat, atol=1e-3)


def test_what_does_not_go_together_is_said(tmp_path: Path) -> None:
    other = tmp_path / "other.vec"
    other.write_text("cat 1 0 0\ndog 0 1 0\n")
    with pytest.raises(Unfit, match=r"has 3 dimensions and .*cc\.en.* 6"):
        opened(tmp_path, both(tmp_path)[0], other)
    with pytest.raises(Unfit, match="no file of word vectors"):
        opened(tmp_path)


@pytest.mark.slow
async def test_in_its_own_process(tmp_path: Path) -> None:
    files = [str(file) for file in both(tmp_path)]
    spec = {"kind": "static", "files": files, "made": str(tmp_path / "made")}
    async with local_in(tmp_path, spec, real=True) as embedder:
        assert (embedder.space.dims, embedder.space.media) == (6, False)
        rows = await embedder.embed(["the cat sleeps", "火车晚点"])
        asked = await embedder.embed(["cats"], query=True)
    assert (rows @ asked[0]).argmax() == 0
    assert list((tmp_path / "made").glob("jieba.cache"))  # not in a folder that everybody may write to
