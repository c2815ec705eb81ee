"""Named places where a test can end the process, raise, or look.

The object is handed in by constructor; there is no global and no environment variable, so a daemon cannot be told from
outside to fail.  ``reach`` is called on the Trio thread and on store threads alike.
"""

from __future__ import annotations

from typing import Protocol

NAMES = (
    "accept.before_commit",
    "accept.after_commit",
    "turn.begun",
    "turn.before_model",
    "turn.after_model",
    "turn.call_stored",
    "turn.tool_done",
    "turn.result_stored",
    "turn.cancelled",
    "turn.suspended",
    "turn.resumed",
    "turn.joined",
    "turn.before_finish",
    "turn.finished",
    "output.before_send",
    "output.sent",
    "upload.piece",
    "upload.placed",
    "upload.stored",
    "thread.deleted",
    "thread.removing",
    "child.made",
    "child.given",
    "child.reported",
    "memory.peeked",
    "memory.before_sink",
    "see.looked",
    "see.kept",
    "package.unpacked",
    "package.narrowed",
    "package.moved_out",
    "package.moved_in",
    "package.moved_away",
    "package.recorded",
    "forget.asked",
    "forget.removing",
    "forget.removed",
    "forget.wiped",
    "forget.searched",
    "export.copied",
    "export.written",
    "import.staged",
    "import.taken",
    "import.placed",
    "backup.copied",
    "backup.listed",
    "backup.settled",
    "restore.checked",
    "restore.copied",
    "restore.placed",
    "restore.announced",
    "restore.swapped",
    "index.written",
    "index.swapped",
    "refill.batch",
    "vectors.stored",
    "tracker.rollback",
    "distil.asked",
    "distil.writing",
    "distil.done",
    "pass.asked",
    "pass.writing",
    "pass.done",
    "pass.told",
    "merge.writing",
    "doctor.mending",
    "doctor.mended",
    "store.before_commit",
    "store.after_commit",
    "facility.config",
    "facility.events",
    "facility.store",
    "facility.settings",
    "facility.identity",
    "facility.blocks",
    "facility.window",
    "facility.cold",
    "facility.ledger",
    "facility.index",
    "facility.llm",
    "facility.embedder",
    "facility.stages",
    "facility.tools",
    "facility.outputs",
    "facility.scheduler",
    "facility.segment",
    "facility.ring",
)
"""Every failpoint.  ``store.*`` stand around the COMMIT of each batch, on the thread that runs it; ``facility.*`` where
one is about to be up: an error of ours there is its failure."""


class Failpoints(Protocol):
    """What the code calls at each named place."""

    def reach(self, name: str) -> None:
        """Say that ``name`` (one of ``NAMES``) was reached.  May raise, or not come back at all."""
        ...


class NoFailpoints:
    """The production object: nothing happens."""

    def reach(self, name: str) -> None:
        """Do nothing."""
