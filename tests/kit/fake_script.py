"""What a fake model server answers, whatever wire it speaks: replies and the rules that choose one.  Pure.

The format of a script is described at the top of ``fake_server.py``.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace

Json = Mapping[str, object]


@dataclass(frozen=True)
class Call:
    """One tool call of a reply; ``raw`` replaces the JSON of ``args`` when given."""

    name: str
    args: Mapping[str, object] = field(default_factory=dict)
    id: str = ""
    raw: str | None = None

    @property
    def arguments(self) -> str:
        """The argument text as sent."""
        return json.dumps(dict(self.args), ensure_ascii=False) if self.raw is None else self.raw


@dataclass(frozen=True)
class Reply:
    """One answer and how it is to go wrong; the field names are the keys of the script format."""

    say: str = ""
    think: str = ""
    redacted: str = ""
    calls: tuple[Call, ...] = ()
    chunk: int = 4
    delay: float = 0.0
    first_delay: float = 0.0
    status: int = 200
    message: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    body: object = None
    finish: str = ""
    blocked: bool = False
    usage: bool = True
    cached: int = -1
    done: bool = True
    cut: int = -1
    cut_frame: int = -1
    one_byte: bool = False
    crlf: bool = False
    keepalive: bool = False
    hang: str = ""
    broken_json: bool = False
    bad_utf8: bool = False
    sse: bool | None = None
    ids: str = ""
    indexes: str = ""
    arguments_as: str = ""
    reasoning_key: str = "reasoning_content"
    error_after: int = -1

    @classmethod
    def parse(cls, value: Mapping[str, object]) -> Reply:
        """From the script format; an unknown key is an error, so that a typing slip never passes for a test."""
        unknown = set(value) - {f.name for f in fields(cls)}
        if unknown:
            raise ValueError(f"unknown reply keys: {', '.join(sorted(unknown))}")
        calls = value.get("calls", ())
        assert isinstance(calls, Sequence)
        made = tuple(call if isinstance(call, Call) else Call(**call) for call in calls)
        return replace(cls(), **{**value, "calls": made})  # type: ignore[arg-type]

    def pieces(self, text: str) -> list[str]:
        """A text in the pieces it is streamed in."""
        return [text[i : i + self.chunk] for i in range(0, len(text), self.chunk)]

    def call_id(self, place: int, minted: str) -> str | None:
        """The id that the call at ``place`` is sent with, or None for none at all."""
        given = self.calls[place].id or minted
        return {"missing": None, "empty": "", "same": "call_same"}.get(self.ids, given)


@dataclass(frozen=True)
class Asked:
    """What of a request chooses the answer: the person's last words, the last tool result, and how many times the
    model has been called since those words."""

    user: str = ""
    tool: str = ""
    step: int = 0


@dataclass
class Rule:
    """``steps[n]`` answers the n-th model call after a user message that contains ``when``."""

    when: str
    steps: tuple[tuple[Reply, ...], ...]
    used: dict[int, int] = field(default_factory=dict)

    def reply(self, step: int) -> Reply:
        """The next alternative of that step; the last step and the last alternative repeat."""
        step = min(step, len(self.steps) - 1)
        n = self.used.get(step, 0)
        self.used[step] = n + 1
        alternatives = self.steps[step]
        return alternatives[min(n, len(alternatives) - 1)]


class Script:
    """Chooses the reply to a request: the queue first, then the first rule that fits, then the default."""

    def __init__(self) -> None:
        self.queue: deque[Reply] = deque()
        self.rules: list[Rule] = []
        self.default = Reply(say="You said: {user}")

    def load(self, script: Mapping[str, object]) -> None:
        """Take over ``queue``, ``rules`` and ``default`` of the script format."""
        for value in objects(script.get("queue")):
            self.queue.append(Reply.parse(value))
        for value in objects(script.get("rules")):
            self.when(str(value["when"]), *value["steps"])  # type: ignore[misc]
        if isinstance(default := script.get("default"), Mapping):
            self.default = Reply.parse(default)

    def when(self, contains: str, *steps: object) -> None:
        """Add a rule; a step is a reply (object or mapping) or a list of alternatives."""
        self.rules.append(Rule(contains, tuple(_alternatives(step) for step in steps)))

    def choose(self, asked: Asked) -> Reply:
        """The reply to this request, with ``{user}`` and ``{tool}`` filled in."""
        reply = self._pick(asked)
        return replace(reply, say=reply.say.replace("{user}", asked.user).replace("{tool}", asked.tool))

    def _pick(self, asked: Asked) -> Reply:
        if self.queue:
            return self.queue.popleft()
        for rule in self.rules:
            if rule.when in asked.user:
                return rule.reply(asked.step)
        return self.default


def objects(value: object) -> list[Mapping[str, object]]:
    """A list of objects, or nothing where there is no list."""
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


def texts(content: object) -> str:
    """The text of a message's content, also when it is a list of parts."""
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in objects(content))
    return str(content or "")


def _alternatives(step: object) -> tuple[Reply, ...]:
    if isinstance(step, Reply):
        return (step,)
    if isinstance(step, Mapping):
        return (Reply.parse(step),)
    assert isinstance(step, Sequence)
    return tuple(reply for alternative in step for reply in _alternatives(alternative))
