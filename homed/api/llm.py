"""``llm.*``: the model sources without their keys, and a question of the plugin's own."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from homed.agent.complete import MOST_TOKENS, Completion, Question
from homed.api.method import MAX_NAME, Call, Method, Name, Params, PeerCall, PeerParams, administrative, plain
from homed.api.rooms import SourcesPort
from homed.errors import InvalidInput
from homed.providers.base import Source

MOST_SAID = 400_000
"""Characters of all messages together: a window of 100 000 tokens."""


class Said(BaseModel):
    """A message of ``llm.complete``."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, hide_input_in_errors=True)

    role: Literal["system", "user", "assistant"]
    content: str = Field(min_length=1, max_length=MOST_SAID)


class Complete(Params):
    """``llm.complete``"""

    messages: list[Said] = Field(min_length=1, max_length=64)
    max_tokens: int = Field(default=512, ge=1, le=MOST_TOKENS)
    timeout: float = Field(default=60.0, gt=0, le=300, allow_inf_nan=False)
    temperature: float | None = Field(default=None, ge=0, le=2, allow_inf_nan=False)
    source: str | None = Field(default=None, min_length=1, max_length=MAX_NAME)


class OfSource(PeerParams):
    """``llm.set``"""

    name: Name


def list_(call: Call[Params]) -> Mapping[str, object]:
    """The sources there are."""
    sources = call.ports.sources
    return {"sources": [_shown(source, sources) for source in sources.list()]}


def current(call: Call[Params]) -> Mapping[str, object]:
    """The source in use."""
    sources = call.ports.sources
    source = sources.current()
    return {"source": None if source is None else _shown(source, sources)}


async def set_(call: PeerCall[OfSource]) -> Mapping[str, object]:
    """Answer with another source from the next model call on."""
    await call.ports.sources.use(call.params.name)
    return {}


async def complete(call: Call[Complete]) -> Mapping[str, object]:
    """Ask a model; within a turn, what it costs counts as the turn's."""
    params = call.params
    if sum(len(said.content) for said in params.messages) > MOST_SAID:
        raise InvalidInput(f"llm.complete: the messages have over {MOST_SAID} characters.", hint="Send less.")
    said = [(message.role, message.content) for message in params.messages]
    question = Question(said, params.max_tokens, params.timeout, params.source, params.temperature)
    answer = await _asked(call, question)
    usage = answer.usage
    await call.caller.log(
        "info", f"llm.complete: {answer.source}, {usage.prompt} tokens in, {usage.completion} out ({answer.reason})"
    )
    return {
        "text": answer.text, "reason": answer.reason, "source": answer.source, "model": answer.model,
        "usage": {"prompt": usage.prompt, "completion": usage.completion, "cached": usage.cached},
    }  # fmt: skip


async def _asked(call: Call[Complete], question: Question) -> Completion:
    completions, plugin, lent, calling = call.ports.completions, call.caller.plugin, call.lent, call.ports.calling
    if lent is None:
        return await completions.ask(plugin, question)
    return await completions.ask(
        plugin, question, purpose=calling.purpose(lent, plugin), paid=partial(calling.spent, lent)
    )


def _shown(source: Source, sources: SourcesPort) -> dict[str, object]:
    """Without its address, which may be somebody's own, and without a word of its key."""
    used = sources.current()
    return {
        "name": source.name, "model": source.model, "kind": source.kind, "context_window": source.context_window,
        "tools": source.tools, "vision": source.vision, "current": used is not None and used.name == source.name,
    }  # fmt: skip


METHODS: dict[str, Method] = {
    "llm.list": plain(Params, list_),
    "llm.current": plain(Params, current),
    # which model reads what people say is theirs to decide, not a model's
    "llm.set": administrative(OfSource, set_, in_person=True),
    "llm.complete": plain(Complete, complete),
}
