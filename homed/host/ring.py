"""The kernel's end of the event rings: two areas that it alone can write, and a wake for each plugin that reads them.

*content* holds notices whole, *notices* the same without what people or models said.  A ring that nobody reads is not
written.  Posting never waits: a reader that does not come to look is not woken again, and loses what it did not read.
"""

from __future__ import annotations

import fcntl
import json
import logging
import mmap
import os
import select
from collections.abc import Callable, Iterator, Mapping, Set
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field

from homed.errors import Unavailable
from homed.events import Bus, Notice
from homed.wire import methods
from homed.wire.layout import ENV
from homed.wire.layout.ring import NUMBERS, SLOTS, Writer, mask_of, size

PROVIDES = ("ring",)
NEEDS = ("events", "settings")

_log = logging.getLogger(__name__)

CONTENT, NOTICES = "content", "notices"
PAYLOAD: Mapping[str, int] = {CONTENT: 4 << 20, NOTICES: 2 << 20}
"""Bytes of payload: 8192 notices of the usual size fit.  They cost memory as they are first written."""
CAPABILITY: Mapping[str, str] = {CONTENT: methods.CONTENT, NOTICES: methods.NOTICES}
"""What a plugin must be allowed in order to get a ring."""

_F_SEAL_FUTURE_WRITE = 0x10  # Linux 5.1; Python has no name for it yet
_SEALS = _F_SEAL_FUTURE_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL
_ONE = (1).to_bytes(8, "little")


def _no_json(value: object) -> object:
    raise TypeError(f"{type(value).__name__} is no JSON")


def _encoder() -> Callable[[object], str]:
    """What turns a value into compact JSON.

    ``json`` makes its C encoder anew for every value, which costs as much again as the encoding; so it is made once
    here, where there is one.
    """
    make = getattr(json.encoder, "c_make_encoder", None)
    if make is None:
        return json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
    encode = make(None, _no_json, json.encoder.encode_basestring, None, ":", ",", False, False, False)
    return lambda value: "".join(encode(value, 0))


_dumps = _encoder()


@dataclass(frozen=True, slots=True)
class Wake:
    """What makes a plugin look: ``given`` becomes readable once ``kept`` is written, until the plugin has read it.

    For plugins of ours both are one eventfd.  Its flags belong to whoever holds it: a hostile one could make it
    blocking and full, and the kernel would wait in its write.  Others therefore get the end of a pipe.
    """

    kept: int
    given: int

    @staticmethod
    def make(*, eventfd: bool) -> Wake:
        """A new one; `close` it."""
        if eventfd:
            fd = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
            return Wake(fd, fd)
        given, kept = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        return Wake(kept, given)

    def close(self) -> None:
        """Close both ends."""
        for fd in {self.kept, self.given}:
            os.close(fd)


@dataclass(slots=True)
class _Reader:
    """One subscriber.  It is woken for types of its mask, and now and then for others, so that it never falls behind
    on what it does not even want."""

    wake: Wake
    mask: int
    due: int
    due_bytes: int


