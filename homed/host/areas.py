"""What one life of a plugin shares with the kernel: which areas it gets, and how it is told of them."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from homed.errors import Unavailable
from homed.host.arena import Arena, Scratch, open_arena
from homed.host.life import Plan
from homed.host.ring import NO_RINGS, LifeRings, Rings
from homed.host.segment import Segment
from homed.host.states import Trust
from homed.wire.layout import ENV

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LifeAreas:
    """``pass_fds`` go to the child, ``env`` says their numbers, ``handshake`` the bytes of each area by its name."""

    arena: Arena | None = None
    scratch: Scratch = field(default_factory=Scratch)
    segment: Segment | None = None
    rings: LifeRings = NO_RINGS
    pass_fds: tuple[int, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    handshake: Mapping[str, object] = field(default_factory=dict)


NONE = LifeAreas()
"""Nothing shared: everything goes in lines."""


class Areas:
    """Makes the areas of every life; ``rings`` and ``segment`` are the host's own, None: nobody gets one."""

    def __init__(self, rings: Rings | None = None, segment: Segment | None = None) -> None:
        self._rings, self._segment, self._scratch = rings, segment, Scratch()

    @contextmanager
    def of(self, plan: Plan) -> Iterator[LifeAreas]:
        """The areas of one life of this plugin; unmapped and closed afterwards, so its process must be gone by then.

        Raises `Unavailable` when the system has no shared memory left.
        """
        with ExitStack() as stack:
            arena = stack.enter_context(open_arena(plan.name))
            rings = NO_RINGS
            if self._rings is not None:
                packaged = plan.trust is Trust.PACKAGED
                rings = stack.enter_context(self._rings.of(plan.capabilities, packaged=packaged))
            shared = {"ARENA": (arena.fd, arena.size)}
            segment = self._segment if _handles_stages(plan) else None
            try:
                if segment is not None:
                    shared["SEGMENT"] = segment.fd, segment.size
                    stack.callback(segment.read_by, plan.name, False)
            except Unavailable as error:  # an old system: the fields come with each call then
                _log.warning("%s reads no stage segment: %s", plan.name, error)
                segment = None
            yield LifeAreas(
                arena,
                self._scratch,
                segment,
                rings,
                (*(fd for fd, _ in shared.values()), *rings.pass_fds),
                {**{f"{ENV}{name}": str(fd) for name, (fd, _) in shared.items()}, **rings.env},
                {**{name.lower(): {"size": size} for name, (_, size) in shared.items()}, **rings.handshake},
            )


def _handles_stages(plan: Plan) -> bool:
    """Whether it may read whole contexts: it came with homed, and has a handler that is for every tool."""
    return plan.trust is Trust.PACKAGED and any(stage.scope == "global" for stage in plan.manifest.stages)
