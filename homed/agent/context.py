"""What a turn shows the model: the view, selected once, and its own events; sent with every call of the turn."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from homed.agent import notes, ordering, prompt
from homed.agent.attached import Attached
from homed.agent.catalogue import Catalogue
from homed.agent.offering import Offering
from homed.agent.ports import AgentPorts
from homed.agent.recall import Recall
from homed.agent.stages import Staged
from homed.agent.turn import Turn
from homed.agent.weight import Sizes, last_unit, own_tokens, piece, weigh
from homed.config.definitions import LANGUAGE, PERSONA, PROTECTED_EVENTS, RECALL_PERCENT, RESULT_LIMIT, TIME_ZONE
from homed.config.definitions.limits import AUTO
from homed.config.zone import zone_named
from homed.errors import HomedError
from homed.memory import window
from homed.memory.budget import UNKNOWN_WINDOW, Budget, budget
from homed.memory.records import Event, EventKind
from homed.memory.shorten import shorten, shown_tokens
from homed.memory.speakers import is_group
from homed.prompts.loader import fill, load
from homed.providers import pairing
from homed.providers.base import ChatRequest, Message, Provider, System, ToolSpec, User

log = logging.getLogger(__name__)

OLDER_SHARE = 4
"""Results older than the protected events are shown at this fraction of the limit: they are read already."""

LEAST = 256
"""Tokens below which no room is made smaller: less than that is not worth asking a model about."""

SAID = (EventKind.USER, EventKind.ASSISTANT)
"""What stage handlers are offered of the window."""


@dataclass(frozen=True, slots=True)
class Frame:
    """What stands round the timeline in a model call, and what room it leaves."""

    system: str
    specs: tuple[ToolSpec, ...]
    budget: Budget
    small: bool


class Context:
    """Builds requests.  What is selected lives in the turn (``turn.view``)."""

    def __init__(self, ports: AgentPorts, catalogue: Catalogue, texts: prompt.Texts, recall: Recall) -> None:
        self._ports = ports
        self._catalogue = catalogue
        self._offering = Offering(ports, catalogue)
        self.texts = self._texts = texts
        self._recall = recall
        self._sizes = Sizes()

    async def select(self, turn: Turn, frame: Frame) -> None:
        """Choose what of the scope's events this turn shows, and what it is told besides."""
        own = own_tokens([event for event in turn.events if event.id not in turn.view.dropped], turn.view.room)
        await self._recall.select(turn, frame.budget, small=frame.small, spoken_for=min(own, frame.budget.context))
        offered = turn.view.offered
        if offered is not None:  # a stage that leaves messages out has not seen any others
            turn.view.window = [e for e in turn.view.window if e.kind not in SAID or e.id in offered]

    async def frame(self, turn: Turn, *, last: bool = False) -> Frame:
        """The instructions and tools of the next model call.  ``last``: no tools, the model must answer in text.

        Without a source it is that of an unknown window: what comes before the model works all the same.
        """
        await self._ports.refresh()
        settings, provider = self._ports.settings, self._provider(turn)
        tools = provider is None or provider.source.tools
        size = provider.source.context_window if provider else UNKNOWN_WINDOW
        usable = await self._catalogue.offered(turn, size) if tools else []
        specs = () if last else await self._offering.specs(turn, usable, size)
        system = prompt.system_text(
            self._texts if tools else self._texts.for_small(),
            at=self._ports.wall(),
            persona=settings.str(PERSONA),
            catalogue=self._catalogue.lines(turn, usable),
            memory=_text(turn.fields.get("memory")),
            zone=zone_named(settings.str(TIME_ZONE).strip()),
        )
        if is_group(turn.input.scope):
            system = f"{system}\n\n{self._texts.group}"
        if turn.frame is not None:
            system = f"{system}\n\n{fill(load('child'), name=turn.frame.name, brief=turn.frame.brief)}"
        if (language := settings.str(LANGUAGE)) != AUTO:
            system = f"{system}\n\n{fill(self._texts.language, language=language)}"
        fixed = self._sizes.of(system) + sum(self._sizes.of(prompt.spec_text(spec)) for spec in specs)
        return Frame(system, specs, budget(size, fixed, settings.int(RECALL_PERCENT)), not tools)

    def _provider(self, turn: Turn) -> Provider | None:
        """The source that the turn asks, or will be the first to be asked."""
        try:
            return turn.asks or self._ports.chain.course().provider
        except HomedError:
            return None

    def as_fields(self, turn: Turn) -> list[dict[str, object]]:
        """The window as the field ``context_msgs``: ``{id, role, text}`` each, whole."""
        said = [event for event in turn.view.window if event.kind in SAID]
        return [{"id": e.id, "role": e.kind.value, "text": e.text} for e in said]

    def apply(self, turn: Turn, staged: Staged) -> None:
        """What ``pre_action`` left: removed messages are not shown, new ones come before the input as fenced data."""
        turn.view.offered = frozenset(event.id for event in turn.view.window if event.kind in SAID)
        if "context_msgs" not in staged.fields:
            return
        left = {str(e["id"]): str(e.get("text", "")) for e in staged.elements("context_msgs")}
        offered = {str(e["id"]): str(e["text"]) for e in self.as_fields(turn)}
        turn.hidden = frozenset(offered.keys() - left.keys())
        turn.reworded = {id_: text for id_, text in left.items() if id_ in offered and offered[id_] != text}
        turn.injected = [text for id_, text in left.items() if id_ not in offered and text.strip()]

    async def request(self, turn: Turn, provider: Provider, frame: Frame, note: str) -> ChatRequest:
        """The next model call; a ``note`` stands at its end."""
        attached = await self._ports.media.load([*turn.view.window, *turn.events], provider.source)
        kept = self._kept(turn, frame, attached)
        timeline = prompt.given_last(self._timeline(turn, frame, kept, attached))
        turn.view.tools = frozenset(spec.name for spec in frame.specs)
        messages: list[Message] = [System(frame.system), *timeline]
        if note:
            messages.append(User(note))
        return ChatRequest(paired(messages), frame.specs)

    def _kept(self, turn: Turn, frame: Frame, attached: Attached) -> list[Event]:
        """The selected events and this turn's own, as shown, so far as they fit.  What has no room is noted as cut."""
        view = turn.view
        earlier = [self._as_left(turn, e) for e in view.in_view if e.id not in turn.hidden]
        own = self._own(turn)
        seen = [attached.on(event) for event in self._seen([*earlier, *own])]
        before, mine = seen[: len(earlier)], seen[len(earlier) :]
        others = sum(1 for event in earlier if event.thread != turn.input.thread)
        marks = others * notes.MARK_TOKENS + sum(map(notes.marked, [*earlier, *own])) * notes.SPEAKER_TOKENS
        room = max(LEAST, (view.room or frame.budget.available) - view.told - marks)
        kept = window.fit(before, mine, budget_tokens=room, scores=view.scores, estimate=self._sizes.of)
        view.sent = frozenset(event.id for event in kept)
        if cut := frozenset(event.id for event in earlier) - view.sent:
            self._note_cut(turn, cut, kept, room)
        return kept

    def _note_cut(self, turn: Turn, cut: frozenset[str], kept: Sequence[Event], room: int) -> None:
        """It is told of, can be found by looking for it, and stays out, so that the prompt keeps its beginning."""
        was, view = weigh(turn), turn.view
        view.cut |= cut
        view.left += len(cut)
        now = sum(shown_tokens(event, self._sizes.of) for event in kept)
        data: dict[str, object] = {
            "why": "results", "recovery": view.recoveries, "room": room, "sunk": [], "left_out": sorted(cut),
            "dropped": [], "before": {"events": was.events, "tokens": was.tokens},
            "after": {"events": len(kept), "tokens": now},
        }  # fmt: skip
        turn.ledger.append(("guard", data))

    def _timeline(self, turn: Turn, frame: Frame, kept: Sequence[Event], attached: Attached) -> Iterator[Message]:
        """What is kept of the window, what is remembered, and what is kept of this turn's own events."""
        view = turn.view
        before = ordering.as_ended([e for e in kept if e.turn != turn.id])
        yield from self._before(turn, before, attached)
        for text in turn.injected:
            yield User(notes.fenced("pre_action", text))
        if view.snapshot:
            yield User(view.snapshot)
        if view.left:  # for the whole turn, at one place: each call is the model's first
            yield User(fill(self._texts.overflow_small if frame.small else self._texts.overflow, count=str(view.left)))
        own = (notes.said_by(e, view.names) for e in kept if e.turn == turn.id)
        now = prompt.render(own, attached)
        gone = prompt.not_shown([e for e in turn.events if e.id not in view.sent])
        yield from [*now[:1], User(gone), *now[1:]] if gone else now

    def _before(self, turn: Turn, kept: Sequence[Event], attached: Attached) -> Iterator[Message]:
        """The window in time order; where another conversation speaks, it says which."""
        speaking = turn.input.thread
        for event in kept:
            mine = event.thread == turn.input.thread
            if mine and event.kind is EventKind.USER and (told := turn.view.earlier.get(event.turn)):
                yield User(told)
            starts = event.thread != speaking or event.kind is EventKind.USER
            place = turn.view.places.get(event.thread, notes.Place("", event.channel))
            named = notes.said_by(event, turn.view.names)
            shown = named if mine else _recalled(named, place, marked=starts)
            speaking = event.thread
            yield from prompt.render([shown], attached)

    def _own(self, turn: Turn) -> list[Event]:
        """This turn's events; once it had to make room, those before the last step as head and tail."""
        left = [event for event in turn.events if event.id not in turn.view.dropped]
        if not turn.view.room:
            return left
        last, limit = {event.id for event in last_unit(left)}, piece(turn.view.room)
        whole = (e.id in last or e.kind is EventKind.USER for e in left)
        return [
            event if stays else shorten(event, limit, self._sizes.of) or event
            for event, stays in zip(left, whole, strict=True)
        ]

    def _seen(self, shown: Sequence[Event]) -> list[Event]:
        limit = self._ports.settings.int(RESULT_LIMIT)
        older = len(shown) - self._ports.settings.int(PROTECTED_EVENTS)
        return [
            prompt.as_seen(event, result_limit=limit // OLDER_SHARE if at < older else limit)
            for at, event in enumerate(shown)
        ]

    def _as_left(self, turn: Turn, event: Event) -> Event:
        text = turn.reworded.get(event.id)
        return event if text is None else prompt.reworded(event, text)

    def limit_note(self, limit: int) -> str:
        """What the model is told when no more rounds are left."""
        return fill(self._texts.tool_limit, limit=str(limit))

    def spend_note(self, used: int) -> str:
        """What the model is told when the turn's tokens are nearly used up."""
        return fill(self._texts.spend_limit, used=str(used))

    def unparsed_note(self, error: str) -> str:
        """What the model is told when the server could not read its tool call."""
        return fill(self._texts.bad_tool_call, error=error[:500])

    def must_note(self, names: Collection[str]) -> str:
        """What the model is told when it must call one of these."""
        return fill(self._texts.must_call, names=" or ".join(sorted(names)))

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


def _recalled(event: Event, place: notes.Place, *, marked: bool) -> Event:
    """``event`` as ``notes.said_by`` left it."""
    text = event.text if notes.marked(event) else notes.neutral(event.text)
    return replace(event, opaque="", text=f"{notes.mark(event, place)}\n{text}" if marked else text)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
