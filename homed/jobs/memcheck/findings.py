"""What a check finds, in sentences that a page can put into another language.  Pure.

Nothing of what was remembered is ever in one: ids, counts, names of ours.  A sentence is a template of ours with what
stands in it, so that ``homed/strings/kernel.zh.json`` has it too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

SHOWN = 10
"""Ids that a finding names; there may be more."""


class Status(StrEnum):
    """How a check came out; ``error``: it could not be made."""

    PASS = "pass"
    WARN = "warn"
    FAIL = "fail"
    ERROR = "error"


WORST = (Status.FAIL, Status.ERROR, Status.WARN, Status.PASS)
"""In the order of how soon somebody should look."""

EMPTY = "Nothing to check yet: there are no {what}."
PASSED = "Read {n} {what}: nothing wrong."
PASSED_SOME = "Read {n} of {all} {what}, the newest: nothing wrong; a deep look reads all."
WRONG = "Read {n} {what}: {count} {fault}."
WRONG_SOME = "Read {n} of {all} {what}, the newest: {count} {fault}; a deep look reads all."
ERRED = "The check itself failed ({why}), so it says nothing about memory."
ERRED_FIX = "Run it again; if that does not help, the log says more, and `homed doctor --deep` looks at the database."
MENDED = "Mended: {n}."


def said(template: str, **parts: object) -> str:
    """The sentence.  ``parts``: numbers and words of ours."""
    return template.format(**parts)


@dataclass(frozen=True, slots=True)
class Finding:
    """One check and what it found.

    ``read``: rows or files that it looked at; ``wrong``: how many of them are not as they should be; ``ids``: of some
    of those.  ``fix``: what to do, '' where there is nothing to do.  ``repairable``: a repair mends it.  ``mended``:
    what one did, '' where it did nothing; ``mends``: to how many.
    """

    id: str
    name: str
    status: Status
    evidence: str
    fix: str = ""
    read: int = 0
    wrong: int = 0
    ids: tuple[str, ...] = ()
    repairable: bool = False
    mended: str = ""
    mends: int = 0
    ms: int = 0

    def wire(self) -> dict[str, object]:
        """As ``admin.memory_doctor`` shows it."""
        return {
            "id": self.id, "name": self.name, "status": self.status.value, "evidence": self.evidence, "fix": self.fix,
            "read": self.read, "wrong": self.wrong, "ids": list(self.ids), "repairable": self.repairable,
            "mended": self.mended, "mends": self.mends, "ms": self.ms,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Report:
    """Every check once, in the order in which they were made, the last one of which is that all were made."""

    findings: Sequence[Finding]
    deep: bool = False
    repaired: bool = False
    ms: int = 0

    @property
    def clean(self) -> bool:
        """Nothing is wrong, not even a little."""
        return all(one.status is Status.PASS for one in self.findings)

    @property
    def read(self) -> int:
        """Rows and files that were looked at, altogether."""
        return sum(one.read for one in self.findings)

    def wrong(self) -> list[Finding]:
        """What did not pass, the worst first."""
        bad = [one for one in self.findings if one.status is not Status.PASS]
        return sorted(bad, key=lambda one: WORST.index(one.status))

    def wire(self) -> dict[str, object]:
        """As ``admin.memory_doctor`` answers."""
        return {
            "checks": [one.wire() for one in self.findings], "deep": self.deep, "repair": self.repaired,
            "clean": self.clean, "read": self.read, "ms": self.ms,
            "counts": {status.value: sum(one.status is status for one in self.findings) for status in Status},
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a look is: ``done`` checks ``of`` all, and the id of the one that is made now ('' at the end)."""

    done: int
    of: int
    check: str = ""
    mending: bool = False
