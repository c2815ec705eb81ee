"""Functions that a program lends for one message: the model may call them, the program runs them.

A turn that calls one stands still until the program brings the result, `WAIT` seconds at most; then nobody listens any
more, and it is stopped.  All of it lives in memory: a turn that a crash cut short goes on without them.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import trio

from homed.errors import InvalidInput, NotFound
from homed.host.registry import ToolEntry
from homed.host.states import Trust
from homed.identity.permissions import READ
from homed.identity.roles import Identity

OWNER = "client"
"""Whose they are, as notices and lists show it."""

WAIT = 600.0
"""Seconds that the results may take."""

PREFIX = "client_"
"""Before the name of a function, where a tool of ours has its own."""

MOST = 128
"""Functions of one message."""

DEPTH = 32
"""How deep a schema may be nested: adapters go through it recursively."""

ANY: Mapping[str, object] = {"type": "object"}
"""What arguments for them are checked against here: a stranger's schema may hold a pattern that takes for ever."""

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True, slots=True)
class Function:
    """A function as it is lent; ``parameters`` is a JSON schema of type object."""

    name: str
    description: str
    parameters: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Lent:
    """The functions of one message; ``parallel``: the program takes several calls at once; ``must``: one of these is to
    be called."""

    functions: tuple[Function, ...] = ()
    parallel: bool = True
    must: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Handed:
    """A call for the program to make.  ``id`` is ours, and used once, whatever the model called it."""

    id: str
    name: str
    arguments: Mapping[str, object]


@dataclass(slots=True)
class _Waiting:
    handed: Handed
    place: int
    answered: trio.Event = field(default_factory=trio.Event)
    result: str = ""


class Borrowed:
    """What was lent for one input, and the calls that wait.  ``told``: the turn's usage, as it was last told."""

    def __init__(self, who: Identity, input_: str, functions: Mapping[str, Function], lent: Lent) -> None:
        self._who = who
        self.input = input_
        self.parallel = lent.parallel
        self.must = frozenset(name for name, function in functions.items() if function.name in lent.must)
        """Of these, by the names that the model knows, one is to be called before it answers; none once it has."""
        self.told: Mapping[str, object] = {}
        self.usage: Callable[[], Mapping[str, object]] = dict
        self._functions = functions
        self._over = False
        self._coming: set[str] = set()
        self._places: dict[str, int] = {}
        self._waiting: dict[str, _Waiting] = {}
        self._changed = trio.Event()

    def owns(self, name: str) -> bool:
        """Whether the model knows one of these by that name."""
        return name in self._functions

    def of(self, who: Identity) -> bool:
        """Whether it is this peer's."""
        return (self._who.peer, self._who.scope) == (who.peer, who.scope)

    @property
    def waiting(self) -> bool:
        """Whether a call waits."""
        return bool(self._waiting)

    def entries(self) -> dict[str, ToolEntry]:
        """Tool name → declaration, for this turn alone."""
        return {name: _entry(name, function, parallel=self.parallel) for name, function in self._functions.items()}

    async def handed(self) -> tuple[Sequence[Handed], Mapping[str, object]]:
        """The calls that wait, in the order in which the model made them, and the turn's usage so far: once there are
        some, and no more of that step to come.  None once the turn is over."""
        while not self._over and (self._coming or not self._waiting):
            await self._changed.wait()
        if self._over:
            return (), {}
        self.told = self.usage()
        waiting = sorted(self._waiting.values(), key=lambda one: one.place)
        return tuple(one.handed for one in waiting), self.told

    def expect(self, calls: Iterable[str]) -> None:
        """The model has made these calls: all are told at once, when each waits or has ended."""
        self._places = {call: place for place, call in enumerate(calls)}
        self._coming = set(self._places)

    def settled(self, call: str) -> None:
        """This one has come to wait, or has ended.  Again does nothing."""
        self._coming.discard(call)
        self._change()

    async def call(self, call: str, name: str, arguments: Mapping[str, object]) -> str | None:
        """Have the program make a call; its result, None if none came in time.  Cancelled: it waits no more."""
        handed = Handed(f"call_{secrets.token_hex(12)}", self._functions[name].name, arguments)
        mine = _Waiting(handed, self._places.get(call, 0))
        self._waiting[mine.handed.id] = mine
        self.settled(call)
        try:
            with trio.move_on_after(WAIT):
                await mine.answered.wait()
        finally:
            self._waiting.pop(mine.handed.id, None)
        return mine.result if mine.answered.is_set() else None

    def waits(self, call: str) -> bool:
        """Whether a call of this id waits."""
        return call in self._waiting

    def answer(self, results: Mapping[str, str]) -> None:
        """Take the results, by the ids of the calls.  Raises InvalidInput unless they are all that wait."""
        missing, unknown = self._waiting.keys() - results.keys(), results.keys() - self._waiting.keys()
        if missing or unknown:
            what = "no result for" if missing else "no call waits for the result of"
            raise InvalidInput(f"There is {what} {', '.join(sorted(missing or unknown))[:200]}.")
        for id_, text in results.items():
            waiting = self._waiting.pop(id_)  # at once: a second answer finds none
            waiting.result = text
            waiting.answered.set()

    def end(self) -> None:
        """The turn is over."""
        self._over = True
        self._change()

    def _change(self) -> None:
        self._changed.set()
        self._changed = trio.Event()


