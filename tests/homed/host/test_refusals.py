"""What a plugin may not do stands in its log, once a minute a method, with what to do."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from homed.errors import Denied
from homed.host import grants
from homed.host.pluginlog import PluginLog
from homed.host.refusals import Refusals


def refused(method: str, has: frozenset[str] = frozenset({"core"})) -> Denied:
    with pytest.raises(Denied) as caught:
        grants.require("mole", has, method)
    return caught.value


@pytest.mark.parametrize(
    ("method", "listed", "remedy"),
    [
        ("io.inject", ("io", "llm"), "homed plugin grant mole io,llm"),
        ("io.inject", ("llm",), 'Its author has to list "io" under "capabilities" in its plugin.json'),
        ("admin.status", ("admin",), "Only plugins that come with homed can have it."),
    ],
)
async def test_a_refusal_says_method_capability_what_it_has_and_what_to_do(
    tmp_path: Path, method: str, listed: tuple[str, ...], remedy: str
) -> None:
    log = PluginLog(tmp_path / "mole.log", str)
    await Refusals("mole", listed, log).note(method, refused(method, frozenset({"core", "llm"})))
    (line,) = log.lines(10)
    needed = method.partition(".")[0]
    assert line.startswith(f"refused {method}: The plugin mole may not call {method}: it lacks the capability {needed}")
    assert "(it has core, llm)" in line
    assert remedy in line


async def test_who_asks_in_a_loop_is_told_once_a_minute_a_method_and_counted(
    tmp_path: Path, mock_clock: MockClock
) -> None:
    log = PluginLog(tmp_path / "mole.log", str)
    refusals = Refusals("mole", (), log)
    for _ in range(500):
        await refusals.note("io.inject", refused("io.inject"))
    await refusals.note("llm.list", refused("llm.list"))
    assert [line.partition(":")[0] for line in log.lines(10)] == ["refused io.inject", "refused llm.list"]
    mock_clock.jump(61)
    await refusals.note("io.inject", refused("io.inject"))
    assert log.lines(1)[0].startswith("refused io.inject (499 more times before): ")


async def test_what_is_refused_for_another_reason_is_not_told_here(tmp_path: Path) -> None:
    log = PluginLog(tmp_path / "mole.log", str)
    await Refusals("mole", (), log).note("io.inject", Denied("Not your conversation."))
    await trio.lowlevel.checkpoint()
    assert log.lines(10) == []
