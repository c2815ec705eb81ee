"""The kernel as a plugin sees it: `Kernel` for the plugin itself, `Context` on behalf of one invocation."""

from __future__ import annotations

import base64
import secrets
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol, TypedDict, Unpack

import trio

from homed.errors import HomedError, Stopped, Unavailable
from homed.sdk.namespaces import Rooms
from homed.wire.methods import ON_BEHALF

PIECE = 512 * 1024
"""Bytes of a file that go over the wire at once."""

_LEASE_BACK = 1.0

Json = dict[str, Any]
"""A result as ``docs/wire.md`` describes it."""

Peer = str | Mapping[str, str]
"""Who speaks: ``"NAME:id"``, or ``{"id": "NAME:id", "name": "…"}``; NAME is the plugin's own."""


class Link(Protocol):
    """What carries calls to the kernel."""

    async def request(
        self, method: str, params: Mapping[str, object] | None = None, *, timeout: float | None = None
    ) -> Any:
        """Call and return the result."""


@dataclass(frozen=True, slots=True)
class Notice:
    """One thing that happened in the kernel; ``docs/wire.md`` lists the types and their ``data``."""

    seq: int
    at: float
    type: str
    thread: str = ""
    turn: str = ""
    scope: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Due:
    """A schedule that is due: since when (UTC seconds), and how many earlier times of it were never told."""

    name: str
    at: float
    missed: int = 0


class InjectOptions(TypedDict, total=False):
    """Options of `Kernel.inject`: see ``io.inject`` in ``docs/wire.md``."""

    thread: str
    group: str
    client_msg_id: str
    no_memory: bool
    can_ask: bool
    wait: bool
    cwd: str
    attachments: list[str]


