"""Pictures become the numbers that a model's file asks for, and nothing else passes for one."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from PIL import Image

from homed.retrieval.embed.encoders import Unfit
from homed.retrieval.embed.pictures import MOST_PIXELS, Preparing, prepared
from tests.homed.retrieval.embed.models import picture

PLAIN = {"do_normalize": False}


def saved(image: Image.Image, kind: str = "PNG", **options: Any) -> bytes:
    into = io.BytesIO()
    image.save(into, kind, **options)
    return into.getvalue()


def halves() -> Image.Image:
    """Red on the left, blue on the right, four times as wide as high."""
    image = Image.new("RGB", (80, 20), (255, 0, 0))
    image.paste((0, 0, 255), (40, 0, 80, 20))
    return image


@pytest.mark.parametrize(
    ("said", "side", "shape"),
    [
        ({}, 0, (224, 224)),
        ({}, 8, (8, 8)),
        ({"size": 32}, 0, (32, 32)),
        ({"size": {"height": 16, "width": 24}}, 0, (16, 24)),
        ({"size": [16, 24]}, 0, (16, 24)),
        ({"size": {"shortest_edge": 16}, "do_center_crop": True, "crop_size": 12}, 0, (12, 12)),
        ({"size": 16, "do_center_crop": True, "crop_size": {"height": 10, "width": 12}}, 0, (10, 12)),
    ],
)
def test_it_has_the_size_that_is_said(said: dict[str, Any], side: int, shape: tuple[int, int]) -> None:
    preparing = Preparing.of(said, side)
    assert preparing.shape == shape
    made = prepared(picture((255, 0, 0), (50, 90)), preparing)
    assert made.shape == (1, 3, *shape)
    assert made.dtype == np.float32


def test_numbers_are_scaled_and_brought_to_the_mean() -> None:
    said = {"image_mean": [0.5, 0.25, 0.0], "image_std": [0.5, 0.5, 2.0]}
    made = prepared(picture((255, 0, 51)), Preparing.of(said, 4))
    assert np.allclose(made[0, :, 0, 0], [1.0, -0.5, 0.1], atol=1e-5)
    raw = prepared(picture((255, 0, 51)), Preparing.of({**PLAIN, "do_rescale": False}, 4))
    assert np.allclose(raw[0, :, 2, 2], [255, 0, 51])


def test_a_crop_is_out_of_the_middle_and_a_resize_takes_all() -> None:
    crop = {**PLAIN, "size": {"shortest_edge": 20}, "do_center_crop": True, "crop_size": 20}
    cut = prepared(saved(halves()), Preparing.of(crop, 0))[0]
    assert (cut[0, 10, 2], cut[2, 10, 17]) == (1.0, 1.0)
    whole = prepared(saved(halves()), Preparing.of(PLAIN, 16))[0]
    assert (whole[0, 8, 0], whole[2, 8, 15]) == (1.0, 1.0)


def test_what_is_clear_is_white_and_what_lies_on_its_side_is_turned() -> None:
    clear = prepared(picture((255, 0, 0, 0), mode="RGBA"), Preparing.of(PLAIN, 4))
    assert np.allclose(clear, 1.0)
    turned = Image.Exif()
    turned[0x0112] = 6  # its right side is up
    made = prepared(saved(halves(), "JPEG", exif=turned.tobytes(), quality=95), Preparing.of(PLAIN, 16))[0]
    assert made[0, 1, 8] > 0.8
    assert made[2, 14, 8] > 0.8


@pytest.mark.parametrize("mode", ["L", "P", "1", "CMYK", "I;16"])
def test_every_kind_of_colour_is_read(mode: str) -> None:
    image = Image.new("L", (9, 9), 200).convert(mode) if mode != "I;16" else Image.new("I;16", (9, 9), 900)
    made = prepared(saved(image, "TIFF"), Preparing.of(PLAIN, 4))
    assert np.isfinite(made).all()


def test_of_what_moves_the_first_picture_counts() -> None:
    frames = [Image.new("RGB", (9, 9), colour) for colour in ((255, 0, 0), (0, 0, 255))]
    data = saved(frames[0], "GIF", save_all=True, append_images=frames[1:])
    assert prepared(data, Preparing.of(PLAIN, 4))[0, 0].min() > 0.9


@pytest.mark.parametrize("data", [b"", b"no picture", picture((1, 2, 3))[:45], b"\x89PNG\r\n\x1a\n" + bytes(50)])
def test_what_is_no_picture_or_broken_is_refused(data: bytes) -> None:
    with pytest.raises(Unfit, match="no picture that can be read"):
        prepared(data, Preparing.of(PLAIN, 4))


def test_one_that_claims_to_be_enormous_is_not_unpacked() -> None:
    side = int(MOST_PIXELS**0.5) + 1
    data = bytearray(picture((0, 0, 0)))
    data[16:24] = side.to_bytes(4, "big") * 2  # width and height in its head
    with pytest.raises(Unfit, match=r"too large|no picture"):
        prepared(bytes(data), Preparing.of(PLAIN, 4))


@pytest.mark.parametrize("said", [{"size": "large"}, {"size": {"longest": 1}}, {"image_mean": 3}, {"resample": "best"}])
def test_a_file_that_makes_no_sense_is_said_to(said: dict[str, Any]) -> None:
    with pytest.raises(Unfit, match="makes no sense"):
        Preparing.of(said, 0)
