"""``admin.models_*``: the model sources, for owners.  A key goes in, and never comes out."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath

from pydantic import Field

from homed.api.method import Json, Method, PeerCall, PeerParams, administrative
from homed.api.ports import ApiPorts
from homed.api.rooms import SourcesPort
from homed.config.definitions import DEFAULT_WINDOW
from homed.errors import InvalidInput
from homed.providers.adapters import SCRIPT
from homed.providers.base import LOCAL, Source
from homed.providers.presets import PRESETS, Given, Preset, filled, preset
from homed.providers.stored import shown_options

GGUF_WINDOW = 4096
"""Tokens of a source's window when nothing is said.  On this machine memory is taken for it and each is read slowly."""


class OfSource(PeerParams):
    """A method on one source."""

    name: str = Field(min_length=1, max_length=128)


class Add(OfSource):
    """``admin.models_add``; what is absent is as in the preset, or as in the source of that name."""

    preset: str = Field(default="", max_length=64)
    base_url: str = Field(default="", max_length=2048)
    model: str = Field(default="", max_length=256)
    gguf: str = Field(default="", max_length=4096)
    api_key: str | None = Field(default=None, max_length=4096)
    adapter: str = Field(default="", max_length=64)
    context_window: int | None = Field(default=None, ge=1024, le=100_000_000)
    priority: int | None = Field(default=None, ge=-1000, le=1000)
    max_concurrent: int | None = Field(default=None, ge=1, le=256)
    tools: bool | None = None
    vision: bool | None = None
    audio: bool | None = None
    options: dict[str, Json] | None = Field(default=None, max_length=64)


class Available(PeerParams):
    """``admin.models_available``: of a source there is, or of what is to become one."""

    name: str = Field(default="", max_length=128)
    preset: str = Field(default="", max_length=64)
    base_url: str = Field(default="", max_length=2048)
    adapter: str = Field(default="", max_length=64)
    api_key: str | None = Field(default=None, max_length=4096)


def list_(call: PeerCall[PeerParams]) -> Mapping[str, object]:
    """The model sources; never a key."""
    sources = call.ports.sources
    return {"sources": [to_wire(source, sources) for source in sources.list()]}


def presets(call: PeerCall[PeerParams]) -> Mapping[str, object]:  # noqa: ARG001 -- a method's signature
    """The well-known places to get a model from."""
    return {"presets": [_preset_to_wire(one) for one in PRESETS]}


async def available(call: PeerCall[Available]) -> Mapping[str, object]:
    """The models that a server lists."""
    params, sources = call.params, call.ports.sources
    given = Given(params.name or "new", params.base_url, "", params.adapter)
    found = await sources.available(filled(given, _base(params, sources)), params.api_key)
    return {"models": [one.wire() for one in found]}


async def add(call: PeerCall[Add]) -> Mapping[str, object]:
    """Add or replace a source."""
    sources = call.ports.sources
    return to_wire(await sources.add(_source(call.params, call.ports), call.params.api_key), sources)


def _source(params: Add, ports: ApiPorts) -> Source:
    if params.gguf:
        return Source(
            name=params.name,
            base_url=params.base_url,
            model=params.model or PurePath(params.gguf).stem,
            adapter=LOCAL,
            context_window=params.context_window or GGUF_WINDOW,
            max_concurrent=1,
            priority=params.priority or 0,
            tools=params.tools is not False,
            vision=bool(params.vision),
            path=params.gguf,
        )
    given = Given(
        params.name, params.base_url, params.model, params.adapter, params.context_window, params.priority,
        params.max_concurrent, params.tools, params.vision, params.audio, params.options,
    )  # fmt: skip
    base = _base(params, ports.sources)
    if base is None:
        window = ports.settings.get(DEFAULT_WINDOW)
        assert isinstance(window, int)
        base = Source(params.name, "", "", context_window=window)
    return filled(given, base)


