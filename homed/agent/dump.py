"""What runs, is suspended and waits, for whoever looks after homed: ids, levels and counts, and no words."""

from __future__ import annotations

from dataclasses import asdict

from homed.agent.lane import Lane
from homed.agent.lanes import Lanes
from homed.agent.schedule import Frame

THREADS = 200
"""Threads that are listed, those with the most work first."""

WAITING = 50
"""Waiting inputs that are listed of one thread, those that come next; of all there is the number, by level."""


AFTER = "after"
"""The phase of a turn that has its outcome, and something left to do that nobody waits for."""


def dump(lanes: Lanes) -> dict[str, object]:
    """As ``admin.threads`` in ``docs/wire.md``."""
    every = sorted(lanes.all(), key=lambda lane: (-len(lane.turns) - len(lane.inputs), lane.thread))
    busy, queued, suspended = lanes.counts
    return {
        "threads": [_lane(lane) for lane in every[:THREADS]],
        "more": max(0, len(every) - THREADS),
        "busy": busy, "queued": queued, "suspended": suspended,
        "counters": asdict(lanes.counters),
    }  # fmt: skip


def _lane(lane: Lane) -> dict[str, object]:
    schedule = lane.schedule
    waiting = list(schedule.waiting)
    levels = [0, 1, 2, 3, 4]
    return {
        "thread": lane.thread,
        "held": schedule.held,
        "running": _frame(lane, schedule.running) if schedule.running else None,
        "suspended": [_frame(lane, frame) for frame in schedule.stack],
        "waiting": [{"input": task.id, "level": task.level} for task in waiting[:WAITING]],
        "queued": {str(level): sum(1 for task in waiting if task.level == level) for level in levels},
        "counters": asdict(schedule.counters),
    }


def _frame(lane: Lane, frame: Frame) -> dict[str, object]:
    turn = lane.turns.get(frame.task.id)
    return {
        "input": frame.task.id, "turn": turn.id if turn else "", "level": frame.task.level,
        "counts": frame.effective, "preempted": frame.preempted,
        "phase": AFTER if turn and turn.over else frame.phase.value,
        "step": turn.step if turn else 0, "mark": turn.input.mark if turn else "",
    }  # fmt: skip
