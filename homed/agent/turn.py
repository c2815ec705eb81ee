"""The frame of one turn: what is known while an input is on its way to its one outcome.

Only the turn's own task changes it, but for ``stop``, which a person's request sets from outside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace

import trio

from homed.agent.borrowed import Borrowed
from homed.agent.frame import Frame
from homed.agent.order import Order
from homed.agent.place import Alone, Place
from homed.agent.ports import CallContext, TokensPort
from homed.agent.repeats import REPEATED
from homed.agent.spending import Spending
from homed.agent.view import View
from homed.clock import new_id
from homed.identity.roles import Identity, Role, intersection
from homed.memory import origins
from homed.memory.injections import Injection
from homed.memory.records import Event, EventKind, Input, InputState, NewEvent, Outcome, is_draft, is_inner
from homed.memory.temporary import Front
from homed.providers.base import Provider, Usage
from homed.spend.ports import Settlement
from homed.spend.records import Kind, Purpose


@dataclass(slots=True)
class LiveCall:
    """A tool call as a watcher sees it while the turn runs."""

    call: str
    tool: str
    plugin: str
    args: object
    status: str = "running"
    result: str = ""
    within: str = ""
    files: Sequence[Mapping[str, object]] = ()

    def view(self) -> dict[str, object]:
        """As in ``live.calls`` of `docs/wire.md`."""
        return {
            "call": self.call, "tool": self.tool, "plugin": self.plugin, "args": self.args,
            "status": self.status, "result": self.result, **({"within": self.within} if self.within else {}),
            **({"blocks": list(self.files)} if self.files else {}),
        }  # fmt: skip


@dataclass(slots=True)
class Live:
    """What has been shown of the turn so far; the text is that of the current model call only."""

    step: int = 0
    text: str = ""
    reasoning: str = ""
    calls: list[LiveCall] = field(default_factory=list)

    def next_step(self, step: int) -> None:
        """A new model call begins: nothing of it has been shown."""
        self.step, self.text, self.reasoning, self.calls = step, "", "", []


@dataclass(frozen=True, slots=True)
class Ending:
    """How a turn ends: its outcome, the events to store in the same transaction, and what to ``tell`` of them then."""

    outcome: Outcome
    events: tuple[NewEvent, ...] = ()
    tell: Callable[[], None] = lambda: None


class Ended(Exception):
    """Leaves the inner steps of a turn with its ending; never seen outside this room."""

    def __init__(self, ending: Ending) -> None:
        super().__init__(ending.outcome.state.value)
        self.ending = ending


@dataclass(frozen=True, slots=True)
class Unstored:
    """The final answer, on its way into the commit that ends the turn; ``tell`` says so to the watchers."""

    event: NewEvent
    tell: Callable[[], None]


@dataclass(slots=True)
class Counters:
    """What has limits within one turn.  ``repeated``: calls refused because they were the same again."""

    calls: int = 0
    denied: int = 0
    unparsed: int = 0
    repeated: int = 0


@dataclass(slots=True)
class Link:
    """A tool call that runs in a plugin, for the calls the plugin makes within it: they live in its ``nursery``.

    ``inside``: how they take turns, ``waiting`` how many have been asked for.  ``untrusted``,
    ``no_memory``: what came back to the plugin that way, and so may stand in its own result.
    """

    call: str
    tool: str
    plugin: str
    nursery: trio.Nursery
    above: Link | None = None
    inside: Order = field(default_factory=Order)
    waiting: int = 0
    untrusted: bool = False
    no_memory: bool = False

    @property
    def chain(self) -> list[Link]:
        """This call and those it runs within, the innermost first."""
        return [self, *(self.above.chain if self.above else ())]

    def taint(self, *, untrusted: bool, no_memory: bool = False) -> None:
        """Something came in here: whatever this call, and those above it, give back may hold it."""
        for link in self.chain:
            link.untrusted, link.no_memory = link.untrusted or untrusted, link.no_memory or no_memory


@dataclass(slots=True)
class Turn:
    """One input on its way.  ``events`` are the stored events of this turn, in order, but for those of calls that were
    made within a tool call, which no prompt shows: ``inner``.  ``ledger`` and ``injections`` are what the next commit
    records of what it was shown and told; ``links`` the tool calls that run in plugins now; ``inside``: how the calls
    within those that run side by side take turns.  ``place``: where it stands in its thread; ``met``: turns that ended
    while it stood still, of which its next model call is to be told; ``joined``: inputs that were put into it and end
    with it.  ``panicked``: it ended by an error that nobody foresaw; ``broke``: the code of the error that it ended by,
    ``cause``: what an outcome says of it.  ``muted``: what the model says now is shown only once it is whole.
    ``frame``: what binds it, if it is the turn of an agent that an agent made; ``borrowed``: functions that a
    program lends it.

    ``asks``: the source that answers it, once one was asked, ``stood_in`` for another; ``asked``: tokens of the last
    model call, ``owed``: what the next commit writes down of what they took; ``bill_to``: whose calls its model calls
    are, if not its own (an agent's are those of the turn that made it).

    ``begun``: calls of this step that were handed to whoever does them: what comes before that has no effect.

    ``outside``: tools that brought words from outside while it runs, '' for whatever else did (`homed.memory.origins`).

    ``over``: its outcome is stored and told; what still follows (``after_output``) is nobody's to wait for.
    """

    id: str
    input: Input
    who: Identity
    scope: trio.CancelScope = field(default_factory=trio.CancelScope)
    gate: trio.Lock = field(default_factory=trio.Lock)
    stopping: bool = False
    committing: bool = False
    over: bool = False
    withheld: bool = False
    outside: set[str] = field(default_factory=set)
    step: int = 0
    jump: str | None = None
    began: float = 0.0
    live: Live = field(default_factory=Live)
    events: list[Event] = field(default_factory=list)
    inner: list[Event] = field(default_factory=list)
    links: dict[str, Link] = field(default_factory=dict)
    begun: set[str] = field(default_factory=set)
    inside: Order = field(default_factory=Order)
    view: View = field(default_factory=View)
    ledger: list[tuple[str, Mapping[str, object]]] = field(default_factory=list)
    injections: list[Injection] = field(default_factory=list)
    hidden: frozenset[str] = frozenset()
    reworded: dict[str, str] = field(default_factory=dict)
    injected: list[str] = field(default_factory=list)
    fields: dict[str, object] = field(default_factory=dict)
    spending: Spending = field(default_factory=Spending)
    asks: Provider | None = None
    asked: int = 0
    owed: list[Settlement] = field(default_factory=list)
    stood_in: bool = False
    bill_to: Purpose | None = None
    frame: Frame | None = None
    borrowed: Borrowed | None = None
    counters: Counters = field(default_factory=Counters)
    unstored: Unstored | None = None
    place: Place = field(default_factory=Alone)
    met: list[str] = field(default_factory=list)
    joined: list[Input] = field(default_factory=list)
    panicked: bool = False
    broke: str = ""
    cause: Mapping[str, object] = field(default_factory=dict)
    muted: bool = False

    def stop(self) -> bool:
        """End it now at a person's wish.  False when its outcome is already being stored."""
        if self.committing or self.stopping:
            return self.stopping
        self.stopping = True
        self.scope.cancel()
        return True

    def resume(self) -> None:
        """Begin where the input, or an earlier run of this turn by its ``events``, leaves off."""
        self.inner = [event for event in self.events if is_inner(event)]
        self.events = [event for event in self.events if not is_inner(event)]
        tools = [event for event in (*self.events, *self.inner) if event.kind is EventKind.TOOL]
        self.counters.calls = len(tools)
        self.counters.repeated = sum(1 for event in tools if event.data.get(REPEATED))
        if spent := [event.data["usage"] for event in self.events if "usage" in event.data]:
            self.spending = Spending.of(spent[-1])
        self.outside |= origins.of_events(tools)  # an agent's turn may have some before it begins
        if self.input.untrusted:
            self.took_in()
        # a stage may have said so with an answer first; results and drafts may be so on their own account
        said = (event for event in self.events if event.kind in (EventKind.USER, EventKind.ASSISTANT))
        if any(event.no_memory for event in said):
            self.fields["no_memory"] = True
        joined, self.joined = self.joined, []
        for input_ in joined:
            self.join(input_)

    def join(self, input_: Input) -> None:
        """Another input is answered by this turn, too: from here on it may do what all of them may, and no more (E18).
        Whoever cannot be asked is not spoken for by somebody who can."""
        self.joined.append(input_)
        least = intersection([self.who.role, Role(input_.role)])
        self.who = replace(self.who, role=least)
        self.input = replace(self.input, role=least.value, can_ask=self.input.can_ask and input_.can_ask)
        if input_.untrusted:
            self.took_in()

    def took_in(self, tool: str = origins.UNKNOWN) -> None:
        """Words from outside came into it, by this tool or by what is none."""
        self.outside.add(tool)

    def describe(self) -> None:
        """Set the fields by which stages are told who speaks, and where."""
        given = self.input
        group = given.scope.split(":", 2)[2] if given.scope.startswith("group:") else ""
        self.fields |= {"user_id": given.peer, "group_id": group, "extra": {"channel": given.channel}}
        self.fields["no_memory"] = self.no_memory

    @property
    def apart(self) -> frozenset[str]:
        """The turns whose events are not among what was before this one: its own, and those that are suspended."""
        return self.place.suspended | {self.id}

    def tainted_for(self, tool: str) -> bool:
        """True if text from outside may stand behind a call of ``tool``, '' for any: what came in this turn, or what is
        shown or told of earlier ones, but for the tool's own results, and what rests on them alone, after which the
        person has spoken again; and files, which people pass on without having written or read them."""
        return self.tainted or bool(self._before - ({tool} if tool else set()))

    @property
    def tainted(self) -> bool:
        """Whether text from outside came in while it runs."""
        return bool(self.outside)

    @property
    def behind(self) -> frozenset[str]:
        """Whose words from outside may stand behind what it says now, as `homed.memory.origins` names them."""
        return self._before | self.outside | origins.of_events((*self.events, *self.inner))

    @property
    def _before(self) -> frozenset[str]:
        """What is shown and told of earlier turns, files of this one, and what its own answers had before them: an
        earlier run of it may have seen more."""
        own = (event for event in self.events if event.kind is not EventKind.TOOL)
        noted = (event for event in self.view.noted if event.data.get("untrusted"))  # files are not told in notes
        said = frozenset().union(*map(origins.before, self.events))
        return self.view.doubtful | origins.of_events((*self.view.window, *noted, *own)) | said

    @property
    def front(self) -> Front:
        """Where the person it works for sees it, and is asked."""
        return self.frame.front if self.frame else Front(self.input.thread, self.id, self.input.scope)

    @property
    def purpose(self) -> Purpose:
        """Whom its model calls are for."""
        given = self.input
        guest = self.who.role is Role.GUEST
        own = Purpose(Kind.TURN, turn=self.id, thread=given.thread, peer=given.peer, guest=guest)
        return self.bill_to or own

    @property
    def no_memory(self) -> bool:
        """True once the input, or a stage, said that nothing of this turn is to be remembered."""
        return bool(self.fields.get("no_memory", self.input.no_memory))

    @property
    def context(self) -> CallContext:
        """On whose behalf its tools run."""
        given = self.input
        # not what is only told in notes: those are short, and looking at one is what brings it back
        shown = frozenset(event.id for event in (*self.view.in_view, *self.events))
        return CallContext(
            given.thread, given.channel, given.peer, self.who.role.value, given.scope, self.id, shown,
            self.tainted_for(""),
        )  # fmt: skip

    def lend(self, tokens: TokensPort, plugin: str, within: str = "") -> AbstractContextManager[str]:
        """A token for one call into a plugin: with it, it acts for this turn's person, and not after the block.

        ``within``: the place in ``links`` of the tool call it is, in which it may have further tools called.
        """
        given = self.input
        return tokens.lent(plugin, self.who, turn=self.id, thread=given.thread, channel=given.channel, within=within)

    @contextmanager
    def linked(self, link: Link) -> Iterator[str]:
        """A tool call within which its plugin may make others, for the length of the block: its place in ``links``."""
        place = new_id("within")  # not the call's id, which the model chose
        self.links[place] = link
        try:
            yield place
        finally:
            del self.links[place]

    @property
    def heard(self) -> bool:
        """True once the input stands in the window: ``on_input`` is behind us and does not run again."""
        return any(event.kind is EventKind.USER for event in self.events)

    @property
    def draft(self) -> Event | None:
        """The final answer as it was written, if it is stored already, on its way to ``before_output``."""
        drafts = [event for event in self.events if is_draft(event)]
        return drafts[-1] if drafts else None

    @property
    def rounds(self) -> int:
        """Rounds of tool calls so far, those before a crash included."""
        return sum(1 for e in self.events if e.kind is EventKind.ASSISTANT and e.data.get("calls"))

    def outcome(self, state: InputState, text: str = "", *, error: str = "", hint: str = "") -> Outcome:
        """An outcome with this turn's usage, and how long it took until now."""
        took = round((trio.current_time() - self.began) * 1000)
        cause = self.cause if state is InputState.FAILED else {}
        return Outcome(state, text, error, hint, self.spending.view(), took, cause)


def usage_dict(usage: Usage) -> Mapping[str, int]:
    """Tokens as stored and shown; cached ones are part of the prompt and counted once."""
    return {"prompt": usage.prompt, "completion": usage.completion, "cached": usage.cached}
