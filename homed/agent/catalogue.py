"""Every tool there is, from one list: what is sent to the model, shown to people and called (E31, E32)."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace

from homed.agent.outputs import Outputs
from homed.agent.ports import AgentPorts, BuiltinTool
from homed.agent.turn import Turn
from homed.host.registry import ToolEntry
from homed.host.states import Trust
from homed.identity.permissions import Decision, Request, Rule, Verdict, decide, strictest

KERNEL = "kernel"
"""The owner of builtin tools, as notices and lists show it."""


class Catalogue:
    """The kernel's own tools and those of the plugins that are ready, at this moment."""

    def __init__(self, ports: AgentPorts, outputs: Outputs) -> None:
        self._ports = ports
        self._outputs = outputs
        self._builtins: dict[str, BuiltinTool] = {tool.entry.name: tool for tool in ports.builtins}

    def entries(self, turn: Turn | None = None) -> Mapping[str, ToolEntry]:
        """Tool name → declaration; with those that were lent to this turn.  The kernel's own names can not be taken by
        a plugin."""
        own = {name: tool.entry for name, tool in self._builtins.items()}
        lent = turn.borrowed.entries() if turn is not None and turn.borrowed is not None else {}
        return {**self._ports.host.registry.tools(), **self._outputs.entries(), **own, **lent}

    def builtin(self, name: str) -> BuiltinTool | None:
        """The kernel's own tool of that name."""
        return self._builtins.get(name)

    def as_called(self, entry: ToolEntry, arguments: Mapping[str, object]) -> ToolEntry:
        """The declaration that holds for these arguments: what can not be taken back is asked for each time."""
        builtin = self._builtins.get(entry.name)
        return replace(entry, confirm=True) if builtin is not None and builtin.final(arguments) else entry

    async def offered(self, turn: Turn, window: int = sys.maxsize, *, lent: bool = True) -> list[ToolEntry]:
        """The tools this turn's person may use (or be asked about), by name, as a model of this window is told; those
        that were lent to it only if ``lent``."""
        rules = await self._ports.rules.list_()
        entries = self.entries(turn if lent else None)
        return [
            entries[name]
            for name in sorted(entries)
            if self._told(name, window) and self.verdict(turn, entries[name], rules).decision is not Decision.DENY
        ]

    def _told(self, name: str, window: int) -> bool:
        builtin = self._builtins.get(name)
        return builtin is None or (builtin.offered and window >= builtin.least)

    def verdict(self, turn: Turn, entry: ToolEntry, rules: Sequence[Rule], *, within: bool = False) -> Verdict:
        """The permission policy's word on this tool in this turn, the strictest of those for all whom it answers (E18).

        For an agent that a turn made what holds in that turn's conversation, and no more than it was given.
        ``within``: a plugin calls it, not the model.
        """
        frame, thread = turn.frame, turn.front.thread
        if frame is not None and not frame.may(entry.name):
            return Verdict(Decision.DENY, f"{entry.name} was not given to this agent.")
        tainted, own = turn.tainted_for(entry.name), entry.name in self._builtins and not within
        answered = [(given.channel, given.peer) for given in (turn.input, *turn.joined)]
        requests = (
            Request(
                tool=entry.name,
                plugin=entry.plugin,
                tool_class=entry.tool_class,
                guest=entry.guest,
                packaged=entry.trust is Trust.PACKAGED,
                confirm=entry.confirm,
                role=turn.who.role,
                channel=channel,
                peer=peer,
                thread=thread,
                tainted=tainted,
                own=own,
            )
            for channel, peer in dict.fromkeys((*answered, *(frame.behalf if frame else ())))
        )
        return strictest(decide(request, rules) for request in requests)

    def lines(self, entries: Sequence[ToolEntry]) -> list[str]:
        """One line a plugin for the system prompt: its name and its tools."""
        by_plugin: dict[str, list[str]] = {}
        for entry in entries:
            by_plugin.setdefault(entry.plugin, []).append(entry.name)
        return [f"- {plugin}: {', '.join(names)}" for plugin, names in sorted(by_plugin.items())]
