"""``check``: does a plugin folder hold a plugin that homed can run?  Works for a plugin in any language."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import trio

from homed.errors import ConfigError, HomedError, Unavailable
from homed.proc.spawn import Child, spawn
from homed.sdk import scaffold
from homed.sdk.launch import command, fresh_mark
from homed.wire import methods
from homed.wire.cleaner import unclean
from homed.wire.manifest import Manifest, ToolSpec, read_manifest
from homed.wire.registration import differences
from homed.wire.stream import Connection, Limits, unknown_method
from homed.wire.version import CORE, PROTOCOL

_HANDSHAKE = 10.0
_CALL = 10.0
_STOP = 5.0
_STDERR = 4096
_SHOWN = 5
_ANSWERS: dict[str, object] = {
    "core.log": {},
    "core.announce": {},
    "core.busy": {},
    "core.schedule_set": {"at": 0.0},
    "core.schedule_clear": {},
    "core.tools_set": {"tools": []},
    "core.attach": {"file": "blk_check", "bytes": 0},
    "core.settings_get": {"value": None},
    "core.settings_set": {},
    "events.subscribe": {"seq": 0},
    "auth.state": {"password_set": False},
}
"""What a kernel just installed, with nothing in it, would answer; all else is `Unavailable`."""


@dataclass(frozen=True, slots=True)
class Step:
    """One thing looked at: what, whether it is right, and what was seen."""

    name: str
    ok: bool
    detail: str = ""


@dataclass(slots=True)
class Report:
    """What a check found, in the order it looked."""

    steps: list[Step] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether everything is right."""
        return all(step.ok for step in self.steps)

    def add(self, name: str, ok: bool, detail: str = "") -> None:
        """Note one more thing."""
        self.steps.append(Step(name, ok, detail))

    def text(self) -> str:
        """The report for a terminal, one step a line; further lines of a detail are indented below it."""
        width = max(len(step.name) for step in self.steps)
        lines = []
        for step in self.steps:
            first, *more = step.detail.splitlines() or [""]
            lines.append(f"{'ok  ' if step.ok else 'FAIL'}  {step.name:<{width}}  {first}".rstrip())
            lines += [f"{'':{width + 8}}{line}" for line in more]
        failed = sum(not step.ok for step in self.steps)
        return "\n".join([*lines, "", f"{failed} of {len(lines)} steps failed." if failed else "All is well.", ""])


async def check(folder: Path) -> Report:
    """Check the plugin in ``folder``: manifest, entry, handshake, registrations, tools, output discipline, clean stop.

    It really runs, with a fake kernel and an empty data folder; tools are called only when they are of class ``read``.
    """
    report = Report()
    manifest, errors = read_manifest(folder)
    report.add("manifest", manifest is not None, "\n".join(errors))
    if manifest is None:
        return report
    if manifest.warnings:
        report.add("manifest warnings", True, "\n".join(manifest.warnings))
    report.add("tool schemas", *_schemas(manifest))
    await _in_step(report, manifest, folder)
    with TemporaryDirectory(prefix="homed-check-") as data:
        try:
            await _Run(report, manifest, Path(data)).go(folder)
        except HomedError as error:
            report.add("entry", False, scaffold.explain(error))
    return report


def _schemas(manifest: Manifest) -> tuple[bool, str]:
    from jsonschema import Draft202012Validator, SchemaError  # slow to import, and only this check needs it

    wrong = []
    for tool in manifest.tools:
        try:
            Draft202012Validator.check_schema(dict(tool.parameters))
        except SchemaError as error:
            wrong.append(f"{tool.name}: {error.message}")
    return not wrong, "\n".join(wrong) or f"{len(manifest.tools)} tools"


async def _in_step(report: Report, manifest: Manifest, folder: Path) -> None:
    """For a plugin whose code says what it offers: does plugin.json say the same?"""
    if not scaffold.describes_itself(manifest.entry):
        return
    try:
        different = await scaffold.difference(folder)
    except HomedError as error:
        report.add("code", False, scaffold.explain(error))
        return
    hint = f"{', '.join(different)} differ from the code.\nRun: python -m homed.sdk manifest {folder}"
    report.add("manifest in step", not different, hint if different else "")


