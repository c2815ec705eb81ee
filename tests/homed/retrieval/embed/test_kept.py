"""The model as it was in memory: the same vectors, whole or not at all, and nothing runs that is not the model's."""

from __future__ import annotations

import json
import pickle
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from homed.retrieval.embed import bundled
from homed.retrieval.embed.bundled import Bundled, load
from homed.retrieval.embed.kept import Unusable, keep, mapped
from tests.homed.retrieval.embed.kit import bundled_spec

pytestmark = pytest.mark.slow

TEXTS = ["My cat sleeps.", "我的猫在睡觉。", "Wo ist der Bahnhof? Größe 12,5", "Здравствуйте"]


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Bundled]:
    """The folder and the model that was loaded from its package."""
    folder = tmp_path_factory.mktemp("kept")
    return folder, load(bundled_spec(folder))


def home_of(folder: Path) -> Path:
    return folder / "made" / "bundled-test"


def test_mapped_it_gives_the_very_same_vectors(first: tuple[Path, Bundled], monkeypatch: pytest.MonkeyPatch) -> None:
    folder, loaded = first
    monkeypatch.setattr(bundled, "_loaded", None)  # it is not loaded again
    again = load(bundled_spec(folder))
    assert np.array_equal(again.texts(TEXTS, query=False), loaded.texts(TEXTS, query=True))


@pytest.mark.parametrize("name", ["meta.json", "objects", "numbers"])
def test_damaged_or_cut_off_it_is_loaded_and_kept_anew(
    first: tuple[Path, Bundled], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, loaded = first
    file = home_of(folder) / name
    file.write_bytes(file.read_bytes()[:-200])
    monkeypatch.setattr(bundled, "_loaded", lambda: loaded._model)
    load(bundled_spec(folder))
    monkeypatch.setattr(bundled, "_loaded", None)
    assert np.array_equal(load(bundled_spec(folder)).texts(TEXTS, query=False), loaded.texts(TEXTS, query=False))


def test_numbers_that_changed_on_the_disk_are_noticed(
    first: tuple[Path, Bundled], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, loaded = first
    numbers = home_of(folder) / "numbers"
    content = bytearray(numbers.read_bytes())
    content[-400_000:] = bytes(400_000)
    numbers.write_bytes(content)
    monkeypatch.setattr(bundled, "_loaded", lambda: loaded._model)
    assert np.array_equal(load(bundled_spec(folder)).texts(TEXTS, query=False), loaded.texts(TEXTS, query=False))


def test_where_nothing_can_be_kept_it_works_all_the_same(
    first: tuple[Path, Bundled], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "made").write_text("in the way")
    monkeypatch.setattr(bundled, "_loaded", lambda: first[1]._model)
    assert load(bundled_spec(tmp_path)).dims == 512


def test_what_was_kept_of_another_release_goes(tmp_path: Path) -> None:
    keep([np.arange(9.0, dtype=np.float32)], tmp_path / "bundled-old")
    (tmp_path / "words-of-somebody").mkdir()
    keep([np.arange(5.0, dtype=np.float32)], tmp_path / "bundled-new")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bundled-new", "words-of-somebody"]
    assert mapped(tmp_path / "bundled-new")[0].tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(Unusable):
        mapped(tmp_path / "bundled-old")


class Evil:
    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (Path("was-here"),)


def test_a_file_put_there_by_somebody_else_makes_nothing_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    home = tmp_path / "bundled-test"
    keep([np.zeros(3, np.float32)], home)
    objects = pickle.dumps(Evil(), protocol=5)
    (home / "objects").write_bytes(objects)
    said = json.loads((home / "meta.json").read_text())
    (home / "meta.json").write_text(json.dumps({**said, "objects": zlib.crc32(objects)}))
    with pytest.raises(Unusable, match="has no business here"):
        mapped(home)
    assert not (tmp_path / "was-here").exists()
