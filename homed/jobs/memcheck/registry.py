"""Every check there is, in the order of what rests on what: one that mends comes before those that rest on it."""

from __future__ import annotations

from homed.jobs.memcheck import evidences
from homed.jobs.memcheck.check import Check

CHECKS: tuple[Check, ...] = (*evidences.CHECKS,)
"""In this order they are made and told."""
