"""``events.publish``: a packaged plugin tells what only it can know."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from homed.api.method import Method, Name, PeerCall, PeerParams, personal

TEXT = 16_384
"""Characters of one piece of a terminal's output."""


class _Data(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, hide_input_in_errors=True)


class TerminalOutput(_Data):
    """What came out of a terminal; ``at`` is where it stands in all that came, in characters."""

    type: Literal["terminal_output"]
    terminal: Name
    text: str = Field(max_length=TEXT)
    at: int = Field(default=0, ge=0, lt=1 << 53)
    ended: bool = False


class SkillDetected(_Data):
    """A skill was found; ``title`` is for people."""

    type: Literal["skill_detected"]
    skill: Name
    title: str = Field(default="", max_length=1024)


class Publish(PeerParams):
    """``events.publish``"""

    notice: Annotated[TerminalOutput | SkillDetected, Field(discriminator="type")]


def publish(call: PeerCall[Publish]) -> Mapping[str, object]:
    """Post it: within a call as the turn's, else as that of the peer's scope."""
    where = {"scope": call.who.scope}
    if call.lent is not None:
        where |= {"thread": call.lent.thread, "turn": call.lent.turn}
    data = call.params.notice.model_dump(exclude={"type"})
    posted = call.ports.publisher.post(call.caller.plugin, call.params.notice.type, data, where=where)
    return {"seq": posted.seq}


METHODS: dict[str, Method] = {"events.publish": personal(Publish, publish)}
