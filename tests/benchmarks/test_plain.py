"""The plain rankers beside ours do what they are known for: else a measure beside them would be worth nothing."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.plain import Bm25, Encoder, Fts5, Grams, bigrams, grams

TEXTS = [
    "the heron stands in the reeds and waits",
    "a heron flew over the lake",
    "the report about the lake is due on Friday",
    "用户的服务器部署在腾讯云",
    "重跑gen-itgc后看一下C盘",
]


def test_chinese_is_cut_into_pairs_and_latin_into_words() -> None:
    assert bigrams("重跑gen-itgc后, C盘 4379") == ["重跑", "后", "盘", "gen", "itgc", "c", "4379"]
    assert grams("ab abc") == ["ab", "ab", "bc", "abc"]


@pytest.mark.parametrize("ranker", [Bm25(TEXTS), Bm25(TEXTS, bigrams), Grams(TEXTS)])
def test_what_has_more_of_a_question_stands_first_and_what_has_nothing_nowhere(ranker: Bm25 | Grams) -> None:
    assert ranker("heron over the lake", 10)[0] == 1
    assert ranker("腾讯云", 10) == [3]
    assert ranker("zebra", 10) == []
    assert len(ranker("the heron and the lake", 2)) == 2


def test_a_rare_word_weighs_more_than_a_common_one() -> None:
    texts = ["lake fish"] * 5 + ["lake heron"]
    assert Bm25(texts)("fish heron", 1) == [5]


def test_n_grams_see_through_a_typo_and_words_do_not() -> None:
    assert Grams(TEXTS)("reporrt", 1) == [2]
    assert Bm25(TEXTS)("reporrt", 1) == []


def test_fts5_knows_stems_leaves_stop_words_out_and_sees_a_chinese_run_as_one_word() -> None:
    ranker = Fts5(TEXTS)
    assert ranker("who reports on lakes", 10)[0] == 2
    assert ranker("the", 10) == []
    assert ranker("腾讯云", 10) == []
    ranker.close()


def test_an_encoder_ranks_by_cosine() -> None:
    vectors = np.asarray([[1, 0], [0, 1], [0.6, 0.8]], np.float32)
    assert Encoder(vectors, lambda text: np.asarray([0, 1], np.float32))("any", 2) == [1, 2]
