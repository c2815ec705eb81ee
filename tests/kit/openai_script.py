"""What the fake OpenAI server answers: replies, the rules that choose one, and their bytes.  Pure.

The format of a script is described at the top of ``fake_openai.py``.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace

from tests.kit.openai_rules import Json, tokens


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
    calls: tuple[Call, ...] = ()
    chunk: int = 4
    delay: float = 0.0
    first_delay: float = 0.0
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: object = None
    finish: str = ""
    usage: bool = True
    done: bool = True
    cut: int = -1
    one_byte: bool = False
    crlf: bool = False
    keepalive: bool = False
    hang: str = ""
    broken_json: bool = False
    sse: bool | None = None
    ids: str = ""
    indexes: str = ""
    arguments_as: str = "string"
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


def text_of(message: Json) -> str:
    """The text of a message, also when its content is a list of parts."""
    content = message.get("content") or ""
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content)
    return str(content)


def last_of(messages: Sequence[Json], role: str) -> tuple[int, str]:
    """Place and text of the last message of a role, or (-1, "")."""
    for i in range(len(messages) - 1, -1, -1):
        if messages[i].get("role") == role:
            return i, text_of(messages[i])
    return -1, ""


class Script:
    """Chooses the reply to a request: the queue first, then the first rule that fits, then the default."""

    def __init__(self) -> None:
        self.queue: deque[Reply] = deque()
        self.rules: list[Rule] = []
        self.default = Reply(say="You said: {user}")

    def load(self, script: Mapping[str, object]) -> None:
        """Take over ``queue``, ``rules`` and ``default`` of the script format."""
        for value in _list(script.get("queue")):
            self.queue.append(Reply.parse(value))
        for value in _list(script.get("rules")):
            self.when(str(value["when"]), *value["steps"])  # type: ignore[misc]
        if isinstance(default := script.get("default"), Mapping):
            self.default = Reply.parse(default)

    def when(self, contains: str, *steps: object) -> None:
        """Add a rule; a step is a reply (object or mapping) or a list of alternatives."""
        self.rules.append(Rule(contains, tuple(_alternatives(step) for step in steps)))

    def choose(self, body: Json) -> Reply:
        """The reply to this request, with ``{user}`` and ``{tool}`` filled in."""
        messages = _list(body.get("messages"))
        place, user = last_of(messages, "user")
        reply = self._pick(user, sum(m.get("role") == "assistant" for m in messages[place + 1 :]))
        say = reply.say.replace("{user}", user).replace("{tool}", last_of(messages, "tool")[1])
        return replace(reply, say=say)

    def _pick(self, user: str, step: int) -> Reply:
        if self.queue:
            return self.queue.popleft()
        for rule in self.rules:
            if rule.when in user:
                return rule.reply(step)
        return self.default


def _alternatives(step: object) -> tuple[Reply, ...]:
    if isinstance(step, Reply):
        return (step,)
    if isinstance(step, Mapping):
        return (Reply.parse(step),)
    assert isinstance(step, Sequence)
    return tuple(reply for alternative in step for reply in _alternatives(alternative))


def _list(value: object) -> list[Mapping[str, object]]:
    return value if isinstance(value, list) else []


def usage_of(reply: Reply, body: Json) -> dict[str, object]:
    """Token counts of the exchange in the real shape."""
    prompt, completion = tokens(body), max(1, len(reply.say.encode()) // 4)
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": prompt // 2},
    }


def _finish(reply: Reply) -> str:
    return reply.finish or ("tool_calls" if reply.calls else "stop")


def _calls(reply: Reply, number: int) -> list[dict[str, object]]:
    """Whole tool calls as a response carries them, with what was asked to be wrong about them."""
    made: list[dict[str, object]] = []
    for i, call in enumerate(reply.calls):
        arguments: object = dict(call.args) if reply.arguments_as == "object" else call.arguments
        entry: dict[str, object] = {"function": {"name": call.name, "arguments": arguments}}
        if reply.ids != "missing":
            entry = {"id": call.id or f"call_{number}_{i}", "type": "function", **entry}
        if reply.ids == "same":
            entry["id"] = "call_same"
        if reply.ids == "empty":
            entry["id"] = ""
        made.append(entry)
    return made


def json_body(reply: Reply, body: Json, number: int) -> bytes:
    """The body of a non-stream answer."""
    message: dict[str, object] = {"role": "assistant", "content": reply.say or None}
    if reply.think:
        message[reply.reasoning_key] = reply.think
    if reply.calls:
        message["tool_calls"] = _calls(reply, number)
    answer: dict[str, object] = {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": 1,
        "model": body.get("model"),
        "choices": [{"index": 0, "message": message, "finish_reason": _finish(reply)}],
    }
    if reply.usage:
        answer["usage"] = usage_of(reply, body)
    raw = json.dumps(answer, ensure_ascii=False).encode()
    return raw[: len(raw) // 2] if reply.broken_json else raw


def deltas(reply: Reply, number: int) -> Iterator[dict[str, object]]:
    """The deltas of a streamed answer; parallel calls come interleaved, fragment by fragment."""
    yield {"role": "assistant", "content": ""}
    for i in range(0, len(reply.think), reply.chunk):
        yield {reply.reasoning_key: reply.think[i : i + reply.chunk]}
    for i in range(0, len(reply.say), reply.chunk):
        yield {"content": reply.say[i : i + reply.chunk]}
    if reply.indexes == "missing" or reply.arguments_as == "object":
        whole = _calls(reply, number)
        for i, call in enumerate(whole):
            yield {"tool_calls": [call if reply.indexes == "missing" else {"index": i, **call}]}
        return
    yield from _call_fragments(reply, number)


def _call_fragments(reply: Reply, number: int) -> Iterator[dict[str, object]]:
    pieces: list[list[str]] = []
    for i, (call, whole) in enumerate(zip(reply.calls, _calls(reply, number), strict=True)):
        index = 0 if reply.indexes == "zero" else i
        head = {**whole, "index": index, "function": {"name": call.name, "arguments": ""}}
        if reply.indexes == "zero":  # each call whole, one after the other, all under index 0
            head["function"] = {"name": call.name, "arguments": call.arguments}
            yield {"tool_calls": [head]}
            continue
        yield {"tool_calls": [head]}
        text = call.arguments
        pieces.append([text[k : k + reply.chunk] for k in range(0, len(text), reply.chunk)])
    for turn in range(max(map(len, pieces), default=0)):
        for i, parts in enumerate(pieces):
            if turn < len(parts):
                yield {"tool_calls": [{"index": i, "function": {"arguments": parts[turn]}}]}


def events(reply: Reply, body: Json, number: int) -> Iterator[bytes]:
    """The server-sent events of an answer, one ``bytes`` a frame."""
    options = body.get("stream_options")
    with_usage = reply.usage and (not isinstance(options, Mapping) or options.get("include_usage") is True)
    base = {"id": f"chatcmpl-{number}", "object": "chat.completion.chunk", "created": 1, "model": body.get("model")}
    for n, delta in enumerate(deltas(reply, number)):
        if n == reply.error_after:
            yield _frame(reply, {"error": {"message": "The server had an error", "type": "server_error"}})
            return
        if reply.keepalive:
            yield b": keep-alive\r\n\r\n" if reply.crlf else b": keep-alive\n\n"
        frame = _frame(reply, {**base, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
        yield frame.replace(b'"delta"', b'"delta', 1) if reply.broken_json and n == 2 else frame
    yield _frame(reply, {**base, "choices": [{"index": 0, "delta": {}, "finish_reason": _finish(reply)}]})
    if with_usage:
        yield _frame(reply, {**base, "choices": [], "usage": usage_of(reply, body)})
    if reply.done:
        yield b"data: [DONE]\r\n\r\n" if reply.crlf else b"data: [DONE]\n\n"


def _frame(reply: Reply, value: object) -> bytes:
    end = b"\r\n\r\n" if reply.crlf else b"\n\n"
    return b"data: " + json.dumps(value, ensure_ascii=False).encode() + end
