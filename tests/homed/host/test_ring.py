"""The kernel's end of the event rings: real memory, real readers in other processes, hostile ones among them."""

from __future__ import annotations

import json
import logging
import os
import random
import signal
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from homed.errors import Unavailable
from homed.events import CONTENT_DELTA, RAW_INPUT, SYSTEM, TURN, TYPES, Bus
from homed.host.ring import CONTENT, NOTICES, LifeRings, Rings, Wake
from homed.sdk.client import Notice
from homed.sdk.ring import RingFds, RingReader
from homed.wire import methods
from homed.wire.layout.ring import ALL, NUMBERS, SLOTS
from tests.kit.processes import open_fds

READER = Path(__file__).parents[2] / "kit" / "children" / "ring_reader.py"
BOTH = frozenset({methods.NOTICES, methods.CONTENT})
ONLY_NOTICES = frozenset({methods.NOTICES})


@pytest.fixture(autouse=True)
def never_waits() -> Iterator[None]:
    """A post that waited would wait for ever: no test of ours would end."""

    def late(_signal: int, _frame: object) -> None:
        raise AssertionError("the kernel waited for a reader")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(300)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def bus() -> Bus:
    return Bus(lambda: 1000.0)


@pytest.fixture
def rings(bus: Bus) -> Iterator[Rings]:
    made = Rings(bus)
    yield made
    made.close()


def fds_of(life: LifeRings, ring: str) -> RingFds:
    name = f"HOMED_FD_{ring.upper()}"
    return RingFds(int(life.env[name]), int(life.env[f"{name}_WAKE"]))


@contextmanager
def reading(life: LifeRings, ring: str, seq: int, mask: int = ALL) -> Iterator[RingReader]:
    reader = RingReader(fds_of(life, ring), seq, mask)
    try:
        yield reader
    finally:
        reader.close()


def woken(life: LifeRings, ring: str) -> int:
    """How often the wake was written since it was last looked at."""
    try:
        said = os.read(fds_of(life, ring).wake, 4096)
    except BlockingIOError:
        return 0
    return int.from_bytes(said, "little") if len(said) == 8 else len(said)


def test_a_plugin_gets_the_rings_its_capabilities_allow_and_no_other(rings: Rings) -> None:
    with rings.of(frozenset({methods.CORE})) as life:
        assert (life.pass_fds, life.env, life.handshake) == ((), {}, {})
        with pytest.raises(Unavailable):
            life.subscribe(None, content=False)
    with rings.of(ONLY_NOTICES) as life:
        assert len(life.pass_fds) == 2
        assert set(life.handshake) == {NOTICES}
        assert not any("CONTENT" in name for name in life.env)
        assert {os.readlink(f"/proc/self/fd/{fd}").partition(" ")[0] for fd in life.pass_fds} >= {
            "/memfd:homed-notices"
        }
        assert os.readlink(f"/proc/self/fd/{fds_of(life, NOTICES).wake}").startswith("pipe:")
        with pytest.raises(Unavailable, match="content"):
            life.subscribe(None, content=True)
    with rings.of(BOTH, packaged=True) as life:
        assert len(life.pass_fds) == 4
        assert set(life.handshake) == {NOTICES, CONTENT}
        assert "eventfd" in os.readlink(f"/proc/self/fd/{fds_of(life, CONTENT).wake}")
        assert not any(os.get_inheritable(fd) for fd in life.pass_fds), "launching passes them on, nothing else does"


def test_who_may_not_read_texts_gets_a_ring_without_them(rings: Rings, bus: Bus) -> None:
    data = {"text": "a private 词", "input": "i"}
    with (
        rings.of(ONLY_NOTICES) as plain,
        rings.of(BOTH, packaged=True) as full,
        reading(plain, NOTICES, plain.subscribe(None, content=False)) as notices,
        reading(full, CONTENT, full.subscribe(None, content=True)) as content,
    ):
        posted = bus.post(RAW_INPUT, thread="t", turn="u", scope="s", data=data)
        (heard,), (told,) = content.read(), notices.read()
        memory = os.pread(fds_of(plain, NOTICES).memory, 4 << 20, 0)
    assert heard == Notice(posted.seq, 1000.0, RAW_INPUT, "t", "u", "s", data)
    assert told == Notice(posted.seq, 1000.0, RAW_INPUT, "t", "u", "s", {"input": "i"})
    assert b"private" not in memory


def test_a_ring_nobody_reads_is_not_written(rings: Rings, bus: Bus) -> None:
    with rings.of(BOTH, packaged=True) as life:
        bus.post(TURN)
        assert bus._subscribers == [], "posting is as it was before there were rings"
        life.subscribe(None, content=False)
        bus.post(TURN)
        heads = [os.pread(fds_of(life, ring).memory, 8, 64)[0] for ring in (NOTICES, CONTENT)]
        assert heads == [2, 0]
        life.unsubscribe()
        assert bus._subscribers == []
        life.subscribe(None, content=True)
    assert bus._subscribers == [], "the life is over"


