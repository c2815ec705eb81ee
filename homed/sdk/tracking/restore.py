"""Putting a change back, on the kernel's word, by the plugin that made it.

It can be broken off at any point and done again: what is as wanted already is left alone, and what was there before the
first step is on disk until the kernel has it.  One file at a time is replaced whole; nobody ever sees half of one.
"""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import trio

from homed.errors import HomedError, InvalidInput, NotFound
from homed.sdk.tracking.look import Snapshot, parent_of
from homed.sdk.tracking.spool import Spool, open_spool
from homed.sdk.tracking.track import Kernel, finish, job_of, look_at, settle
from homed.wire.tracked import FOLDER, LINK, OTHER, Change, State, change_of, decoded, encoded

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Trouble:
    """An entry that is not, or would not be, put back.

    ``why``: it was changed since; a folder is not_empty, and stays; its content was not_kept, or is missing now; it is
    something special, such as a pipe; it failed.
    """

    path: bytes
    why: str
    detail: str = ""

    def wire(self) -> dict[str, object]:
        """As JSON."""
        return {"path": encoded(self.path), "why": self.why, "detail": self.detail}


async def restore(kernel: Kernel, params: Mapping[str, Any]) -> dict[str, object]:
    """Answer ``tracker.restore``: ``{restored, troubles}``; ``refused`` when nothing was touched because of them.

    Cancelled or killed: some entries are back, the others are not, and asking again goes on.
    """
    set_, force = str(params["set"]), bool(params.get("force"))
    folder = Path(os.fsdecode(decoded(params["folder"])))
    if await trio.to_thread.run_sync(os.path.realpath, folder) != str(folder):
        raise InvalidInput("The folder of this change is a link now.", hint="Put the folder back where it was.")
    plan = await _plan(kernel, set_)
    await settle(kernel, keep=(set_,))
    job = job_of(params, folder, tuple(change.path for change in plan))
    with ExitStack() as stack:
        spool = await trio.to_thread.run_sync(stack.enter_context, open_spool(kernel.data_dir, set_))
        begun = await trio.to_thread.run_sync(spool.begun)  # there if it was broken off
        before = await trio.to_thread.run_sync(partial(look_at, job, spool, {}))
        now, troubles = before, await trio.to_thread.run_sync(partial(_troubles, folder, plan, before))
        if begun is not None:
            before, troubles = begun[1], [one for one in troubles if one.why != "changed"]
        elif any(one.why != "not_empty" for one in troubles) and not force:
            await trio.to_thread.run_sync(spool.remove)
            return {"refused": True, "restored": 0, "troubles": [one.wire() for one in troubles]}
        else:
            await trio.to_thread.run_sync(spool.begin, job, before)
        final = {one.path for one in troubles if one.why != "changed"}
        missing = await _fetch(kernel, spool, plan, now)
        troubles += [Trouble(path, "missing") for path in missing]
        left = final | missing
        todo = [one for one in plan if one.path not in left and not _as_wanted(_at(now, one.path), one.before)]
        failed = await trio.to_thread.run_sync(partial(apply, folder, todo, spool))
        done = await finish(kernel, spool, job, before)
    stayed = [one for one in troubles if one.why != "changed"]
    return {"refused": False, "restored": len(done), "troubles": [one.wire() for one in (*stayed, *failed)]}


async def _plan(kernel: Kernel, set_: str) -> list[Change]:
    """What is to be put back: each change from how it was left to how it was before."""
    plan: list[Change] = []
    while True:
        page = await kernel.call("tracker.plan", {"set": set_, "after": len(plan)})
        plan += map(change_of, page["changes"])
        if not page["more"]:
            return plan


def _troubles(folder: Path, plan: Sequence[Change], now: Snapshot) -> list[Trouble]:
    """What stands in the way: entries that are neither as the change left them nor as they are to be."""
    found = []
    gone = {change.path for change in plan if change.before is None}
    for change in plan:
        is_now = _at(now, change.path)
        if _as_wanted(is_now, change.before):
            continue
        if change.before is not None and (change.before.unkept or change.before.kind == OTHER):
            found.append(Trouble(change.path, "special" if change.before.kind == OTHER else "not_kept"))
        elif not _as_wanted(is_now, change.after):
            found.append(Trouble(change.path, "changed"))
        elif _goes(is_now, change.before) and (others := _others(folder, change.path, gone)):
            found.append(Trouble(change.path, "not_empty", others))
    return found


def _goes(is_now: State | None, wanted: State | None) -> bool:
    """Whether a folder is to make way."""
    return is_now is not None and is_now.kind == FOLDER and (wanted is None or wanted.kind != FOLDER)


def _at(now: Snapshot, path: bytes) -> State | None:
    return now[path].state if path in now else None


def _as_wanted(is_now: State | None, wanted: State | None) -> bool:
    return wanted.same(is_now) if wanted is not None else is_now is None


def _others(folder: Path, path: bytes, gone: set[bytes]) -> str:
    """The name of something in a folder that would stay; empty if there is nothing."""
    with suppress(OSError), parent_of(folder, path + b"/x") as (fd, _):
        for name in sorted(map(os.fsencode, os.listdir(fd))):
            if path + b"/" + name not in gone:
                return name.decode("utf-8", "backslashreplace")[:200]
    return ""


