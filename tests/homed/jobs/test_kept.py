"""What is done with memory as a whole: loaded when somebody does it, or when something was left unfinished."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest
import trio
import trio.testing

from homed.errors import Unavailable
from homed.jobs import importing
from homed.jobs.keeping import Keeping
from homed.jobs.kept import IMPORTS, KeptOnDemand
from homed.memory import forgets
from homed.store.db import Store, open_store
from homed.store.rows import Tx
from tests.kit.past import Past, Said, put


@dataclass
class FakeKeeping:
    """Notes what it is asked; ``runs`` from when it was run."""

    asked: list[tuple[Any, ...]] = field(default_factory=list)
    runs: trio.Event = field(default_factory=trio.Event)

    async def run(self) -> None:
        self.runs.set()
        await trio.sleep_forever()

    async def forget(self, kind: str, target: str, *, wide: bool, scopes: Collection[str] | None = None) -> str:
        await trio.lowlevel.checkpoint()
        self.asked.append((kind, target, wide, scopes))
        return "proof"

    @property
    def forgetting(self) -> FakeKeeping:
        return self

    async def backups(self) -> list[str]:
        await trio.lowlevel.checkpoint()
        return ["one"]


@dataclass
class Place:
    """``made``: one each time it was made; ``looked``: whether anything is unfinished."""

    store: Store
    made: list[FakeKeeping] = field(default_factory=list)
    is_made: trio.Event = field(default_factory=trio.Event)
    looked: trio.Event = field(default_factory=trio.Event)

    def make(self) -> Keeping:
        self.made.append(FakeKeeping())
        self.is_made.set()
        return cast(Keeping, self.made[-1])

    async def read(self, fn: Any) -> Any:
        value = await self.store.read(fn)
        self.looked.set()
        return value

    async def begun(self) -> None:
        """It was made, and works."""
        with trio.fail_after(60):
            await self.is_made.wait()
            await self.made[0].runs.wait()


@asynccontextmanager
async def place(folder: Path) -> AsyncIterator[tuple[Place, KeptOnDemand]]:
    async with open_store(folder / "homed.db") as store:
        at = Place(store)
        yield at, KeptOnDemand(cast(Any, at), folder, lambda: 1.0, at.make)


async def test_a_start_with_nothing_unfinished_makes_nothing_until_somebody_asks(tmp_path: Path) -> None:
    async with place(tmp_path) as (at, kept), trio.open_nursery() as nursery:
        nursery.start_soon(kept.run)
        await at.looked.wait()
        await trio.testing.wait_all_tasks_blocked()
        assert at.made == []
        assert await kept.forget("fact", "f1", wide=False) == cast(Any, "proof")
        assert await kept.forget("fact", "f2", scopes=["owner"]) == cast(Any, "proof")
        assert await kept.backups() == cast(Any, ["one"])
        await at.begun()
        assert len(at.made) == 1
        assert at.made[0].asked == [("fact", "f1", False, None), ("fact", "f2", False, ["owner"])]
        nursery.cancel_scope.cancel()


def _wish(tx: Tx) -> None:
    event = put(tx, Past(said=[Said(question="I moved to Bern.")]))[0]
    forgets.ask(tx, "event", forgets.resolve(tx, "event", event.id, None), wide=False, at=1.0)


@pytest.mark.parametrize("left", ["a wish", "an import"])
async def test_what_was_left_unfinished_is_gone_on_with(tmp_path: Path, left: str) -> None:
    async with place(tmp_path) as (at, kept), trio.open_nursery() as nursery:
        if left == "a wish":
            await at.store.write(_wish)
        else:
            (tmp_path / IMPORTS).mkdir()
        nursery.start_soon(kept.run)
        await at.begun()
        nursery.cancel_scope.cancel()


def test_imports_are_looked_for_where_they_are() -> None:
    assert IMPORTS == importing.FOLDER


async def test_nothing_is_begun_at_a_stop(tmp_path: Path) -> None:
    async with place(tmp_path) as (at, kept):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(kept.run)
            await trio.testing.wait_all_tasks_blocked()
            nursery.cancel_scope.cancel()
        with pytest.raises(Unavailable):
            await kept.forget("fact", "f1")
        assert at.made == []