@pytest.mark.parametrize("packaged", [True, False])
def test_a_reader_is_woken_once_until_it_has_read_that(rings: Rings, bus: Bus, packaged: bool) -> None:
    with rings.of(BOTH, packaged=packaged) as life:
        life.subscribe(None, content=True)
        assert woken(life, CONTENT) == 0
        for _ in range(5):
            bus.post(TURN)
        assert woken(life, CONTENT) == 1
        assert woken(life, CONTENT) == 0
        bus.post(TURN)
        assert (woken(life, CONTENT), woken(life, NOTICES)) == (1, 0)


def test_unwanted_types_wake_nobody_but_often_enough_that_none_falls_behind(rings: Rings, bus: Bus) -> None:
    with rings.of(BOTH, packaged=True) as life, rings.of(BOTH, packaged=True) as other:
        seq, lost, wakes = life.subscribe(frozenset({TURN}), content=True), 0, 0
        other.subscribe(None, content=True)
        with reading(life, CONTENT, seq, 1 << NUMBERS[TURN]) as reader:
            for n in range(2 * SLOTS):
                bus.post(CONTENT_DELTA, data={"text": "x" * (n % 700)})
                if woken(life, CONTENT):
                    wakes += 1
                    lost += sum(item for item in reader.read() if isinstance(item, int))
            bus.post(TURN)
            (last,) = reader.read()
        assert not isinstance(last, int)
        assert (last.seq, lost) == (bus.seq, 0)
        assert 4 < wakes < 40


def test_a_second_subscription_replaces_the_first(rings: Rings, bus: Bus) -> None:
    with rings.of(BOTH, packaged=True) as life:
        life.subscribe(frozenset({TURN}), content=True)
        bus.post(TURN)
        assert woken(life, CONTENT) == 1
        assert life.subscribe(frozenset({SYSTEM}), content=False) == bus.seq
        bus.post(TURN)
        assert (woken(life, CONTENT), woken(life, NOTICES)) == (0, 0)
        bus.post(SYSTEM)
        assert (woken(life, CONTENT), woken(life, NOTICES)) == (0, 1)


def test_what_is_no_json_costs_nobody_a_post(rings: Rings, bus: Bus, caplog: pytest.LogCaptureFixture) -> None:
    deep: list[object] = []
    deep.append(deep)
    with rings.of(BOTH, packaged=True) as life, caplog.at_level(logging.ERROR):
        with reading(life, CONTENT, life.subscribe(None, content=True)) as reader:
            for bad in ({"x": object()}, {"x": float("nan")}, {"x": deep}):
                bus.post(SYSTEM, data=bad)
            bus.post(SYSTEM, data={"text": "half a pair: \ud83d"})
            items = reader.read()
        assert sum(item for item in items if isinstance(item, int)) == 3
        last = items[-1]
        assert not isinstance(last, int)
        assert last.data == {"text": "half a pair: \ud83d"}
    assert len(caplog.records) == 3


def test_a_huge_notice_is_announced_and_counted_as_lost(rings: Rings, bus: Bus) -> None:
    with rings.of(BOTH, packaged=True) as life, reading(life, CONTENT, life.subscribe(None, content=True)) as reader:
        bus.post(CONTENT_DELTA, data={"text": "x" * (2 << 20)})
        assert reader.read() == [1]
        assert reader.seq == bus.seq


def test_without_memory_for_them_events_go_in_lines(bus: Bus, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_args: object) -> int:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(os, "memfd_create", refuse)
    rings = Rings(bus)
    with rings.of(BOTH) as life:
        assert life.env == {}
    rings.close()


@pytest.mark.parametrize("packaged", [True, False])
def test_without_descriptors_for_a_wake_events_go_in_lines(
    rings: Rings, monkeypatch: pytest.MonkeyPatch, packaged: bool
) -> None:
    def refuse(*_args: object) -> int:
        raise OSError(24, "Too many open files")

    with monkeypatch.context() as few:
        few.setattr(os, "eventfd", refuse)
        few.setattr(os, "pipe2", refuse)
        with rings.of(BOTH, packaged=packaged) as life:
            assert (life.env, life.pass_fds) == ({}, ())
            with pytest.raises(Unavailable):
                life.subscribe(None, content=True)
    with rings.of(BOTH, packaged=packaged) as later:
        assert len(later.pass_fds) == 4


def test_everything_given_out_comes_back(bus: Bus) -> None:
    before = open_fds()
    rings = Rings(bus)
    for _ in range(3):
        with rings.of(BOTH, packaged=True) as life, rings.of(ONLY_NOTICES) as other:
            life.subscribe(None, content=True)
            other.subscribe(None, content=False)
            bus.post(TURN)
    rings.close()
    assert open_fds() == before
    with rings.of(BOTH) as life:
        assert life.pass_fds == (), "after the end there are none"
    assert open_fds() == before


