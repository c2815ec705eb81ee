"""A host over real children or fakes, in one ``async with``."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import trio

from homed.api import life
from homed.api.method import Call, parse
from homed.events import Bus
from homed.host.discover import Broken, Installed, discover
from homed.host.host import Host, HostPorts
from homed.host.session import Caller
from homed.store.db import open_store
from homed.wire.layout.ring import ALL

CHILD = Path(__file__).parent / "children" / "child.py"


def manifest(name: str, mode: str = "good", **more: Any) -> dict[str, Any]:
    """The manifest of the raw child in some mode, with its one tool ``echo_NAME``; ``more`` replaces fields."""
    tool = {"name": f"echo_{name}", "description": "Says it back.", "class": "read"}
    return {"name": name, "version": "1.0", "entry": f"python {CHILD} {mode}", "tools": [tool], **more}


def install(place: Path, *manifests: Mapping[str, Any]) -> None:
    """Write each manifest into a folder of its own below ``place``."""
    for one in manifests:
        folder = place / str(one["name"])
        folder.mkdir(parents=True)
        (folder / "plugin.json").write_text(json.dumps(one), "utf-8")


class RecordingDispatcher:
    """Answers every call that passed the capability check, and remembers it."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str, Mapping[str, object]]] = []

    async def dispatch(self, caller: Caller, method: str, params: Mapping[str, object]) -> object:
        await trio.lowlevel.checkpoint()
        self.calls.append((caller.plugin, method, params))
        if method == "events.subscribe":
            given = str(params.get("via", "rpc"))
            seq = caller.subscribe(None, content=bool(params.get("content")), via=given)
            return {"seq": seq, "cursor": seq, "mask": ALL}
        if method == "core.arena_alloc":
            return {"off": caller.arena_alloc(int(str(params["len"])))}
        if method == "core.arena_free":
            caller.arena_free(int(str(params["off"])))
        if method == "core.announce":
            caller.announce(str(params["kind"]), str(params["address"]))
        return {}


class LivingDispatcher(RecordingDispatcher):
    """Answers what plugins ask about their own lives as the kernel does, once it has the ``host``; records the rest."""

    host: Host | None = None

    async def dispatch(self, caller: Caller, method: str, params: Mapping[str, object]) -> object:
        entry = life.METHODS.get(method)
        if entry is None or self.host is None:
            return await super().dispatch(caller, method, params)
        ports = cast("Any", SimpleNamespace(host=self.host))
        parsed = parse(method, entry.params, params)
        return await entry.handler(Call(ports, cast("Any", caller), parsed, caller.plugin))


@asynccontextmanager
async def hosting(
    tmp_path: Path,
    *manifests: Mapping[str, Any],
    found: list[Installed | Broken] | None = None,
    bus: Bus | None = None,
    dispatcher: RecordingDispatcher | None = None,
    redact: Callable[[str], str] = str,
    config: Mapping[str, object] | None = None,
    ports: Mapping[str, Any] | None = None,
    **host_options: Any,
) -> AsyncIterator[Host]:
    """A running host of these packaged plugins on ``tmp_path``, ended in good order at the end of the block.

    ``ports`` replaces some of the host's.
    """
    place = tmp_path / "packaged"
    install(place, *(m for m in manifests if not (place / str(m["name"])).exists()))
    data = tmp_path / "data"
    data.mkdir(exist_ok=True)
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    async with open_store(data / "homed.db") as store:
        own = HostPorts(
            store=store, bus=bus or Bus(), dispatcher=dispatcher or RecordingDispatcher(),
            config_for=lambda name: dict(config or {}), child_env=env, data=data, redact=redact,
            **(ports or {}),
        )  # fmt: skip
        host = Host(discover(place, data / "plugins") if found is None else found, own, **host_options)
        if isinstance(dispatcher, LivingDispatcher):
            dispatcher.host = host
        async with trio.open_nursery() as nursery:
            await nursery.start(host.run)
            yield host
            nursery.cancel_scope.cancel()


async def invoke(host: Host, plugin: str, timeout: float = 60, **args: object) -> Any:
    """Call the plugin's one tool and return its content."""
    params = {"tool": f"echo_{plugin}", "args": args, "call": "t", "timeout": timeout, "context": {}}
    result = await host.call(plugin, "tool.invoke", params, timeout=timeout)
    assert isinstance(result, dict)
    return result["content"]
