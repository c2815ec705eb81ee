"""The rooms of memory below the methods, as fakes that record."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from homed.agent.ports import CallContext
from homed.agent.remember import Remembered
from homed.errors import NotFound
from homed.identity.roles import Identity, Role
from homed.jobs.book import Counts, HeldUnit, RunRecord
from homed.jobs.every import JobView
from homed.jobs.exporting import Exported
from homed.jobs.importing import Imported
from homed.jobs.merging import Done, Proposed
from homed.jobs.proof import Copy, Proof
from homed.memory.forgets import Preview
from homed.memory.holding import Held
from homed.store.backup import BackupInfo


class FakeMemory:
    """Explains every turn of the owner's."""

    async def explain(self, who: Identity, turn: str) -> Mapping[str, object]:
        if who.role is not Role.OWNER:
            raise NotFound("There is no such turn.")
        return {"turn": turn, "thread": "th_1", "at": 1.0, "entries": [], "events": {}}


class FakeRemembering:
    """Remembers nothing, but whose memory was asked for."""

    def __init__(self) -> None:
        self.calls: list[tuple[object, ...]] = []
        self.untrusted = False

    async def search(self, who: Identity, query: str, *, limit: int, layer: str, turn: str) -> Remembered:
        self.calls.append(("search", who, query, limit, layer, turn))
        return Remembered({"found": []}, self.untrusted)

    async def day(self, who: Identity, day: str, *, after: int, limit: int) -> Remembered:
        self.calls.append(("day", who, day, after, limit))
        return Remembered({"day": day, "lines": [], "more": False, "next": 0}, self.untrusted)

    async def ask(self, context: CallContext, query: str, top: int) -> tuple[Mapping[str, object], bool]:
        self.calls.append(("cold", context.scope, query, top))
        return {"found": []}, self.untrusted


class FakeJobs:
    """One job that ran once, another that runs, and a unit that is left alone."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, ...]] = []

    async def list_(self) -> Sequence[JobView]:
        run = RunRecord(7, "distil", 10.0, 12.5, "done", Counts(5, 2, {"quote": 3}, 1, "turn_1: timed_out"))
        return [JobView("distil", 100.0, False, False, 0, run, 1), JobView("see", None, True, True, 2, None, 0)]

    async def held(self) -> Sequence[HeldUnit]:
        return [HeldUnit("distil", "turn_1", 3, "timed_out", 11.0)]

    async def runs(self, name: str, limit: int) -> Sequence[RunRecord]:
        self._ask(name)
        return [run for view in await self.list_() if (run := view.last)][:limit]

    async def run_now(self, name: str) -> None:
        self._ask(name, "run")

    async def pause(self, name: str) -> None:
        self._ask(name, "pause")

    async def resume(self, name: str) -> None:
        self._ask(name, "resume")

    async def release(self, name: str, unit: str) -> None:
        self._ask(name, "release", unit)

    def _ask(self, name: str, *asked: str) -> None:
        if name != "distil":
            raise NotFound(f"There is no job {name}.")
        self.asked.append((name, *asked))


class FakeKeeping:
    """Forgets, carries and backs up nothing, and says that it did."""

    async def preview(self, kind: str, target: str, *, wide: bool) -> Preview:
        if target == "nobody":
            raise NotFound("There is no such thing.")
        return Preview(kind, target, wide, "owner", {"events": 1}, rechecked=2, stays=3)

    async def forget(self, kind: str, target: str, *, wide: bool) -> Proof:
        copies = [Copy("backups/homed-20260101-033000", 9.0)]
        return Proof(id="forget_1", kind=kind, removed={"events": 1}, sentences=2, files=5, copies=copies)

    async def find(self, text: str, since: float | None, until: float | None) -> Held:
        return Held(events=("ev_1",), records=("fact_1",))

    async def export(self, path: str, format: str, scopes: Collection[str] | None) -> Exported:
        return Exported(Path(path), format, {"events": 4})

    async def import_(self, path: str) -> Imported:
        return Imported("jsonl", {"events": 4}, refused={"no JSON": 1}, aside="/data/imports/q.jsonl")

    async def backup(self, path: str = "") -> BackupInfo:
        return BackupInfo(Path(path or "/data/backups/homed-20260101-033000"), 9.0, 5, 4096, {"events": 4}, 1)

    async def backups(self) -> Sequence[BackupInfo]:
        return [await self.backup()]

    @property
    def merging(self) -> FakeMerging:
        return FakeMerging()


class FakeMerging:
    """Merges nothing, and says that it did."""

    async def list_(self, scopes: Collection[str] | None = None) -> tuple[Sequence[Proposed], Sequence[Done]]:
        return [], [await self.accept("1-2")]

    async def accept(self, merge: str, *, keep: int = 0) -> Done:
        return Done(1, "owner", "Anna", "Ana", 9.0)

    async def reject(self, merge: str) -> None:
        if merge == "nothing":
            raise NotFound("Nothing is proposed so.")

    async def undo(self, done: int) -> str:
        return "Ana"
