"""Small ONNX models and tokenizers in folders, made on the spot: a word is a colour, and so is a picture."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from PIL import Image
from tokenizers import Tokenizer, models, pre_tokenizers, processors

WORDS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "red", "green", "blue", "the", "红", "绿", "蓝")
COLOURS = np.zeros((len(WORDS), 3), np.float32)
"""What a word means: red, green, blue; all others nothing."""
for _place, _word in enumerate(("red", "green", "blue")):
    COLOURS[WORDS.index(_word), _place] = 1
    COLOURS[WORDS.index("红绿蓝"[_place]), _place] = 1
COLOURS[WORDS.index("[CLS]")] = (0.5, 0.0, 0.0)


def tokenizer(folder: Path, *, pad: bool = False) -> None:
    """A ``tokenizer.json`` of these words, with a beginning and an end."""
    made = Tokenizer(models.WordLevel({word: at for at, word in enumerate(WORDS)}, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    if pad:  # as some are shipped: every text as long as the longest
        made.enable_padding(length=128)
    folder.mkdir(parents=True, exist_ok=True)
    made.save(str(folder / "tokenizer.json"))


def text_model(
    path: Path,
    *,
    ids: str = "input_ids",
    mask: str = "attention_mask",
    extra: Sequence[str] = ("token_type_ids",),
    length: int | str = "tokens",
    batch: int | str = "texts",
    kind: int = TensorProto.INT64,
    output: str = "last_hidden_state",
    pooled: str = "",
    embedding: np.ndarray[Any, Any] = COLOURS,
) -> None:
    """A tower that gives each token its colour; ``pooled``: besides, or with ``output`` '' alone, their sum."""
    inputs = [helper.make_tensor_value_info(name, kind, [batch, length]) for name in (ids, mask, *extra) if name]
    nodes = [helper.make_node("Gather", ["table", ids], ["each"])]
    outputs = []
    if output:
        nodes.append(helper.make_node("Identity", ["each"], [output]))
        outputs.append(helper.make_tensor_value_info(output, TensorProto.FLOAT, [batch, length, embedding.shape[1]]))
    if pooled:
        nodes.append(helper.make_node("ReduceSum", ["each", "axis"], [pooled], keepdims=0))
        outputs.append(helper.make_tensor_value_info(pooled, TensorProto.FLOAT, [batch, embedding.shape[1]]))
    _save(path, nodes, inputs, outputs, table=embedding, axis=np.array([1], np.int64))


def image_model(path: Path, *, side: int | str = 8, pixels: str = "pixel_values", output: str = "image_embeds") -> None:
    """A tower that gives the mean colour of a picture."""
    inputs = [helper.make_tensor_value_info(pixels, TensorProto.FLOAT, ["images", 3, side, side])]
    outputs = [helper.make_tensor_value_info(output, TensorProto.FLOAT, ["images", 3])]
    nodes = [helper.make_node("ReduceMean", [pixels, "axes"], [output], keepdims=0)]
    _save(path, nodes, inputs, outputs, axes=np.array([2, 3], np.int64))


def both_model(path: Path) -> None:
    """One that wants a text and a picture at once, as CLIP is often shipped."""
    inputs = [
        helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["texts", "tokens"]),
        helper.make_tensor_value_info("pixel_values", TensorProto.FLOAT, ["images", 3, 8, 8]),
        helper.make_tensor_value_info("attention_mask", TensorProto.INT64, ["texts", "tokens"]),
    ]
    outputs = [
        helper.make_tensor_value_info("logits_per_image", TensorProto.FLOAT, ["images", "texts"]),
        helper.make_tensor_value_info("image_embeds", TensorProto.FLOAT, ["images", 3]),
        helper.make_tensor_value_info("text_embeds", TensorProto.FLOAT, ["texts", 3]),
    ]
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["each"]),
        helper.make_node("ReduceSum", ["each", "axis"], ["text_embeds"], keepdims=0),
        helper.make_node("ReduceMean", ["pixel_values", "axes"], ["image_embeds"], keepdims=0),
        helper.make_node("Transpose", ["text_embeds"], ["turned"]),
        helper.make_node("MatMul", ["image_embeds", "turned"], ["logits_per_image"]),
    ]
    _save(path, nodes, inputs, outputs, table=COLOURS, axis=np.array([1], np.int64), axes=np.array([2, 3], np.int64))


def picture(colour: tuple[int, ...], size: tuple[int, int] = (20, 10), kind: str = "PNG", mode: str = "RGB") -> bytes:
    """An image file of one colour."""
    into = io.BytesIO()
    Image.new(mode, size, colour).save(into, kind)
    return into.getvalue()


def config(folder: Path, name: str, **said: object) -> None:
    """A JSON file of the model's."""
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(json.dumps(said), "utf-8")


def _save(path: Path, nodes: Any, inputs: Any, outputs: Any, **tables: np.ndarray[Any, Any]) -> None:
    initial = [numpy_helper.from_array(value, name) for name, value in tables.items()]
    graph = helper.make_graph(nodes, "small", inputs, outputs, initial)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.checker.check_model(model)
    path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(model, str(path))
