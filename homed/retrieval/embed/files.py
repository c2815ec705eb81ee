"""Which files of a model folder are what, by their names.  Blocks for the disk; imports nothing heavy."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from homed.retrieval.embed.encoders import Unfit

_IMAGE = re.compile(r"(?:^|[-_.])(?:img|image|vision|visual)", re.IGNORECASE)
_TEXT = re.compile(r"(?:^|[-_.])(?:txt|text|textual)", re.IGNORECASE)
_SMALLER = re.compile(r"fp16|float16|int8|uint8|quant|q4|q8|bnb4|_O[1-4]", re.IGNORECASE)
_ALWAYS = ("tokenizer.json", "vocab.txt")


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """``text``, and ``image`` where there is one of its own, are ONNX files."""

    folder: Path
    text: Path
    image: Path | None
    tokenizer: Path

    def all(self) -> list[Path]:
        """Every file that vectors depend on: the towers, their weights beside them, the tokenizer and small JSON."""
        towers = {self.text, self.image or self.text}
        stems = {tower.stem for tower in towers} | {tower.name for tower in towers}
        beside = [
            path
            for home in {tower.parent for tower in towers}
            for path in home.iterdir()
            if path.is_file() and path.suffix != ".json" and any(path.name.startswith(stem) for stem in stems)
        ]
        said = [path for path in (*self.folder.glob("*.json"), *self.folder.glob("1_Pooling/*.json")) if path.is_file()]
        return sorted({*towers, self.tokenizer, *beside, *said})


def model_files(folder: Path) -> ModelFiles:
    """What is in ``folder``, or in an ``onnx`` folder in it.  ``Unfit`` says what is missing.

    Where a tower is there in several precisions, the full one is taken.
    """
    try:
        found = [path for home in (folder, folder / "onnx") if home.is_dir() for path in sorted(home.glob("*.onnx"))]
        tokenizer = next((folder / name for name in _ALWAYS if (folder / name).is_file()), None)
    except OSError as error:
        raise Unfit(f"{folder} cannot be read: {error.strerror}") from None
    if not folder.is_dir():
        raise Unfit(f"there is no model folder {folder}")
    images = [path for path in found if _IMAGE.search(path.stem)]
    texts = [path for path in found if _TEXT.search(path.stem) and path not in images]
    plain = [path for path in found if path not in images and path not in texts]
    text = next(_fullest(texts or plain), None)
    if text is None:
        raise Unfit(f"{folder} holds no model.onnx")
    if tokenizer is None:
        raise Unfit(f"{folder} holds no tokenizer.json")
    return ModelFiles(folder, text, next(_fullest(images), None), tokenizer)


def _fullest(towers: list[Path]) -> Iterator[Path]:
    """The best one first: not quantised, called model, with the shorter name."""
    return iter(
        sorted(towers, key=lambda path: (bool(_SMALLER.search(path.stem)), "model" not in path.stem, len(path.stem)))
    )
