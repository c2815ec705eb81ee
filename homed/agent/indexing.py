"""Words of events that an earlier release stored, and of deleted ones: seen to in the background, after a start."""

from __future__ import annotations

import logging

from homed.errors import StorageError
from homed.retrieval import index
from homed.store.rows import Storage

log = logging.getLogger(__name__)


async def fill_index(store: Storage) -> None:
    """Index what is left, piece by piece between other writes, newest first; at once where nothing is.

    A store that cannot be written is logged: what is indexed is found all the same.  Cancelled: the next start goes on.
    """
    total = 0
    try:
        while await store.write(index.erase) or await store.write(index.tidy):
            pass  # a deletion that a crash cut off; its words may stand in the log, too
        await store.empty_log()
        while done := await store.write(index.backfill):
            total += done
    except StorageError as error:
        log.warning("%d older events were indexed, the rest was not: %s", total, error.message)
        return
    if total:
        log.info("%d older events can be found by their words now", total)
