"""What of one turn has been shown, and what a notice adds to it.  Pure: notices in, things to show out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from .words import Words


@dataclass(frozen=True, slots=True)
class Say:
    """More of the answer's text; ``fresh`` when it begins a new passage."""

    text: str
    fresh: bool = False


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool call that started (``status`` running) or ended (ok, error, denied, interrupted)."""

    name: str
    status: str
    args: object = None
    result: object = None
    ms: int | None = None
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ask:
    """An approval that waits for a person."""

    approval: str
    tool: str
    plugin: str
    tool_class: str
    args: object
    reason: str
    yes: str = "thread"


@dataclass(frozen=True, slots=True)
class Settled:
    """An approval that waits no longer."""

    approval: str
    status: str


@dataclass(frozen=True, slots=True)
class Note:
    """Something the kernel wants the person to know."""

    text: str


Piece = Say | Tool | Ask | Settled | Note


@dataclass(slots=True)
class Progress:
    """Follows the turn of one input in one thread.

    Deltas carry the place where they belong, so that one that comes twice (after dialling again) is shown once, and a
    gap is filled from the whole text of the step, which follows.
    """

    thread: str
    input: str
    turn: str = ""
    words: Words = field(default_factory=Words)
    _step: int = -1
    _shown: str = ""
    _anything: bool = False
    _tools: set[tuple[str, str]] = field(default_factory=set)

    def feed(self, notice: Mapping[str, Any]) -> list[Piece]:
        """What a notice adds; nothing if it is of another thread or turn, or malformed."""
        data = notice.get("data")
        if notice.get("thread") != self.thread or not isinstance(data, Mapping):
            return []
        kind = notice.get("type")
        if kind == "turn" and data.get("phase") == "start" and data.get("input") == self.input:
            self.turn = str(notice.get("turn", ""))
        if kind == "turn" and data.get("phase") == "joined" and data.get("input") == self.input:
            self.turn = str(notice.get("turn", ""))
        if kind == "approval":
            return [approval(data)]
        if not self.turn or notice.get("turn") != self.turn:
            return []
        return list(self._of_turn(str(kind), data))

    def catch_up(self, live: Mapping[str, Any]) -> list[Piece]:
        """Take over a running turn from ``history``'s ``live``."""
        if live.get("input") != self.input:
            return []
        self.turn = str(live.get("turn", ""))
        calls = live.get("calls")
        pieces: list[Piece] = []
        for call in calls if isinstance(calls, list) else ():
            if isinstance(call, Mapping):
                pieces += self._tool(call)
        return [*pieces, *self._delta(live.get("step"), 0, live.get("text"))]

    def finish(self, text: str) -> list[Piece]:
        """The stored final text: show what is missing of it.

        If something else was shown (a stage changed it, or the turn began anew after a restart) the whole text follows
        as a passage of its own: what stands last is the answer.
        """
        if text.startswith(self._shown):
            rest = text[len(self._shown) :]
            return [Say(rest)] if rest else []
        return [Note("The answer was changed; this is how it stands:"), Say(text, fresh=True)]

    def _of_turn(self, kind: str, data: Mapping[str, Any]) -> Iterator[Piece]:
        if kind == "content_delta":
            yield from self._delta(data.get("step"), data.get("at"), data.get("text"))
        elif kind == "agent_llm_chain":
            yield from self._delta(data.get("step"), 0, data.get("text"))
        elif kind == "tool_call":
            yield from self._tool(data)
        elif kind == "turn" and data.get("phase") == "suspended":
            yield Note(self.words("talk.suspended"))
        elif kind == "turn" and data.get("phase") == "resumed":
            if isinstance(step := data.get("step"), int) and step > self._step:  # nothing that was shown is taken back
                yield Note(self.words("talk.resumed"))
                return
            # the model call that was cut off is sent again: its text is another one, from its beginning
            self._step, self._shown = self._step - 1, ""
            yield Note(self.words("talk.anew"))
        elif kind == "child" and data.get("phase") in ("start", "end"):
            key = "talk.agent.works" if data.get("phase") == "start" else "talk.agent.ended"
            yield Note(self.words(key, name=data.get("name"), state=data.get("state")))
        elif kind == "system" and isinstance(data.get("message"), str):
            yield Note(data["message"])

    def _delta(self, step: object, at: object, text: object) -> Iterator[Piece]:
        if not isinstance(step, int) or not isinstance(at, int) or not isinstance(text, str) or step < self._step:
            return
        fresh = step > self._step
        if fresh:
            self._step, self._shown = step, ""
        if at > len(self._shown) or not text:
            return  # a gap: the step's whole text will fill it
        if not (self._shown[at:] + text).startswith(text) and not text.startswith(self._shown[at:]):
            return  # another text than the one begun; the final one decides
        rest = text[len(self._shown) - at :]
        if rest:
            yield Say(rest, fresh=fresh and self._anything)
            self._shown += rest
            self._anything = True

    def _tool(self, data: Mapping[str, Any]) -> list[Piece]:
        key = (str(data.get("call")), str(data.get("status")))
        if key in self._tools:
            return []
        self._tools.add(key)
        ms = data.get("ms")
        name = str(data.get("tool"))
        took = ms if isinstance(ms, int) else None
        return [Tool(name, key[1], data.get("args"), data.get("result"), took, _names(data.get("blocks")))]


def _names(blocks: object) -> tuple[str, ...]:
    """Of what a tool gave back beside its text."""
    listed = blocks if isinstance(blocks, list) else []
    return tuple(str(block.get("name") or "?") for block in listed if isinstance(block, Mapping))


def yes_of(data: Mapping[str, Any]) -> str:
    """How far a yes can go: once, thread or day; an older homed does not say it."""
    said = data.get("yes")
    return str(said) if said in ("once", "day") else "thread"


def approval(data: Mapping[str, Any]) -> Ask | Settled:
    """An approval notice, or an entry of the list of open ones."""
    id_, status = str(data.get("approval")), str(data.get("status", "asked"))
    if status != "asked":
        return Settled(id_, status)
    tool, plugin, tool_class, reason = (str(data.get(key) or "") for key in ("tool", "plugin", "class", "reason"))
    return Ask(id_, tool, plugin, tool_class, data.get("args"), reason, yes_of(data))