class _Run:
    """One start of the plugin with this checker as its kernel; the handler of the connection."""

    def __init__(self, report: Report, manifest: Manifest, data: Path) -> None:
        self._report = report
        self._manifest = manifest
        self._data = data
        self._configured = True
        self._stray: list[str] = []
        self._refused: set[str] = set()
        self._stderr = b""

    async def go(self, folder: Path) -> None:
        """Run all steps; the first that fails ends the run, for the later ones would only repeat it."""
        with command(self._manifest, folder) as cmd:
            async with spawn(cmd, mark=fresh_mark()) as child, self._connected(child) as connection:
                alive = await self._come_up(connection)
                if alive and await self._call_tools(connection) and await self._call_cleaners(connection):
                    await self._stop(connection, child)
        self._report.add("stdout", not self._stray, "\n".join(self._stray[:_SHOWN]))
        wanting = f"it calls without having asked for it: {', '.join(sorted(self._refused))}" if self._refused else ""
        self._report.add("capabilities", not wanting, wanting)
        if not self._report.ok and self._stderr:
            self._report.add("its last words", True, self._stderr.decode(errors="replace").strip())

    @asynccontextmanager
    async def _connected(self, child: Child) -> AsyncIterator[Connection]:
        connection = Connection(
            child.stdout, child.stdin, self, limits=Limits(quoting=True), on_broken=self._stray.append
        )
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._listen, child.stderr)
            await nursery.start(connection.run)
            yield connection
            nursery.cancel_scope.cancel()

    async def _listen(self, stderr: trio.abc.ReceiveStream) -> None:
        with contextlib.suppress(trio.BrokenResourceError, trio.ClosedResourceError):
            while data := bytes(await stderr.receive_some(65536)):
                self._stderr = (self._stderr + data)[-_STDERR:]

    async def _come_up(self, connection: Connection) -> bool:
        hello = {"protocol": PROTOCOL, "core_version": CORE, "name": self._manifest.name, "areas": {}}
        config = {setting.key: setting.default for setting in self._manifest.settings}
        answer = await self._step(connection, "handshake", methods.HANDSHAKE, hello)
        if answer is None:
            return False
        if not isinstance(answer, dict) or answer.get("protocol") != PROTOCOL:
            self._report.add("protocol", False, f"it answered {answer!r}; this is protocol {PROTOCOL}")
            return False
        registered = await self._step(connection, "init", methods.INIT, {"config": config, "data_dir": str(self._data)})
        if registered is None:
            return False
        problems = differences(self._manifest, registered)
        self._report.add("registrations", not problems, "\n".join(problems))
        return await self._start(connection) and await self._step(connection, "ping", methods.PING, {}) is not None

    async def _start(self, connection: Connection) -> bool:
        """Start it; one that says what it wants to be set first is in order, but its tools cannot be tried."""
        try:
            await connection.request(methods.START, {}, timeout=_HANDSHAKE)
        except ConfigError as error:
            self._configured = False
            self._report.add("start", True, f"it asks to be configured first: {error}")
        except HomedError as error:
            self._report.add("start", False, scaffold.explain(error))
            return False
        else:
            self._report.add("start", True)
        return True

    async def _call_tools(self, connection: Connection) -> bool:
        """Call every read tool; one that needs arguments is called without them, and must say so instead of dying."""
        if not self._configured:
            return True
        harmless = [tool for tool in self._manifest.tools if tool.tool_class == "read"]
        for tool in harmless:
            if not await self._call_tool(connection, tool):
                return False
        others = [tool.name for tool in self._manifest.tools if tool not in harmless]
        if others:
            self._report.add("tools not called", True, f"they may change things: {', '.join(others)}")
        return True

    async def _call_tool(self, connection: Connection, tool: ToolSpec) -> bool:
        needs = bool(tool.parameters.get("required"))
        about = {"thread": "", "channel": "check", "peer": "", "role": "owner", "scope": "owner", "turn": ""}
        params = {"tool": tool.name, "args": {}, "call": "check", "timeout": _CALL, "context": about}
        name = f"tool {tool.name}"
        try:
            answer = await connection.request(methods.TOOL_INVOKE, params, timeout=_CALL)
        except HomedError as error:
            dead = connection.closed.is_set()
            self._report.add(name, needs and not dead, scaffold.explain(error))
            return not dead
        if not isinstance(answer, dict) or "content" not in answer or not isinstance(answer.get("is_error"), bool):
            self._report.add(name, False, "its answer is not {content, is_error}")
        elif answer["is_error"] and not needs:
            self._report.add(name, True, f"it answers, with an error here: {str(answer['content'])[:200]}")
        elif needs and not answer["is_error"]:
            self._report.add(name, False, "called without its required arguments it claims success")
        else:
            self._report.add(name, True, "it refuses a call without its arguments" if needs else "it answers")
        return True

    async def _call_cleaners(self, connection: Connection) -> bool:
        """Have each cleaner clean two texts: as many come back, and none is longer."""
        for name in self._manifest.cleaners if self._configured else ():
            step, texts = f"cleaner {name}", ["Hello.", "你好"]
            params = {"cleaner": name, "texts": texts}
            try:
                answer = await connection.request(methods.CLEANER_INVOKE, params, timeout=_CALL)
            except HomedError as error:
                self._report.add(step, False, scaffold.explain(error))
                if connection.closed.is_set():
                    return False
                continue
            wrong = unclean(texts, answer)
            self._report.add(step, not wrong, wrong)
        return True

    async def _stop(self, connection: Connection, child: Child) -> None:
        if await self._step(connection, "stop", methods.STOP, {}) is None:
            return
        with trio.move_on_after(_STOP) as limit:
            await child.stdin.aclose()
            ended = await child.wait()
        if limit.cancelled_caught:
            self._report.add("clean stop", False, f"it is still there {_STOP:g} s after it answered plugin.stop")
        else:
            self._report.add("clean stop", not ended.failed, str(ended))

    async def _step(self, connection: Connection, name: str, method: str, params: Mapping[str, object]) -> Any:
        """Call a method as a step of the report; None when it failed."""
        try:
            answer = await connection.request(method, params, timeout=_HANDSHAKE)
        except HomedError as error:
            self._report.add(name, False, scaffold.explain(error))
            return None
        self._report.add(name, True)
        return {} if answer is None else answer

    async def request(self, method: str, params: Mapping[str, Any]) -> object:
        """Answer the plugin as a kernel would that has nothing to offer."""
        await trio.lowlevel.checkpoint()
        capability = methods.TO_KERNEL.get(method)
        if capability is None:
            raise unknown_method(method)
        if capability not in {methods.CORE, *self._manifest.capabilities}:
            self._refused.add(f"{method} ({capability})")
        if method in _ANSWERS:
            return _ANSWERS[method]
        raise Unavailable(f"{method} is not there: this is a check, no kernel.", detail={"keys": sorted(params)})

    def notification(self, method: str, params: Mapping[str, Any]) -> None:
        """Plugins send none."""
