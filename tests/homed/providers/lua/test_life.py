"""What the kernel makes of a script's process that does not say what it should, on pipes of the test's own."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
import trio
import trio.testing

from homed.proc.spawn import Exit
from homed.providers.lua import frames
from homed.providers.lua.life import WAITING_FRAMES, Life, ScriptEnded, ScriptFailed


@dataclass
class Process:
    """As much of a child as is spoken with; ``stdin`` and ``stdout`` are the test's ends."""

    signals: list[int] = field(default_factory=list)
    pid: int = 7

    def __post_init__(self) -> None:
        self.stdin, self.theirs = trio.testing.memory_stream_one_way_pair()
        self.mine, self.stdout = trio.testing.memory_stream_one_way_pair()
        self.ended = trio.Event()

    def signal_group(self, number: int) -> None:
        self.signals.append(number)
        self.mine.close()
        self.ended.set()

    async def wait(self) -> Exit:
        await self.ended.wait()
        return Exit(-1, 9)


async def _answer(process: Process, said: bytes) -> None:
    await process.theirs.receive_some()
    await process.mine.send_all(frames.framed(said))


@pytest.mark.parametrize(
    "said",
    [
        b'{"do":"done"}', b'{"do":"done","id":1}', b'{"do":"done","id":1,"value":1,"text":"x"}',
        b'{"do":"done","id":1,"value":1,"text":1}', b'{"do":"ask","id":1}', b'{"do":"ask","id":1,"name":"x","given":1}',
        b'{"do":"fail","id":1}', b'{"do":"fail","id":1,"why":"","kind":"","parts":1}', b'{"do":"else","id":1}',
        b'{"do":"done","id":Infinity}', b'{"do":"log"}', b"[]", b"[" * 5000,
    ],
)  # fmt: skip
async def test_a_process_that_says_what_is_no_answer_is_ended_and_its_call_told(said: bytes) -> None:
    process = Process()
    life = Life(process, lambda _level, _text: None)  # type: ignore[arg-type]
    async with trio.open_nursery() as nursery:
        nursery.start_soon(life.write)
        nursery.start_soon(life.converse)
        nursery.start_soon(_answer, process, said)
        with pytest.raises((ScriptFailed, ScriptEnded)), trio.fail_after(60):
            await life.call(1, 1, "chunks", [])
        nursery.cancel_scope.cancel()
    assert process.signals


async def test_what_is_to_be_forgotten_is_told_later_when_the_telling_was_cancelled() -> None:
    """Else the state of an answer stays in the script for as long as its process lives."""
    process = Process()
    life = Life(process, lambda _level, _text: None)  # type: ignore[arg-type]
    async with trio.open_nursery() as nursery:
        for _ in range(WAITING_FRAMES):
            nursery.start_soon(life.call, 1, 1, "chunks", [])
        await trio.testing.wait_all_tasks_blocked()
        life.forget(1, 5)
        with trio.move_on_after(0):
            await life.call(1, 2, "chunks", [])
        nursery.start_soon(life.write)
        nursery.start_soon(life.call, 1, 3, "chunks", [])
        await trio.testing.wait_all_tasks_blocked()
        told = list(frames.Decoder().feed(bytes(await process.theirs.receive_some())))
        nursery.cancel_scope.cancel()
    assert told[-1]["drop"] == [[1, 5]]


async def test_a_call_that_nobody_waits_for_any_more_is_told_of_with_the_next() -> None:
    """Else what it holds, where it waits for something, stays in the script for as long as its process lives."""
    process = Process()
    life = Life(process, lambda _level, _text: None)  # type: ignore[arg-type]
    async with trio.open_nursery() as nursery:
        with trio.move_on_after(0):
            await life.call(1, 1, "request", [])
        nursery.start_soon(life.write)
        nursery.start_soon(life.call, 1, 2, "request", [])
        await trio.testing.wait_all_tasks_blocked()
        told = list(frames.Decoder().feed(bytes(await process.theirs.receive_some())))
        nursery.cancel_scope.cancel()
    assert told[-1]["id"] == 2
    assert told[-1]["leave"] == [1]
