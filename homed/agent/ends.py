"""Those who wait for the end of an input."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import trio

from homed.memory.records import Input


@dataclass(slots=True)
class Ended:
    """Set when an input's turn is over; kept as long as somebody looks at that input.  ``input``: how it ended, if that
    is known here."""

    event: trio.Event = field(default_factory=trio.Event)
    watchers: int = 0
    input: Input | None = None


class Ends:
    """All of them, by input."""

    def __init__(self) -> None:
        self._ended: dict[str, Ended] = {}

    def wake(self, input_id: str, ended: Input | None = None) -> None:
        """Those who wait for this input are told how it ended, or look again."""
        known = self._ended.pop(input_id, None)
        if known is not None:
            known.input = ended
            known.event.set()

    @contextmanager
    def looked_at(self, input_id: str) -> Iterator[Ended]:
        """How this input ends, from before its state is read: the end may come while it is being read."""
        ended = self._ended.setdefault(input_id, Ended())
        ended.watchers += 1
        try:
            yield ended
        finally:
            ended.watchers -= 1
            if not ended.watchers and self._ended.get(input_id) is ended:
                del self._ended[input_id]
