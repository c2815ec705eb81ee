"""The stand-in that other rooms test with."""

from __future__ import annotations

import numpy as np
import pytest
import trio

from homed.retrieval.embed.failed import EmbedFailed
from homed.retrieval.embed.fake import FakeEmbedder


async def test_shared_words_are_near_in_both_scripts_and_by_synonyms() -> None:
    fake = FakeEmbedder(dims=256)
    fake.synonyms = {"kitten": "cat"}
    made = await fake.embed(["the cat sleeps", "a kitten sleeps", "stocks fell", "我的猫", ""])
    assert made.shape == (5, 256)
    assert np.allclose(np.linalg.norm(made, axis=1), [1, 1, 1, 1, 0])
    asked = (await fake.embed(["cat", "猫"], query=True)) @ made.T
    assert asked[0].argsort()[-2:].tolist() in ([0, 1], [1, 0])
    assert asked[1].argmax() == 3
    assert np.array_equal(fake.vector("the cat sleeps"), made[0])
    assert (fake.asked, fake.embedded[0]) == (["cat", "猫"], "the cat sleeps")


async def test_trouble_on_command() -> None:
    fake = FakeEmbedder(media=True)
    fake.failure = EmbedFailed("out of order")
    with pytest.raises(EmbedFailed, match="out of order"):
        await fake.embed(["a"])
    fake.failure, fake.hang = None, True
    async with trio.open_nursery() as nursery:
        nursery.start_soon(fake.embed_images, [b"a red car"])
        await trio.testing.wait_all_tasks_blocked()
        fake.release()
    before = fake.vector("a")
    fake.change("other")
    assert fake.space.fingerprint == "other"
    assert abs(float(fake.vector("a") @ before)) < 0.9
