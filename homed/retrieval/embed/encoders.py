"""What makes vectors inside the child, and what it is told to make them with.  Imports nothing heavy by itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from homed.memory.ports import Vectors

Spec = Mapping[str, Any]
"""Which encoder and from which files, as it crosses the pipe: ``kind`` and what that kind wants."""

Busy = Callable[[], None]
"""A sign of life: called now and then by what takes long."""

BASELINE = 0.22
"""Cosine of two texts that have nothing to do with each other, for a model of which nobody has measured it."""


class Unfit(Exception):
    """The files are not there, or not a model that can be used.  The text says which and why; for people."""


class Encoder(Protocol):
    """A model, loaded.  Blocks; used by one thread."""

    dims: int
    media: bool
    baseline: float

    def texts(self, texts: Sequence[str], *, query: bool) -> Vectors:
        """One vector a text, not yet of length 1."""
        ...

    def images(self, images: Sequence[bytes]) -> Vectors:
        """One vector an image file.  ``Unfit`` for one that cannot be read; only where ``media``."""
        ...


def load(spec: Spec, busy: Busy) -> Encoder:
    """The encoder that ``spec`` names.  ``Unfit`` says why there is none; takes seconds, a conversion minutes."""
    from homed.retrieval.embed import bundled, folder, static

    match spec["kind"]:
        case "bundled":
            return bundled.load(spec)
        case "folder":
            return folder.load(spec, busy)
        case "static":
            return static.load(spec, busy)
        case kind:
            raise Unfit(f"there is no kind of embedder called {kind!r}")