class Lending:
    """What is lent just now, by input."""

    def __init__(self) -> None:
        self._by_input: dict[str, Borrowed] = {}

    def lend(self, borrowed: Borrowed) -> None:
        """Offer these in the turn of their input."""
        self._by_input[borrowed.input] = borrowed

    def bind(self, input_: str, usage: Callable[[], Mapping[str, object]]) -> Borrowed | None:
        """What was lent for an input whose turn begins, and says by ``usage`` what it has taken."""
        found = self._by_input.get(input_)
        if found is not None:
            found.usage = usage
        return found

    def seen(self, who: Identity, input_: str) -> Borrowed | None:
        """The same, if it is this peer's."""
        found = self._by_input.get(input_)
        return found if found is not None and found.of(who) else None

    def answer(self, who: Identity, results: Mapping[str, str]) -> Borrowed:
        """Give results to the turn that waits for them.  Raises NotFound for none of this peer's, InvalidInput."""
        for borrowed in self._by_input.values():
            if borrowed.of(who) and any(map(borrowed.waits, results)):
                borrowed.answer(results)
                return borrowed
        raise NotFound(
            "No call waits for such a result.", hint=f"It has had one, it was stopped, or {WAIT:.0f} s are over."
        )

    def end(self, input_: str) -> None:
        """The turn of this input is over."""
        if (borrowed := self._by_input.pop(input_, None)) is not None:
            borrowed.end()


def checked(functions: Sequence[Function]) -> None:
    """Raise InvalidInput for functions that no model can be offered."""
    if len(functions) > MOST:
        raise InvalidInput(f"{MOST} functions are the limit.")
    names = [function.name for function in functions]
    for at, function in enumerate(functions):
        what = f"Function {at}"
        if not _NAME.fullmatch(function.name):
            raise InvalidInput(f"{what}: a name is 1 to 64 letters, digits, '_' and '-'.")
        if function.name in names[:at]:
            raise InvalidInput(f"{what}: {function.name} is there twice.")
        if function.parameters.get("type", "object") != "object":
            raise InvalidInput(f"{what}: its parameters must be a JSON schema of type object.")
        if _deeper(function.parameters, DEPTH):
            raise InvalidInput(f"{what}: its parameters are nested more than {DEPTH} deep.")


def named(functions: Sequence[Function], ours: Collection[str]) -> dict[str, Function]:
    """The functions by the names that the model is told.  Raises InvalidInput where there is none left."""
    found: dict[str, Function] = {}
    theirs = {function.name for function in functions}
    for function in functions:
        name = function.name
        if name in ours:
            name = PREFIX + name
            if name in ours or name in theirs or not _NAME.fullmatch(name):
                raise InvalidInput(f"There is a tool {function.name} here already.", hint="Take another name.")
        found[name] = function
    return found


def _deeper(value: object, most: int) -> bool:
    level: list[object] = [value]
    for _ in range(most):
        inside: list[object] = []
        for one in level:
            inside += one.values() if isinstance(one, Mapping) else one if isinstance(one, list) else ()
        if not inside:
            return False
        level = inside
    return True


def _entry(name: str, function: Function, *, parallel: bool) -> ToolEntry:
    return ToolEntry(
        name=name,
        plugin=OWNER,
        description=function.description,
        parameters={**function.parameters, "type": "object"},
        tool_class=READ,  # whatever it does, it does where it was lent, with the rights of who lent it
        guest=True,
        parallel_safe=parallel,
        timeout=0.0,
        confirm=False,
        no_memory=False,
        untrusted=True,
        trust=Trust.PACKAGED,
    )
