"""What was spent, for people; and the prices they give."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import trio

from homed.errors import InvalidInput, NotFound
from homed.spend.gate import DAY
from homed.spend.ondemand import UsageOnDemand
from homed.spend.records import Kind, Purpose, Tokens, Whence
from tests.homed.spend.test_gate import DS, JOB, LAN, LOCAL, OWNER, Bench, Settings, bench


class Stored(Settings):
    """Settings that can be set."""

    async def set(self, key: str, value: object) -> object:
        await trio.lowlevel.checkpoint()  # as where it is written to a disk
        self.values[key] = value
        return value


def reports(on: Bench, **changed: Any) -> UsageOnDemand:
    on.settings = Stored(**changed)
    on.restart()
    return UsageOnDemand(on.gate, on.store, on.settings, lambda: [DS, LAN, LOCAL])


async def spend(on: Bench, purpose: Purpose, whence: Whence, tokens: Tokens) -> None:
    await (await on.gate.hold(purpose, whence, tokens)).settle(tokens)


async def test_by_day_source_kind_conversation_person_and_job(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        usage = reports(on)
        await on.store.write(lambda tx: tx.execute("INSERT INTO threads VALUES ('th', 'owner', 'webui', 'Rain', 0, 0)"))
        await spend(on, OWNER, DS, Tokens(1000, 100, 500))
        await spend(on, OWNER, DS, Tokens(1000, 100, 500))
        on.now += DAY
        await spend(on, JOB, LAN, Tokens(300, 20, estimated=True))
        await spend(on, Purpose(Kind.PLUGIN, "weather"), LOCAL, Tokens(5, 5))
        found: Any = await usage.usage(30)
        assert (found["day"], found["first"]) == ("2026-03-09", "2026-02-08")
        assert [
            (one["day"], one["kind"], one["source"], one["price"], one["calls"], one["cost"]) for one in found["days"]
        ] == [
            ("2026-03-08", "turn", "ds", "known", 2, "0.000392"),
            ("2026-03-09", "background", "lan", "unknown", 1, ""),
            ("2026-03-09", "plugin", "embedded", "free", 1, ""),
        ]
        assert found["days"][1]["estimated"] == 320
        assert found["threads"][0]["title"] == "Rain"
        assert found["threads"][0]["spent"][0]["prompt"] == 2000
        assert [one["peer"] for one in found["peers"]] == ["webui:owner"]
        assert [one["who"] for one in found["who"]] == ["distil", "weather"]
        assert found["today"] == {"tokens": 320, "money": "0", "times": 0}
        only: Any = await usage.usage(1)
        assert {one["day"] for one in only["days"]} == {"2026-03-09"}


async def test_a_price_that_is_none_keeps_nobody_from_seeing_what_was_spent(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        found: Any = await reports(on, prices=[{"model": "x"}]).usage(1)
        assert [one["given"] for one in found["prices"]] == [False, False, False]


async def test_of_prices_that_are_given_at_once_all_are_kept(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        usage = reports(on)
        async with trio.open_nursery() as nursery:
            for number in range(3):
                price = {"source": "a", "model": f"m{number}", "prompt": "1", "completion": "1"}
                nursery.start_soon(usage.set_price, price)
        after: Any = on.settings.get("core.spend.prices")
        assert len(after) == 3


async def test_prices_of_the_sources_and_whose_they_are(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        usage = reports(on)
        found: Any = await usage.usage(1)
        known, unknown, free = found["prices"]
        assert (known["price"], known["given"], known["prompt"], known["at"]) == ("known", False, "0.28", "2026-04-13")
        assert (unknown["price"], free["price"]) == ("unknown", "free")
        await usage.set_price({"source": "lan", "model": "llama", "prompt": "1", "completion": "2"})
        await usage.set_price({"source": "lan", "model": "llama", "prompt": "3", "completion": "2"})
        await usage.set_price({"source": "gone", "model": "x", "prompt": "0", "completion": "0"})
        after: Any = await usage.usage(1)
        assert [(one["source"], one["price"], one["given"], one.get("prompt")) for one in after["prices"]] == [
            ("ds", "known", False, "0.28"),
            ("lan", "known", True, "3"),
            ("embedded", "free", False, None),
            ("gone", "free", True, "0"),
        ]
        assert after["prices"][1]["at"] == "2026-03-08"
        await usage.remove_price("lan", "llama")
        with pytest.raises(NotFound):
            await usage.remove_price("lan", "llama")
        with pytest.raises(InvalidInput):
            await usage.set_price({"source": "lan", "model": "llama", "prompt": "-1", "completion": "2"})
