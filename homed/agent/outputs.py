"""Output channels as tools: ``output_send__NAME`` and its help, one pair for each output a plugin has registered."""

from __future__ import annotations

from collections.abc import Mapping

from homed.agent.ports import AgentPorts
from homed.agent.results import as_text, is_refusal, refusal
from homed.agent.stages import Stages
from homed.agent.turn import Turn
from homed.config.definitions import TOOL_TIMEOUT
from homed.errors import InvalidInput, PluginFailed
from homed.host.registry import OUTPUT_PREFIX, OutputEntry, ToolEntry
from homed.host.states import Trust
from homed.memory.records import EventKind
from homed.wire.methods import OUTPUT_INVOKE

PROVIDES = ("outputs",)
NEEDS = ("stages",)

PREFIX = OUTPUT_PREFIX
HELP = "_help"
SENDS = 10
"""Sends a turn may make, over all outputs (E10)."""

_CONTENT = {
    "type": "object",
    "properties": {
        "content": {"description": "What to send: a text, or an object as the help of this output describes it."}
    },
    "required": ["content"],
    "additionalProperties": False,
}
_NOTHING = {"type": "object", "properties": {}, "additionalProperties": False}


class Outputs:
    """The send tools of the outputs that are there now."""

    def __init__(self, ports: AgentPorts, stages: Stages) -> None:
        self._ports = ports
        self._stages = stages

    def entries(self) -> Mapping[str, ToolEntry]:
        """Tool name → declaration."""
        found: dict[str, ToolEntry] = {}
        for name, output in self._ports.host.registry.outputs().items():
            kinds = ", ".join(output.caps) or "text"
            say = f"Send something through {name} ({kinds}). {output.description}".strip()
            found[PREFIX + name] = _entry(PREFIX + name, output, say, _CONTENT, "write")
            how = f"The format and abilities of {PREFIX}{name}."
            found[PREFIX + name + HELP] = _entry(PREFIX + name + HELP, output, how, _NOTHING, "read")
        return found

    def owns(self, name: str) -> bool:
        """True for a tool of this room."""
        return name.startswith(PREFIX)

    async def run(self, turn: Turn, name: str, arguments: Mapping[str, object]) -> tuple[bool, str]:
        """Send, or explain: whether it was done, and for the model just what the channel reported, or the refusal."""
        output = self._output(name)
        if name.endswith(HELP) and name.removesuffix(HELP) != name and "content" not in arguments:
            return True, as_text({"name": output.name, "caps": output.caps, "format": output.format or "text"})
        return await self._send(turn, output, arguments["content"])

    def _output(self, name: str) -> OutputEntry:
        outputs = self._ports.host.registry.outputs()
        found = outputs.get(name.removeprefix(PREFIX)) or outputs.get(name.removeprefix(PREFIX).removesuffix(HELP))
        if found is None:
            raise InvalidInput(f"There is no output {name.removeprefix(PREFIX)}.")
        return found

    async def _send(self, turn: Turn, output: OutputEntry, content: object) -> tuple[bool, str]:
        text, sent = as_text(content), self._sent(turn)
        if [output.name, self._ports.redactor.redact_json(content)] in sent:
            detail = "The same message went out in this turn."
            return False, refusal("already_sent", detail=detail, hint="Do not repeat it.")
        if len(sent) >= SENDS:
            detail = f"{SENDS} sends a turn are the limit."
            return False, refusal("send_limit", detail=detail, hint="Answer in text now.")
        staged = await self._stages.run(turn, "before_output", {"final_text": text})
        if staged.closed or staged.response is not None:
            who = f"{staged.closed} could not check it ({staged.why})."
            return False, refusal("blocked", detail=staged.response or who)
        left = staged.text("final_text")
        return True, await self._invoke(turn, output, content if left == text else left)

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
        status = answer.get("status") if isinstance(answer, Mapping) else None
        if status not in ("ok", "queued", "unconfirmed"):
            raise PluginFailed(f"The output {output.name} did not say what became of the message.")
        return str(status)


def _entry(name: str, output: OutputEntry, say: str, parameters: Mapping[str, object], tool_class: str) -> ToolEntry:
    return ToolEntry(
        name, output.plugin, say, parameters, tool_class, guest=False, parallel_safe=False, timeout=0.0, confirm=False,
        no_memory=True, untrusted=False, trust=Trust.PACKAGED,
    )  # fmt: skip
