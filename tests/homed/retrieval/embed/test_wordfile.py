"""Word vectors are made over once, whole or not at all, and found again by hash."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from homed.retrieval.embed import wordfile
from homed.retrieval.embed.encoders import Unfit
from homed.retrieval.embed.wordfile import Kind, Language, WordFile, converted, kind_of, tidy

EN, ZH, RU = Language.ENGLISH, Language.CHINESE, Language.RUSSIAN
DIMS = 6


def written(path: Path, words: dict[str, list[float]], *, header: bool = True) -> Path:
    lines = [f"{len(words)} {DIMS}"] if header else []
    lines += [f"{word} {' '.join(map(str, row))}" for word, row in words.items()]
    data = ("\n".join(lines) + "\n").encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def axis(at: int, length: float = 1.0) -> list[float]:
    return [length if place == at else 0.0 for place in range(DIMS)]


def conversion(path: Path, made: Path) -> WordFile:
    return converted(path, made, lambda: None)


def direction(file: WordFile, word: str, language: Language = EN) -> int:
    """Which axis a word lies on, -1 when it is not known."""
    row = file.sum([word], language) + 0.0
    return int(np.argmax(row)) if np.abs(row).sum() else -1


WORDS = {"cat": axis(0, 3.0), "Dog": axis(1), "sofa": axis(2), "new_york": axis(3), "stock": axis(4), "tax": axis(5)}


@pytest.mark.parametrize("name", ["words.vec", "words.txt", "words.vec.gz"])
@pytest.mark.parametrize("header", [True, False])
def test_every_word_is_found_by_itself_and_a_stranger_is_not(tmp_path: Path, name: str, header: bool) -> None:
    file = conversion(written(tmp_path / name, WORDS, header=header), tmp_path / "made")
    assert file.dims == DIMS
    assert [direction(file, word) for word in ("cat", "dog", "sofa", "stock", "tax")] == [0, 1, 2, 4, 5]
    assert direction(file, "unheard-of") == -1
    assert not file.sum([], EN).any()


def test_it_is_done_once_and_anew_for_another_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, made = written(tmp_path / "words.vec", WORDS), tmp_path / "made"
    conversion(path, made)
    monkeypatch.setattr(wordfile, "_convert", None)
    assert direction(conversion(path, made), "cat") == 0
    monkeypatch.undo()
    written(path, {**WORDS, "bird": axis(3)})
    assert direction(conversion(path, made), "bird") == 3
    assert len(list(made.iterdir())) == 2
    tidy(made, [path])
    assert len(list(made.iterdir())) == 1
    assert direction(conversion(path, made), "bird") == 3


def test_a_conversion_that_was_killed_leaves_nothing_in_its_place(tmp_path: Path) -> None:
    path, made = written(tmp_path / "words.vec", WORDS), tmp_path / "made"

    def killed() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        converted(path, made, killed)
    assert list(made.glob("words-*")) == []
    (made / ".words-left").mkdir()
    tidy(made, [path])
    assert list(made.iterdir()) == []
    assert direction(conversion(path, made), "cat") == 0


def test_names_say_how_a_file_is_to_be_read() -> None:
    def kind(name: str) -> Kind:
        return kind_of(Path(name))

    assert kind("numberbatch-19.08.txt.gz") == Kind(ranked=False, language=None, concepts=True)
    assert kind("cc.zh.300.vec.gz") == Kind(ranked=True, language=ZH)
    assert kind("cc.en.300.vec") == kind("wiki.en.align.vec") == Kind(ranked=True, language=EN)
    assert kind("cc.ru.300.vec").language == RU
    assert kind("glove.6B.300d.txt") == Kind(ranked=True, language=None)


def test_concepts_are_looked_up_in_their_language_and_joined(tmp_path: Path) -> None:
    concepts = {
        "/c/en/cat": axis(0), "/c/zh/猫": axis(0), "/c/ru/кот": axis(0), "/c/en/new_york": axis(3),
        "/c/en/new": axis(4), "/c/en/york": axis(5), "/c/fr/chat": axis(1),
    }  # fmt: skip
    file = conversion(written(tmp_path / "numberbatch-19.08.txt.gz", concepts), tmp_path / "made")
    assert direction(file, "cat") == direction(file, "猫", ZH) == direction(file, "кот", RU) == 0
    assert direction(file, "chat") == -1
    joined = file.sum(["in", "new", "york", "new"], EN)
    assert joined[3] == joined[4] > joined[5]


def test_plain_words_of_the_english_numberbatch(tmp_path: Path) -> None:
    file = conversion(written(tmp_path / "numberbatch-en.txt", WORDS), tmp_path / "made")
    assert direction(file, "cat") == 0
    assert direction(file, "cat", ZH) == -1


def test_common_words_count_less_and_in_an_unsorted_file_stop_words_nothing(tmp_path: Path) -> None:
    many = {"the": axis(0), **{f"w{number}": axis(1) for number in range(3000)}, "otter": axis(2)}
    file = conversion(written(tmp_path / "cc.en.300.vec", many), tmp_path / "made")
    summed = file.sum(["the", "otter"], EN) + 2 * file.common
    assert summed[2] > 10 * abs(summed[0])
    unsorted = conversion(written(tmp_path / "numberbatch-en.txt", many), tmp_path / "made")
    assert direction(unsorted, "the") == -1
    assert direction(unsorted, "otter") == 2


def test_what_all_words_share_is_taken_out(tmp_path: Path) -> None:
    tilted = {word: [5.0 + value for value in row] for word, row in WORDS.items()}
    file = conversion(written(tmp_path / "words.vec", tilted), tmp_path / "made")
    cat, tax = file.sum(["cat"], EN), file.sum(["tax"], EN)
    assert cat @ tax / np.linalg.norm(cat) / np.linalg.norm(tax) < 0.1


def test_parts_stand_in_for_a_word_that_is_not_known(tmp_path: Path) -> None:
    file = conversion(
        written(tmp_path / "cc.zh.300.vec", {"猫": axis(0), "狗": axis(1), "火车": axis(2)}), tmp_path / "m"
    )
    assert not file.sum(["猫狗"], ZH).any()
    both = file.sum(["猫狗", "火车"], ZH, list)
    assert both[:3].min() > -1
    assert np.allclose(both, file.sum(["猫", "狗", "火车"], ZH), atol=1e-3)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "holds no word vectors"),
        (b"only words and no numbers\n", "holds no word vectors"),
        (b"\x1f\x8b\x08\x00broken", "cut off or damaged"),
        (gzip.compress(b"cat 1 2 3 4\n" * 9, mtime=0)[:-10], "cut off or damaged"),
    ],
)
def test_what_is_no_file_of_vectors_is_said_to_be(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "words.vec"
    path.write_bytes(content)
    with pytest.raises(Unfit, match=words):
        conversion(path, tmp_path / "made")
    assert list((tmp_path / "made").iterdir()) == []
    with pytest.raises(Unfit, match="cannot be read"):
        conversion(tmp_path / "nothing.vec", tmp_path / "made")


def test_lines_that_are_broken_are_left_out(tmp_path: Path) -> None:
    path = written(tmp_path / "words.vec", WORDS)
    path.write_bytes(
        path.read_bytes() + b"short 1 2 3\nnan nan nan nan nan nan nan\n\xff\xfe 1 0 0 0 0 1\nlast 0 0 0 0 0 1\n"
    )
    file = conversion(path, tmp_path / "made")
    assert (direction(file, "short"), direction(file, "nan"), direction(file, "last")) == (-1, -1, 5)


def test_what_was_made_and_is_damaged_names_the_folder_to_remove(tmp_path: Path) -> None:
    path, made = written(tmp_path / "words.vec", WORDS), tmp_path / "made"
    conversion(path, made)
    (home,) = made.iterdir()
    (home / "vectors.npy").write_bytes(b"")
    with pytest.raises(Unfit, match=f"remove {home}"):
        conversion(path, made)
