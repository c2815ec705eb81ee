"""What of the conversation a turn shows the model: selected once, sent with every call of the turn."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence

from homed.agent import prompt
from homed.agent.catalogue import Catalogue
from homed.agent.ports import AgentPorts
from homed.agent.stages import Staged
from homed.agent.turn import Turn
from homed.config.definitions import MAX_CONTEXT_SIZE, PERSONA, PROTECTED_EVENTS, RESULT_LIMIT
from homed.errors import HomedError
from homed.memory import window
from homed.memory.records import Event, EventKind
from homed.prompts.loader import fill
from homed.providers import pairing
from homed.providers.base import ChatRequest, Message, Provider, System, ToolSpec, User
from homed.store.rows import Tx

log = logging.getLogger(__name__)

OLDER_SHARE = 4
"""Results older than the protected events are shown at this fraction of the limit: they are read already."""

FIELD_LIMIT = 4_000
"""Characters of one event shown to stage handlers at the most."""

FIELDS_LIMIT = 120_000
"""Characters of all of them together: at four bytes each they fit one wire line, beside a message of full length."""


class Context:
    """Selects the window and builds requests.  What is selected lives in the turn (``turn.window``)."""

    def __init__(self, ports: AgentPorts, catalogue: Catalogue, texts: prompt.Texts) -> None:
        self._ports = ports
        self._catalogue = catalogue
        self._texts = texts

    async def select(self, turn: Turn) -> None:
        """Read the recent events of the thread; those of this turn are kept apart in ``turn.events``."""
        given = turn.input
        limit = self._ports.settings.int(MAX_CONTEXT_SIZE)

        def read(tx: Tx) -> list[Event]:
            return window.recent(tx, scope=given.scope, thread=given.thread, limit=limit)

        recent = await self._ports.store.read(read)
        turn.window = [event for event in recent if event.turn != turn.id]

    def as_fields(self, turn: Turn) -> list[dict[str, object]]:
        """The window as the field ``context_msgs``: ``{id, role, text}`` each, long texts shortened."""
        said = [event for event in turn.window if event.kind in (EventKind.USER, EventKind.ASSISTANT)]
        limit = min(FIELD_LIMIT, FIELDS_LIMIT // max(1, len(said)))
        return [{"id": e.id, "role": e.kind.value, "text": e.text[:limit]} for e in said]

    def apply(self, turn: Turn, staged: Staged) -> None:
        """What ``pre_action`` left: removed messages are not shown, new ones come before the input as fenced data."""
        if "context_msgs" not in staged.fields:
            return
        left = {str(e["id"]): str(e.get("text", "")) for e in staged.elements("context_msgs")}
        offered = {str(e["id"]): str(e["text"]) for e in self.as_fields(turn)}
        turn.hidden = frozenset(offered.keys() - left.keys())
        turn.reworded = {id_: text for id_, text in left.items() if id_ in offered and offered[id_] != text}
        turn.injected = [text for id_, text in left.items() if id_ not in offered and text.strip()]

    async def request(self, turn: Turn, provider: Provider, note: str, *, last: bool) -> ChatRequest:
        """The next model call; a ``note`` stands at its end.  ``last``: no tools, the model must answer in text."""
        settings = self._ports.settings
        offered = await self._catalogue.offered(turn) if provider.source.tools else []
        specs = () if last else tuple(ToolSpec(e.name, e.description, e.parameters) for e in offered)
        system = prompt.system_text(
            self._texts if provider.source.tools else self._texts.for_small(),
            at=self._ports.wall(),
            persona=settings.str(PERSONA),
            catalogue=self._catalogue.lines(offered),
            memory=_text(turn.fields.get("memory")),
        )
        budget = prompt.budget(provider.source.context_window, system, specs) >> turn.counters.context_full
        messages: list[Message] = [System(system), *self._timeline(turn, budget)]
        if note:
            messages.append(User(note))
        return ChatRequest(paired(messages), specs)

    def _timeline(self, turn: Turn, budget: int) -> list[Message]:
        """The window and this turn's own events, the newest that fit; what ``pre_action`` put in stands between."""
        limit = self._ports.settings.int(RESULT_LIMIT)
        whole = self._ports.settings.int(PROTECTED_EVENTS)
        shown = [self._as_left(turn, e) for e in turn.window if e.id not in turn.hidden] + turn.events
        older = len(shown) - whole
        seen = [
            prompt.as_seen(event, result_limit=limit // OLDER_SHARE if at < older else limit)
            for at, event in enumerate(shown)
        ]
        kept = window.plan(seen, budget_tokens=max(1, budget))
        before = prompt.render(e for e in kept if e.turn != turn.id)
        injected: list[Message] = [User(prompt.fenced("pre_action", text)) for text in turn.injected]
        return [*before, *injected, *prompt.render(e for e in kept if e.turn == turn.id)]

    def _as_left(self, turn: Turn, event: Event) -> Event:
        text = turn.reworded.get(event.id)
        return event if text is None else prompt.reworded(event, text)

    def limit_note(self, limit: int) -> str:
        """What the model is told when no more rounds are left."""
        return fill(self._texts.tool_limit, limit=str(limit))

    def unparsed_note(self, error: str) -> str:
        """What the model is told when the server could not read its tool call."""
        return fill(self._texts.bad_tool_call, error=error[:500])

    def done_so_far(self, turn: Turn) -> str:
        """The turn's tool calls, counted by name and outcome."""
        done = Counter(
            f"{e.data.get('name')} ({e.data.get('status')})" for e in turn.events if e.kind is EventKind.TOOL
        )
        return ", ".join(f"{name} × {count}" for name, count in done.items()) or "nothing"


def paired(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Calls and results paired both ways, before every send (A2, A4).  HomedError for what cannot be repaired."""
    repaired = pairing.repair(messages)
    for note in repaired.notes:
        log.info("history repaired: %s", note)
    if problems := pairing.check(repaired.messages):
        raise HomedError("The conversation could not be put into a form the model accepts.", hint=problems[0])
    return repaired.messages


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
