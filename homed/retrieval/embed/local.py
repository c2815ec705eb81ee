"""An embedder on this machine: questions go to one child, everything else to another that gives way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import trio

from homed.memory.ports import Space
from homed.retrieval.embed.batches import batches
from homed.retrieval.embed.encoders import Spec
from homed.retrieval.embed.failed import EmbedFailed
from homed.retrieval.embed.frames import Frame
from homed.retrieval.embed.worker import Opened, Worker, WorkerPorts

if TYPE_CHECKING:
    from homed.memory.ports import Vectors

TEXTS = 32
CHARACTERS = 16_000
"""Of one message to the bulk child: some tenths of a second, so that nothing waits long to be cancelled."""

IMAGES = 4
IMAGE_BYTES = 32 << 20


@dataclass(frozen=True, slots=True)
class LocalModel:
    """A model on this machine: what the child is to open, and the name of its space.

    ``known``: its size, where no child is needed to tell.  ``baseline``: instead of the model's own.
    """

    spec: Spec
    fingerprint: str
    known: Opened | None = None
    baseline: float | None = None


class LocalEmbedder:
    """See ``homed.memory.ports.Embedder``.  ``run`` it, then ``prepare`` it; then it has a space."""

    def __init__(self, model: LocalModel, ports: WorkerPorts) -> None:
        self._model = model
        self._space: Space | None = None
        self._asked = Worker(model.spec, ports)
        self._bulk = Worker(model.spec, ports, bulk=True)

    def __repr__(self) -> str:
        return f"LocalEmbedder({self._model.fingerprint!r})"

    @property
    def space(self) -> Space:
        """Of all its vectors; there once it is prepared."""
        assert self._space is not None
        return self._space

    @property
    def pids(self) -> tuple[int | None, int | None]:
        """Of the child for questions and the one for bulk; None while there is none."""
        return self._asked.pid, self._bulk.pid

    async def run(self) -> None:
        """Serve until cancelled; no process is left then."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._asked.run)
            nursery.start_soon(self._bulk.run)

    async def prepare(self) -> Space:
        """Find out its space; where only the model knows, load it.  Raises `EmbedFailed`, lasting if it is unfit."""
        known = self._model.known or await self._asked.open()
        baseline = known.baseline if self._model.baseline is None else self._model.baseline
        self._space = Space(self._model.fingerprint, known.dims, baseline, known.media)
        return self._space

    def warm(self) -> None:
        """Somebody is about to ask: start the child for questions, if there is none.  Never waits."""
        self._asked.warm()

    async def embed(self, texts: Sequence[str], *, query: bool = False) -> Vectors:
        """Shape (n, dims).  Empty or unknown texts have a zero row, near nothing.  Raises `EmbedFailed`.

        Cancelled, what is being computed is finished and thrown away.
        """
        worker = self._asked if query else self._bulk
        parts = [
            self._rows(await worker.ask("texts", texts=part, query=query), len(part))
            for part in batches(list(texts), len, TEXTS, CHARACTERS)
        ]
        return self._joined(parts)

    async def embed_images(self, images: Sequence[bytes]) -> Vectors:
        """Shape (n, dims).  Raises `EmbedFailed`, also for a file that is no picture."""
        if not self.space.media:
            raise EmbedFailed("This embedder reads no pictures.", lasting=True)
        parts = []
        for part in batches(list(images), len, IMAGES, IMAGE_BYTES):
            answer = await self._bulk.ask("images", b"".join(part), sizes=[len(image) for image in part])
            parts.append(self._rows(answer, len(part)))
        return self._joined(parts)

    def _rows(self, answer: Frame, expected: int) -> Vectors:
        import numpy as np

        rows = np.frombuffer(answer.data, dtype="<f4")
        if rows.size != expected * self.space.dims:
            raise EmbedFailed("The process for embeddings gave vectors of another length.", lasting=True)
        return rows.reshape(expected, self.space.dims)

    def _joined(self, parts: list[Vectors]) -> Vectors:
        import numpy as np

        return np.concatenate(parts) if parts else np.empty((0, self.space.dims), np.float32)
