"""Generated histories, each message as the wire's own answers make it: with ids, signatures and thoughts of its own."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

from hypothesis import strategies as st

from homed.agent.model import Gatherer
from homed.providers.adapter import Native
from homed.providers.adapters import native
from homed.providers.base import Assistant, Message, Source, System, ToolCall, ToolResult, User
from homed.providers.shaping import said_by
from tests.kit.fake_script import Call, Reply
from tests.kit.fake_server import wire_named
from tests.kit.fake_wire import Exchange, Ledger, Prompt
from tests.providers.scenarios.pictures import PNG
from tests.providers.wires import WIRES

WORDS = st.text(st.sampled_from('ab 你好🌍\n\t"\\é'), max_size=12)
CALL = st.builds(Call, st.sampled_from(["look", "now"]), st.dictionaries(st.sampled_from("ab名"), WORDS, max_size=2))


@dataclass(frozen=True)
class Step:
    """One thing that happens: a person speaks (``reply`` None), or the model does, its own or another's."""

    words: str = ""
    picture: bool = False
    reply: Reply | None = None
    foreign: bool = False
    lost: tuple[int, ...] = ()
    """Calls that never get a result."""


SPOKEN = st.builds(Step, words=WORDS, picture=st.booleans())
SAID = st.builds(
    Reply,
    say=WORDS,
    think=st.sampled_from(["", "hm", "想🌍"]),
    redacted=st.sampled_from(["", "hidden"]),
    calls=st.lists(CALL, max_size=3).map(tuple),
    ids=st.sampled_from(["", "missing"]),
)
ANSWERED = st.builds(Step, reply=SAID, foreign=st.booleans(), lost=st.sampled_from([(), (), (), (0,), (1,)]))
STEPS = st.lists(st.one_of(SPOKEN, ANSWERED), min_size=1, max_size=7)


@dataclass
class Past:
    """A history on a wire, and what its server remembers of it."""

    wire: str
    source: Source
    messages: list[Message] = field(default_factory=list)
    ledger: Ledger = field(default_factory=Ledger)

    def add(self, number: int, step: Step) -> None:
        """One step more."""
        if step.reply is None:
            sees = step.picture and "vision" not in WIRES[self.wire].lacks
            self.messages.append(User(step.words, (PNG,) if sees else ()))
            return
        said = self._foreign(step.reply, number) if step.foreign else self._own(step.reply, number)
        self.messages.append(said)
        for place, call in enumerate(said.calls):
            if place not in step.lost:
                self.messages.append(ToolResult(call.id, call.name, f"seen {number}.{place}"))

    def _own(self, reply: Reply, number: int) -> Assistant:
        """As this source would say it: written by its server, read by its adapter."""
        wire, adapter = wire_named(self.wire), native(WIRES[self.wire].adapter)
        assert isinstance(adapter, Native)
        exchange = Exchange(reply, {"model": "fake-1"}, number, Prompt(1), wire.contract(), self.ledger)
        decoder, gatherer = adapter.pure.decoder(), Gatherer()
        for part in itertools.chain(decoder.feed(wire.whole(exchange)), decoder.end()):
            gatherer.take(part)
        said = gatherer.said()
        return Assistant(said.text, said.calls, said.reasoning, said.opaque, said_by(self.source))

    def _foreign(self, reply: Reply, number: int) -> Assistant:
        calls = tuple(ToolCall(f"other-{number}-{n}", c.name, c.args) for n, c in enumerate(reply.calls))
        return Assistant(reply.say, calls, reply.think, None, "other/model")


def past(wire: str, steps: Sequence[Step]) -> Past:
    """That history."""
    wired = WIRES[wire]
    source = Source(
        wire, "http://127.0.0.1:1/v1", "fake-1", wired.adapter, vision="vision" not in wired.lacks,
        options=wired.quirks(),
    )  # fmt: skip
    made = Past(wire, source, [System("Be brief.")])
    for number, step in enumerate(steps):
        made.add(number, step)
    return made


def cuts(messages: Sequence[Message], *, person: str = "go on") -> list[list[Message]]:
    """Every history that cutting can leave: from every place on, and with every stretch of two taken out."""
    system, rest = messages[0], list(messages[1:])
    from_each = [rest[at:] for at in range(len(rest) + 1)]
    without = [[*rest[:at], *rest[at + 2 :]] for at in range(len(rest))]
    ended = [[*kept, User(person)] for kept in from_each]
    return [[system, *kept] for kept in (*ended, *from_each, *without)]
