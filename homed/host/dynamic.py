"""Tools that are known only while their plugin runs: checked as a manifest's, and kept for the plugin's version."""

from __future__ import annotations

import json
from collections.abc import Sequence

from homed.clock import WallClock
from homed.errors import InvalidInput
from homed.store.rows import Damaged, SqlValue, Storage, Tx, dumps, loads
from homed.wire.manifest import Manifest, ToolSpec, parse_tools

MOST_TOOLS = 256
"""Of one plugin: the model is shown them all."""
MOST_BYTES = 1 << 20
"""Of one list as JSON: as much as a manifest may hold."""
_SHOWN = 5


def read_tools(manifest: Manifest, listed: object) -> tuple[ToolSpec, ...]:
    """The tools of ``core.tools_set``.  `InvalidInput` names what is wrong, and where."""
    tools, errors = parse_tools(listed)
    own = {tool.name for tool in manifest.tools}
    wrong = [*errors, *(f"tools: {t.name} stands in plugin.json already" for t in tools if t.name in own)]
    if len(tools) > MOST_TOOLS:
        wrong.append(f"tools: {len(tools)} of them, {MOST_TOOLS} are the limit")
    if len(json.dumps(listed)) > MOST_BYTES:
        wrong.append(f"tools: over {MOST_BYTES} bytes")
    if wrong:
        more = f"; and {len(wrong) - _SHOWN} more" if len(wrong) > _SHOWN else ""
        raise InvalidInput(f"The tools that {manifest.name} lists: {'; '.join(wrong[:_SHOWN])[:500]}{more}.")
    return tools


class StoredTools:
    """The lists in the table ``plugin_tools``."""

    def __init__(self, store: Storage, wall: WallClock) -> None:
        self._store, self._wall = store, wall

    async def load(self, manifest: Manifest) -> tuple[ToolSpec, ...]:
        """What a plugin with dynamic tools listed last; nothing of another version, or if it cannot be read."""
        if not manifest.dynamic_tools:
            return ()
        query = "SELECT tools FROM plugin_tools WHERE plugin = ? AND version = ?"
        try:
            stored = await self._store.read(lambda tx: tx.value(query, (manifest.name, manifest.version)))
            return read_tools(manifest, loads(stored)) if isinstance(stored, str) else ()
        except (Damaged, InvalidInput, ValueError):
            return ()

    async def save(self, manifest: Manifest, listed: Sequence[object]) -> None:
        """Keep a list for the next start."""
        row = (manifest.name, manifest.version, dumps(list(listed)), self._wall())
        await self._store.write(lambda tx: _save(tx, row))

    async def forget(self, plugin: str) -> None:
        """The plugin was removed."""
        await self._store.write(lambda tx: tx.execute("DELETE FROM plugin_tools WHERE plugin = ?", (plugin,)))


def _save(tx: Tx, row: tuple[SqlValue, ...]) -> None:
    tx.execute(
        "INSERT INTO plugin_tools (plugin, version, tools, at) VALUES (?, ?, ?, ?) ON CONFLICT (plugin)"
        " DO UPDATE SET version = excluded.version, tools = excluded.tools, at = excluded.at",
        row,
    )
