"""What interrupts on its own account, such as a terminal's output: not its own doing, and not too often (E34)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

import trio

from homed.agent.intake import Message
from homed.agent.lane import Lane
from homed.agent.lanes import Lanes
from homed.agent.levels import BACKGROUND
from homed.errors import Unavailable
from homed.identity.roles import Identity

AT_ONCE = 1
"""Interrupts of level 1 of one channel that may wait in a thread: the next one says what this one would have."""

MINUTE = 60.0
MOST_A_MINUTE = 12
"""Interrupts of level 1 that one channel may raise in a thread within a minute."""

THREADS = 1024
"""Channels in threads whose last minute is remembered; the longest quiet one is forgotten first."""


@dataclass(slots=True)
class Background:
    """Looks at interrupts of level 1 as they come in; ``now`` is in seconds."""

    lanes: Lanes
    now: Callable[[], float] = trio.current_time
    _lately: dict[tuple[str, str], deque[float]] = field(default_factory=dict)

    def admit(self, who: Identity, message: Message, level: int) -> None:
        """Raise Unavailable, with what to do, for one that should not come in now."""
        if level > BACKGROUND or not message.thread:
            return
        lane = self.lanes.get(message.thread)
        if lane is not None:
            self._not_itself(lane, message.channel)
            self._not_behind_itself(lane, message.channel, who)
        self._not_too_often(message.thread, message.channel)

    def _not_itself(self, lane: Lane, channel: str) -> None:
        """What comes of a call that runs is that call's result: told as news besides, it would feed itself."""
        turn = lane.running
        if turn is not None and any(link.plugin == channel for link in turn.links.values()):
            raise Unavailable(
                f"A tool of {channel} runs in this conversation; what comes of it now is its result.",
                hint="Give it back as the result, or raise the interrupt when the call is over.",
            )

    def _not_behind_itself(self, lane: Lane, channel: str, who: Identity) -> None:
        mine = [i for i in lane.waiting if i.level == BACKGROUND and i.channel == channel and i.peer == who.peer]
        if len(mine) >= AT_ONCE:
            raise Unavailable(
                "An interrupt of level 1 of this channel waits in this conversation already.",
                hint="Gather what is new, and send it when that one has ended.",
            )

    def _not_too_often(self, thread: str, channel: str) -> None:
        now = self.now()
        lately = self._lately.pop((thread, channel), deque())
        while lately and lately[0] <= now - MINUTE:
            lately.popleft()
        self._lately[thread, channel] = lately  # the last used at the end
        if len(lately) >= MOST_A_MINUTE:
            raise Unavailable(
                f"{MOST_A_MINUTE} interrupts of level 1 a minute are the limit of a channel in a conversation.",
                hint="Gather what is new, and send it later.",
            )
        lately.append(now)
        if len(self._lately) > THREADS:
            del self._lately[next(iter(self._lately))]
