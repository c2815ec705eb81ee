"""What is remembered of a plugin over restarts, in the real tables."""

from __future__ import annotations

from pathlib import Path

from homed.host import history
from homed.host.history import KEPT_REPORTS, Past, StoredHistory
from homed.host.states import CrashReport
from homed.store.db import open_store


def report(n: int) -> CrashReport:
    return CrashReport(float(n), None if n % 2 else n, 9 if n % 2 else None, f"stderr {n} 你好", ("tool.invoke a", "b"))


async def test_an_unknown_plugin_has_no_past(tmp_path: Path) -> None:
    async with open_store(tmp_path / "db") as store:
        assert await StoredHistory(store).load("p") == Past()


async def test_wish_crashes_and_the_last_ten_reports_survive_and_stay_apart(tmp_path: Path) -> None:
    past = Past(history.ATTENTION, "needs attention: 4 crashes", (1.5, 2.5), ())
    async with open_store(tmp_path / "db") as store:
        stored = StoredHistory(store)
        await stored.save("p", Past(history.RUN), at=0.0)
        await stored.save("p", past, at=1.0)
        for n in range(13):
            await stored.report("p", report(n))
        await stored.report("q", report(99))
    async with open_store(tmp_path / "db") as store:
        stored = StoredHistory(store)
        loaded = await stored.load("p")
        assert loaded == Past(past.wish, past.reason, past.crashes, tuple(report(n) for n in range(3, 13)))
        assert len(loaded.reports) == KEPT_REPORTS
        assert await stored.load("q") == Past(reports=(report(99),))
        assert await store.read(lambda tx: tx.value("SELECT count(*) FROM crash_reports")) == KEPT_REPORTS + 1