def test_every_type_has_its_number() -> None:
    assert set(NUMBERS) >= TYPES


# In other processes.


@contextmanager
def reader_process(life: LifeRings, ring: str, how: str, seq: int) -> Iterator[subprocess.Popen[str]]:
    env = {**os.environ, **life.env, "PYTHONPATH": str(READER.parents[3])}
    with subprocess.Popen(
        [sys.executable, str(READER), ring, how, str(seq)], env=env, pass_fds=life.pass_fds,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        try:
            yield process
        finally:
            process.kill()


def line(process: subprocess.Popen[str]) -> object:
    assert process.stdout is not None
    return json.loads(process.stdout.readline())


def tell(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("go\n")
    process.stdin.flush()


def post_many(bus: Bus, count: int) -> float:
    """Deltas of any length, each with its checksum; returns the seconds that took."""
    rng, begun = random.Random(4), time.perf_counter()
    words = "".join(chr(rng.randrange(0x4E00, 0x9FA5)) for _ in range(500)) + "plain letters " * 300
    for _ in range(count):
        start = rng.randrange(3000)
        text = words[start : start + rng.randrange(600)]
        bus.post(CONTENT_DELTA, thread="t", data={"text": text, "sum": zlib.crc32(text.encode())})
    return time.perf_counter() - begun


def test_a_writer_at_full_speed_one_reader_that_keeps_up_and_two_that_sleep(rings: Rings, bus: Bus) -> None:
    count = 3 * SLOTS
    with ExitStack() as stack:
        lives = [stack.enter_context(rings.of(BOTH, packaged=True)) for _ in range(3)]
        seq = min(life.subscribe(None, content=True) for life in lives)
        keeper, sleeper, stopped = (
            stack.enter_context(reader_process(life, CONTENT, how, seq))
            for life, how in zip(lives, ("keep", "sleep", "keep"), strict=True)
        )
        assert [line(one) for one in (keeper, sleeper, stopped)] == ["ready"] * 3
        stopped.send_signal(signal.SIGSTOP)
        post_many(bus, count)
        bus.post(SYSTEM, data={"code": "end"})
        tell(sleeper)
        stopped.send_signal(signal.SIGCONT)
        answers = [line(one) for one in (keeper, sleeper, stopped)]
    for answer in answers:
        assert isinstance(answer, dict)
        assert answer["torn"] == 0
        assert answer["seen"] + answer["lost"] == count + 1
        assert answer["last"] == count + 1
    assert isinstance(answers[1], dict)
    assert answers[1]["lost"] >= count - SLOTS


def test_a_reader_killed_while_it_reads_is_nobody_elses_trouble(rings: Rings, bus: Bus) -> None:
    before = open_fds()
    with rings.of(BOTH, packaged=True) as life:
        seq = life.subscribe(None, content=True)
        with rings.of(BOTH, packaged=True) as doomed:
            doomed.subscribe(None, content=True)
            with reader_process(doomed, CONTENT, "keep", seq) as process:
                assert line(process) == "ready"
                post_many(bus, 100)
                process.kill()
                process.wait()
                post_many(bus, SLOTS + 500)
        with reading(life, CONTENT, seq) as reader:
            items = reader.read(10)
            assert isinstance(items[0], int)
            assert items[0] + reader.behind + 10 == bus.seq
    rings.close()
    assert len(open_fds() - before) == 0


@pytest.mark.parametrize("packaged", [True, False])
def test_a_hostile_reader_can_neither_write_nor_make_the_kernel_wait(rings: Rings, bus: Bus, packaged: bool) -> None:
    with rings.of(BOTH, packaged=packaged) as hostile, rings.of(BOTH, packaged=True) as life:
        for one in (hostile, life):
            seq = one.subscribe(None, content=True)
        with reader_process(hostile, CONTENT, "break", seq) as process, reading(life, CONTENT, seq) as reader:
            bus.post(TURN, data={"input": "before"})
            worked = line(process)
            for n in range(1000):
                bus.post(TURN, data={"n": n})
            assert worked == []
            seen = [item for item in (*reader.read(2000),) if not isinstance(item, int)]
        assert [one.data for one in seen] == [{"input": "before"}, *({"n": n} for n in range(1000))]


def test_a_strangers_wake_is_a_pipe_whose_flags_are_the_kernels_own() -> None:
    """An eventfd's flags are shared: made blocking and full it would hold the kernel in its write for ever."""
    wake = Wake.make(eventfd=False)
    try:
        os.set_blocking(wake.given, True)
        assert not os.get_blocking(wake.kept)
        os.writev(wake.kept, [b"x" * 4096] * 512)  # as much as there is room for
        with pytest.raises(BlockingIOError):
            os.write(wake.kept, b"x")
    finally:
        wake.close()
