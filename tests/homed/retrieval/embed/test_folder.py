"""Model folders as they lie about in the world, with small models made here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto

from homed.retrieval.embed.encoders import Unfit
from homed.retrieval.embed.folder import FolderEncoder, load
from tests.homed.retrieval.embed.kit import local_in
from tests.homed.retrieval.embed.models import (
    COLOURS,
    WORDS,
    both_model,
    config,
    image_model,
    picture,
    text_model,
    tokenizer,
)

RED, GREEN, BLUE = (255, 0, 0), (0, 255, 0), (0, 0, 255)


def opened(folder: Path) -> FolderEncoder:
    return load({"kind": "folder", "path": str(folder), "threads": 1}, lambda: None)


def mean(*words: str) -> list[float]:
    """Of the tokens' colours, as a mean over them must be."""
    rows = [COLOURS[WORDS.index(word)] for word in ("[CLS]", *words, "[SEP]")]
    return [float(value) for value in np.mean(rows, axis=0)]


def near(encoder: FolderEncoder, text: str, expected: list[float]) -> bool:
    return bool(np.allclose(encoder.texts([text, "the the the the the the"], query=False)[0], expected, atol=1e-6))


def test_a_text_is_the_mean_of_its_tokens_and_padding_counts_for_nothing(tmp_path: Path) -> None:
    text_model(tmp_path / "model.onnx")
    tokenizer(tmp_path, pad=True)
    encoder = opened(tmp_path)
    assert (encoder.dims, encoder.media, encoder.baseline) == (3, False, 0.22)
    assert near(encoder, "red blue", mean("red", "blue"))


def test_texts_come_back_in_their_order_whatever_their_length(tmp_path: Path) -> None:
    text_model(tmp_path / "model.onnx")
    tokenizer(tmp_path)
    texts = ["the " * (number % 11) + ("red", "green", "blue")[number % 3] for number in range(40)]
    rows = opened(tmp_path).texts(texts, query=False)
    assert [int(np.argmax(row - np.array([0.5 / 20, 0, 0]))) for row in rows] == [number % 3 for number in range(40)]


@pytest.mark.parametrize(
    "made",
    [
        {"ids": "text", "mask": "", "extra": ()},
        {"ids": "tokens", "mask": "attention_mask", "extra": ("position_ids", "segment_ids")},
        {"kind": TensorProto.INT32},
        {"batch": 1},
        {"length": 12},
        {"length": 12, "batch": 1, "kind": TensorProto.INT32},
    ],
    ids=["one input", "other names", "int32", "one at a time", "fixed length", "all of it"],
)
def test_inputs_by_whatever_name_and_shape(tmp_path: Path, made: dict[str, Any]) -> None:
    text_model(tmp_path / "model.onnx", **made)
    tokenizer(tmp_path)
    assert near(opened(tmp_path), "green", mean("green"))


def test_the_models_own_embedding_is_taken_where_it_has_one(tmp_path: Path) -> None:
    text_model(tmp_path / "model.onnx", pooled="sentence_embedding")
    tokenizer(tmp_path)
    rows = opened(tmp_path).texts(["red red"], query=False)
    assert rows.tolist() == [[2.5, 0, 0]]


def test_a_pooler_is_taken_only_where_nothing_else_is_there(tmp_path: Path) -> None:
    tokenizer(tmp_path)
    text_model(tmp_path / "model.onnx", pooled="pooler_output")
    assert near(opened(tmp_path), "green", mean("green"))
    text_model(tmp_path / "model.onnx", output="", pooled="pooler_output")
    assert opened(tmp_path).texts(["green"], query=False).tolist() == [[0.5, 1, 0]]


def test_the_first_token_is_the_text_where_the_model_says_so(tmp_path: Path) -> None:
    text_model(tmp_path / "model.onnx")
    tokenizer(tmp_path)
    config(tmp_path, "1_Pooling/config.json", pooling_mode_cls_token=True)
    assert near(opened(tmp_path), "green", [0.5, 0, 0])


def test_questions_and_texts_have_the_prompts_of_the_model(tmp_path: Path) -> None:
    text_model(tmp_path / "model.onnx", pooled="sentence_embedding")
    tokenizer(tmp_path)
    config(tmp_path, "config_sentence_transformers.json", prompts={"query": "red ", "document": "blue "})
    encoder = opened(tmp_path)
    assert encoder.texts(["the"], query=True).tolist() == [[1.5, 0, 0]]
    assert encoder.texts(["the"], query=False).tolist() == [[0.5, 0, 1]]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("sentence_bert_config.json", {"max_seq_length": 4}),
        ("tokenizer_config.json", {"model_max_length": 4}),
        ("config.json", {"text_config": {"max_position_embeddings": 4}}),
    ],
)
def test_a_long_text_is_cut_where_the_model_ends(tmp_path: Path, name: str, said: dict[str, Any]) -> None:
    text_model(tmp_path / "model.onnx")
    tokenizer(tmp_path)
    config(tmp_path, name, **said)
    assert near(opened(tmp_path), "red red blue blue", mean("red", "red"))


