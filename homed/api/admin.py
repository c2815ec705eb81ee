"""``admin.*``: status, plugins, models and login links, for owners."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath

from pydantic import Field

from homed.api.door import PAGE
from homed.api.method import Method, PeerCall, PeerParams, administrative
from homed.api.rooms import SourcesPort
from homed.errors import Unavailable
from homed.providers.base import LOCAL, Source

REMOTE_WINDOW = 32_768
GGUF_WINDOW = 4096
"""Tokens of a source's window when nothing is said.  On this machine memory is taken for it and each is read slowly."""


class Named(PeerParams):
    """A method on one plugin or source."""

    name: str = Field(min_length=1, max_length=128)


class Logs(Named):
    """``admin.plugin_logs``"""

    limit: int = Field(default=200, ge=1, le=2000)


class ModelAdd(Named):
    """``admin.models_add``"""

    base_url: str = Field(default="", max_length=2048)
    model: str = Field(default="", max_length=256)
    gguf: str = Field(default="", max_length=4096)
    api_key: str | None = Field(default=None, max_length=4096)
    adapter: str = Field(default="openai", max_length=64)
    context_window: int | None = Field(default=None, ge=1024, le=100_000_000)
    tools: bool = True
    vision: bool = False


async def status(call: PeerCall[PeerParams]) -> Mapping[str, object]:
    """How the daemon is doing."""
    return await call.ports.status.status()


def plugins(call: PeerCall[PeerParams]) -> Mapping[str, object]:
    """Every plugin and its state."""
    return {"plugins": [one.wire() for one in call.ports.host.statuses()]}


async def plugin_start(call: PeerCall[Named]) -> Mapping[str, object]:
    """Start a plugin; its history of crashes is forgotten."""
    return (await call.ports.host.start(call.params.name)).wire()


async def plugin_stop(call: PeerCall[Named]) -> Mapping[str, object]:
    """Stop a plugin until a person starts it."""
    return (await call.ports.host.stop(call.params.name)).wire()


def plugin_logs(call: PeerCall[Logs]) -> Mapping[str, object]:
    """The last lines a plugin wrote."""
    return {"lines": list(call.ports.host.logs(call.params.name, call.params.limit))}


def models_list(call: PeerCall[PeerParams]) -> Mapping[str, object]:
    """The model sources; never a key."""
    sources = call.ports.sources
    return {"sources": [source_to_wire(source, sources) for source in sources.list()]}


async def models_add(call: PeerCall[ModelAdd]) -> Mapping[str, object]:
    """Add or replace a source."""
    sources = call.ports.sources
    return source_to_wire(await sources.add(_source(call.params), call.params.api_key), sources)


def _source(params: ModelAdd) -> Source:
    if params.gguf:
        return Source(
            name=params.name,
            base_url=params.base_url,
            model=params.model or PurePath(params.gguf).stem,
            adapter=LOCAL,
            context_window=params.context_window or GGUF_WINDOW,
            max_concurrent=1,
            tools=params.tools,
            vision=params.vision,
            path=params.gguf,
        )
    return Source(
        name=params.name,
        base_url=params.base_url,
        model=params.model,
        adapter=params.adapter,
        context_window=params.context_window or REMOTE_WINDOW,
        tools=params.tools,
        vision=params.vision,
    )


async def models_remove(call: PeerCall[Named]) -> Mapping[str, object]:
    """Remove a source and its key."""
    await call.ports.sources.remove(call.params.name)
    return {}


async def models_use(call: PeerCall[Named]) -> Mapping[str, object]:
    """Make a source the current one."""
    await call.ports.sources.use(call.params.name)
    return {}


async def models_test(call: PeerCall[Named]) -> Mapping[str, object]:
    """Try a source with a short question."""
    result = await call.ports.sources.test(call.params.name)
    return {
        "ok": result.ok,
        "latency_ms": result.latency_ms,
        "streaming": result.streaming,
        "tools": result.tools,
        "error": result.error,
        "hint": result.hint,
    }


async def link(call: PeerCall[PeerParams]) -> Mapping[str, object]:
    """A fresh login link: the secret stands in the fragment, which no browser sends."""
    kind, address = call.ports.host.addresses.get(PAGE, ("", ""))
    if kind != "url":
        raise Unavailable(
            "The web page is not up, so there is nothing to log in to.",
            hint=f"`homed plugin list` says why; `homed plugin start {PAGE}` starts it.",
        )
    secret, expires_at = await call.ports.logins.make_link()
    return {"secret": secret, "url": f"{address.rstrip('/')}/login#{secret}", "expires_at": expires_at}


def source_to_wire(source: Source, sources: SourcesPort) -> dict[str, object]:
    """A model source as ``admin.models_list`` shows it."""
    current = sources.current()
    return {
        "name": source.name,
        "base_url": source.base_url,
        "model": source.model,
        "adapter": source.adapter,
        "context_window": source.context_window,
        "tools": source.tools,
        "vision": source.vision,
        "kind": source.kind,
        **({"path": source.path} if source.path else {}),
        "has_key": sources.has_key(source.name),
        "current": current is not None and current.name == source.name,
    }


METHODS: dict[str, Method] = {
    "admin.status": administrative(PeerParams, status),
    "admin.plugins": administrative(PeerParams, plugins),
    "admin.plugin_start": administrative(Named, plugin_start),
    "admin.plugin_stop": administrative(Named, plugin_stop),
    "admin.plugin_logs": administrative(Logs, plugin_logs),
    "admin.models_list": administrative(PeerParams, models_list),
    "admin.models_add": administrative(ModelAdd, models_add),
    "admin.models_remove": administrative(Named, models_remove),
    "admin.models_use": administrative(Named, models_use),
    "admin.models_test": administrative(Named, models_test),
    "admin.link": administrative(PeerParams, link),
}
