"""A picture as numbers for a model, as its ``preprocessor_config.json`` says."""

from __future__ import annotations

import io
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from homed.retrieval.embed.encoders import Unfit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from PIL import Image

MOST_PIXELS = 64_000_000
"""A picture that says it is larger is not unpacked: a few kilobytes can claim gigabytes."""

_SIDE = 224
_MEAN = (0.48145466, 0.4578275, 0.40821073)
_STD = (0.26862954, 0.26130258, 0.27577711)
_BICUBIC = 3


@dataclass(frozen=True, slots=True)
class Preparing:
    """``size``: (height, width), or an edge to which the shorter one is brought, with ``crop`` out of its middle."""

    size: tuple[int, int] | int
    crop: tuple[int, int] | None
    mean: tuple[float, ...]
    std: tuple[float, ...]
    scale: float = 1 / 255
    resample: int = _BICUBIC

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width of what comes out."""
        if self.crop is not None:
            return self.crop
        return (self.size, self.size) if isinstance(self.size, int) else self.size

    @classmethod
    def of(cls, said: Mapping[str, Any], side: int) -> Preparing:
        """As the file says; what it does not say is CLIP's.  ``side``: what the model takes, if only one.

        ``Unfit`` where it makes no sense.
        """
        try:
            edge = side or _SIDE
            size = _size(said.get("size", edge))
            crop = _size(said.get("crop_size", edge)) if said.get("do_center_crop", False) else None
            if isinstance(crop, int):
                crop = (crop, crop)
            if isinstance(size, int) and crop is None:
                size = (size, size)
            normal = bool(said.get("do_normalize", True))
            mean = tuple(map(float, said.get("image_mean", _MEAN))) if normal else (0.0, 0.0, 0.0)
            std = tuple(map(float, said.get("image_std", _STD))) if normal else (1.0, 1.0, 1.0)
            scale = float(said.get("rescale_factor", 1 / 255)) if said.get("do_rescale", True) else 1.0
            resample = int(said.get("resample", _BICUBIC))
        except (TypeError, ValueError, KeyError) as error:
            raise Unfit(f"preprocessor_config.json makes no sense: {error}") from None
        return cls(size, crop, mean, std, scale, resample)


def prepared(data: bytes, preparing: Preparing) -> NDArray[np.float32]:
    """Shape (1, 3, height, width).  ``Unfit`` for what is no picture, broken or far too large."""
    import numpy as np

    image = _sized(_opened(data), preparing)
    pixels = np.array(image, dtype=np.float32)
    pixels *= np.float32(preparing.scale)
    pixels -= np.array(preparing.mean, np.float32)
    pixels /= np.array(preparing.std, np.float32)
    return np.ascontiguousarray(pixels.transpose(2, 0, 1)[None])


def _opened(data: bytes) -> Image.Image:
    """The picture upright, in three colours, on white where it is clear."""
    from PIL import Image, ImageOps, UnidentifiedImageError

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            file = Image.open(io.BytesIO(data))
            if file.width * file.height > MOST_PIXELS:
                raise Unfit(f"a picture of {file.width} × {file.height} is too large")
            file.draft("RGB", (4 * _SIDE, 4 * _SIDE))  # a large JPEG is unpacked smaller, in a tenth of the time
            image: Image.Image = ImageOps.exif_transpose(file)
            if image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info:
                clear = image.convert("RGBA")
                image = Image.alpha_composite(Image.new("RGBA", clear.size, "white"), clear)
            return image.convert("RGB")
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise Unfit(f"this is no picture that can be read ({type(error).__name__})") from None


def _sized(image: Image.Image, preparing: Preparing) -> Image.Image:
    from PIL import Image

    resample = Image.Resampling(preparing.resample)
    if isinstance(preparing.size, tuple):
        height, width = preparing.size
    else:
        ratio = preparing.size / min(image.size)
        width, height = (max(preparing.size, round(edge * ratio)) for edge in image.size)
    image = image.resize((width, height), resample)
    if preparing.crop is None:
        return image
    high, wide = preparing.crop
    left, top = (width - wide) // 2, (height - high) // 2
    return image.crop((left, top, left + wide, top + high))


def _size(said: Any) -> tuple[int, int] | int:
    """An edge, or height and width, in any of the ways it is written."""
    if isinstance(said, Mapping):
        if "shortest_edge" in said:
            return int(said["shortest_edge"])
        return int(said["height"]), int(said["width"])
    if isinstance(said, list | tuple):
        return int(said[0]), int(said[-1])
    return int(said)
