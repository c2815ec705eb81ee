"""Following changes of settings."""

from __future__ import annotations

import trio


class Watch:
    """Iterate it for ``(key, value)`` of each change.

    Bounded by the number of settings: of several changes of one key that wait, only the last is seen.
    """

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._changed: dict[str, object] = {}
        self._wake = trio.Event()

    def offer(self, key: str, value: object) -> None:
        """Note a change; never waits."""
        if key.startswith(self._prefix):
            self._changed.pop(key, None)
            self._changed[key] = value
            self._wake.set()

    def __aiter__(self) -> Watch:
        return self

    async def __anext__(self) -> tuple[str, object]:
        """The oldest change not yet seen.  Cancellation loses none."""
        await trio.lowlevel.checkpoint()
        while not self._changed:
            self._wake = trio.Event()
            await self._wake.wait()
        key = next(iter(self._changed))
        return key, self._changed.pop(key)
