"""Where a turn stands among the others of its thread, as the turn sees it.  The scheduler's side is ``lanes.Seat``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Protocol

import trio

from homed.memory.records import Input

if TYPE_CHECKING:
    from homed.agent.turn import Ending, Turn


@dataclass(frozen=True, slots=True)
class Look:
    """What the scheduler says at a safe point.  ``suspended``: wait until ``resumed`` returns; ``by``: the input that
    runs meanwhile.  ``inserted``: to be put before the next model call."""

    suspended: bool = False
    by: str = ""
    inserted: tuple[Input, ...] = ()


class Cancellable(Protocol):
    """A block that may be left before its end, without an error."""

    def __enter__(self) -> object:
        """Begin."""
        ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> bool:
        """True if it was cancelled."""
        ...


class Place(Protocol):
    """A turn's place.  Only the turn's own task calls it."""

    @property
    def suspended(self) -> frozenset[str]:
        """The turns of this thread that are suspended now: what they have said so far is not for this one."""
        ...

    def look(self, *, joins: bool = True) -> Look:
        """The turn stands between two steps, and its next one is a model call; ``joins`` False: it is none, and nothing
        is to be put in.  Sync: what is begun in its stead has not done anything yet when this returns."""
        ...

    async def parted(self, frame: Turn, ending: Ending) -> None:
        """What was to be put in has ended by itself, in this frame."""
        ...

    async def resumed(self) -> Sequence[str]:
        """Wait, suspended, until it is this turn's time again; the turns that ended in the thread meanwhile, in that
        order.  Cancelled: the turn leaves the stack when its task ends."""
        ...

    def model(self) -> Cancellable:
        """A model step: a more urgent input cancels what runs in the block."""
        ...

    def asking(self) -> Cancellable:
        """A person is asked, and nothing else of the turn runs: a more urgent input cancels what runs in the block."""
        ...

    def critical(self) -> AbstractContextManager[None]:
        """A part of a model step that an interrupt waits for."""
        ...

    def answering(self) -> AbstractContextManager[None]:
        """A part of a model step in which a person is asked: an interrupt ends it as it does in ``asking``."""
        ...


class Alone:
    """The place of a turn that has nobody beside it."""

    @property
    def suspended(self) -> frozenset[str]:
        """None."""
        return frozenset()

    def look(self, *, joins: bool = True) -> Look:  # noqa: ARG002
        """Go on."""
        return Look()

    async def parted(self, frame: Turn, ending: Ending) -> None:
        """Nothing was."""

    async def resumed(self) -> Sequence[str]:
        """At once."""
        await trio.lowlevel.checkpoint()
        return ()

    def model(self) -> Cancellable:
        """Nothing cancels it."""
        return trio.CancelScope()

    def asking(self) -> Cancellable:
        """Nothing cancels it."""
        return trio.CancelScope()

    @contextmanager
    def critical(self) -> Iterator[None]:
        """As everything."""
        yield

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Nothing ends it."""
        yield
