"""An ONNX model in a folder: a text tower with its tokenizer, perhaps an image tower in the same space.

What lies around in the world differs in names more than in kind: towers are found by what they are called, inputs by
their names, and the output is the model's own embedding where it has one, else the mean over its tokens.  Runs in the
child only.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from homed.retrieval.embed.encoders import BASELINE, Busy, Spec, Unfit
from homed.retrieval.embed.files import ModelFiles, model_files
from homed.retrieval.embed.onnx import Tower, open_tower
from homed.retrieval.embed.pictures import Preparing, prepared

if TYPE_CHECKING:
    from homed.memory.ports import Vectors

LONGEST = 512
"""Tokens of one text, whatever a model's files say: what is longer comes in pieces."""

AT_ONCE = 8
"""Texts of one run: they are as long as the longest of them."""

_PROMPTS = {True: ("query",), False: ("document", "passage", "corpus")}


class FolderEncoder:
    """The towers, loaded; see ``Encoder``."""

    baseline = BASELINE

    def __init__(self, text: TextTower, image: ImageTower | None) -> None:
        self._text, self._image = text, image
        self.media = image is not None
        self.dims = text.run(["."], query=True).shape[1]
        if image is not None and (other := image.dims()) != self.dims:
            raise Unfit(f"its texts have {self.dims} dimensions and its images {other}: they are not of one space")

    def texts(self, texts: Sequence[str], *, query: bool) -> Vectors:
        """See ``Encoder``.  Texts of like length run together, so that little is computed for padding."""
        import numpy as np

        order = sorted(range(len(texts)), key=lambda at: len(texts[at]))
        made = np.empty((len(texts), self.dims), np.float32)
        for first in range(0, len(order), AT_ONCE):
            places = order[first : first + AT_ONCE]
            made[places] = self._text.run([texts[at] for at in places], query=query)
        return made

    def images(self, images: Sequence[bytes]) -> Vectors:
        """See ``Encoder``."""
        import numpy as np

        if self._image is None:
            raise Unfit("this embedder reads no pictures")
        tower = self._image
        return np.stack([tower.run(image) for image in images])


class TextTower:
    """Tokenizer and model."""

    def __init__(self, files: ModelFiles, tower: Tower) -> None:
        self._tower = tower
        self._tokenizer = _tokenizer(files)
        self._prompts = _json(files.folder / "config_sentence_transformers.json").get("prompts") or {}
        self._length = tower.length or _longest(files)
        self._first = bool(_json(files.folder / "1_Pooling" / "config.json").get("pooling_mode_cls_token"))
        self._tokenizer.enable_truncation(self._length)
        if tower.length:  # made for one length only
            padding = self._tokenizer.padding or {}
            given = {key: padding[key] for key in ("pad_id", "pad_token", "pad_type_id") if key in padding}
            self._tokenizer.enable_padding(length=tower.length, **(given or self._pad()))
        elif self._tokenizer.padding is None:
            self._tokenizer.enable_padding(**self._pad())
        else:  # what the file says of padding may be "to 512, always"
            padding = self._tokenizer.padding
            self._tokenizer.enable_padding(
                pad_id=padding["pad_id"], pad_token=padding["pad_token"], pad_type_id=padding["pad_type_id"]
            )

    def run(self, texts: Sequence[str], *, query: bool) -> Vectors:
        """Shape (n, dims)."""
        import numpy as np

        prompt = next((self._prompts[name] for name in _PROMPTS[query] if name in self._prompts), "")
        found = self._tokenizer.encode_batch([f"{prompt}{text}" for text in texts])
        columns = {
            "ids": np.array([one.ids for one in found]),
            "mask": np.array([one.attention_mask for one in found]),
            "types": np.array([one.type_ids for one in found]),
        }
        columns["positions"] = np.broadcast_to(np.arange(columns["ids"].shape[1]), columns["ids"].shape)
        return self._tower.texts(columns, first=self._first)

    def _pad(self) -> dict[str, Any]:
        for token in ("[PAD]", "<pad>", "<|endoftext|>"):
            if (id_ := self._tokenizer.token_to_id(token)) is not None:
                return {"pad_id": id_, "pad_token": token}
        return {}


class ImageTower:
    """Preparation and model."""

    def __init__(self, tower: Tower, preparing: Preparing) -> None:
        self._tower, self._preparing = tower, preparing

    def dims(self) -> int:
        """Of its vectors, by one of a grey picture."""
        import numpy as np

        height, width = self._preparing.shape
        return len(self._tower.image(np.zeros((1, 3, height, width), np.float32)))

    def run(self, image: bytes) -> Vectors:
        """Shape (dims,)."""
        return self._tower.image(prepared(image, self._preparing))


def load(spec: Spec, busy: Busy) -> FolderEncoder:
    """What lies in ``spec["path"]``.  ``Unfit``: nothing that can be used."""
    files = model_files(Path(spec["path"]))
    threads = int(spec.get("threads", 1))
    busy()
    words = open_tower(files.text, threads, media=False)
    text = TextTower(files, words)
    busy()
    image = None
    tower = words.twin() if files.image is None else open_tower(files.image, threads, media=True)
    if tower is not None:
        image = ImageTower(tower, Preparing.of(_json(files.folder / "preprocessor_config.json"), tower.side))
    busy()
    return FolderEncoder(text, image)


def _tokenizer(files: ModelFiles) -> Any:
    from tokenizers import Tokenizer
    from tokenizers.implementations.bert_wordpiece import BertWordPieceTokenizer

    try:
        if files.tokenizer.suffix == ".json":
            return Tokenizer.from_file(str(files.tokenizer))
        lower = _json(files.folder / "tokenizer_config.json").get("do_lower_case", True)
        return BertWordPieceTokenizer(str(files.tokenizer), lowercase=bool(lower))
    except Exception as error:  # the library knows no other kind
        raise Unfit(f"{files.tokenizer} is no tokenizer: {error}") from error


def _longest(files: ModelFiles) -> int:
    """Tokens of one text, by whichever file says so."""
    config = _json(files.folder / "config.json")
    said = [
        _json(files.folder / "sentence_bert_config.json").get("max_seq_length"),
        _json(files.folder / "tokenizer_config.json").get("model_max_length"),
        config.get("max_position_embeddings"),
        (config.get("text_config") or {}).get("max_position_embeddings"),
    ]
    return int(min([LONGEST, *(float(one) for one in said if isinstance(one, int | float) and one > 1)]))


def _json(path: Path) -> Mapping[str, Any]:
    """What a file of the model's says; nothing where there is none.  ``Unfit`` for one that cannot be read."""
    try:
        found = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise Unfit(f"{path} cannot be read: {error}") from None
    return found if isinstance(found, dict) else {}
