"""Notices that plugins post: of the types open to them, bounded, without secrets, and not too many."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import trio

from homed.errors import Unavailable
from homed.events import Bus, Notice
from homed.host.throttle import Bucket

RATE, BURST = 20.0, 100.0
"""Notices of one plugin a second, and at once: a terminal is read faster than anybody reads."""


class RedactorPort(Protocol):
    """Takes secrets out."""

    def redact_json(self, value: object) -> object:
        """The same JSON value without them."""
        ...


class Publisher:
    """Posts for plugins.  Keeps one bucket for each that ever posted: there are no more than plugins."""

    def __init__(self, bus: Bus, redactor: RedactorPort) -> None:
        self._bus = bus
        self._redactor = redactor
        self._buckets: dict[str, Bucket] = {}

    def post(self, plugin: str, type_: str, data: Mapping[str, object], *, where: Mapping[str, str]) -> Notice:
        """Post one; ``where``: thread, turn and scope it belongs to.  Raises Unavailable when it is too many."""
        now = trio.current_time()
        bucket = self._buckets.setdefault(plugin, Bucket(rate=RATE, burst=BURST, now=now))
        if not bucket.take(now):
            raise Unavailable(
                f"The plugin {plugin} posts more than {RATE:g} notices a second.", hint="Put several into one."
            )
        clean = self._redactor.redact_json({**data, "plugin": plugin})
        return self._bus.post(type_, **where, data=clean if isinstance(clean, dict) else {})