def _base(params: Add | Available, sources: SourcesPort) -> Source | None:
    """What is not said is as in the preset asked for, or in the source of that name, or in the preset of that name.

    With an address of its own, and no preset, it is a new source, whatever its name was before.
    """
    chosen = preset(params.preset)
    if params.preset and chosen is None:
        there = ", ".join(one.name for one in PRESETS)
        raise InvalidInput(f"There is no preset {params.preset!r}.", hint=f"There is: {there}.")
    if chosen is None and params.base_url:
        return None
    known = next((one for one in sources.list() if one.name == params.name and one.adapter != LOCAL), None)
    if chosen is None and known is not None:
        return known
    chosen = chosen or preset(params.name)
    if chosen is None:
        there = ", ".join(one.name for one in PRESETS)
        raise InvalidInput(
            f"{params.name!r} is no well-known source, and no address was given.",
            hint=f"Give a base URL and a model, or take one of these: {there}.",
        )
    return chosen.source


async def remove(call: PeerCall[OfSource]) -> Mapping[str, object]:
    """Remove a source and its key."""
    await call.ports.sources.remove(call.params.name)
    return {}


async def use(call: PeerCall[OfSource]) -> Mapping[str, object]:
    """Make a source the current one."""
    await call.ports.sources.use(call.params.name)
    return {}


async def test(call: PeerCall[OfSource]) -> Mapping[str, object]:
    """Try a source with short questions."""
    result = await call.ports.sources.test(call.params.name)
    return {
        "ok": result.ok, "latency_ms": result.latency_ms, "total_ms": result.total_ms, "streaming": result.streaming,
        "tools": result.tools, "images": result.images, "reasoning": result.reasoning, "usage": result.usage,
        "notes": list(result.notes), "error": result.error, "hint": result.hint,
    }  # fmt: skip


async def adapters(call: PeerCall[PeerParams]) -> Mapping[str, object]:
    """The adapter scripts, each tried."""
    found = await call.ports.sources.adapters()
    users = [(source.adapter, source.name) for source in call.ports.sources.list()]
    return {
        "adapters": [
            {
                "name": one.name, "origin": one.origin, "path": one.path, "newer": one.newer, "error": one.error,
                "sources": [name for adapter, name in users if adapter == f"{SCRIPT}{one.name}"],
            }
            for one in found
        ]
    }  # fmt: skip


def to_wire(source: Source, sources: SourcesPort) -> dict[str, object]:
    """A model source as ``admin.models_list`` shows it."""
    current, standing = sources.current(), sources.standing(source)
    return {
        **_to_wire(source),
        **({"trouble": standing.note} if standing.state == "failed" else {}),
        **({"path": source.path} if source.path else {}),
        "learnt_window": sources.learnt(source),
        "has_key": sources.has_key(source.name),
        "current": current is not None and current.name == source.name,
    }


def _to_wire(source: Source) -> dict[str, object]:
    return {
        "name": source.name, "base_url": source.base_url, "model": source.model, "adapter": source.adapter,
        "context_window": source.context_window, "max_concurrent": source.max_concurrent, "priority": source.priority,
        "tools": source.tools, "vision": source.vision, "audio": source.audio, "kind": source.kind,
        "options": shown_options(source.options),
    }  # fmt: skip


def _preset_to_wire(one: Preset) -> dict[str, object]:
    return {**_to_wire(one.source), "title": one.title, "keys": one.keys}


METHODS: dict[str, Method] = {
    "admin.models_list": administrative(PeerParams, list_),
    "admin.models_presets": administrative(PeerParams, presets),
    "admin.models_available": administrative(Available, available),
    "admin.models_add": administrative(Add, add),
    "admin.models_remove": administrative(OfSource, remove),
    "admin.models_use": administrative(OfSource, use),
    "admin.models_test": administrative(OfSource, test),
    "admin.models_adapters": administrative(PeerParams, adapters),
}
