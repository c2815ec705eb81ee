"""The job that looks into files: what is found by their words, what has a small picture, and what never does."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from homed.errors import Unavailable
from homed.jobs import looking
from homed.jobs.eyes import Look
from homed.jobs.job import QUARANTINE
from homed.memory import media
from homed.retrieval.without import words_only
from homed.store.rows import Tx
from tests.homed.jobs.pictures import picture
from tests.homed.jobs.seeing_bench import Bench, bench, hash_of
from tests.kit.failpoints import RaiseAt

CAT, MENU = picture(color="red"), picture(color="blue")


@pytest.fixture
async def at(tmp_path: Path) -> AsyncIterator[Bench]:
    async with bench(tmp_path) as made:
        yield made


async def found(at: Bench, query: str) -> list[int]:
    def search(tx: Tx) -> list[int]:
        hits = words_only().search(tx, scope="owner", layer="context", query=query, limit=10)
        return [hit.seq for hit in hits]

    return await at.store.read(search)


async def pictures(at: Bench, seq: int) -> list[tuple[int, str]]:
    return await at.store.read(lambda tx: media.pictures(tx, seq))


async def test_a_message_is_found_by_the_words_of_its_files(at: Bench) -> None:
    text, photo = (
        await at.say("keep this", ("recipe.md", "酱油 with sesame".encode())),
        await at.say("and this", ("m.png", MENU)),
    )
    at.eyes.found[MENU] = Look(b"small", "dumplings 12")
    assert await found(at, "sesame") == []
    run = await at.see()
    assert (run.counts.seen, run.counts.made, run.counts.errors) == (2, 2, 0)
    assert [await found(at, query) for query in ("sesame", "酱油", "dumplings", "recipe.md")] == [
        [text],
        [text],
        [photo],
        [text],
    ]
    assert await at.states() == ["done", "done"]
    assert at.eyes.asked == [(MENU, looking.PICTURE)], "a text is read without them"


async def test_name_and_caption_are_found_at_once(at: Bench) -> None:
    seq = await at.say("look", ("IMG_2041.png", CAT), caption="a heron in the reeds")
    assert await found(at, "heron") == await found(at, "IMG_2041.png") == [seq]
    at.eyes.found[CAT] = Look(b"small", "STOP")
    await at.see()
    assert await at.words(seq) == "IMG_2041.png\na heron in the reeds\nSTOP"


async def test_a_picture_gets_a_small_one_that_its_event_is_given_out_with_and_a_place_in_the_queue_for_vectors(
    at: Bench,
) -> None:
    seq = await at.say("two", ("a.txt", b"words"), ("cat.png", CAT))
    assert await pictures(at, seq) == []
    await at.see()
    assert at.small() == {hash_of(CAT)}
    assert await pictures(at, seq) == [(1, hash_of(CAT))]
    assert await at.files.read_picture(hash_of(CAT)) == b"small " + CAT[-8:]
    assert ("block", seq) in await at.rows("SELECT kind, item FROM vector_todo")
    assert await at.store.read(lambda tx: media.with_pictures(tx, 0, 10)) == [seq]


async def test_an_event_whose_words_come_waits_for_its_vector_again(at: Bench) -> None:
    seq = await at.say("", ("a.txt", b"sesame"))
    await at.store.write(lambda tx: tx.execute("DELETE FROM vector_todo"))
    await at.see()
    assert await at.rows("SELECT kind, item FROM vector_todo") == [("event", seq)]


async def test_half_a_character_costs_no_other(at: Bench) -> None:
    at.eyes.found[MENU] = Look(b"small", "dumplings \ud800 twelve")
    seq = await at.say("", ("m.png", MENU))
    run = await at.see()
    assert (run.counts.errors, await at.states(), at.small()) == (0, ["done"], {hash_of(MENU)})
    assert await found(at, "dumplings twelve") == [seq]


async def test_a_broken_picture_has_failed_and_is_not_tried_again(at: Bench) -> None:
    at.eyes.found[CAT] = Look(broken=True)
    seq = await at.say("see", ("cat.png", CAT))
    run = await at.see()
    assert (run.counts.drops, await at.states(), at.small()) == ({"broken": 1}, ["failed"], set())
    assert await pictures(at, seq) == []
    await at.see()
    assert len(at.eyes.asked) == 1


async def test_a_file_that_cannot_be_looked_into_now_waits_and_is_left_alone_in_the_end(at: Bench) -> None:
    at.eyes.error = Unavailable("no process")
    await at.say("see", ("cat.png", CAT))
    seq = await at.say("read", ("a.txt", b"sesame"))
    for _ in range(QUARANTINE + 1):
        run = await at.see()
    assert (run.counts.drops, await at.states()) == ({"quarantine": 1}, ["waiting", "done"])
    assert len(at.eyes.asked) == QUARANTINE
    assert await found(at, "sesame") == [seq], "no other is kept back by it"


async def test_what_is_private_or_was_withheld_is_shown_small_and_never_searched(at: Bench) -> None:
    at.eyes.found = {CAT: Look(b"small", "secret words"), MENU: Look(b"small", "secret words")}
    private = await at.say("a", ("cat.png", CAT), caption="secret", no_memory=True)
    withheld = await at.say("b", ("menu.png", MENU), caption="secret", withheld=True)
    await at.see()
    assert await found(at, "secret words") == []
    assert (await at.words(withheld), at.small()) == ("", {hash_of(CAT), hash_of(MENU)})
    assert [await pictures(at, seq) for seq in (private, withheld)] == [[], []]
    assert [row for row in await at.rows("SELECT kind, item FROM vector_todo") if row[0] == "block"] == []


async def test_secrets_in_a_file_are_not_searched_and_only_so_much_of_a_long_one(at: Bench) -> None:
    secret = "AKIAIOSFODNN7EXAMPLE"
    seq = await at.say("read", ("a.txt", f"key {secret} sesame {'x ' * 20_000} dumplings".encode()))
    await at.see()
    words = await at.words(seq)
    assert secret not in words
    assert len(words) <= media.WORDS + len("a.txt\n") + 40
    assert await found(at, "sesame") == [seq]
    assert await found(at, "dumplings") == []


async def test_one_file_that_came_twice_is_two_occurrences_with_one_small_picture_until_the_last_is_gone(
    at: Bench,
) -> None:
    first, second = await at.say("one", ("cat.png", CAT)), await at.say("two", ("again.png", CAT))
    await at.see()
    assert await at.states() == ["done", "done"]

    def forget(tx: Tx, seq: int) -> None:
        tx.execute("DELETE FROM blocks WHERE event = (SELECT id FROM events WHERE seq = ?)", (seq,))

    await at.store.write(lambda tx: forget(tx, first))
    await at.uploads.collect()
    assert at.small() == {hash_of(CAT)}
    await at.store.write(lambda tx: forget(tx, second))
    await at.uploads.collect()
    assert (at.small(), list(at.files.root.glob("??/*"))) == (set(), [])


async def test_a_file_that_is_deleted_while_it_is_looked_into_leaves_nothing(at: Bench) -> None:
    await at.say("one", ("cat.png", CAT))
    look = at.eyes.look

    async def deleted_meanwhile(data: bytes, kind: str) -> Look:
        await at.store.write(lambda tx: tx.execute("DELETE FROM blocks"))
        await at.uploads.collect()
        return await look(data, kind)

    at.eyes.look = deleted_meanwhile  # type: ignore[method-assign]
    run = await at.see()
    assert (run.counts.seen, run.counts.made) == (1, 0)
    assert at.small() == set()


@pytest.mark.parametrize("name", ["see.looked", "see.kept"])
async def test_what_was_cut_off_is_done_by_the_next_run_once(tmp_path: Path, name: str) -> None:
    async with bench(tmp_path, RaiseAt(name, Unavailable("cut"))) as at:
        at.eyes.found[CAT] = Look(b"small", "dumplings")
        seq = await at.say("see", ("cat.png", CAT))
        assert (await at.see()).counts.errors == 1
        assert (await at.states(), await at.words(seq)) == (["waiting"], "cat.png")
        await at.see()
        assert (await at.states(), await at.words(seq)) == (["done"], "cat.png\ndumplings")
