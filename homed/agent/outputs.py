"""Output channels as tools: ``output_send__NAME`` and its help, one pair for each output a plugin has registered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from homed.agent.frame import HELP
from homed.agent.outgoing import MOST, Sent, fits, lacking, parts_of
from homed.agent.ports import AgentPorts
from homed.agent.results import as_text, is_refusal, refusal
from homed.agent.splitting import split
from homed.agent.stages import Stages
from homed.agent.turn import Turn
from homed.config.definitions import TOOL_TIMEOUT
from homed.errors import HomedError, InvalidInput, PluginFailed, TimedOut
from homed.host.registry import OUTPUT_PREFIX, OutputEntry, ToolEntry
from homed.host.states import Trust
from homed.memory import blocks
from homed.memory.records import Event, EventKind
from homed.prompts.loader import fill, load
from homed.wire.carried import AUDIO, FILE, IMAGE, STRUCTURED, TEXT, flags
from homed.wire.methods import OUTPUT_INVOKE

PROVIDES = ("outputs",)
NEEDS = ("stages",)

PREFIX = OUTPUT_PREFIX
SENDS = 10
"""Sends a turn may make, over all outputs (E10)."""

PIECES = 20
"""Messages that one send may become: a longer text is a file."""

OK, QUEUED, UNCONFIRMED = "ok", "queued", "unconfirmed"
STATES = (OK, QUEUED, UNCONFIRMED)
"""What becomes of a message, from good to bad; of several the worst counts."""

LONGEST_WORD = 200
"""Characters of what a channel said instead of one of them, as the model is told it."""

_CONTENT = {
    "type": "object",
    "properties": {
        "content": {"description": "What to send: a text, or an object or list as the help of this output shows."}
    },
    "required": ["content"],
    "additionalProperties": False,
}
_NOTHING = {"type": "object", "properties": {}, "additionalProperties": False}

_EXAMPLES: Mapping[str, object] = {
    TEXT: "a text",
    FILE: {"type": FILE, "block": "the id of a file of this conversation", "caption": "may be left out"},
    IMAGE: {"type": IMAGE, "block": "the id of a picture", "caption": "may be left out"},
    AUDIO: {"type": AUDIO, "block": "the id of a recording", "caption": "may be left out"},
    STRUCTURED: {"type": STRUCTURED, "...": "as the format says"},
}


class Outputs:
    """The send tools of the outputs that are there now."""

    def __init__(self, ports: AgentPorts, stages: Stages) -> None:
        self._ports = ports
        self._stages = stages
        self._send_text, self._help_text = load("output_send"), load("output_help")

    def entries(self) -> Mapping[str, ToolEntry]:
        """Tool name → declaration."""
        found: dict[str, ToolEntry] = {}
        for name, output in self._ports.host.registry.outputs().items():
            say = fill(self._send_text, name=name, kinds=", ".join(output.caps), description=output.description)
            found[PREFIX + name] = _entry(PREFIX + name, output, say, _CONTENT, "write")
            how = fill(self._help_text, name=name)
            found[PREFIX + name + HELP] = _entry(PREFIX + name + HELP, output, how, _NOTHING, "read")
        return found

    def owns(self, name: str) -> bool:
        """True for a tool of this room."""
        return name.startswith(PREFIX)

    async def run(self, turn: Turn, name: str, arguments: Mapping[str, object]) -> tuple[bool, str]:
        """Send, or explain: whether it was done, and for the model just what the channel reported, or the refusal."""
        if name.endswith(HELP):
            return True, as_text(helped(self._output(name.removesuffix(HELP))))
        return await self._send(turn, self._output(name), arguments["content"])

    def _output(self, name: str) -> OutputEntry:
        found = self._ports.host.registry.outputs().get(name.removeprefix(PREFIX))
        if found is None:
            raise InvalidInput(f"There is no output {name.removeprefix(PREFIX)}.")
        return found

    async def _send(self, turn: Turn, output: OutputEntry, content: object) -> tuple[bool, str]:
        sent = self._sent(turn)
        if [output.name, self._ports.redactor.redact_json(content)] in sent:
            detail = "The same message went out in this turn."
            return False, refusal("already_sent", detail=detail, hint="Do not repeat it.")
        if len(sent) >= SENDS:
            detail = f"{SENDS} sends a turn are the limit."
            return False, refusal("send_limit", detail=detail, hint="Answer in text now.")
        try:
            parts = parts_of(content)
        except InvalidInput as error:
            hint = f"{PREFIX}{output.name}{HELP} shows how; at most {MOST} parts."
            return False, refusal("content", field="content", detail=error.message, hint=hint)
        if missing := lacking(parts, output.caps):
            detail = f"{output.name} does not carry {', '.join(missing)}; it carries {', '.join(output.caps)}."
            return False, refusal("not_carried", field="content", detail=detail, hint="Send what it carries.")
        return await self._checked(turn, output, parts)

    async def _checked(self, turn: Turn, output: OutputEntry, parts: Sequence[Sent]) -> tuple[bool, str]:
        """Each part past ``before_output``, then out; nothing goes if one of them may not."""
        messages: list[object] = []
        for part in parts:
            words = as_text(part.data) if part.kind == STRUCTURED else part.text
            staged = await self._stages.run(turn, "before_output", {"final_text": words})
            if staged.closed or staged.response is not None:
                who = f"{staged.closed} could not check it ({staged.why})."
                return False, refusal("blocked", detail=staged.response or who)
            left = staged.text("final_text")
            made = await self._messages(turn, output, part, left, changed=left != words)
            if isinstance(made, str):
                return False, made
            messages += made
        if not messages:
            return False, refusal("blocked", detail="Nothing of it may go out.", hint="Leave it at that.")
        if len(messages) > PIECES:
            detail = f"It would be {len(messages)} messages; one send may become {PIECES}."
            return False, refusal("too_long", field="content", detail=detail, hint="Shorten it, or send it as a file.")
        return await self._out(turn, output, messages)

    async def _messages(
        self, turn: Turn, output: OutputEntry, part: Sent, words: str, *, changed: bool
    ) -> list[object] | str:
        """What the channel is handed for a part, or a refusal."""
        if part.kind == TEXT:
            return list(split(words, output.limit))
        if part.kind == STRUCTURED:
            if changed:  # words taken out of an object leave something that no channel was promised
                return refusal("blocked", detail="What it says may not go out as it is.", hint="Leave that out of it.")
            return [dict(part.data or {})]
        found = await self._file(turn, part)
        if isinstance(found, str):
            return found
        head, *rest = split(words, output.limit) or [""]
        if rest and TEXT not in output.caps:
            detail = f"The caption is longer than the {output.limit} characters of {output.name}."
            return refusal("too_long", field="content", detail=detail, hint="Shorten it.")
        return [{**found, "caption": head}, *rest]

    async def _file(self, turn: Turn, part: Sent) -> dict[str, object] | str:
        """The stored file that a part names, if this conversation may have it and it is of the part's kind."""
        scope, thread, id_ = turn.input.scope, turn.input.thread, part.block
        block = await self._ports.store.read(lambda tx: blocks.readable(tx, id_, scope=scope, thread=thread))
        if block is None:
            detail = f"There is no file {id_[:60]} in this conversation."
            return refusal("no_file", field="content", detail=detail, hint="Name the id of one that is shown.")
        if not fits(part.kind, block.media_type):
            detail = f"{block.name} is {block.media_type}, not of the kind {part.kind}."
            return refusal("wrong_kind", field="content", detail=detail, hint=f"Send it as a {FILE}.")
        return {
            "type": part.kind, "block": block.id, "name": block.name, "media_type": block.media_type,
            "bytes": block.bytes,
        }  # fmt: skip

    async def _out(self, turn: Turn, output: OutputEntry, messages: Sequence[object]) -> tuple[bool, str]:
        """Hand them over in their order.  What went before one that fails is told: it cannot be taken back."""
        said: list[str] = []
        for n, content in enumerate(messages):
            try:
                said.append(await self._invoke(turn, output, content))
            except TimedOut:
                said.append(UNCONFIRMED)  # it may have gone out, or may still do so: nobody knows (E11)
            except HomedError as error:
                if not n:
                    raise
                text = f"error: of {len(messages)} messages {n} went out, then: {error.message} {error.hint}".strip()
                return False, self._ports.redactor.redact(text)
        known = [state for state in STATES if state in said]
        other = [word for word in said if word not in STATES]
        return True, other[-1] if other else known[-1]

    def _sent(self, turn: Turn) -> list[list[object]]:
        """What went out in this turn, or may have: its stored calls of these tools, also those before a crash.

        Complete, since no two of them ever run at once, within other calls neither.
        """
        done = [e.data for e in (*turn.events, *turn.inner) if e.kind is EventKind.TOOL and not is_refusal(e.text)]
        named = [(str(data.get("name")), data.get("args")) for data in done if data.get("status") != "denied"]
        return [
            [name.removeprefix(PREFIX), args["content"]]
            for name, args in named
            if self.owns(name) and isinstance(args, Mapping) and "content" in args
        ]

    async def _invoke(self, turn: Turn, output: OutputEntry, content: object) -> str:
        timeout = self._ports.settings.float(TOOL_TIMEOUT)
        with turn.lend(self._ports.tokens, output.plugin) as token:
            params = {"output": output.name, "content": content, "call": token, "thread": turn.input.thread}
            answer = await self._ports.host.call(output.plugin, OUTPUT_INVOKE, params, timeout=timeout)
        status = answer.get("status") if isinstance(answer, Mapping) else answer
        if isinstance(status, str | int | float) and str(status).strip():
            # a word of the channel's own is passed on as it is: nothing is made up of it (E11)
            return str(status) if status in STATES else self._ports.redactor.redact(str(status))[:LONGEST_WORD]
        raise PluginFailed(f"The output {output.name} did not say what became of the message.")


def helped(output: OutputEntry) -> dict[str, object]:
    """What the help of an output answers."""
    return {
        "name": output.name, "description": output.description, "caps": list(output.caps), "flags": flags(output.caps),
        "format": output.format or "text", "limit": output.limit,
        "content": [example for kind, example in _EXAMPLES.items() if kind in output.caps],
    }  # fmt: skip


def only_sent(events: Sequence[Event]) -> bool:
    """Whether the last thing a turn did was to send, with nothing else beside it: then there may be no more to say."""
    last: list[Event] = []
    for event in reversed(events):
        if event.kind is not EventKind.TOOL:
            break
        last.append(event)
    return bool(last) and all(_went_out(event) for event in last)


def _went_out(event: Event) -> bool:
    name = str(event.data.get("name"))
    return name.startswith(PREFIX) and not name.endswith(HELP) and event.data.get("status") == "ok"


def _entry(name: str, output: OutputEntry, say: str, parameters: Mapping[str, object], tool_class: str) -> ToolEntry:
    return ToolEntry(
        name, output.plugin, say, parameters, tool_class, guest=False, parallel_safe=False, timeout=0.0, confirm=False,
        no_memory=True, untrusted=False, trust=Trust.PACKAGED,
    )  # fmt: skip
