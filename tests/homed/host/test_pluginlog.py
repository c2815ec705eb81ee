"""stderr is drained, bounded, and redacted before anything of it is kept."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock, memory_stream_one_way_pair

from homed.host import pluginlog
from homed.host.limits import HostLimits
from homed.host.pluginlog import TAIL, PluginLog
from homed.host.throttle import Bucket
from homed.redact import redact


async def fed(log: PluginLog, *chunks: bytes) -> PluginLog:
    """Drain these chunks, cut as they are, to the end."""
    send, receive = memory_stream_one_way_pair()
    log.begin()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(log.drain, receive)
        for chunk in chunks:
            await send.send_all(chunk)
            await trio.testing.wait_all_tasks_blocked()
        await send.aclose()
    return log


async def test_lines_are_whole_however_they_are_cut_and_the_last_needs_no_newline(tmp_path: Path) -> None:
    text = "一行\nzwei\n\ndrei".encode()
    log = await fed(PluginLog(tmp_path / "p.log", str), *(bytes([byte]) for byte in text))
    assert log.lines(10) == ["一行", "zwei", "", "drei"]
    assert log.lines(2) == ["", "drei"]
    assert log.lines(0) == []
    assert (tmp_path / "p.log").read_text("utf-8") == "一行\nzwei\n\ndrei\n"


async def test_a_secret_cut_over_two_chunks_is_redacted_everywhere(tmp_path: Path) -> None:
    log = PluginLog(tmp_path / "p.log", lambda text: text.replace("hunter2", "***"))
    await fed(log, b"the word is hun", b"ter2, remember\n")
    assert log.lines(1) == ["the word is ***, remember"]
    assert log.tail() == "the word is ***, remember\n"
    assert b"hunter2" not in (tmp_path / "p.log").read_bytes()


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir())


SECRET = "sk-" + "a1" * 20


@pytest.mark.parametrize("at", range(pluginlog._LINE - len(SECRET), pluginlog._LINE + 2, 3))
@pytest.mark.parametrize("end", ["\n", ""])
async def test_a_secret_across_the_cut_of_a_long_line_is_not_stored_in_part(tmp_path: Path, at: int, end: str) -> None:
    log = PluginLog(tmp_path / "p.log", redact)
    line = "x" * (at - 1) + " " + SECRET + " " + "y" * 9000
    await fed(log, *(line[n : n + 5000].encode() for n in range(0, len(line), 5000)), end.encode())
    (kept,) = log.lines(9)
    assert kept.endswith("x [cut]")
    assert "sk-" not in (tmp_path / "p.log").read_text()
    assert "a1" not in (tmp_path / "p.log").read_text()


async def test_secrets_that_shrink_before_the_cut_do_not_bring_the_torn_one_to_light(tmp_path: Path) -> None:
    log = PluginLog(tmp_path / "p.log", redact)
    await fed(log, (f"{SECRET} " * 1000).encode() + b"\nnext\n")
    assert log.lines(9)[1] == "next"
    assert "a1" not in (tmp_path / "p.log").read_text()


async def test_the_tail_within_one_endless_line_begins_with_no_half_secret(tmp_path: Path) -> None:
    for shift in range(0, len(SECRET), 4):
        log = PluginLog(tmp_path / "p.log", redact)
        rest = "z" * (TAIL - len(SECRET) + shift - 1) + " the end"
        await fed(log, ("y" * TAIL + f" {SECRET} {rest}").encode())
        assert log.tail().endswith("the end")
        assert "a1" not in log.tail()


async def test_the_tail_is_the_last_sixteen_kib_of_this_life_without_a_torn_first_line(tmp_path: Path) -> None:
    log = PluginLog(tmp_path / "p.log", str)
    await fed(log, b"an earlier life\n")
    await fed(log, *(f"{n:07} {'x' * 91}\n".encode() * 10 for n in range(100)))
    tail = log.tail()
    assert TAIL - 200 < len(tail) <= TAIL
    assert all(len(line) == 99 for line in tail.splitlines())
    assert tail.splitlines()[-1].startswith("0000099")
    await fed(log, b"anew\n")
    assert log.tail() == "anew\n"


async def test_empty_lines_take_room_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pluginlog, "_MEMORY", 1000)
    log = await fed(PluginLog(tmp_path / "p.log", str), b"\n" * 5000)
    assert len(log.lines(10_000)) == 1000


async def test_an_endless_line_is_cut_and_memory_stays_small(tmp_path: Path) -> None:
    log = await fed(PluginLog(tmp_path / "p.log", str), *[b"z" * 60000] * 50, b"\nend\n")
    assert log.lines(1) == ["end"]
    assert len(log._tail) <= 2 * TAIL
    assert sum(map(len, log.lines(10**6))) <= 256 * 1024
    assert all(len(line) < 9000 for line in log.lines(10**6))


async def test_a_flood_is_counted_instead_of_kept(tmp_path: Path, autojump_clock: MockClock) -> None:
    line = b"y" * 999 + b"\n"
    log = await fed(PluginLog(tmp_path / "p.log", str), *[line * 50] * 60)
    assert 1_000_000 <= size_of(tmp_path) < 1_001_000  # its burst and how much was left out; no time goes by here
    log._bucket = Bucket(rate=1, burst=10_000, now=0)
    await fed(log, b"after\n")
    dropped, after = log.lines(2)
    assert "lines left out: too many at once" in dropped
    assert after == "after"


async def test_the_file_is_rotated_once_and_read_again_by_the_next_daemon(
    tmp_path: Path,
) -> None:
    limits = HostLimits()
    log = PluginLog(tmp_path / "logs" / "p.log", str, lambda: limits)
    limits = replace(limits, log=1000)  # while it is written
    for n in range(30):
        await fed(log, f"line {n:03} {'-' * 90}\n".encode())
    sizes = {path.name: path.stat().st_size for path in (tmp_path / "logs").iterdir()}
    assert set(sizes) == {"p.log", "p.log.1"}
    assert max(sizes.values()) < 1200
    again = PluginLog(tmp_path / "logs" / "p.log", str)
    await again.load()
    assert again.lines(1)[0].startswith("line 029")


async def test_a_log_that_cannot_be_written_is_kept_in_memory_and_said_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    log = PluginLog(tmp_path / "file" / "p.log", str)
    await log.load()
    await fed(log, b"one\n", b"two\n")
    await log.note("three")
    assert log.lines(9) == ["one", "two", "three"]
    assert len(caplog.records) == 1
