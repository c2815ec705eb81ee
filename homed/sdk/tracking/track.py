"""One change from its first look to the kernel's record of it."""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import trio

from homed.errors import HomedError, NotFound
from homed.sdk.tracking.ignore import Ignore
from homed.sdk.tracking.look import Limits, Look, Snapshot, TooMuch
from homed.sdk.tracking.spool import Job, Spool, differences, left_over, open_spool
from homed.wire.tracked import BACK, Change, encoded

log = logging.getLogger(__name__)

END_LIMIT = 60.0
"""Seconds, shielded, that noting what a tool changed may take."""

CUT_LIMIT = 1.2
"""The same after a cancellation: the kernel waits two seconds for the plugin.  What is not done by then is finished
when the plugin tracks the next change."""

PIECE = 384 * 1024
PAGE = 200
"""Changes told at once: some 600 bytes each, more with long paths."""


class Kernel(Protocol):
    """``sdk.Kernel``, as far as it is used here."""

    data_dir: Path

    async def call(self, method: str, params: Mapping[str, object]) -> Any:
        """Call the kernel."""


@asynccontextmanager
async def tracked(kernel: Kernel, token: str, folder: Path, paths: Sequence[str | bytes] | None) -> AsyncIterator[str]:
    """See ``Context.tracked``.  Yields the id of the change, or an empty string when it is not tracked."""
    set_, job = await _begin(kernel, token, folder, paths)
    if not set_ or job is None:
        yield ""
        return
    with ExitStack() as stack:
        try:
            spool = await trio.to_thread.run_sync(stack.enter_context, open_spool(kernel.data_dir, set_))
            before = await trio.to_thread.run_sync(partial(look_at, job, spool, {}))
            await trio.to_thread.run_sync(spool.begin, job, before)
        except (TooMuch, OSError) as error:
            await _untracked(kernel, set_, error)
            stack.close()
            await trio.to_thread.run_sync(_remove, kernel.data_dir, set_)
            yield ""
            return
        seconds = CUT_LIMIT
        try:
            yield set_
            seconds = END_LIMIT
        except Exception:
            seconds = END_LIMIT
            raise
        finally:
            with trio.move_on_after(seconds, shield=True) as limit:
                await _told(kernel, spool, job, before)
            if limit.cancelled_caught:
                log.warning("what a tool changed is told later: it took too long")


async def _begin(
    kernel: Kernel, token: str, folder: Path, paths: Sequence[str | bytes] | None
) -> tuple[str, Job | None]:
    """Ask the kernel, once what an earlier process left is finished."""
    await settle(kernel)
    # where links lead: the way back goes to the same place or nowhere
    real = Path(await trio.to_thread.run_sync(os.path.realpath, folder))
    try:
        begun = await kernel.call("tracker.begin", {"call": token, "folder": encoded(os.fsencode(real))})
        if not begun["set"]:
            return "", None
        if paths is None and Path.home().is_relative_to(real):
            why = HomedError("commands in the home folder, or above it, are not tracked: name the folder they work in")
            await _untracked(kernel, begun["set"], why)
            return "", None
    except HomedError as error:
        log.warning("a change is not tracked: %s", error.message)
        return "", None
    only = None if paths is None else tuple(os.fsencode(path) for path in paths)
    return begun["set"], job_of(begun, real, only)


def job_of(begun: Mapping[str, Any], folder: Path, paths: tuple[bytes, ...] | None) -> Job:
    """What is to be tracked, from the kernel's answer."""
    bounds = begun["limits"]
    limits = Limits(bounds["entries"], bounds["seconds"], bounds["file"], bounds["total"])
    avoid = tuple((int(device), int(inode)) for device, inode in begun["avoid"])
    return Job(folder, limits, tuple(begun["ignore"]), avoid, paths)


def look_at(job: Job, spool: Spool, known: Snapshot) -> Snapshot:
    """Look at what the job is about; a folder that is not there holds nothing.  Blocks."""
    look = Look(spool.kept, job.limits, known, job.avoid)
    try:
        if job.paths is not None:
            return look.some(job.folder, job.paths)
        return look.whole(job.folder, Ignore(job.ignore))
    except FileNotFoundError:
        return {}


