"""Making every check once, mending what is safe if that is wanted, and seeing to it that none was left out."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import trio

from homed.errors import HomedError
from homed.jobs.memcheck import findings
from homed.jobs.memcheck.check import ROUNDS, Check, Look
from homed.jobs.memcheck.findings import SHOWN, Finding, Progress, Report, Status, said
from homed.jobs.memcheck.room import Room
from homed.jobs.proof import emptied
from homed.memory.forgets import dropped_scopes

log = logging.getLogger(__name__)

SELF = "self_check"
"""The id of the last check: that all the others were made."""

SECRETS = "secrets_"
"""What the ids of the checks begin with that take secrets out."""

ALL_RAN = "Each of the {n} checks ran once."
LEFT_OUT = "Of {n} checks {missing} did not run, and {twice} ran more than once or are unknown."
REPORT_IT = "This is a fault in homed; please report it."


async def examine(
    room: Room, checks: Sequence[Check], *, repair: bool = False, progress: Callable[[Progress], None] | None = None
) -> Report:
    """Make every one of ``checks`` that belongs to such a look, in their order, and mend where ``repair``.

    What a check raises is an ``error`` of that check; the others go on.  A mended check is made again, and what is told
    of it is what holds then.  Cancelled: what was mended stays, each row whole; nothing else is left behind.
    """
    begun, made = trio.current_time(), [one for one in checks if room.deep or not one.deep]
    told = progress or (lambda _: None)
    found: list[Finding] = []
    for number, check in enumerate(made):
        told(Progress(number, len(made) + 1, check.id))
        mending = partial(told, Progress(number, len(made) + 1, check.id, mending=True))
        found.append(await _one(check, room, repair, mending))
    if any(one.mends for one in found if one.id.startswith(SECRETS)):
        await _wipe(room)
    told(Progress(len(made), len(made) + 1, SELF))
    found.append(complete(found, [one.id for one in made]))
    told(Progress(len(found), len(found)))
    return Report(found, deep=room.deep, repaired=repair, ms=_since(begun))


async def _wipe(room: Room) -> None:
    """Nothing of what was taken out stays in a file of ours: the log, free places of pages, indexes of vectors."""
    if room.vectors is not None:
        for scope in await room.store.read(dropped_scopes):
            await room.vectors.forget_now(scope)
    if room.scrub is not None and await emptied(room.scrub, None) is None:
        log.warning("the log of the database could not be emptied: something reads it all the time")


def complete(found: Sequence[Finding], wanted: Sequence[str]) -> Finding:
    """The last check: each of ``wanted`` was made once, and nothing else was."""
    ran, asked = Counter(one.id for one in found), Counter(wanted)
    missing, twice = sum((asked - ran).values()), sum((ran - asked).values())
    # one that is registered twice is one too many, whoever ran it
    twice += sum(count - 1 for count in asked.values() if count > 1)
    name = "All checks"
    if missing or twice or not found:
        evidence = said(LEFT_OUT, n=len(wanted), missing=missing, twice=twice)
        return Finding(SELF, name, Status.FAIL, evidence, REPORT_IT, len(found), missing + twice)
    return Finding(SELF, name, Status.PASS, said(ALL_RAN, n=len(found)), read=len(found))


async def _one(check: Check, room: Room, repair: bool, mending: Callable[[], None]) -> Finding:
    begun, mends = trio.current_time(), 0
    try:
        look = await check.look(room)
        if repair and check.repairable and look.wrong:
            mending()
            look, mends = await _mended(check, room, look)
        finding = _finding(check, look)
    except HomedError as error:
        log.warning("the check %s could not be made: %s", check.id, error.message)
        finding = _erred(check, error.code, error.hint)
    except Exception as error:
        log.exception("the check %s could not be made", check.id)
        finding = _erred(check, type(error).__name__, "")
    if mends:
        finding = replace(finding, mended=said(findings.MENDED, n=mends), mends=mends)
    return replace(finding, ms=_since(begun))


async def _mended(check: Check, room: Room, look: Look) -> tuple[Look, int]:
    """Mend until nothing is wrong any more, or nothing more can be mended."""
    total = 0
    for _ in range(ROUNDS):
        count = await check.mend(room, look)
        total += count
        before, look = look, await check.look(room)
        if not count or not look.wrong or look.wrong >= before.wrong:
            break
    return look, total


def _finding(check: Check, look: Look) -> Finding:
    return Finding(
        check.id, check.name, look.status, look.evidence, look.fix, look.read, look.wrong, look.ids[:SHOWN],
        repairable=check.repairable,
    )  # fmt: skip


def _erred(check: Check, why: str, hint: str) -> Finding:
    evidence = said(findings.ERRED, why=why)
    return Finding(
        check.id, check.name, Status.ERROR, evidence, hint or findings.ERRED_FIX, repairable=check.repairable
    )


def _since(begun: float) -> int:
    return round(1000 * (trio.current_time() - begun))