class Kernel(Rooms):
    """Calls to the kernel.  Each raises the kernel's own error, or ``Unavailable`` when the kernel has gone.

    Cancelling a call asks the kernel to stop that work and waits up to a second for it.
    """

    def __init__(self, link: Link, *, settings: Mapping[str, Any], data_dir: Path) -> None:
        self._link = link
        self._settings = settings
        self.settings: Mapping[str, Any] = MappingProxyType(settings) if isinstance(settings, dict) else settings
        """The plugin's own settings by key, always current."""
        self.data_dir = data_dir
        """The plugin's own folder; it exists, and only this plugin uses it."""

    async def call(
        self, method: str, params: Mapping[str, object] | None = None, *, timeout: float | None = None
    ) -> Any:
        """Call any method of ``docs/wire.md``; ``timeout`` in seconds."""
        return await self._link.request(method, params, timeout=timeout)

    async def inject(self, peer: Peer, text: str, **options: Unpack[InjectOptions]) -> Json:
        """Hand a person's message to the kernel, which has it durably when this returns; ``wait``: with the outcome."""
        result: Json = await self.call("io.inject", {"peer": peer, "text": text, **options})
        return result

    async def ask(self, peer: Peer, text: str, **options: Unpack[InjectOptions]) -> str:
        """Say something for a person and wait for the answer: its text; Stopped, or what went wrong, is raised."""
        result: Json = await self.call("io.inject", {"peer": peer, "text": text, **options, "wait": True})
        outcome: Json = result["outcome"]
        if outcome["state"] == "stopped":
            raise Stopped("The person stopped it.")
        if outcome["state"] != "answered":
            raise HomedError(outcome["error"] or f"It was {outcome['state']}.", hint=outcome["hint"])
        return str(outcome["text"])

    async def interrupt(self, peer: Peer, text: str, *, level: int = 2, **options: Unpack[InjectOptions]) -> Json:
        """Have a message taken up before its turn; its result says in ``level`` what counts of the level, which is 3 at
        the most for plugins from outside, and in ``way`` whether it starts, suspends, joins or waits."""
        params: Json = {"peer": peer, "text": text, "level": level, **options}
        result: Json = await self.call("io.interrupt", params)
        return result

    async def upload(self, peer: Peer, name: str, data: bytes, *, media_type: str = "", caption: str = "") -> str:
        """Hand over a file for a person's next message; its id is for ``inject``'s ``attachments``.

        The message is found by its name and by ``caption``, what you know to be in it.

        Cancelled in the middle, it is as if it had never begun, after a while.
        """
        upload, at = "", 0
        said = {"caption": caption} if caption else {}
        while True:
            piece = data[at : at + PIECE]
            params: Json = {"peer": peer, "data": base64.b64encode(piece).decode("ascii"), "offset": at}
            params |= {"upload": upload} if upload else {"name": name, "media_type": media_type, **said}
            at += len(piece)
            result: Json = await self.call("io.upload", {**params, "last": at >= len(data)})
            upload = str(result["upload"])
            if at >= len(data):
                return upload

    async def block(self, peer: Peer, block: str, *, offset: int = 0, length: int = PIECE) -> Json:
        """Bytes of an attachment (``data``, decoded) with its name, type and size."""
        params: Json = {"peer": peer, "block": block, "offset": offset, "length": length}
        result: Json = await self.call("io.block", params)
        return {**result, "data": base64.b64decode(result["data"])}

    async def event(self, peer: Peer, event: str, *, offset: int = 0) -> Json:
        """One event word for word, its text from ``offset`` on as far as one answer holds it."""
        result: Json = await self.call("io.event", {"peer": peer, "event": event, "offset": offset})
        return result

    async def wait(self, peer: Peer, input: str) -> Json:
        """The input once its outcome is there.  Cancelling only ends the waiting."""
        result: Json = await self.call("io.wait", {"peer": peer, "input": input})
        return result

    async def stop(self, peer: Peer, thread: str) -> bool:
        """Stop what runs in a thread; False when nothing did."""
        result: Json = await self.call("io.stop", {"peer": peer, "thread": thread})
        return bool(result["stopped"])

    async def threads(self, peer: Peer, *, query: str = "", limit: int = 50, before: float | None = None) -> Json:
        """The threads this person may see, latest first."""
        params: Json = {"peer": peer, "query": query, "limit": limit}
        result: Json = await self.call("io.threads", params if before is None else {**params, "before": before})
        return result

    async def history(self, peer: Peer, thread: str, *, before: int | None = None, limit: int = 50) -> Json:
        """Stored events of a thread, oldest first, with what is running now."""
        params: Json = {"peer": peer, "thread": thread, "limit": limit}
        result: Json = await self.call("io.history", params if before is None else {**params, "before": before})
        return result

    async def rename(self, peer: Peer, thread: str, title: str) -> None:
        """Give a thread a title."""
        await self.call("io.thread_rename", {"peer": peer, "thread": thread, "title": title})

    async def delete(self, peer: Peer, thread: str) -> Json:
        """Delete a thread for good: ``{"events", "files"}``, how many of each are gone."""
        result: Json = await self.call("io.thread_delete", {"peer": peer, "thread": thread})
        return result

    async def approvals(self, peer: Peer) -> list[Json]:
        """What waits for this person's yes or no."""
        result: Json = await self.call("io.approvals", {"peer": peer})
        return list(result["approvals"])

    async def approve(self, peer: Peer, approval: str, decision: str, *, remember: str = "once") -> None:
        """Answer an approval: ``allow`` or ``deny``; ``remember``: ``once`` or ``thread``."""
        params = {"peer": peer, "approval": approval, "decision": decision, "remember": remember}
        await self.call("io.approve", params)

    async def subscribe(self, types: Iterable[str] | None = None, *, content: bool = True) -> int:
        """Have notices sent to ``@plugin.on("event")``; returns the number of the last one before."""
        params: Json = {"content": content}
        if types is not None:
            params["types"] = sorted(types)
        result: Json = await self.call("events.subscribe", params)
        return int(result["seq"])

    async def announce(self, kind: str, address: str) -> None:
        """Say where people reach this plugin: ``url`` or ``socket``."""
        await self.call("core.announce", {"kind": kind, "address": address})

    async def log(self, level: str, message: str) -> None:
        """A line in the kernel's log: ``debug``, ``info``, ``warning`` or ``error``."""
        await self.call("core.log", {"level": level, "message": message})

    async def schedule(self, name: str, *, at: float | None = None, every: float | None = None) -> float:
        """Have ``@plugin.schedule(name)`` called at ``at`` (UTC seconds), every so many seconds (10 at least), or both.

        It outlives the process and homed: a lazy plugin is started for it, and what was missed is told once.  Replaces
        an earlier one of the name; returns when it is due.
        """
        given = {key: value for key, value in (("at", at), ("every", every)) if value is not None}
        result: Json = await self.call("core.schedule_set", {"name": name, **given})
        return float(result["at"])

    async def unschedule(self, name: str) -> None:
        """Take a schedule back; one of the manifest's stays switched off.  ``NotFound`` when there is none."""
        await self.call("core.schedule_clear", {"name": name})

    @asynccontextmanager
    async def busy(self, lease: str) -> AsyncIterator[None]:
        """Not to be stopped as idle for the length of the block; ``lease`` says what for (at most 40 characters)."""
        own = f"{lease[:40]}:{secrets.token_hex(4)}"  # two blocks of one name are two leases
        try:
            await self.call("core.busy", {"lease": own, "held": True})  # cut short, it may have been taken
            yield
        finally:
            with trio.move_on_after(_LEASE_BACK, shield=True), suppress(Unavailable):
                await self.call("core.busy", {"lease": own, "held": False})

    async def set_tools(self, tools: Iterable[Mapping[str, object]]) -> list[str]:
        """List the tools there are now, as in ``plugin.json``; returns the names that the plugin has.

        They replace those listed before, and are offered again at the next start of the same version before the plugin
        runs.  Raises ``Conflict`` for a name that is taken.
        """
        result: Json = await self.call("core.tools_set", {"tools": [dict(tool) for tool in tools]})
        return [str(name) for name in result["tools"]]

    async def restart(self) -> None:
        """Have the plugin stopped and started again.  ``Conflict`` when it wants that too often."""
        await self.call("core.restart", {})

    async def set_setting(self, key: str, value: object) -> None:
        """Store one of the plugin's own settings; ``settings`` follows."""
        await self.call("core.settings_set", {"key": key, "value": value})


