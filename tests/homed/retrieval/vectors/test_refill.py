"""Everything that is remembered gets its vector, in the embedder's space, and nothing else does."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import trio
from numpy.typing import NDArray
from trio.testing import MockClock, wait_all_tasks_blocked

from homed.events import MEMORY, PROGRESS
from homed.memory.records import EventKind
from homed.retrieval.embed.failed import EmbedFailed
from homed.retrieval.embed.fake import FakeEmbedder
from homed.retrieval.vectors import refill, todo
from homed.retrieval.vectors.counts import GIVE_UP
from homed.store.rows import Tx
from tests.homed.retrieval.vectors.conftest import items
from tests.homed.retrieval.vectors.filling import Poisoned, cleaner, opened, say


async def test_what_was_said_is_found_by_its_vector(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with opened(tmp_path, embedder=FakeEmbedder()) as house:
        heron, _ = await house.say("the heron stands in the reeds", "a bus to the harbour")
        await house.say("the heron of a guest", scope="guest")
        await house.all_done()
        found = await house.find("heron in reeds", limit=1)
        assert items(found) == [heron.seq]
        assert len(await house.find("heron", scope="guest")) == 1
        assert house.stored > 0


async def test_the_log_speaks_of_vectors_to_be_made_only_where_there_are(
    tmp_path: Path, autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="homed.retrieval.vectors.refill")
    async with opened(tmp_path, embedder=FakeEmbedder()) as house:
        await house.all_done()
        assert caplog.messages == [], "nothing is made anew in a memory that is new"
        await house.say("one", "two")
        await house.all_done()
        house.chosen.use(FakeEmbedder("another"))
        await house.all_done()
    assert caplog.messages == ["2 vectors are to be made with the embedder in use; search goes on meanwhile"]


async def test_the_newest_come_first(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with opened(tmp_path, embedder=FakeEmbedder()) as house:
        said = await house.say(*[f"word{n}" for n in range(3 * refill.BATCH)])
        await house.all_done()
        assert house.embedder.embedded == [event.text for event in reversed(said)]


async def test_e28_something_new_is_not_waited_for_long(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with opened(tmp_path, embedder=FakeEmbedder()) as house, house.running():
        await trio.sleep(1)
        begun = trio.current_time()
        (event,) = await house.say("the heron")
        house.bus.add(house.refill)
        house.bus.post(MEMORY)
        await wait_all_tasks_blocked()
        assert (await house.have(), trio.current_time()) == ([event.seq], begun)
        house.bus.remove(house.refill)
        await house.say("nobody tells")
        await trio.sleep(refill.LOOK + 1)
        assert len(await house.have()) == 2, "all the same"


async def test_what_is_private_archived_deleted_or_a_note_has_none(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with opened(tmp_path, embedder=FakeEmbedder()) as house:
        kept, archived, deleted, private = await house.say("one", "two", "three", "four")
        await house.say("five", no_memory=True)
        await house.say("six", kind=EventKind.NOTE)
        await house.all_done()
        assert len(await house.have()) == 4

        def change(tx: Tx) -> None:
            tx.execute("UPDATE events SET layer = 'archived' WHERE seq = ?", (archived.seq,))
            tx.execute("DELETE FROM events WHERE seq = ?", (deleted.seq,))
            tx.execute("UPDATE events SET no_memory = 1 WHERE seq = ?", (private.seq,))

        await house.store.write(change)
        await house.all_done()
        assert (await house.have(), items(await house.find("three"))) == ([kept.seq], [kept.seq])


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM events", "UPDATE events SET no_memory = 1", "UPDATE events SET layer = 'archived'",
        "UPDATE threads SET scope = ''",
    ],
)  # fmt: skip
async def test_what_changes_while_its_vector_is_made_gets_none(
    tmp_path: Path, autojump_clock: MockClock, change: str
) -> None:
    async with opened(tmp_path, embedder=FakeEmbedder()) as house:
        await house.say("one")
        house.embedder.hang = True
        async with house.running():
            await wait_all_tasks_blocked()
            assert house.embedder.embedded == ["one"]
            await house.store.write(lambda tx: tx.execute(change))
            house.embedder.release()
            await house.refill.wait_done()
        assert await house.value("SELECT count(*) FROM vectors") == 0


async def test_what_was_rewritten_meanwhile_gets_the_vector_of_what_it_is_now(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with opened(tmp_path, embedder=FakeEmbedder()) as house:
        await house.store.write(lambda tx: _record(tx, "heron"))
        house.embedder.hang = True
        async with house.running():
            await wait_all_tasks_blocked()
            await house.store.write(lambda tx: tx.execute("UPDATE records SET text = 'egret'"))
            house.embedder.release()
            await house.refill.wait_done()
        assert (await house.find("egret", kind="record"))[0].cosine == pytest.approx(1)


def _record(tx: Tx, text: str, title: str = "") -> None:
    tx.execute(
        "INSERT INTO records (id, scope, record, kind, title, text, key, origin, extractor, created_at, updated_at)"
        " VALUES ('r' || ?1, 'owner', 'fact', 'fact', ?2, ?1, ?1, 'manual', 'manual', 1, 1)",
        (text, title),
    )


async def test_records_and_entities_have_vectors_too(tmp_path: Path, autojump_clock: MockClock) -> None:
    def fill(tx: Tx) -> None:
        _record(tx, "stands in the reeds", "heron")
        tx.execute("INSERT INTO entities (id, scope, name, created_at, updated_at) VALUES ('e', 'owner', 'Bo', 1, 1)")

    async with opened(tmp_path, embedder=FakeEmbedder()) as house:
        await house.store.write(fill)
        await house.all_done()
        assert sorted(house.embedder.embedded) == ["Bo", "heron\nstands in the reeds"]
        assert (await house.have("record"), await house.have("entity")) == ([1], [1])


async def test_one_kind_does_not_wait_for_all_of_another(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with opened(tmp_path, embedder=FakeEmbedder()) as house:
        await house.say(*[f"word{n}" for n in range(200)])
        await house.store.write(lambda tx: _record(tx, "heron"))
        await house.all_done()
        assert "heron" in house.embedder.embedded[: refill.BATCH]


async def test_a_long_text_has_several(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with opened(tmp_path, embedder=FakeEmbedder()) as house:
        (event,) = await house.say("Many words. " * 200 + "The heron stands in the reeds. " + "Many words. " * 200)
        await house.all_done()
        assert int(str(await house.value("SELECT count(*) FROM vectors"))) > 3
        assert items(await house.find("heron reeds")) == [event.seq]


async def test_what_a_channel_puts_around_a_text_is_taken_off_but_not_of_what_a_tool_gave(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    def clean(channel: str, texts: Sequence[str]) -> Sequence[str]:
        assert channel == "qq"
        return [text.replace("[sent from qq]", "") for text in texts]

    async with opened(tmp_path, embedder=FakeEmbedder(), alter=cleaner(clean)) as house:
        await house.say("heron [sent from qq]", "[sent from qq]")
        await house.say("log [sent from qq]", kind=EventKind.TOOL)
        await house.store.write(lambda tx: tx.execute("UPDATE events SET words = 'a caption' WHERE seq = 1"))
        await house.all_done()
        assert sorted(house.embedder.embedded) == [
            "[sent from qq]", "heron\n\na caption", "log [sent from qq]"
        ]  # fmt: skip


async def test_pictures_have_vectors_where_the_space_has_them(tmp_path: Path, autojump_clock: MockClock) -> None:
    def with_picture(tx: Tx) -> int:
        event = say(tx, "look")
        for place, hash_ in enumerate(("h1", "h2")):
            tx.execute(
                "INSERT INTO blocks (id, hash, media_type, bytes, event, place, seen, created_at)"
                " VALUES (?, ?, 'image/png', 1, ?, ?, 'done', 1.0)",
                (f"b{place}", hash_, event.id, place),
            )
        tx.execute("INSERT INTO vector_todo (kind, item) VALUES ('block', ?)", (event.seq,))
        return event.seq

    async with opened(tmp_path, embedder=FakeEmbedder()) as house:
        house.pictures = {"h1": b"heron", "h2": b"egret"}
        seq = await house.store.write(with_picture)
        await house.all_done()
        assert await house.have("block") == [], "this embedder reads none"
        house.chosen.use(FakeEmbedder("sees", media=True))
        await house.all_done()
        assert await house.have("block") == [seq]
        assert (await house.find("egret", kind="block"))[0].cosine == pytest.approx(1)
        assert await house.value("SELECT group_concat(part) FROM vectors WHERE kind = 'block'") == "1000,1001"


async def test_a_text_that_fails_is_left_after_some_tries_and_keeps_nobody_waiting(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with opened(tmp_path, embedder=Poisoned()) as house, house.running():
        said = await house.say(*[f"word{n}" for n in range(50)], "poison", "after it")
        house.refill.wake()
        await wait_all_tasks_blocked()
        assert len(await house.have()) == 51
        counted = await house.store.read(lambda tx: house.vectors.counts(tx, "fake"))
        assert (counted.have, counted.waiting, counted.failed) == (51, 1, 0)
        await trio.sleep((GIVE_UP + 1) * (refill.LOOK + 1))
        counted = await house.store.read(lambda tx: house.vectors.counts(tx, "fake"))
        assert (counted.waiting, counted.failed, house.refill.trouble) == (0, 1, "")
        Poisoned.poison, before = "other", Poisoned.poison
        assert await house.store.write(todo.retry) == 1
        house.refill.wake()
        await wait_all_tasks_blocked()
        Poisoned.poison = before
        assert len(await house.have()) == len(said)


async def test_an_embedder_that_fails_is_left_alone_longer_and_longer_and_blames_no_text(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with opened(tmp_path, embedder=FakeEmbedder()) as house, house.running():
        house.embedder.failure = EmbedFailed("It is down.")
        await house.say("heron")
        house.refill.wake()
        await trio.sleep(1000)
        assert 10 < len(house.embedder.embedded) < 24, "two calls each time: the text, then one that cannot be at fault"
        assert house.refill.trouble == "It is down."
        assert await house.value("SELECT failures FROM vector_todo") == 0
        house.embedder.failure = None
        await trio.sleep(refill.LONGEST_PAUSE + 1)
        assert (len(await house.have()), house.refill.trouble) == (1, "")


async def test_without_an_embedder_everything_waits(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with opened(tmp_path) as house, house.running():
        await house.say("heron")
        house.refill.wake()
        await trio.sleep(1000)
        assert await house.value("SELECT count(*) FROM vector_todo") == 1
        house.chosen.use(FakeEmbedder())
        await wait_all_tasks_blocked()
        assert len(await house.have()) == 1


async def test_a_text_that_says_nothing_to_the_embedder_has_no_vector_and_is_done(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with opened(tmp_path, embedder=FakeEmbedder()) as house:
        await house.say("?!")
        await house.all_done()
        assert await house.value("SELECT count(*) FROM vectors") == 0


async def test_long_work_is_told_of_and_short_work_is_not(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with opened(tmp_path, embedder=Poisoned()) as house:
        with house.bus.subscribe(frozenset({PROGRESS})) as told:
            await house.say("heron")
            await house.all_done()
            assert house.bus.seq == 0
            house.embedder.seconds = 0.6  # type: ignore[attr-defined]
            await house.say(*[f"word{n}" for n in range(100)])
            await house.all_done()
            told.close()
            data = [dict(notice.data) async for notice in told]
        assert [d["what"] for d in data] == ["vectors"] * len(data)
        assert [(d["done"], d["total"]) for d in data][-1] == (100, 100)
        assert 2 <= len(data) <= 4


class Refusing(FakeEmbedder):
    """Says of some texts that it will never take them, as an endpoint with a filter does."""

    async def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        if any("forbidden" in text for text in texts):
            raise EmbedFailed("The endpoint answered HTTP 400: no such words.", lasting=True)
        return await super().embed(texts, query=query)


async def test_a_text_that_is_refused_for_good_keeps_no_other_from_its_vector(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with opened(tmp_path, embedder=Refusing()) as house:
        await house.say("one", "forbidden", "two")
        with trio.fail_after(refill.LOOK):
            await house.all_done()
        assert (await house.have(), house.refill.trouble) == ([1, 3], "")


class Fragile(FakeEmbedder):
    """Ends with a text it cannot bear, as a child does; after that text alone it is not there for a while."""

    back = 0.0

    async def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        if trio.current_time() < self.back:
            raise EmbedFailed("The process has ended.")
        if any("deadly" in text for text in texts):
            self.back = trio.current_time() + (3.0 if len(texts) == 1 else 0.0)
            raise EmbedFailed("The process has ended.")
        return await super().embed(texts, query=query)


async def test_texts_that_end_the_embedder_take_no_other_with_them(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with opened(tmp_path, embedder=Fragile()) as house:
        await house.say(*[f"word{n}" for n in range(10)], "deadly", "deadly too")
        async with house.running():
            await house.refill.wait_done()
            assert await house.have() == list(range(1, 11))
            blamed = await house.store.read(lambda tx: tx.all("SELECT item, failures FROM vector_todo ORDER BY item"))
            assert blamed == [(11, 1), (12, 1)]


async def test_an_embedder_that_refuses_nearly_all_does_not_fill_the_log(
    tmp_path: Path, autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    async with opened(tmp_path, embedder=Poisoned()) as house:
        await house.say(*["poison"] * (3 * refill.BATCH))
        await house.all_done()
    assert len([r for r in caplog.records if r.levelno >= logging.WARNING]) <= 4, "one line a batch"
