"""The gate before every model call, on a real store: what is reserved counts, at once, for everybody, after kill -9."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import trio

from homed.config.definitions import CORE
from homed.spend import book
from homed.spend.gate import DAY, Gate, GatePorts
from homed.spend.ports import GoOn, OverLimit
from homed.spend.prices import to_setting
from homed.spend.records import NANOS, Cost, Kind, Price, Purpose, Spent, Tokens, Whence
from homed.store.db import Store, open_store
from tests.homed.spend.test_prices import CHEAP

OWNER = Purpose(Kind.TURN, turn="t1", thread="th", peer="webui:owner")
JOB = Purpose(Kind.BACKGROUND, "distil")
DS = Whence("ds", "deepseek-chat", "api.deepseek.com")
LAN = Whence("lan", "llama", "10.0.0.2")
LOCAL = Whence("embedded", "smol", local=True)


class Settings:
    """The defaults, and what a test changes."""

    def __init__(self, **changed: Any) -> None:
        defaults = {d.key: d.default for d in CORE if d.key.startswith("core.spend.")}
        self.values = defaults | {f"core.spend.{key}": value for key, value in changed.items()}

    def get(self, key: str) -> object:
        return self.values[key]

    def int(self, key: str) -> int:
        return int(self.values[key])  # type: ignore[call-overload, no-any-return]

    def float(self, key: str) -> float:
        return float(self.values[key])  # type: ignore[arg-type]

    def str(self, key: str) -> str:
        return str(self.values[key])


@dataclass
class Bench:
    """A gate and what it stands on; ``now`` is the wall clock."""

    store: Store
    settings: Settings
    now: float = datetime(2026, 3, 8, 12, tzinfo=UTC).timestamp()
    zone: tzinfo = UTC
    gate: Gate = field(init=False)

    def __post_init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """As after kill -9: nothing but the store is left."""
        self.gate = Gate(GatePorts(self.store, self.settings, lambda: self.zone, lambda: self.now))

    async def used(self, turn: str = "t1") -> list[Spent]:
        return list(await self.gate.of_turn(turn))

    async def day(self, day: str = "2026-03-08") -> Any:
        limits = self.gate.limits()
        return await self.store.read(lambda tx: book.standing(tx, limits, day, "t1"))


@asynccontextmanager
async def bench(folder: Path, **changed: Any) -> AsyncIterator[Bench]:
    async with open_store(folder / "homed.db") as store:
        yield Bench(store, Settings(**changed))


async def test_a_call_is_reserved_then_settled_with_what_it_took(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        held = await on.gate.hold(OWNER, DS, Tokens(1000, 4096, estimated=True))
        assert (await on.day()).day_tokens == 5096
        assert await held.settle(Tokens(900, 10, 800)) == Cost(Price.KNOWN, "USD", 28_000 + 22_400 + 4_200)
        assert await on.used() == [Spent(Tokens(900, 10, 800), Cost(Price.KNOWN, "USD", 54_600))]
        assert (await on.day()).day_tokens == 910
        await held.settle(Tokens(900, 10, 800))
        assert (await on.day()).day_tokens == 910, "twice is once"


async def test_a_call_that_the_source_did_not_take_on_owes_nothing(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        held = await on.gate.hold(OWNER, DS, Tokens(1000, 4096))
        await held.release()
        assert (await on.day()).day_tokens == 0
        assert await on.used() == []


async def test_calls_at_the_same_time_cannot_overrun_together(tmp_path: Path) -> None:
    async with bench(tmp_path, day_tokens=10_000) as on:
        through: list[object] = []
        held_back: list[str] = []

        async def ask() -> None:
            try:
                through.append(await on.gate.hold(OWNER, LAN, Tokens(1000, 2000)))
            except OverLimit as over:
                held_back.append(over.limit)

        async with trio.open_nursery() as nursery:
            for _ in range(20):
                nursery.start_soon(ask)
        assert len(through) == 3
        assert held_back == ["day_tokens"] * 17
        assert (await on.day()).day_tokens == 9000


async def test_what_was_under_way_when_homed_was_killed_counts_as_it_was_reserved(tmp_path: Path) -> None:
    async with bench(tmp_path, day_tokens=10_000) as on:
        await on.gate.hold(OWNER, LAN, Tokens(5000, 1000))
        on.restart()
        assert (await on.day()).day_tokens == 6000, "also before anything is asked again"
        with pytest.raises(OverLimit):
            await on.gate.hold(OWNER, LAN, Tokens(4000, 1000))
        held = await on.gate.hold(OWNER, LAN, Tokens(3000, 1000))
        assert (await on.day()).day_tokens == 10_000
        await held.settle(Tokens(1, 1))
        assert (await on.day()).day_tokens == 6002
        rows = await on.store.read(lambda tx: tx.all("SELECT state FROM spend_calls ORDER BY id"))
        assert rows == [("lost",), ("done",)]


async def test_the_first_calls_of_a_run_are_none_of_an_earlier_one_also_when_they_come_together(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        await on.gate.hold(OWNER, LAN, Tokens(5000))
        on.restart()
        held: list[Any] = []

        async def ask() -> None:
            held.append(await on.gate.hold(OWNER, LAN, Tokens(1000, 2000)))

        async with trio.open_nursery() as nursery:
            for _ in range(5):
                nursery.start_soon(ask)
        for one in held:
            await one.settle(Tokens(1, 1))
        assert (await on.day()).day_tokens == 5000 + 5 * 2, "each counts as what it took"


async def test_a_yes_that_comes_after_midnight_is_no_word_on_the_new_day(tmp_path: Path) -> None:
    async with bench(tmp_path, day_tokens=1000) as on:
        await (await on.gate.hold(OWNER, LAN, Tokens(1000))).settle(Tokens(1000))
        with pytest.raises(OverLimit) as over:
            await on.gate.hold(OWNER, LAN, Tokens(10))
        on.now += DAY
        assert over.value.ask is not None
        await on.gate.go_on(over.value.ask)
        await on.gate.hold(OWNER, LAN, Tokens(10))
        assert (await on.day(on.gate.today())).times == 0
        on.now -= DAY  # a clock that goes back
        assert (await on.day(on.gate.today())).times == 1


async def test_the_limit_of_a_turn_outlives_a_restart_and_a_day(tmp_path: Path) -> None:
    async with bench(tmp_path, turn_tokens=1000) as on:
        await (await on.gate.hold(OWNER, LOCAL, Tokens(400, 100))).settle(Tokens(600, 300))
        on.restart()
        on.now += DAY
        with pytest.raises(OverLimit, match="used 900 tokens") as caught:
            await on.gate.hold(OWNER, LOCAL, Tokens(50, 51))
        assert not caught.value.ask
        await on.gate.hold(OWNER, LOCAL, Tokens(50, 50))
        other = Purpose(Kind.TURN, turn="t2")
        await on.gate.hold(other, LOCAL, Tokens(500, 500))


async def test_the_background_stops_first_and_the_person_is_asked(tmp_path: Path) -> None:
    async with bench(tmp_path, day_tokens=1000) as on:
        await (await on.gate.hold(OWNER, LAN, Tokens(700, 100))).settle(Tokens(700, 100))
        with pytest.raises(OverLimit, match="without the owner's word") as job:
            await on.gate.hold(JOB, LAN, Tokens(1, 0))
        assert not job.value.ask
        await (await on.gate.hold(OWNER, LAN, Tokens(150, 50))).settle(Tokens(150, 50))
        with pytest.raises(OverLimit, match="Today's limit is used up: 1000 tokens of 1000 tokens") as turn:
            await on.gate.hold(OWNER, LAN, Tokens(1, 0))
        assert turn.value.ask == GoOn("2026-03-08", 1, "1000 tokens")
        await on.gate.go_on(turn.value.ask)
        await on.gate.go_on(turn.value.ask)  # two conversations that asked the same
        await on.gate.hold(OWNER, LAN, Tokens(1000, 0))
        with pytest.raises(OverLimit) as again:
            await on.gate.hold(OWNER, LAN, Tokens(1, 0))
        assert again.value.ask is not None
        assert again.value.ask.times == 2
        with pytest.raises(OverLimit):
            await on.gate.hold(JOB, LAN, Tokens(1, 0))


async def test_a_limit_of_money_holds_with_prices_and_not_without(tmp_path: Path) -> None:
    async with bench(tmp_path, day_money=0.001, day_tokens=0) as on:
        with pytest.raises(OverLimit, match="Nobody knows what llama of lan costs"):
            await on.gate.hold(OWNER, LAN, Tokens(1, 0))
        await (await on.gate.hold(OWNER, DS, Tokens(2000, 1000))).settle(Tokens(2000, 1000))
        assert (await on.day()).day_nanos == 980_000
        with pytest.raises(OverLimit, match=r"0\.00098 USD of 0\.0010 USD"):
            await on.gate.hold(OWNER, DS, Tokens(1000, 0))
        await on.gate.hold(OWNER, LOCAL, Tokens(10**6, 0))


async def test_the_persons_price_counts_at_once_and_a_broken_one_is_no_reason_not_to_answer(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with bench(tmp_path) as on:
        on.settings.values["core.spend.prices"] = [
            to_setting(CHEAP) | {"source": "lan", "model": "*", "currency": "EUR"}
        ]
        assert on.gate.prices().of(LAN, Tokens(10**6)) == Cost(Price.KNOWN, "EUR", 280_000_000)
        on.settings.values["core.spend.prices"] = [{"model": "x"}, to_setting(replace(CHEAP, source="lan", model="*"))]
        assert on.gate.prices().of(LAN, Tokens(10**6)).price is Price.KNOWN, "the others hold"
        assert "Price 1" in caplog.text


@pytest.mark.parametrize(
    ("zone", "at", "day"),
    [
        ("America/New_York", datetime(2026, 3, 9, 3, 59, tzinfo=UTC), "2026-03-08"),  # 23:59 in summer time
        ("America/New_York", datetime(2026, 3, 9, 4, 1, tzinfo=UTC), "2026-03-09"),
        ("Asia/Shanghai", datetime(2026, 3, 8, 16, 1, tzinfo=UTC), "2026-03-09"),
    ],
)
async def test_a_day_is_the_persons_day(tmp_path: Path, zone: str, at: datetime, day: str) -> None:
    async with bench(tmp_path, day_tokens=100) as on:
        on.zone, on.now = ZoneInfo(zone), at.timestamp()
        await on.gate.hold(OWNER, LAN, Tokens(100))
        assert (await on.day(day)).day_tokens == 100
        on.now += DAY
        await on.gate.hold(OWNER, LAN, Tokens(100))


async def test_details_go_after_their_time_and_sums_stay(tmp_path: Path) -> None:
    async with bench(tmp_path, keep_days=7) as on:
        await (await on.gate.hold(OWNER, LAN, Tokens(100))).settle(Tokens(100))
        await on.gate.go_on(GoOn(on.gate.today(), 1, ""))
        on.now += 9 * DAY
        await on.gate.hold(OWNER, LAN, Tokens(5))
        assert await on.store.read(lambda tx: tx.value("SELECT count(*) FROM spend_calls")) == 1
        assert await on.store.read(lambda tx: tx.value("SELECT count(*) FROM spend_allowed")) == 0
        assert (await on.day()).day_tokens == 100


async def test_cancelled_callers_find_their_reservation_made_or_not_but_never_lost(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        with trio.CancelScope() as scope:
            scope.cancel()
            held = await on.gate.hold(OWNER, LAN, Tokens(100))
            await held.settle(Tokens(60, 0))
            await trio.lowlevel.checkpoint()
        assert scope.cancelled_caught
        assert (await on.day()).day_tokens == 60


async def test_where_a_conversation_is_deleted_what_it_cost_stays_and_whose_it_was_does_not(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        await (await on.gate.hold(OWNER, LAN, Tokens(100))).settle(Tokens(100))
        await on.store.write(lambda tx: tx.execute("INSERT INTO threads VALUES ('th', 'owner', 'webui', '', 0, 0)"))
        await on.store.write(lambda tx: tx.execute("DELETE FROM threads"))
        rows = await on.store.read(lambda tx: tx.all("SELECT thread, turn, peer, prompt FROM spend_calls"))
        assert rows == [("", "", "", 100)]


async def test_money_of_another_currency_is_known_by_its_rate(tmp_path: Path) -> None:
    price = to_setting(CHEAP) | {"source": "lan", "model": "*", "currency": "CNY"}
    async with bench(tmp_path, prices=[price], rates=[{"currency": "CNY", "is": 0.1}], day_money=1, day_tokens=0) as on:
        await (await on.gate.hold(OWNER, LAN, Tokens(10**6))).settle(Tokens(10**6))
        assert (await on.day()).day_nanos == NANOS * 28 // 1000


async def test_an_answer_gets_the_room_that_the_limits_leave(tmp_path: Path) -> None:
    async with bench(tmp_path, day_tokens=20_000) as on:
        held = await on.gate.hold(OWNER, LAN, Tokens(1000, 4096), can=8192)
        assert (held.room, (await on.day()).day_tokens) == (None, 9192), "all that it can say is reserved"
        held = await on.gate.hold(OWNER, LAN, Tokens(1000, 4096), can=100_000)
        assert (held.room, (await on.day()).day_tokens) == (9808, 20_000), "and no more than the day has left"
        with pytest.raises(OverLimit):
            await on.gate.hold(OWNER, LAN, Tokens(1000, 4096), can=8192)


async def test_without_a_limit_an_answer_is_reserved_with_what_it_needs_and_given_what_it_wants(tmp_path: Path) -> None:
    async with bench(tmp_path, turn_tokens=0, day_tokens=0) as on:
        held = await on.gate.hold(OWNER, LAN, Tokens(1000, 4096), can=8192)
        assert (held.room, (await on.day()).day_tokens) == (None, 5096)


async def test_the_room_is_that_of_the_tightest_limit_in_money_too(tmp_path: Path) -> None:
    async with bench(tmp_path, day_money=0.01, turn_tokens=50_000) as on:
        held = await on.gate.hold(OWNER, DS, Tokens(1000, 4096), can=100_000)
        assert held.room == (10_000_000 - 280_000) // 420, "0.28 and 0.42 a million"
        assert (await on.day()).day_nanos <= 10_000_000
        await held.release()
        held = await on.gate.hold(OWNER, LOCAL, Tokens(1000, 4096), can=100_000)
        assert held.room == 49_000, "the day's limits are not about it, that of the message is"
        await held.release()
        await (await on.gate.hold(JOB, DS, Tokens(1000, 4096), can=8192)).release()
