"""Every check there is, in the order of what rests on what: one that mends comes before those that rest on it."""

from __future__ import annotations

from homed.jobs.memcheck import (
    evidences,
    graphs,
    indexes,
    lawful,
    ledgering,
    limits,
    mediary,
    secrecy,
    storing,
    vectorial,
    wording,
    works,
)
from homed.jobs.memcheck.check import Check

CHECKS: tuple[Check, ...] = (
    *storing.CHECKS, *mediary.CHECKS, *secrecy.CHECKS, *evidences.CHECKS, *lawful.CHECKS, *graphs.CHECKS,
    *ledgering.CHECKS, *works.CHECKS, *vectorial.CHECKS, *indexes.CHECKS, *wording.CHECKS, *limits.CHECKS,
    *storing.LAST,
)  # fmt: skip
"""In this order they are made and told."""
