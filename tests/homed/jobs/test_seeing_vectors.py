"""A text finds a picture: from the upload to the hit, with a real model of a text and an image tower."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
import trio

from homed.events import Bus
from homed.jobs.eyes import Eyes
from homed.memory.ports import Embedder
from homed.retrieval.dense import DensePorts, open_dense
from homed.retrieval.embed.choice import Folder
from homed.retrieval.embed.make import MakePorts, make
from homed.retrieval.embed.worker import WorkerPorts
from homed.retrieval.rank import Ranker
from tests.homed.jobs.seeing_bench import Bench, bench
from tests.homed.retrieval.embed.models import COLOURS, WORDS, config, image_model, picture, text_model, tokenizer

ENV = {"PATH": os.environ["PATH"]}
RED, BLUE = picture((250, 10, 10), (900, 300), "JPEG"), picture((10, 10, 250), (300, 900))


def model(folder: Path) -> Path:
    """A folder with two towers of one space."""
    tokenizer(folder)
    meanings = COLOURS.copy()
    meanings[WORDS.index("[CLS]")] = 0  # a text of other words means nothing: nobody's name for a file does
    text_model(folder / "text_model.onnx", output="", pooled="text_embeds", embedding=meanings)
    image_model(folder / "vision_model.onnx")
    config(folder, "preprocessor_config.json", size=8, do_normalize=False, do_center_crop=False)
    return folder


class Current:
    """An embedder that is never another one."""

    def __init__(self, embedder: Embedder) -> None:
        self.current: Embedder | None = embedder

    async def wait_changed(self) -> None:
        await trio.sleep_forever()


@asynccontextmanager
async def looking(folder: Path) -> AsyncIterator[tuple[Bench, Ranker]]:
    """Everything as in the daemon: files looked into by a process, vectors made by another, one ranker."""
    worker = WorkerPorts(folder / "run", "test", ENV)
    ports = MakePorts(folder / "models", folder / "made", worker, None, lambda _: None)
    async with bench(folder) as at, make(Folder(model(folder / "models" / "small")), ports) as made:
        await made.prepare()
        assert made.embedder is not None
        assert made.embedder.space.media
        at.ports = replace(at.ports, eyes=Eyes(folder, ENV, "test"))
        dense_ports = DensePorts(
            store=at.store, folder=folder / "vectors", family="test", environment=ENV, bus=Bus(), clean=_as_it_is,
            embedder=Current(made.embedder), picture=at.files.read_picture,
        )  # fmt: skip
        async with open_dense(dense_ports) as dense:
            at.settled = dense.wait_done
            yield at, Ranker(lambda: made.embedder, dense)


async def _as_it_is(channel: str, texts: Sequence[str]) -> Sequence[str]:
    await trio.lowlevel.checkpoint()
    return texts


async def found(at: Bench, ranker: Ranker, query: str) -> list[int]:
    question = await ranker.ask(query, within=30)
    assert question.vector is not None
    hits = await at.store.read(
        lambda tx: ranker.search(tx, scope="owner", layer="context", query=question, limit=10)
    )  # fmt: skip
    return [hit.seq for hit in hits if hit.score >= 0.12]


@pytest.mark.slow
async def test_a_text_finds_a_picture_that_nobody_has_said_a_word_about(tmp_path: Path) -> None:
    with trio.fail_after(60):
        async with looking(tmp_path) as (at, ranker):
            red, blue = await at.say("", ("1.jpg", RED)), await at.say("", ("2.png", BLUE))
            both = await at.say("two more", ("3.jpg", RED), ("4.png", BLUE))
            await at.see()
            await at.settled()
            assert set(await found(at, ranker, "red")) == {red, both}
            assert set(await found(at, ranker, "the 蓝")) == {blue, both}, "in any language of the model"
            assert await found(at, ranker, "green") == []