class Ring:
    """One ring: its memory, its writer, and who is to be woken."""

    def __init__(self, name: str, payload: int) -> None:
        """Raises OSError where the system has no such memory."""
        self.name, self.size = name, size(payload)
        self._payload = payload
        self._readers: dict[int, _Reader] = {}
        self._wanted = 0
        self._payloads = _Payloads()
        self._undrained = select.poll()
        with ExitStack() as undo:
            fd = os.memfd_create(f"homed-{name}", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
            undo.callback(os.close, fd)
            os.ftruncate(fd, self.size)
            memory = mmap.mmap(fd, self.size)
            undo.callback(memory.close)
            fcntl.fcntl(fd, fcntl.F_ADD_SEALS, _SEALS)  # now: only the mapping just made can still be written
            self.fd = os.open(f"/proc/self/fd/{fd}", os.O_RDONLY | os.O_CLOEXEC)
            undo.callback(os.close, self.fd)
            view = memoryview(memory)
            undo.callback(view.release)
            self._writer = Writer(view)
            undo.callback(self._writer.close)
            self._close = undo.pop_all()

    @property
    def read(self) -> bool:
        """Whether anybody reads it."""
        return bool(self._readers)

    def enter(self, wake: Wake, mask: int, seq: int) -> None:
        """Somebody reads from behind ``seq``; a second time replaces the mask."""
        if wake.given not in self._readers:
            self._undrained.register(wake.given, select.POLLIN)
        due, due_bytes = seq + SLOTS // 4, self._writer.written + self._payload // 4
        self._readers[wake.given] = _Reader(wake, mask, due, due_bytes)
        self._sum_up()

    def leave(self, wake: Wake) -> None:
        """Somebody reads no more; a second time does nothing."""
        if self._readers.pop(wake.given, None) is not None:
            self._undrained.unregister(wake.given)
            self._sum_up()

    def post(self, notice: Notice, kind: int) -> None:
        """Write a notice, and wake who wants it and has read its last wake.  Never waits, never fails."""
        bit = 1 << kind
        payload = self._payloads.of(notice) if self._wanted & bit else b""
        self._writer.write(notice.seq, kind, notice.at, payload)
        self._wake(bit, notice.seq, self._writer.written)

    def close(self) -> None:
        """Unmap it; readers keep what they have mapped, and nothing comes any more."""
        self._close.close()

    def _sum_up(self) -> None:
        self._wanted = 0
        for reader in self._readers.values():
            self._wanted |= reader.mask

    def _wake(self, bit: int, seq: int, written: int) -> None:
        undrained: dict[int, int] | None = None
        for reader in self._readers.values():
            if not (reader.mask & bit or seq >= reader.due or written >= reader.due_bytes):
                continue
            if undrained is None:
                undrained = dict(self._undrained.poll(0))
            reader.due, reader.due_bytes = seq + SLOTS // 4, written + self._payload // 4
            if reader.wake.given not in undrained:
                with suppress(BlockingIOError):  # it filled its own pipe, and so is woken already
                    os.write(reader.wake.kept, _ONE)


@dataclass(frozen=True, slots=True)
class LifeRings:
    """The rings of one life of a plugin.  ``pass_fds`` go to the child, ``env`` says their numbers, ``handshake`` the
    bytes of each by its name."""

    pass_fds: tuple[int, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    handshake: Mapping[str, object] = field(default_factory=dict)
    _owner: Rings | None = None
    _wakes: Mapping[str, Wake] = field(default_factory=dict)

    def subscribe(self, types: frozenset[str] | None, *, content: bool) -> int:
        """Write the ring for this plugin from here on; replaces an earlier subscription.

        Returns the number of the last notice before it.  Raises `Unavailable` without that ring.
        """
        name = CONTENT if content else NOTICES
        if self._owner is None or name not in self._wakes:
            raise Unavailable(f"There is no event ring {name} for this plugin.", hint='Subscribe with via "rpc".')
        return self._owner.enter(name, self._wakes, mask_of(types))

    def unsubscribe(self) -> None:
        """End the subscription, if there is one."""
        if self._owner is not None:
            self._owner.leave(self._wakes)


NO_RINGS = LifeRings()


class Rings:
    """Both rings of a host, made when the first plugin may read one; ``close`` them when no plugin is left."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._rings: dict[str, Ring] = {}
        self._read: list[Ring] = []
        self._failed = False

    @contextmanager
    def of(self, capabilities: Set[str], *, packaged: bool = False) -> Iterator[LifeRings]:
        """What one life gets: the rings its capabilities allow, each with a wake of its own; closed afterwards.

        Without memory or descriptors for them it gets none, and hears of events in lines.
        """
        wakes: dict[str, Wake] = {}
        with ExitStack() as stack:
            for name in (NOTICES, CONTENT):
                if CAPABILITY[name] not in capabilities or self._ring(name) is None:
                    continue
                try:
                    wakes[name] = wake = Wake.make(eventfd=packaged)
                except OSError as error:
                    _log.warning("a plugin gets no event ring %s, its events go in lines: %s", name, error)
                else:
                    stack.callback(wake.close)
            stack.callback(self.leave, wakes)
            yield self._life(wakes)

    def enter(self, name: str, wakes: Mapping[str, Wake], mask: int) -> int:
        """Begin to write the ring ``name`` for who has these wakes; returns the number of the last notice before."""
        self.leave(wakes)
        self._rings[name].enter(wakes[name], mask, self._bus.seq)
        self._attach()
        return self._bus.seq

    def leave(self, wakes: Mapping[str, Wake]) -> None:
        """End the subscription of who has these wakes."""
        for name, wake in wakes.items():
            if name in self._rings:
                self._rings[name].leave(wake)
        self._attach()

    def offer(self, notice: Notice) -> None:
        """Post a notice; the bus calls it, as long as anybody reads a ring."""
        kind = NUMBERS[notice.type]
        for ring in self._read:
            ring.post(notice if ring.name == CONTENT else notice.without_content(), kind)

    def close(self) -> None:
        """Unmap both rings."""
        rings, self._rings, self._failed = self._rings, {}, True
        self._attach()
        for ring in rings.values():
            ring.close()

    def _ring(self, name: str) -> Ring | None:
        if name not in self._rings and not self._failed:
            try:
                self._rings[name] = Ring(name, PAYLOAD[name])
            except OSError as error:
                self._failed = True
                _log.warning("there are no event rings, events go in lines: %s", error)
        return self._rings.get(name)

    def _life(self, wakes: Mapping[str, Wake]) -> LifeRings:
        fds: list[int] = []
        env: dict[str, str] = {}
        sizes: dict[str, object] = {}
        for name, wake in wakes.items():
            ring = self._rings[name]
            fds += [ring.fd, wake.given]
            env[f"{ENV}{name.upper()}"], env[f"{ENV}{name.upper()}_WAKE"] = str(ring.fd), str(wake.given)
            sizes[name] = {"size": ring.size}
        return LifeRings(tuple(fds), env, sizes, self, wakes)

    def _attach(self) -> None:
        """Stand in the bus's way only while somebody reads."""
        before, self._read = self._read, [ring for ring in self._rings.values() if ring.read]
        if self._read and not before:
            self._bus.add(self)
        elif before and not self._read:
            self._bus.remove(self)


class _Payloads:
    """Notices as JSON.  A stream's deltas come from one turn, so what they have in common is made once."""

    def __init__(self) -> None:
        self._of: tuple[str, str, str] | None = None
        self._head = ""

    def of(self, notice: Notice) -> bytes:
        """The payload of a notice; empty, which announces it without, if it holds what is no JSON."""
        of = notice.thread, notice.turn, notice.scope
        try:
            if of != self._of:
                self._head = _dumps({"thread": of[0], "turn": of[1], "scope": of[2]})[:-1] + ',"data":'
                self._of = of
            text = f"{self._head}{_dumps(notice.data)}}}"
            try:
                return text.encode()
            except UnicodeEncodeError:  # half a surrogate pair: only JSON's own escapes can carry it
                return json.dumps(json.loads(text)).encode()
        except (TypeError, ValueError, RecursionError) as error:
            name = f"the notice {notice.seq} ({notice.type})"
            _log.error("%s is not JSON and goes without what it says: %s", name, error)
            return b""
