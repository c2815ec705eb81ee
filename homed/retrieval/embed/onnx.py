"""One ONNX model as a tower: its inputs by what they are called, its embedding among its outputs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from homed.retrieval.embed.encoders import Unfit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from homed.memory.ports import Vectors

_EMBEDDINGS = ("sentence_embedding", "text_embeds", "image_embeds", "embedding", "features", "embeds")
"""Names of an output that is the embedding itself, the surest first."""

_TYPES = {"tensor(int64)": "int64", "tensor(int32)": "int32", "tensor(float16)": "float16", "tensor(float)": "float32"}


class Tower:
    """A session, and how it is to be fed."""

    def __init__(self, session: Any, path: Path, *, media: bool) -> None:
        self._session, self._path = session, path
        self._inputs = {part.name: (_role(part.name, media), part) for part in session.get_inputs()}
        self._types = {name: _TYPES.get(part.type, "int64") for name, (_, part) in self._inputs.items()}
        wanted = "pixels" if media else "ids"
        if wanted not in {role for role, _ in self._inputs.values()}:
            names = ", ".join(self._inputs)
            raise Unfit(f"{path} takes {names}: none of them is {'an image' if media else 'a text'}")
        self._output, self._tokenwise = _output(session.get_outputs(), media)
        self._fixed_batch = any(part.shape and part.shape[0] == 1 for _, part in self._inputs.values())

    @property
    def length(self) -> int:
        """Tokens of every text, where the model takes no other number; else 0."""
        return next((_number(part.shape, 1) for role, part in self._inputs.values() if role == "ids"), 0)

    @property
    def side(self) -> int:
        """Pixels of a side of an image, where the model takes no other number; else 0."""
        return next((_number(part.shape, 2) for role, part in self._inputs.values() if role == "pixels"), 0)

    def twin(self) -> Tower | None:
        """The same model asked for images, where it takes texts and images at once."""
        if not any(role == "pixels" for role, _ in self._inputs.values()):
            return None
        return Tower(self._session, self._path, media=True)

    def texts(self, columns: Mapping[str, NDArray[Any]], *, first: bool) -> Vectors:
        """Shape (n, dims) of columns of shape (n, tokens).  ``first``: a text is its first token, not their mean."""
        import numpy as np

        if self._fixed_batch and len(columns["ids"]) > 1:
            each = [
                {name: column[at : at + 1] for name, column in columns.items()} for at in range(len(columns["ids"]))
            ]
            return np.concatenate([self.texts(one, first=first) for one in each])
        found = self._run(columns)
        return _pooled(found, columns["mask"], first=first) if self._tokenwise else found

    def image(self, pixels: NDArray[np.float32]) -> Vectors:
        """Shape (dims,) of one image, shape (1, 3, height, width)."""
        import numpy as np

        found = self._run({"pixels": pixels})
        row = found[0].mean(axis=0) if self._tokenwise else found[0]
        return np.asarray(row, dtype=np.float32)

    def _run(self, given: Mapping[str, NDArray[Any]]) -> Vectors:
        import numpy as np

        feed = {}
        for name, (role, part) in self._inputs.items():
            value = given.get(role)
            if value is None:
                value = _nothing(role, part, len(next(iter(given.values()))))
            feed[name] = np.ascontiguousarray(value, dtype=self._types[name])
        try:
            (found,) = self._session.run([self._output], feed)
        except _errors() as error:
            raise Unfit(f"{self._path} cannot be run: {_short(error)}") from None
        return np.asarray(found, dtype=np.float32)


def open_tower(path: Path, threads: int, *, media: bool) -> Tower:
    """Load the model.  ``Unfit`` when it is none, or takes neither text nor images."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.log_severity_level = 4
    options.enable_cpu_mem_arena = False  # it keeps what the longest text ever needed
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except _errors() as error:
        raise Unfit(f"{path} cannot be loaded: {_short(error)}") from None
    return Tower(session, path, media=media)


def _role(name: str, media: bool) -> str:
    """What an input wants."""
    name = name.lower()
    for word, role in (
        ("mask", "mask"), ("type", "types"), ("segment", "types"), ("position", "positions"), ("pixel", "pixels"),
        ("image", "pixels"), ("ids", "ids"), ("text", "ids"), ("tokens", "ids"),
    ):  # fmt: skip
        if word in name:
            return role
    return "pixels" if media else "ids"


def _output(outputs: list[Any], media: bool) -> tuple[str, bool]:
    """The output to take, and whether it has a row for every token."""
    flat = [part.name for part in outputs if len(part.shape or ()) == 2]
    other = "text" if media else "image"
    for word in _EMBEDDINGS:
        named = [name for name in flat if word in name.lower() and other not in name.lower()]
        if named:
            return named[0], False
    deep = [part.name for part in outputs if len(part.shape or ()) == 3]
    if deep and not media:  # a pooler that was never trained for sentences is worse than the mean
        return deep[0], True
    if flat:
        return flat[0], False
    if deep:
        return deep[0], True
    raise Unfit("the model gives no vectors")


def _pooled(found: Vectors, mask: NDArray[Any], *, first: bool) -> Vectors:
    import numpy as np

    if first:
        return np.asarray(found[:, 0], dtype=np.float32)
    weights = mask[:, :, None].astype(np.float32)
    total = np.maximum(weights.sum(axis=1), 1)
    return np.asarray((found * weights).sum(axis=1) / total, dtype=np.float32)


def _nothing(role: str, part: Any, rows: int) -> NDArray[Any]:
    """What a tower of both is given for the half that is not asked."""
    import numpy as np

    if role == "pixels":
        side = _number(part.shape, 2) or 224
        return np.zeros((1, 3, side, side), np.float32)
    return np.ones((rows, _number(part.shape, 1) or 2), np.int64)


def _number(shape: Any, at: int) -> int:
    """A dimension that is fixed, else 0."""
    return int(shape[at]) if len(shape or ()) > at and isinstance(shape[at], int) and shape[at] > 1 else 0


def _errors() -> tuple[type[Exception], ...]:
    """What the runtime raises: classes of its own that have no base of its own."""
    from onnxruntime.capi import onnxruntime_pybind11_state as state

    own = [one for one in vars(state).values() if isinstance(one, type) and issubclass(one, Exception)]
    return (*own, ValueError, RuntimeError)


def _short(error: Exception) -> str:
    """The first line of what the runtime says, without its prefix of codes."""
    return (
        str(error).strip().splitlines()[0].rsplit("] : ", 1)[-1][:200] if str(error).strip() else type(error).__name__
    )
