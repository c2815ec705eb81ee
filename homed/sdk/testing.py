"""Test a plugin without a kernel: `harness` runs it against a fake one in memory, over the real framing.

::

    async with harness(plugin, settings={"roots": [str(tmp_path)]}) as kernel:
        result = await kernel.invoke("files_read", path="a.txt")
        assert not result.is_error

`program` does the same with the plugin of a folder in a process of its own, whatever language it is written in.
"""

from __future__ import annotations

import contextlib
import inspect
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import trio
import trio.testing

from homed.errors import HomedError, NotFound
from homed.proc.spawn import spawn
from homed.sdk.launch import command, fresh_mark
from homed.sdk.plugin import Plugin
from homed.sdk.runtime import serve
from homed.wire import methods
from homed.wire.manifest import load_manifest
from homed.wire.stream import Connection, unknown_method
from homed.wire.version import CORE, PROTOCOL

__all__ = ["Call", "Harness", "Result", "harness", "program"]

MemoryStream = trio.StapledStream[trio.testing.MemorySendStream, trio.testing.MemoryReceiveStream]

_DEFAULTS: dict[str, object] = {
    "core.log": {}, "core.announce": {}, "core.busy": {}, "core.restart": {}, "core.schedule_set": {"at": 0.0},
    "core.schedule_clear": {}, "core.tools_set": {"tools": []}, "events.subscribe": {"seq": 0},
    "tracker.begin": {"set": ""}, "core.attach": {"file": "blk_test", "bytes": 0},
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Call:
    """One call that the plugin made."""

    method: str
    params: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Result:
    """What a tool answered: text or a JSON value; ``files``: the ids of those it sent before (``core.attach``)."""

    content: Any
    is_error: bool
    files: Sequence[str] = ()


class Harness:
    """The fake kernel: calls the plugin, records what the plugin calls (``calls``), answers as told (``reply``).

    ``context`` is what the next invocations run for; change its values to be somebody else.
    """

    def __init__(self, name: str, settings: Mapping[str, object]) -> None:
        self.name, self._settings = name, settings
        self.stderr = ""
        """The end of what a `program` has written there so far."""
        self.calls: list[Call] = []
        self.registered: Mapping[str, Any] = {}
        self.context = {
            "thread": "thr_test", "channel": "test", "peer": "test:local", "role": "owner", "scope": "owner",
            "turn": "turn_test",
        }  # fmt: skip
        self._replies: dict[str, object] = dict(_DEFAULTS)
        self._called = trio.Event()
        self._connection: Connection | None = None
        self._seq = 0

    def reply(self, method: str, value: object) -> None:
        """Answer this method from now on with ``value``: a result, an error to raise, or a function of the params,
        which may be async."""
        if method not in methods.TO_KERNEL:
            raise ValueError(f"there is no method {method!r} in the kernel")
        self._replies[method] = value

    async def invoke(self, tool: str, /, **args: Any) -> Result:
        """Call a tool as the kernel does.  Cancelling it sends ``$/cancel`` and waits up to a second."""
        params = {"tool": tool, "args": args, "call": "call_test", "timeout": 60, "context": self.context}
        answer = await self.call(methods.TOOL_INVOKE, params)
        return Result(answer["content"], answer["is_error"], tuple(answer.get("files", ())))

    async def stage(self, stage: str, fields: Mapping[str, object]) -> Mapping[str, Any]:
        """Run the plugin's handler of a stage; returns the changed fields."""
        self._seq += 1
        params = {"stage": stage, "seq": self._seq, "call": "call_test", "fields": fields}
        changes: Mapping[str, Any] = (await self.call(methods.STAGE_INVOKE, params))["changes"]
        return changes

    async def output(self, name: str, content: object, *, thread: str = "thr_test") -> Mapping[str, Any]:
        """Send through one of the plugin's outputs; returns ``{status, id?}``."""
        params = {"output": name, "content": content, "call": "call_test", "thread": thread}
        answer: Mapping[str, Any] = await self.call(methods.OUTPUT_INVOKE, params)
        return answer

    async def clean(self, channel: str, texts: Sequence[str]) -> Sequence[str]:
        """Have the plugin's cleaner of a channel clean texts."""
        answer = await self.call(methods.CLEANER_INVOKE, {"cleaner": channel, "texts": list(texts)})
        cleaned: Sequence[str] = answer["texts"]
        return cleaned

    async def due(self, schedule: str, *, at: float = 0.0, missed: int = 0) -> None:
        """Wake the plugin by a schedule of its own, and wait until it has done what it does then."""
        await self.call(methods.SCHEDULE_INVOKE, {"name": schedule, "due": at, "missed": missed})

    async def emit(self, type_: str, *, thread: str = "", turn: str = "", **data: Any) -> None:
        """Send the plugin a notice."""
        self._seq += 1
        notice = {"seq": self._seq, "at": 0.0, "type": type_, "thread": thread, "turn": turn, "scope": "", "data": data}
        await self._wire.notify(methods.EVENT, notice)

    async def lose(self, count: int) -> None:
        """Tell the plugin that it missed notices."""
        await self._wire.notify(methods.EVENT_LOST, {"count": count})

    async def set(self, key: str, value: object) -> None:
        """Change one of the plugin's settings."""
        await self._wire.notify(methods.SETTINGS_CHANGED, {"key": key, "value": value})

    async def call(self, method: str, params: Mapping[str, object] | None = None) -> Any:
        """Call the plugin with any method; raises the error it answers."""
        return await self._wire.request(method, params)

    async def wait_call(self, method: str) -> Call:
        """The first call of this method, once the plugin has made one."""
        while True:
            for call in self.calls:
                if call.method == method:
                    return call
            await self._called.wait()

    async def start(self, settings: Mapping[str, object], data_dir: Path) -> None:
        """Handshake, init and start; ``harness`` does it unless told not to."""
        hello = {"protocol": PROTOCOL, "core_version": CORE, "name": self.name, "areas": {}}
        await self.call(methods.HANDSHAKE, hello)
        config = {"config": {**self._settings, **settings}, "data_dir": str(data_dir)}
        self.registered = await self.call(methods.INIT, config)
        await self.call(methods.START)

    async def listen(self, stderr: trio.abc.ReceiveStream) -> None:
        """Keep what comes on a program's stderr."""
        with contextlib.suppress(trio.BrokenResourceError, trio.ClosedResourceError):
            while data := bytes(await stderr.receive_some(_STDERR)):
                self.stderr = (self.stderr + data.decode(errors="replace"))[-_STDERR:]

    @property
    def _wire(self) -> Connection:
        if self._connection is None:
            raise RuntimeError("use it inside `async with harness(…)`")
        return self._connection

    async def request(self, method: str, params: Mapping[str, Any]) -> object:
        """Answer a call of the plugin (the harness is its connection's handler)."""
        await trio.lowlevel.checkpoint()
        if method not in methods.TO_KERNEL:
            raise unknown_method(method)
        self.calls.append(Call(method, dict(params)))
        called, self._called = self._called, trio.Event()
        called.set()
        if method not in self._replies:
            raise NotFound(f"The test has no reply for {method}.", hint=f'Say kernel.reply("{method}", …) first.')
        value = self._replies[method]
        if callable(value):
            value = value(params)
        if inspect.isawaitable(value):
            value = await value
        if isinstance(value, HomedError):
            raise value
        return value

    def notification(self, method: str, params: Mapping[str, Any]) -> None:
        """Plugins send none."""


def defaults(plugin: Plugin) -> dict[str, Any]:
    """The default settings in the plugin's own ``plugin.json``; none when there is no such file."""
    if not (plugin.folder / "plugin.json").is_file():
        return {}
    return {setting.key: setting.default for setting in load_manifest(plugin.folder).settings}


class _Failed(contextlib.AbstractContextManager["_Failed", bool]):
    """Holds what went wrong in a test until the plugin has ended, for a nursery would wrap it in a group."""

    error: Exception | None = None

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> bool:
        self.error = error if isinstance(error, Exception) else None
        return self.error is not None


async def _end(fake: Harness, failed: _Failed, nursery: trio.Nursery) -> None:
    """Stop the plugin; after a failed test everything around it is cancelled instead."""
    if failed.error is not None:
        nursery.cancel_scope.cancel()
        await trio.lowlevel.checkpoint()
    with contextlib.suppress(HomedError):  # a plugin already gone needs no stop
        await fake.call(methods.STOP)


async def _run(plugin: Plugin, wire: MemoryStream) -> None:
    """The plugin's process, so to speak: when it ends its pipes close."""
    try:
        await serve(plugin, wire, wire)
    finally:
        wire.send_stream.close()


@asynccontextmanager
async def harness(
    plugin: Plugin,
    *,
    settings: Mapping[str, object] | None = None,
    data_dir: Path | None = None,
    start: bool = True,
) -> AsyncIterator[Harness]:
    """Run ``plugin`` against a fake kernel for the length of the block, then stop it.

    ``settings`` lie over the manifest's defaults; without ``data_dir`` it gets a folder that is removed afterwards.
    With ``start=False`` the test says itself when: ``await kernel.start({}, folder)``.
    """
    fake = Harness(plugin.name, defaults(plugin))
    ours, theirs = trio.testing.memory_stream_pair()
    with contextlib.ExitStack() as stack:
        folder = data_dir or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        async with trio.open_nursery() as nursery:
            fake._connection = Connection(ours, ours, fake)
            await nursery.start(fake._connection.run)
            nursery.start_soon(_run, plugin, theirs)
            failed = _Failed()
            with failed:
                if start:
                    await fake.start(settings or {}, folder)
                yield fake
            await _end(fake, failed, nursery)
            await ours.aclose()
    if failed.error is not None:
        raise failed.error


_STDERR = 65536
_LEAVE = 5.0


@asynccontextmanager
async def program(
    folder: Path, *, settings: Mapping[str, object] | None = None, data_dir: Path | None = None
) -> AsyncIterator[Harness]:
    """Run the plugin in ``folder``, in whatever language, as a process against a fake kernel; then stop it.

    ``settings`` and ``data_dir`` as in `harness`.  Raises what the plugin answers to handshake, init or start, and
    `HomedError` if it does not leave by itself within five seconds of its stop.
    """
    manifest = load_manifest(folder)
    fake = Harness(manifest.name, {setting.key: setting.default for setting in manifest.settings})
    with contextlib.ExitStack() as stack:
        data = data_dir or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        cmd = stack.enter_context(command(manifest, folder))
        async with spawn(cmd, mark=fresh_mark()) as child, trio.open_nursery() as nursery:
            fake._connection = Connection(child.stdout, child.stdin, fake)
            nursery.start_soon(fake.listen, child.stderr)
            await nursery.start(fake._connection.run)
            failed = _Failed()
            with failed:
                await fake.start(settings or {}, data)
                yield fake
            await _end(fake, failed, nursery)
            with trio.move_on_after(_LEAVE) as limit:
                await child.stdin.aclose()
                await child.wait()
            nursery.cancel_scope.cancel()
        if failed.error is not None:
            raise failed.error
        if limit.cancelled_caught:
            raise HomedError(f"The plugin {manifest.name} was still there {_LEAVE:g} s after its stop.")