async def _told(kernel: Kernel, spool: Spool, job: Job, before: Snapshot, *, cut: bool = False) -> None:
    """Look again and tell the kernel what is different; the spool goes with it.  A failure leaves it for later."""
    try:
        await finish(kernel, spool, job, before, cut=cut)
    except HomedError as error:
        log.warning("what a tool changed could not be told: %s", error.message)
    except OSError as error:
        log.warning("what a tool changed could not be looked at: %s", error.strerror)


async def finish(kernel: Kernel, spool: Spool, job: Job, before: Snapshot, *, cut: bool = False) -> list[Change]:
    """The second half: look, tell, hand over contents, close.  Returns what changed.

    Cancelled, or raising HomedError or OSError: it can be done again.
    """
    try:
        # it only reads, and writes beside: one that is left behind does no harm
        after = await trio.to_thread.run_sync(partial(look_at, job, spool, before), abandon_on_cancel=True)
    except TooMuch as error:
        await _untracked(kernel, spool.set, error)
        await trio.to_thread.run_sync(spool.remove)
        return []
    changes = differences(before, after)
    try:
        for start in range(0, len(changes), PAGE):
            page = [change.wire() for change in changes[start : start + PAGE]]
            answer = await kernel.call("tracker.add", {"set": spool.set, "changes": page, "at": start})
            for hash_ in answer["missing"]:
                await _put(kernel, spool, hash_)
        await kernel.call("tracker.finish", {"set": spool.set, "cut": cut})
    except NotFound:
        log.info("a change is not wanted any more")  # the turn it was made in was forgotten
    await trio.to_thread.run_sync(spool.remove)
    return changes


async def _put(kernel: Kernel, spool: Spool, hash_: str) -> None:
    at, last = 0, False
    while not last:
        piece = await trio.to_thread.run_sync(partial(_piece, spool.content(hash_), at))
        last = len(piece) < PIECE
        params = {"set": spool.set, "hash": hash_, "data": encoded(piece), "offset": at, "last": last}
        await kernel.call("tracker.put", params)
        at += len(piece)


def _piece(path: Path, at: int) -> bytes:
    with path.open("rb") as file:
        file.seek(at)
        return file.read(PIECE)


async def _untracked(kernel: Kernel, set_: str, error: Exception) -> None:
    why = error.message if isinstance(error, HomedError) else f"the folder cannot be read ({error})"
    try:
        await kernel.call("tracker.finish", {"set": set_, "problem": why[:500]})
    except HomedError as refused:
        log.warning("a change is not tracked, and could not be told so: %s", refused.message)


def _remove(data_dir: Path, set_: str) -> None:
    with open_spool(data_dir, set_) as spool:
        spool.remove()


async def _still_wanted(kernel: Kernel, set_: str) -> bool:
    """Whether the kernel is going to go on with a roll back."""
    try:
        await kernel.call("tracker.plan", {"set": set_, "after": 0})
    except NotFound:
        return False
    return True


async def settle(kernel: Kernel, keep: Collection[str] = ()) -> None:
    """Finish what a process that is gone had begun: what it changed until then is what is different now."""
    for set_ in await trio.to_thread.run_sync(left_over, kernel.data_dir):
        if set_ in keep:
            continue
        with ExitStack() as stack:
            try:
                spool = await trio.to_thread.run_sync(stack.enter_context, open_spool(kernel.data_dir, set_))
                begun = await trio.to_thread.run_sync(spool.begun)
            except OSError:
                continue  # somebody works on it
            except (ValueError, KeyError, TypeError):
                begun = None
            if set_.startswith(BACK) and await _still_wanted(kernel, set_):
                continue
            if begun is None:
                await _untracked(kernel, set_, HomedError("it was broken off before anything was changed"))
                await trio.to_thread.run_sync(spool.remove)
                continue
            with trio.move_on_after(END_LIMIT):
                await _told(kernel, spool, *begun, cut=True)