@dataclass(frozen=True, slots=True)
class Invocation:
    """For whom and what a tool, stage or output runs.  All may be empty but ``token``."""

    token: str
    thread: str = ""
    channel: str = ""
    peer: str = ""
    role: str = ""
    scope: str = ""
    turn: str = ""
    timeout: float | None = None


class Context(Kernel):
    """The kernel on behalf of one invocation: calls that act for somebody carry its token, and get that turn's
    identity, rights and scope."""

    def __init__(self, kernel: Kernel, invocation: Invocation) -> None:
        super().__init__(kernel._link, settings=kernel._settings, data_dir=kernel.data_dir)
        self._token = invocation.token
        self.thread = invocation.thread
        self.channel = invocation.channel
        self.peer = invocation.peer
        self.role = invocation.role
        self.scope = invocation.scope
        self.turn = invocation.turn
        self.timeout = invocation.timeout
        """Seconds after which the kernel stops this call, or None."""

    @asynccontextmanager
    async def tracked(self, folder: Path | str, paths: Iterable[str | bytes] | None = None) -> AsyncIterator[str]:
        """Note what the block changes in ``folder``, so that the person sees it and can have it put back.

        ``paths``: only these, below the folder, names joined by ``/``; else everything but what core.tracker.ignore
        leaves out.  Yields the id of the change, or an empty string where it is not tracked (the setting, a folder that
        is too large): the block runs all the same.  Cancelled, the change is noted all the same, now or by the next
        process.
        """
        from homed.sdk.tracking.track import tracked  # few plugins change files

        async with tracked(self, self._token, Path(folder), None if paths is None else list(paths)) as set_:
            yield set_

    async def call(
        self, method: str, params: Mapping[str, object] | None = None, *, timeout: float | None = None
    ) -> Any:
        """As `Kernel.call`, with the token of this invocation."""
        own = {"call": self._token} if method in ON_BEHALF and self._token else {}
        return await super().call(method, {**(params or {}), **own}, timeout=timeout)
