"""Indexes come, are used, grow old, are made anew, and are never believed over the rows."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest
import trio
import trio.testing

from homed.errors import Unavailable
from homed.retrieval.vectors import due, keeper, making
from tests.homed.retrieval.vectors.indexes import CROSSOVER, PART, House, clustered, in_thread, opened, recall, same
from tests.kit.failpoints import RaiseAt, Recorder

QUERIES = clustered(7, 20)


async def agrees(house: House, *, limit: int = 10) -> bool:
    """Whether all questions are answered as by looking at every row."""
    pairs = [(await house.nearest(q, limit=limit), await house.exact(q, limit=limit)) for q in QUERIES]
    return all(same(*pair) for pair in pairs)


async def recalls(house: House, *, limit: int = 10) -> float:
    pairs = [(await house.nearest(q, limit=limit), await house.exact(q, limit=limit)) for q in QUERIES]
    return sum(recall(*pair) for pair in pairs) / len(pairs)


async def test_below_the_crossover_there_is_none(tmp_path: Path) -> None:
    async with opened(tmp_path) as house:
        await house.put(clustered(1, CROSSOVER))
        await house.keeper.look()
        assert (house.files(), await agrees(house)) == ([], True)


async def test_above_it_there_is_one_and_what_comes_after_it_is_found_at_once(tmp_path: Path) -> None:
    seen = Recorder()
    async with opened(tmp_path, failpoints=seen) as house:
        await house.put(clustered(1, 3000))
        await house.keeper.look()
        assert (house.files(), seen.reached) == (["1"], ["index.written", "index.swapped"])
        assert await recalls(house) >= 0.95
        await house.put(QUERIES, first=9001)
        assert [(await house.nearest(q, limit=1))[0].item for q in QUERIES] == list(range(9001, 9021))
        await house.delete(*range(9001, 9021))
        assert await recalls(house) >= 0.95


async def test_what_is_deleted_is_not_found_though_an_index_has_it(tmp_path: Path) -> None:
    async with opened(tmp_path) as house:
        await house.put(clustered(1, 3000))
        await house.keeper.look()
        gone = [near.item for near in await house.nearest(QUERIES[0], limit=200)]
        await house.delete(*gone)
        assert not set(gone) & {near.item for near in await house.nearest(QUERIES[0], limit=200)}
        await house.keeper.look()
        assert (await house.drops(), house.files()) == (200, ["1"]), "the file has them still"
        assert same(await house.nearest(QUERIES[0]), await house.exact(QUERIES[0]))


async def test_it_is_made_anew_when_much_has_come_or_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(due, "LEAST_CHANGED", 200)
    async with opened(tmp_path) as house:
        await house.put(clustered(1, 1000))
        await house.keeper.look()
        await house.put(clustered(2, 150), first=2001)
        await house.delete(*range(1, 51))
        await house.keeper.look()
        assert (house.files(), await house.drops()) == (["1"], 50)
        await house.delete(51)
        await house.keeper.look()
        assert (house.files(), await house.drops()) == (["2"], 0), "the old one is gone, and so is the list"
        assert await recalls(house) >= 0.95


async def test_it_is_given_up_when_little_is_left(tmp_path: Path) -> None:
    async with opened(tmp_path) as house:
        await house.put(clustered(1, 1000))
        await house.keeper.look()
        await house.delete(*range(1, 801))
        await house.keeper.look()
        assert (house.files(), await agrees(house)) == ([], True)
        await house.keeper.look()
        assert await house.drops() == 0


async def test_a_restart_takes_it_over(tmp_path: Path) -> None:
    async with opened(tmp_path) as house:
        await house.put(clustered(1, 1000))
        await house.keeper.look()
        await house.delete(1, 2, 3)
    async with opened(tmp_path, trees=none) as house:
        await house.keeper.look()
        assert (house.files(), house.keeper._bases[PART].dead) == (["1"], 3)
        assert await recalls(house) >= 0.95


async def none(folder: Path, dims: int, count: int) -> Mapping[str, object]:
    raise AssertionError("there is one already")


def _truncate(path: Path) -> None:
    os.truncate(path / "tree", 1000)


def _flip(path: Path) -> None:
    data = bytearray((path / "tree").read_bytes())
    data[len(data) // 2] ^= 0xFF
    (path / "tree").write_bytes(data)


def _shorten(path: Path) -> None:
    os.truncate(path / "vectors", (path / "vectors").stat().st_size - 4)


def _mix(path: Path) -> None:
    data = bytearray((path / "ids").read_bytes())
    data[0] ^= 1
    (path / "ids").write_bytes(data)


def _lie(path: Path) -> None:
    text = (path / "about.json").read_text()
    (path / "about.json").write_text(text.replace('"count": 3000', '"count": 3001'))


def _rename(path: Path) -> None:
    path.rename(path.with_name("0" * 32 + "-1"))


def _empty(path: Path) -> None:
    (path / "about.json").write_bytes(b"")


def _foreign(path: Path) -> None:
    text = (path / "about.json").read_text()
    (path / "about.json").write_text(text.replace("annoy 1.17", "annoy 2"))


@pytest.mark.parametrize(
    "harm",
    [
        _truncate, _flip, _shorten, _mix, _lie, _rename, _empty, _foreign,
        lambda path: (path / "tree").unlink(), lambda path: (path / "about.json").unlink(),
    ],
)  # fmt: skip
async def test_a_damaged_file_is_made_anew_from_the_rows(tmp_path: Path, harm: Callable[[Path], object]) -> None:
    async with opened(tmp_path) as house:
        await house.put(clustered(1, 3000))
        await house.keeper.look()
        assert (house.index() / "tree").exists()
        harm(house.index())
    async with opened(tmp_path) as house:
        await house.keeper.open()
        assert (house.files(), await agrees(house)) == ([], True), "the search is exact meanwhile"
        await house.keeper.look()
        assert (house.files(), await recalls(house) >= 0.95) == (["1"], True)


async def test_the_index_of_another_database_is_not_used(tmp_path: Path) -> None:
    """A backup that was put back gives the same ids once more, to other vectors."""
    async with opened(tmp_path) as house:
        await house.put(clustered(1, 1000))
        await house.keeper.look()
    _remove_database(tmp_path)
    async with opened(tmp_path) as house:
        await house.put(clustered(1, 700))
        await house.put(clustered(2, 300), first=701)
        await house.keeper.open()
        assert (house.files(), await agrees(house)) == ([], True)


def _remove_database(folder: Path) -> None:
    for file in folder.glob("homed.db*"):
        file.unlink()


async def test_a_row_that_the_index_does_not_know_is_not_lost(tmp_path: Path) -> None:
    async with opened(tmp_path) as house:
        await house.put(clustered(1, 1000))
        await house.delete(500)
        await house.keeper.look()
    async with opened(tmp_path) as house:
        await house.store.write(
            lambda tx: tx.execute(
                "INSERT INTO vectors (id, space, scope, kind, item, data) VALUES (500, 1, 'owner', 'event', 500, ?)",
                (QUERIES[0].tobytes(),),
            )
        )
        await house.keeper.open()
        assert (await house.nearest(QUERIES[0], limit=1))[0].item == 500


async def test_a_failure_to_make_one_is_no_error_and_is_tried_again_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    failing = RaiseAt("index.written", OSError(28, "No space left"))
    async with opened(tmp_path, failpoints=failing) as house:
        await house.put(clustered(1, 1000))
        await house.keeper.look()
        assert (house.files(), await agrees(house)) == ([], True)
        assert "No space left" in caplog.text
        await house.keeper.look()
        assert house.files() == [], "not at once"
        monkeypatch.setattr(house.keeper, "_again", {})
        await house.keeper.look()
        assert house.files() == ["1"]


async def test_until_there_are_trees_the_matrix_is_used(tmp_path: Path) -> None:
    house: House

    async def look(folder: Path, dims: int, count: int) -> Mapping[str, object]:
        assert house.vectors.parts._bases
        assert await agrees(house)
        raise Unavailable("no trees today")

    async with opened(tmp_path, trees=look) as house:
        await house.put(clustered(1, 1000))
        await house.keeper.look()
        assert (house.files(), house.vectors.parts._bases, await agrees(house)) == ([], {}, True)


async def test_forgetting_leaves_no_file_with_what_was_deleted(tmp_path: Path) -> None:
    async with opened(tmp_path) as house:
        await house.put(clustered(1, 1000))
        await house.put(clustered(2, 1000), first=5001, scope="guest")
        await house.keeper.look()
        secret = clustered(1, 1000)[42].tobytes()
        assert _anywhere(house.folder, secret)
        await house.delete(43)
        assert await house.keeper.forget_now("guest") == 0
        assert await house.keeper.forget_now("owner") == 1
        assert not _anywhere(house.folder, secret)
        assert (len(house.files()), await house.drops(), await agrees(house)) == (1, 0, True)
        await house.keeper.look()
        assert (len(house.files()), _anywhere(house.folder, secret)) == (2, False)


async def test_forgetting_gives_up_the_index_that_is_being_made(tmp_path: Path) -> None:
    begun, never = trio.Event(), trio.Event()

    async def hang(folder: Path, dims: int, count: int) -> Mapping[str, object]:
        begun.set()
        await never.wait()
        return {}

    async with opened(tmp_path, trees=hang) as house, trio.open_nursery() as nursery:
        await house.put(clustered(1, 1000))
        nursery.start_soon(house.keeper.look)
        await begun.wait()
        await house.delete(43)
        assert await house.keeper.forget_now("owner") == 0
        assert (house.files(), house.vectors.parts._bases) == ([], {})


async def test_forgetting_while_the_new_index_gets_its_name(tmp_path: Path) -> None:
    class Forgets:
        """Asks to forget right after the rename, when the file is no draft any more."""

        def reach(self, name: str) -> None:
            if name == "index.swapped":
                trio.from_thread.run_sync(nursery.start_soon, forget)
                trio.from_thread.run(trio.testing.wait_all_tasks_blocked)

    removed = []

    async def forget() -> None:
        removed.append(await house.keeper.forget_now("owner"))

    async with opened(tmp_path, failpoints=Forgets()) as house, trio.open_nursery() as nursery:
        await house.put(clustered(1, 1000))
        await house.keeper.look()
    assert (removed, house.files()) == ([0], [])


def _anywhere(folder: Path, data: bytes) -> bool:
    return any(data in path.read_bytes() for path in folder.rglob("*") if path.is_file())


async def test_a_search_that_began_before_the_swap_goes_on_with_the_old_one(tmp_path: Path) -> None:
    async with opened(tmp_path) as house:
        await house.put(clustered(1, 1000))
        await house.keeper.look()

        def search(tx: object) -> object:
            searched = house.vectors.parts.searched(tx, PART)  # type: ignore[arg-type]
            trio.from_thread.run(house.keeper._give_up, PART)
            return searched.best(tx, QUERIES[0], 5).items.tolist()  # type: ignore[arg-type]

        wanted = [near.item for near in await house.nearest(QUERIES[0], limit=5)]
        assert await house.store.read(search) == wanted
        assert house.files() == []


async def test_keep_opens_then_looks_whenever_it_is_woken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeper, "PAUSE", 0.0)
    made = trio.Event()

    async def tell(folder: Path, dims: int, count: int) -> Mapping[str, object]:
        built = await in_thread(folder, dims, count)
        made.set()
        return built

    async with opened(tmp_path, trees=tell) as house, trio.open_nursery() as nursery:
        nursery.start_soon(house.keeper.keep)
        await trio.testing.wait_all_tasks_blocked(0.05)
        await house.put(clustered(1, 1000))
        assert house.files() == []
        house.keeper.wake()
        with trio.fail_after(60):
            await made.wait()
        nursery.cancel_scope.cancel()
    assert house.files() == ["1"] or house.files() == [], "cancelled before or after it had its name"


async def test_what_is_no_index_is_removed_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "index" / f"{making.NEW}abc").mkdir(parents=True)
    (tmp_path / "index" / "stray").write_text("")
    async with opened(tmp_path) as house:
        await house.keeper.open()
        assert list(house.folder.iterdir()) == []


async def test_trees_that_did_not_pay_are_not_built_each_time_that_an_index_is(tmp_path: Path) -> None:
    built: list[int] = []

    async def trees(folder: Path, dims: int, count: int) -> Mapping[str, object]:
        built.append(count)
        return await in_thread(folder, dims, count)

    async with opened(tmp_path, trees=trees) as house:
        await house.put(np.repeat(clustered(1, 1), 8000, axis=0))
        await house.keeper.look()
        for number, tried in enumerate(([8000], [8000, 12200]), 1):
            await house.put(np.repeat(clustered(1, 1), 2100, axis=0), first=number * 10_000)
            await house.keeper.look()
            assert built == tried
            assert house.keeper._bases[PART].about.width == 0
        assert house.keeper._bases[PART].about.count == 12200
        assert await agrees(house)


async def test_vectors_without_order_are_looked_at_one_by_one(tmp_path: Path) -> None:
    """Where no search is wide enough but one that looks at all, there are no trees."""
    async with opened(tmp_path) as house:
        await house.put(np.repeat(clustered(1, 1), 1000, axis=0))
        await house.keeper.look()
        assert house.keeper._bases[PART].about.width == 0
        assert sorted(path.name for path in house.index().iterdir()) == ["about.json", "ids", "vectors"]
        assert await agrees(house)


async def test_rows_that_went_while_another_index_was_made_are_no_trouble(tmp_path: Path) -> None:
    house: House

    async def trees(folder: Path, dims: int, count: int) -> Mapping[str, object]:
        await house.store.write(lambda tx: tx.execute("DELETE FROM vectors WHERE item > 10000"))
        return await in_thread(folder, dims, count)

    async with opened(tmp_path, trees=trees) as house:
        await house.put(clustered(1, 600), scope="guest")
        await house.put(clustered(2, 600), first=10001)
        await house.keeper.look()
        assert (house.files(), await house.nearest(QUERIES[0])) == (["1"], [])
        await house.keeper.look()
        assert house.files() == ["1"]
