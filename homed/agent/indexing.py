"""Words of events that an earlier release stored, and of deleted ones: seen to in the background, after a start."""

from __future__ import annotations

import logging

import trio

from homed.errors import StorageError
from homed.retrieval import index
from homed.store.rows import Lending, Storage

log = logging.getLogger(__name__)


LOOK = 60.0
"""Seconds between two looks at whether the index was found damaged."""


async def keep_index(store: Lending) -> None:
    """``fill_index`` now, and again whenever the index is to be made anew.  Runs until it is cancelled."""
    await fill_index(store)
    while True:
        await trio.sleep(LOOK)
        try:
            if store.words_damaged():
                await store.write(index.give_up)
            wanted = await store.read(index.broken)
        except StorageError as error:
            log.warning("the index was not looked at: %s", error.message)
            continue
        if wanted:
            await fill_index(store)


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