@pytest.mark.parametrize(
    ("text", "image"),
    [
        ("model.onnx", "vision_model.onnx"),
        ("onnx/text_model.onnx", "onnx/vision_model.onnx"),
        ("vit-b-16.txt.fp32.onnx", "vit-b-16.img.fp32.onnx"),
        ("textual.onnx", "visual.onnx"),
    ],
)
def test_text_and_pictures_in_one_space(tmp_path: Path, text: str, image: str) -> None:
    text_model(tmp_path / text, output="", pooled="text_embeds")
    image_model(tmp_path / image)
    tokenizer(tmp_path)
    config(tmp_path, "preprocessor_config.json", do_normalize=False)
    encoder = opened(tmp_path)
    assert (encoder.dims, encoder.media) == (3, True)
    pictures = encoder.images([picture(RED), picture(GREEN, kind="JPEG"), picture(BLUE)])
    for word, best in (("the red", 0), ("绿", 1), ("blue", 2)):
        row = encoder.texts([word], query=True)[0] - [0.4, 0, 0]
        assert int(np.argmax(pictures @ row)) == best


def test_a_model_that_wants_both_at_once(tmp_path: Path) -> None:
    both_model(tmp_path / "model.onnx")
    tokenizer(tmp_path)
    config(tmp_path, "preprocessor_config.json", do_normalize=False)
    encoder = opened(tmp_path)
    assert encoder.texts(["green", "the blue"], query=False).tolist() == [[0.5, 1, 0], [0.5, 0, 1]]
    assert np.allclose(encoder.images([picture(BLUE)])[0], [0, 0, 1])


def test_of_several_precisions_the_full_one_is_taken(tmp_path: Path) -> None:
    tokenizer(tmp_path)
    for name in ("model_quantized", "model_int8", "model_fp16", "model_O3"):
        text_model(tmp_path / f"{name}.onnx", embedding=COLOURS * 0)
    text_model(tmp_path / "model.onnx")
    assert near(opened(tmp_path), "red", mean("red"))
    (tmp_path / "model.onnx").unlink()
    assert near(opened(tmp_path), "red", [0, 0, 0])


def test_a_vocabulary_of_bert_does_for_a_tokenizer(tmp_path: Path) -> None:
    text_model(tmp_path / "model.onnx")
    (tmp_path / "vocab.txt").write_text("\n".join(WORDS), "utf-8")
    assert near(opened(tmp_path), "Red 蓝", mean("red", "蓝"))


def test_what_is_missing_or_broken_is_said(tmp_path: Path) -> None:
    def says(words: str) -> None:
        with pytest.raises(Unfit, match=words):
            opened(tmp_path / "m")

    says("there is no model folder")
    (tmp_path / "m").mkdir()
    says(r"holds no model\.onnx")
    (tmp_path / "m" / "model.onnx").write_bytes(b"nothing")
    says(r"holds no tokenizer\.json")
    (tmp_path / "m" / "tokenizer.json").write_text("{}")
    says("cannot be loaded")
    text_model(tmp_path / "m" / "model.onnx")
    says("is no tokenizer")
    tokenizer(tmp_path / "m")
    config(tmp_path / "m", "config.json")
    (tmp_path / "m" / "config.json").write_text("[")
    says(r"config\.json cannot be read")
    (tmp_path / "m" / "config.json").unlink()
    image_model(tmp_path / "m" / "model.onnx")
    says("none of them is a text")
    text_model(tmp_path / "m" / "model.onnx", embedding=COLOURS[:, :2])
    image_model(tmp_path / "m" / "image.onnx")
    says("not of one space")


def test_words_the_model_does_not_have_are_its_failure_not_a_crash(tmp_path: Path) -> None:
    text_model(tmp_path / "model.onnx", embedding=COLOURS[:5])
    tokenizer(tmp_path)
    encoder = opened(tmp_path)
    with pytest.raises(Unfit, match="cannot be run"):
        encoder.texts(["蓝"], query=False)


@pytest.mark.slow
async def test_in_its_own_process(tmp_path: Path) -> None:
    text_model(tmp_path / "m" / "text.onnx", output="", pooled="text_embeds")
    image_model(tmp_path / "m" / "image.onnx")
    tokenizer(tmp_path / "m")
    async with local_in(tmp_path, {"kind": "folder", "path": str(tmp_path / "m")}, real=True) as embedder:
        assert (embedder.space.dims, embedder.space.media) == (3, True)
        rows = await embedder.embed(["blue"], query=True)
        pictures = await embedder.embed_images([picture(RED), picture(BLUE)])
    assert np.allclose(np.linalg.norm(pictures, axis=1), 1, atol=1e-5)
    assert (pictures @ rows[0]).argmax() == 1
