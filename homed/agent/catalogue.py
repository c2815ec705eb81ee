"""Every tool there is, from one list: what is sent to the model, shown to people and called (E31, E32)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from homed.agent.offers import SHOW
from homed.agent.outputs import Outputs
from homed.agent.ports import AgentPorts, BuiltinTool
from homed.agent.turn import Turn
from homed.errors import NotFound
from homed.host.registry import ToolEntry
from homed.host.states import Trust
from homed.identity.permissions import Decision, Request, Rule, Verdict, decide, strictest
from homed.identity.roles import Role
from homed.prompts.loader import load

KERNEL = "kernel"
"""The owner of builtin tools, as notices and lists show it."""

ABOUT = 90
"""Characters of a plugin's description that the system prompt has."""

NAMED = 20
"""Tools of one plugin that it names."""

LINES = 4000
"""Bytes that the lines of all plugins may take."""


class Catalogue:
    """The kernel's own tools and those of the plugins that are ready, at this moment."""

    def __init__(self, ports: AgentPorts, outputs: Outputs) -> None:
        self._ports = ports
        self._outputs = outputs
        self._builtins: dict[str, BuiltinTool] = {tool.entry.name: tool for tool in ports.builtins}
        self._about = _about(load("groups"))

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
        builtin = self._builtins.get(entry.name)
        if builtin is not None and builtin.owner and turn.who.role is not Role.OWNER:
            return Verdict(Decision.DENY, f"Only an owner may use {entry.name}.")
        tainted, own = turn.tainted_for(entry.name), builtin is not None and not within
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

    def group(self, entry: ToolEntry) -> str:
        """The name under which a tool is asked for: its plugin's, or that of a part of the kernel."""
        builtin = self._builtins.get(entry.name)
        return builtin.group if builtin else entry.plugin

    def lines(self, turn: Turn, entries: Sequence[ToolEntry]) -> list[str]:
        """One line a group for the system prompt: its name, what it is for, and its tools.  What was lent to the turn
        is always offered, and not in here: this stays as it is from message to message."""
        groups: dict[str, list[str]] = {}
        for entry in entries:
            if turn.borrowed is None or not turn.borrowed.owns(entry.name):
                groups.setdefault(self.group(entry), []).append(entry.name)
        about = {status.name: status.description for status in self._ports.host.statuses()} | self._about
        return shortened({name: (about.get(name, ""), groups[name]) for name in sorted(groups)})

    def asked(self, arguments: Mapping[str, object]) -> list[str]:
        """The tools that a call of ``get_plugin_tools`` is about, whoever may use them; none for a call without names.

        Models give the name of a tool for that of its plugin now and then.
        """
        named, some = arguments.get("plugin"), arguments.get("tools")
        only = {str(name) for name in some} if isinstance(some, list) else set()
        entries = self.entries()
        if isinstance(named, str) and named in entries:
            return [named]
        found = [name for name in sorted(entries) if self.group(entries[name]) == named or (not named and name in only)]
        return [name for name in found if name in only] if only else found

    async def run(self, turn: Turn, builtin: BuiltinTool, arguments: Mapping[str, object]) -> object:
        """Run one of the kernel's own; that which shows tools shows those that this turn's person may use."""
        if builtin.entry.name == SHOW:
            return await self._shown(turn, arguments)
        return await builtin.run(turn.context, arguments)

    async def _shown(self, turn: Turn, arguments: Mapping[str, object]) -> object:
        usable = await self.offered(turn)
        if not arguments.get("plugin") and not arguments.get("tools"):
            return {"plugins": self.lines(turn, usable)}
        names = self.asked(arguments)
        found = [entry for entry in usable if entry.name in names]
        if not found:
            groups = ", ".join(sorted({self.group(entry) for entry in usable}))
            raise NotFound(f"There are no such tools for {turn.who.role.value} now.", hint=f"Plugins: {groups}.")
        told = [{"name": e.name, "description": e.description, "class": e.tool_class} for e in found]
        return {"offered_from_now_on": told}


def shortened(groups: Mapping[str, tuple[str, Sequence[str]]]) -> list[str]:
    """A line for each: what it is for, and its tools; where that is too much altogether, one without the other, and at
    last the names alone."""
    forms = (line(ABOUT, NAMED), line(0, NAMED), line(ABOUT, 0))
    for form in forms:
        lines = [form(name, about, tools) for name, (about, tools) in groups.items()]
        if sum(len(said.encode("utf-8", "surrogatepass")) for said in lines) <= LINES:
            return lines
    return [f"- {name}" for name in groups]


def line(about: int, named: int) -> Callable[[str, str, Sequence[str]], str]:
    """How the system prompt speaks of a plugin: with so many characters about it, and the first so many tools."""

    def said(name: str, description: str, tools: Sequence[str]) -> str:
        first = next(iter(description.strip().splitlines()), "")
        what = f" ({first[:about].rstrip(' .')})" if about and first else ""
        more = f" and {len(tools) - named} more" if len(tools) > named else ""
        return f"- {name}{what}: {', '.join(tools[:named])}{more}" if named else f"- {name}{what}"

    return said


def _about(text: str) -> dict[str, str]:
    """``name: what it is for`` each line."""
    pairs = (said.partition(":") for said in text.splitlines() if said.strip())
    return {name.strip(): what.strip() for name, _, what in pairs}
