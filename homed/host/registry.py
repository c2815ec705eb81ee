"""One registry from every tool, stage handler and output to the plugin that owns it.

Names are claimed before a plugin is launched, from its manifest, in a fixed order: who owns a name does not depend on
who was faster.  What is listed is what can be called: a tool is here only while its plugin is ready, or is a lazy one
that the call will start.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from homed.errors import Conflict
from homed.host.states import Trust
from homed.wire.manifest import Manifest, ToolSpec

OUTPUT_PREFIX = "output_send__"
"""How the tool of an output begins; see ``homed.agent.outputs``."""


@dataclass(frozen=True, slots=True)
class ToolEntry:
    """A tool that can be called now.  ``timeout`` is seconds; ``parameters`` a JSON schema."""

    name: str
    plugin: str
    description: str
    parameters: Mapping[str, Any]
    tool_class: str
    guest: bool
    parallel_safe: bool
    timeout: float
    confirm: bool
    no_memory: bool
    untrusted: bool
    trust: Trust


@dataclass(frozen=True, slots=True)
class StageEntry:
    """A stage handler.  ``ready`` is False for a fail-closed one whose plugin is down: its stage must then fail."""

    plugin: str
    stage: str
    scope: str
    order: int
    on_failure: str
    ready: bool = True
    trust: Trust = Trust.PACKAGED


@dataclass(frozen=True, slots=True)
class OutputEntry:
    """A way out to people.  ``limit``: characters of one message, 0 for any."""

    name: str
    plugin: str
    caps: tuple[str, ...]
    description: str
    format: str
    limit: int = 0


@dataclass(frozen=True, slots=True)
class CleanerEntry:
    """What strips a channel's texts of template noise, under the ``name`` its plugin has for it; ``ready``: now."""

    plugin: str
    name: str
    ready: bool


@dataclass(frozen=True, slots=True)
class Reserved:
    """Tool names of the kernel's own, which no plugin may have: these, and all that begin so."""

    names: frozenset[str] = frozenset()
    prefixes: tuple[str, ...] = ()

    def __contains__(self, name: str) -> bool:
        return name in self.names or name.startswith(self.prefixes)


@dataclass(slots=True)
class _Claim:
    manifest: Manifest
    trust: Trust
    ready: bool = False


class Registry:
    """Who provides what.  Changed by the host only; read by the agent at any time."""

    def __init__(self, reserved: Reserved | None = None) -> None:
        self._reserved = reserved or Reserved()
        self._claims: dict[str, _Claim] = {}

    def claim(self, manifest: Manifest, trust: Trust) -> None:
        """Reserve a plugin's names.  Raises `Conflict` naming both when another plugin, or the kernel, holds a name.

        Its fail-closed stages hold also after a conflict: what they would have checked must not pass unchecked.
        """
        mine = manifest.name
        ready = self.ready(mine)
        self._claims[mine] = _Claim(replace(manifest, tools=(), outputs=()), trust)
        self._check_free(manifest)
        self._claims[mine] = _Claim(manifest, trust, ready)

    def set_tools(self, plugin: str, tools: Sequence[ToolSpec]) -> None:
        """Replace a plugin's tools by others.  Raises as `claim`; then, and when it holds no names, nothing changes."""
        claim = self._claims.get(plugin)
        if claim is None:
            return
        manifest = replace(claim.manifest, tools=tuple(tools))
        self._check_free(manifest)
        claim.manifest = manifest

    def _check_free(self, manifest: Manifest) -> None:
        mine = manifest.name
        for kind, name in sorted(_names(manifest)):
            if kind == "tool" and name in self._reserved:
                raise Conflict(
                    f"The tool {name} of the plugin {mine} is taken by the kernel.",
                    hint="Its author must give it another name.",
                    detail={"plugins": [mine], kind: name},
                )
            for other, claim in self._claims.items():
                if other != mine and (kind, name) in _names(claim.manifest):
                    raise Conflict(
                        f"The {kind} {name} of the plugin {mine} is taken by the plugin {other}.",
                        hint=f"Stop one of them: homed plugin stop {other}.",
                        detail={"plugins": [other, mine], kind: name},
                    )

    def release(self, plugin: str) -> None:
        """Give a plugin's names back, and its fail-closed stages with them: a person wants it gone."""
        self._claims.pop(plugin, None)

    def set_ready(self, plugin: str, ready: bool) -> None:
        """List, or no longer list, what a plugin provides."""
        if plugin in self._claims:
            self._claims[plugin].ready = ready

    def ready(self, plugin: str) -> bool:
        """Whether it takes calls."""
        return plugin in self._claims and self._claims[plugin].ready

    def tools(self) -> Mapping[str, ToolEntry]:
        """Every tool that can be called now, by name."""
        return {
            t.name: ToolEntry(
                t.name, c.manifest.name, t.description, t.parameters, t.tool_class, t.guest, t.parallel_safe, t.timeout,
                t.confirm, t.no_memory, t.untrusted, c.trust,
            )
            for c in self._claims.values() if c.ready for t in c.manifest.tools
        }  # fmt: skip

    def stages(self, stage: str) -> list[StageEntry]:
        """Handlers of ``stage`` in the order to run them; fail-closed ones of plugins that are down are included."""
        found = [
            StageEntry(c.manifest.name, s.stage, s.scope, s.order, s.on_failure, c.ready, c.trust)
            for c in self._claims.values()
            for s in c.manifest.stages
            if s.stage == stage and (c.ready or s.on_failure == "closed")
        ]
        return sorted(found, key=lambda entry: (entry.order, entry.plugin))

    def cleaner(self, channel: str) -> CleanerEntry | None:
        """What cleans the texts that came in by ``channel``; None if nothing does.

        A conversation's channel is the name of the plugin that brought it in, and only that plugin's own cleaner is
        ever shown its texts: the one that is called as the plugin, else its first.
        """
        claim = self._claims.get(channel)
        if claim is None or not claim.manifest.cleaners:
            return None
        names = claim.manifest.cleaners
        return CleanerEntry(channel, channel if channel in names else names[0], claim.ready)

    def outputs(self) -> Mapping[str, OutputEntry]:
        """Every output of a plugin that is ready, by name."""
        return {
            o.name: OutputEntry(o.name, c.manifest.name, o.caps, o.description, o.format, o.limit)
            for c in self._claims.values()
            if c.ready
            for o in c.manifest.outputs
        }


def _names(manifest: Manifest) -> set[tuple[str, str]]:
    return {("tool", t.name) for t in manifest.tools} | {("output", o.name) for o in manifest.outputs}
