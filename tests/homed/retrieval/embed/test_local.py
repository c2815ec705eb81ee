"""Questions do not wait for bulk, and what comes back is what was asked for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import trio

from homed.memory.ports import Space
from homed.retrieval.embed.failed import EmbedFailed
from homed.retrieval.embed.local import CHARACTERS, TEXTS, LocalEmbedder, LocalModel
from homed.retrieval.embed.worker import Opened
from tests.homed.retrieval.embed.kit import STAND_IN, local_in, worker_ports
from tests.kit.processes import until, until_written


async def test_the_space_is_known_from_the_model_or_beforehand(tmp_path: Path) -> None:
    async with local_in(tmp_path, {}) as embedder:
        assert embedder.space == Space("test-space", 4, 0.5, True)
        assert embedder.pids[0] is not None
        assert embedder.pids[1] is None
    async with local_in(tmp_path, {}, known=Opened(4, False, 0.1)) as embedder:
        assert embedder.space == Space("test-space", 4, 0.1, False)
        assert embedder.pids == (None, None)
        embedder.warm()
        await until(lambda: embedder.pids[0] is not None)


async def test_a_baseline_of_ones_own_counts(tmp_path: Path) -> None:
    model = LocalModel({}, "test-space", Opened(4, False, 0.1), 0.4)
    assert (await LocalEmbedder(model, worker_ports(tmp_path, STAND_IN)).prepare()).baseline == 0.4


async def test_a_question_is_answered_while_bulk_hangs(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with local_in(tmp_path, {"log": str(log)}) as embedder, trio.open_nursery() as nursery:
        nursery.start_soon(embedder.embed, ["hang"])
        await until_written(log, 3)
        with trio.fail_after(60):
            rows = await embedder.embed(["four"], query=True)
        assert rows.tolist() == [[4.0] * 4]
        nursery.cancel_scope.cancel()


async def test_many_texts_go_in_small_messages_and_come_back_in_order(tmp_path: Path) -> None:
    texts = ["x" * (1 + number % 7) for number in range(2 * TEXTS + 5)] + ["y" * CHARACTERS, "z"]
    async with local_in(tmp_path, {}) as embedder:
        rows = await embedder.embed(texts)
        assert (await embedder.embed([])).shape == (0, 4)
    assert rows[:, 0].tolist() == [float(len(text)) for text in texts]


async def test_pictures_are_sent_as_they_are(tmp_path: Path) -> None:
    async with local_in(tmp_path, {}) as embedder:
        assert (await embedder.embed_images([b"12345"])).tolist() == [[5.0] * 4]
    async with local_in(tmp_path, {}, known=Opened(4, False, 0.1)) as embedder:
        with pytest.raises(EmbedFailed, match="no pictures"):
            await embedder.embed_images([b"12345"])


async def test_vectors_of_another_length_are_not_taken(tmp_path: Path) -> None:
    async with local_in(tmp_path, {}) as embedder:
        with pytest.raises(EmbedFailed, match="another length"):
            await embedder.embed(["short", "x"])
    async with local_in(tmp_path, {}, known=Opened(5, False, 0.1)) as embedder:
        with pytest.raises(EmbedFailed, match="another length"):
            await embedder.embed(["one"])
        assert np.shape(await embedder.embed([])) == (0, 5)
