"""Plugins without processes, for MockClock: a launcher that follows a script, and a child made of memory streams."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import trio
import trio.testing

from homed.host.life import Cause, Ending, Fate, Life
from homed.proc.spawn import Child, Exit
from homed.wire.methods import STOP


@dataclass(frozen=True, slots=True)
class Crash:
    """Comes up, and crashes ``after`` so many seconds."""

    after: float = 0.0
    code: int = 1
    reason: str = "exit code 1"


@dataclass(frozen=True, slots=True)
class Leaves:
    """Comes up, and ends by itself with code 0."""

    after: float = 0.0


@dataclass(frozen=True, slots=True)
class Refuses:
    """Cannot be started as it is configured."""

    reason: str = "The port 8080 is in use."


@dataclass(frozen=True, slots=True)
class Runs:
    """Comes up and runs until it is told to stop; then takes ``ladder`` seconds."""

    ladder: float = 0.0


@dataclass(frozen=True, slots=True)
class Explodes:
    """The launcher itself fails."""


Script = Crash | Leaves | Refuses | Runs | Explodes


@dataclass(eq=False)
class FakeRunning:
    """The handle of a fake that is up."""

    pid: int = 4242
    address: tuple[str, str] | None = None
    told: list[tuple[str, object]] = field(default_factory=list)

    async def call(self, method: str, params: Mapping[str, object], *, timeout: float) -> object:
        """Says what it was asked."""
        await trio.lowlevel.checkpoint()
        return {"method": method, "params": dict(params), "timeout": timeout}

    def settings_changed(self, key: str, value: object) -> None:
        """Remembers."""
        self.told.append((key, value))


class FakeLauncher:
    """Each life follows the next line of the script; after the last one plugins just run."""

    def __init__(self, *script: Script) -> None:
        self._script = list(script)
        self.launches: list[float] = []
        self.alive = 0

    async def __call__(self, life: Life) -> Ending:
        """One life."""
        self.launches.append(trio.current_time())
        step = self._script.pop(0) if self._script else Runs()
        self.alive += 1
        try:
            return await self._live(life, step)
        finally:
            self.alive -= 1

    async def _live(self, life: Life, step: Script) -> Ending:
        await trio.lowlevel.checkpoint()
        life.started(4242)
        match step:
            case Explodes():
                raise RuntimeError("a fault of ours")
            case Refuses(reason):
                return Ending(None, None, reason, refused=True)
            case Crash(after, code, reason):
                life.ready(FakeRunning())
                fate = await self._until(life, after)
                return self._asked(fate) or Ending(code, None, reason, "the last words", ("tool.invoke echo",))
            case Leaves(after):
                life.ready(FakeRunning())
                fate = await self._until(life, after)
                return self._asked(fate) or Ending(0, None, "exit code 0", failed=False)
            case Runs(ladder):
                life.ready(FakeRunning())
                fate = await life.doomed()
                await trio.sleep(ladder)
                return self._asked(fate) or Ending(0, None, fate.reason)

    @staticmethod
    async def _until(life: Life, after: float) -> Fate | None:
        with trio.move_on_after(after):
            return await life.doomed()
        life.doom(Cause.EXITED, "exited")
        return None

    @staticmethod
    def _asked(fate: Fate | None) -> Ending | None:
        if fate is None or fate.cause is not Cause.ASKED:
            return None
        return Ending(0, None, fate.reason, asked_for=True, failed=False)


Answer = Callable[[Mapping[str, Any]], object]


class FakeChild:
    """A child whose pipes are memory and whose behaviour is ``answers``: method → result, or a function of params.

    A method without an answer gets none: that is how it hangs.  ``heard`` holds every message it read.
    """

    def __init__(self, answers: Mapping[str, object | Answer]) -> None:
        self.pid = 4242
        self.answers = dict(answers)
        self.heard: list[dict[str, Any]] = []
        self.signals: list[int] = []
        self._in_send, self._in_receive = trio.testing.memory_stream_one_way_pair()
        self._out_send, self._out_receive = trio.testing.memory_stream_one_way_pair()
        self._err_send, self._err_receive = trio.testing.memory_stream_one_way_pair()
        self._gone = trio.Event()
        self._exit = Exit(0)

    def as_child(self) -> Child:
        """Typed as what sessions take."""
        fake = cast("Any", self)
        fake.stdin, fake.stdout, fake.stderr = self._in_send, self._out_receive, self._err_receive
        return cast("Child", fake)

    async def run(self) -> None:
        """Read and answer until its stdin ends."""
        buffer = b""
        while chunk := bytes(await self._in_receive.receive_some(65536)):
            buffer += chunk
            while b"\n" in buffer:
                line, buffer = buffer.split(b"\n", 1)
                await self._take(json.loads(line))
        self.die(Exit(0))

    async def say(self, **message: object) -> None:
        """Write one message."""
        await self.raw(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    async def raw(self, data: bytes) -> None:
        """Write bytes on its stdout."""
        await self._out_send.send_all(data)

    def die(self, exit_: Exit) -> None:
        """End with this exit."""
        self._exit = exit_
        self._out_send.close()
        self._err_send.close()
        self._gone.set()

    async def wait(self) -> Exit:
        """How it ended."""
        await self._gone.wait()
        return self._exit

    def signal_group(self, sig: int) -> None:
        """Remember the signal and end."""
        self.signals.append(sig)
        self.die(Exit(-1, sig))

    def count(self, method: str) -> int:
        """How often it heard a method."""
        return sum(m.get("method") == method for m in self.heard)

    async def _take(self, message: dict[str, Any]) -> None:
        self.heard.append(message)
        method = message.get("method")
        if method in self.answers and "id" in message:
            answer = self.answers[method]
            await self.say(id=message["id"], result=answer(message["params"]) if callable(answer) else answer)
        if method == STOP and STOP in self.answers:
            self.die(Exit(0))
