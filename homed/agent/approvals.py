"""Questions to a person: may this tool run?  Asked by a notice, answered by ``io.approve``, denied by silence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import trio

from homed import events as notices
from homed.agent.fitting import fitted
from homed.agent.ports import AgentPorts
from homed.agent.turn import Turn
from homed.clock import new_id
from homed.config.definitions import APPROVAL_TIMEOUT
from homed.errors import Denied, NotFound
from homed.host.registry import ToolEntry
from homed.identity.permissions import DANGEROUS, Decision, Rule
from homed.identity.roles import Identity, Role, visible_scopes

ARGS_BYTES = 64_000
"""Bytes of the arguments in a notice, and of those of all questions in a list: more than one reads before a yes."""


@dataclass(slots=True)
class Asked:
    """A question that waits for its answer.  ``day``: a yes holds for what is left of the day."""

    id: str
    turn: Turn
    entry: ToolEntry
    args: Mapping[str, object]
    reason: str
    expires_at: float
    day: bool = False
    allowed: bool = False
    answered: trio.Event = field(default_factory=trio.Event)

    @property
    def yes(self) -> str:
        """How far a yes can go: ``once``, ``thread`` (it may also be kept for the conversation), or ``day``."""
        return "day" if self.day else "once" if self.entry.confirm else "thread"

    def view(self, room: int = ARGS_BYTES) -> dict[str, object]:
        """As in ``io.approvals``, the arguments in no more than ``room`` bytes."""
        return {
            "approval": self.id, "thread": self.turn.front.thread, "turn": self.turn.front.turn,
            "tool": self.entry.name, "plugin": self.entry.plugin, "class": self.entry.tool_class,
            "args": fitted(dict(self.args), room),
            "reason": self.reason, "expires_at": self.expires_at, "yes": self.yes,
        }  # fmt: skip


class Approvals:
    """The questions that are open."""

    def __init__(self, ports: AgentPorts) -> None:
        self._ports = ports
        self._open: dict[str, Asked] = {}

    async def ask(
        self, turn: Turn, entry: ToolEntry, args: Mapping[str, object], reason: str, *, day: bool = False
    ) -> str:
        """Wait for a person; the reason of a denial, or empty if it was allowed.

        Cancelled by a stop: the question is shown as cancelled; by something more urgent, or the end of homed, as
        withdrawn: it is asked again.
        """
        if not turn.input.can_ask:
            return f"{reason} Nobody can be asked in this channel, so it was not run."
        if turn.frame is not None:
            reason = f"{reason} The agent {turn.frame.name} asks for it."
        limit = self._ports.settings.float(APPROVAL_TIMEOUT)
        asked = Asked(new_id("ap"), turn, entry, args, reason, self._ports.wall() + limit, day)
        self._open[asked.id] = asked
        self._tell(asked, "asked")
        status = ""
        try:
            with trio.move_on_after(limit) as scope:
                await asked.answered.wait()
            answer = "allowed" if asked.allowed else "denied"
            status = "expired" if scope.cancelled_caught else answer
        finally:
            del self._open[asked.id]
            self._tell(asked, status or ("cancelled" if turn.stopping else "withdrawn"))
        if status == "expired":
            return f"Nobody answered within {limit:.0f} s, so it was not run."
        return "" if status == "allowed" else "The person said no."

    def list_(self, who: Identity, thread: str = "") -> list[dict[str, object]]:
        """The open questions this peer may see, oldest first."""
        visible = visible_scopes(who)
        found = [
            a for a in self._open.values() if a.turn.front.scope in visible and thread in ("", a.turn.front.thread)
        ]
        return [a.view(ARGS_BYTES // len(found)) for a in found]

    async def answer(self, who: Identity, approval: str, *, allow: bool, remember: str) -> None:
        """Answer one.  ``remember`` "thread" also keeps a yes for this tool in this conversation, unless it is one
        that is asked about each time; a no is never kept, for nobody would be asked again to take it back.

        Raises NotFound for one that is over or not this peer's to see, Denied for who may not decide it.
        """
        asked = self._open.get(approval)
        if asked is None or asked.answered.is_set() or asked.turn.front.scope not in visible_scopes(who):
            raise NotFound("There is no such open question.", hint="It may have been answered, or have expired.")
        needs_owner = asked.entry.confirm or asked.entry.tool_class == DANGEROUS
        if who.role is Role.GUEST or (needs_owner and who.role is not Role.OWNER):
            raise Denied(f"The role {who.role.value} may not decide about {asked.entry.name}.")
        asked.allowed = allow
        asked.answered.set()
        if allow and remember == "thread" and who.role is Role.OWNER and not asked.entry.confirm:
            # for that role alone: in a group, a yes to the owner's own call is none to the others'
            role, thread = asked.turn.who.role.value, asked.turn.front.thread
            await self._ports.rules.add(Rule(Decision.ALLOW, tool=asked.entry.name, thread=thread, role=role))

    def _tell(self, asked: Asked, status: str) -> None:
        front = asked.turn.front
        data = asked.view() | {"status": status}
        for name in ("thread", "turn"):
            data.pop(name)
        self._ports.bus.post(notices.APPROVAL, thread=front.thread, turn=front.turn, scope=front.scope, data=data)