async def _fetch(kernel: Kernel, spool: Spool, plan: Sequence[Change], now: Snapshot) -> set[bytes]:
    """Get the contents that are wanted; the paths of those that are not there any more."""
    missing = set()
    for change in plan:
        wanted = change.before
        if wanted is None or not wanted.hash or wanted.same(_at(now, change.path)):
            continue
        if spool.content(wanted.hash).exists():
            continue
        try:
            await _get(kernel, spool, wanted.hash)
        except NotFound:
            missing.add(change.path)
    return missing


async def _get(kernel: Kernel, spool: Spool, hash_: str) -> None:
    part = spool.kept / f"{secrets.token_hex(8)}.part"
    digest, at, last = hashlib.sha256(), 0, False
    while not last:
        piece = await kernel.call("tracker.get", {"set": spool.set, "hash": hash_, "offset": at})
        data, last = decoded(piece["data"]), bool(piece["last"])
        digest.update(data)
        await trio.to_thread.run_sync(partial(_append, part, data))
        at += len(data)
    if digest.hexdigest() != hash_:
        raise HomedError("A kept content is not what its name says.", hint="The disk may be damaged.")
    await trio.to_thread.run_sync(part.replace, spool.content(hash_))


def _append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def apply(folder: Path, plan: Sequence[Change], spool: Spool) -> list[Trouble]:
    """Make it so; what failed.  Blocks.

    First what is to go, the innermost first; then folders, the outermost first, and what lies in them; the folders'
    own permissions last, for one may say that nothing can be put there.
    """
    if not folder.exists():
        folder.mkdir(mode=0o700, parents=True)
    failed: list[Trouble] = []
    by_path = sorted(plan, key=lambda change: change.path.split(b"/"))
    with _writable(folder, by_path):
        for change in reversed(by_path):
            _try(failed, change, partial(_clear, folder, change))
        for change in by_path:
            _try(failed, change, partial(_put, folder, change, spool))
    for change in reversed(by_path):
        if change.before is not None and change.before.kind == FOLDER:
            _try(failed, change, partial(_chmod, folder, change.path, change.before))
    return failed


def _try(failed: list[Trouble], change: Change, step: Callable[[], None]) -> None:
    try:
        step()
    except OSError as error:
        if all(one.path != change.path for one in failed):
            failed.append(Trouble(change.path, "failed", error.strerror or type(error).__name__))


@contextmanager
def _writable(folder: Path, plan: Sequence[Change]) -> Iterator[None]:
    """Folders that hold what is put back can be written to for the length of the block."""
    opened: list[tuple[bytes, int]] = []
    for above in sorted({change.path.rpartition(b"/")[0] for change in plan} - {b""}):
        with suppress(OSError), parent_of(folder, above) as (fd, name):
            info = os.stat(name, dir_fd=fd, follow_symlinks=False)
            mode = stat.S_IMODE(info.st_mode)
            if stat.S_ISDIR(info.st_mode) and mode & 0o700 != 0o700:
                _set_mode(fd, name, mode | 0o700)
                opened.append((above, mode))
    try:
        yield
    finally:
        for path, mode in reversed(opened):
            with suppress(OSError):
                _chmod(folder, path, State(FOLDER, mode))


def _clear(folder: Path, change: Change) -> None:
    """Take away what is there, if nothing is wanted there, or something of another kind."""
    wanted = change.before
    try:
        with parent_of(folder, change.path) as (above, name):
            info = os.stat(name, dir_fd=above, follow_symlinks=False)
            is_folder = stat.S_ISDIR(info.st_mode)
            if wanted is not None and is_folder == (wanted.kind == FOLDER):
                return  # replaced where it stands
            if is_folder:
                os.rmdir(name, dir_fd=above)
            else:
                os.unlink(name, dir_fd=above)
            os.fsync(above)
    except (FileNotFoundError, NotADirectoryError):
        return  # nothing is there


def _put(folder: Path, change: Change, spool: Spool) -> None:
    wanted = change.before
    if wanted is None:
        return
    with parent_of(folder, change.path) as (above, name):
        if wanted.kind == FOLDER:
            with suppress(FileExistsError):
                os.mkdir(name, 0o700, dir_fd=above)
            return
        part = os.fsencode(f".{secrets.token_hex(8)}.part")
        try:
            if wanted.kind == LINK:
                os.symlink(wanted.target, part, dir_fd=above)
            else:
                _fill(above, part, spool.content(wanted.hash), wanted)
            os.replace(part, name, src_dir_fd=above, dst_dir_fd=above)
            os.fsync(above)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(part, dir_fd=above)


def _fill(above: int, name: bytes, content: Path, wanted: State) -> None:
    with os.fdopen(os.open(name, _NEW, 0o600, dir_fd=above), "wb") as file, content.open("rb") as source:
        digest = hashlib.sha256()
        while piece := source.read(1 << 20):
            digest.update(piece)
            file.write(piece)
        if digest.hexdigest() != wanted.hash:
            raise OSError(errno.EIO, "the kept content is damaged")
        file.flush()
        os.fchmod(file.fileno(), wanted.mode)
        os.fsync(file.fileno())


def _chmod(folder: Path, path: bytes, wanted: State) -> None:
    with suppress(FileNotFoundError), parent_of(folder, path) as (above, name):
        _set_mode(above, name, wanted.mode)


def _set_mode(above: int, name: bytes, mode: int) -> None:
    """Of a folder, through its own descriptor: what is no folder is left alone."""
    fd = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=above)
    try:
        os.chmod(f"/proc/self/fd/{fd}", mode)  # fchmod would want it to be readable
    finally:
        os.close(fd)
