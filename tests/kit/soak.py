"""Very many turns on a real daemon, of every kind side by side, and what it holds before, in the middle and at the end.

``python -m tests.kit.soak --turns 10000`` prints the table of `docs/benchmarks.md`; `tests/e2e/test_soak.py` bounds it.
"""

from __future__ import annotations

import argparse
import base64
import json
import select
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from homed.wire import rpc
from tests.kit.daemon import until
from tests.kit.house import House, Plan
from waiter.link import Link

LANES = 4
"""Conversations that work side by side."""

LENGTH = 40
"""Turns of one conversation; then a new one begins."""

PICTURE = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
KINDS = ("plain", "plain", "streamed", "tools", "plain", "failing", "picture", "stopped", "plain", "interrupted")
ENDS: Mapping[str, frozenset[str]] = {
    "failing": frozenset({"failed"}), "stopped": frozenset({"stopped", "answered"}),
}  # fmt: skip
"""How a turn of a kind may end, if not answered."""


@dataclass(frozen=True, slots=True)
class Held:
    """What the daemon and its plugins held after ``turns``; sizes in bytes.  ``objects``: Python's, in the daemon;
    ``mapped``: what of ``rss`` are pages of files."""

    turns: int
    tasks: int
    objects: int
    fds: int
    threads: int
    rss: int
    mapped: int
    children: int
    plugins_fds: int
    plugins_rss: int
    store: int


@dataclass(slots=True)
class Run:
    """How it went: ``held`` at each sample, ``ends`` by (kind, state), ``seconds`` of the turns alone; ``doctor``: what
    a deep look at the memory said in the end."""

    held: list[Held] = field(default_factory=list)
    ends: Counter[tuple[str, str]] = field(default_factory=Counter)
    seconds: float = 0.0
    doctor: dict[str, Any] = field(default_factory=dict)

    def per_turn(self, what: str) -> float:
        """Growth for each turn of the second half."""
        middle, end = self.held[len(self.held) // 2], self.held[-1]
        return float(getattr(end, what) - getattr(middle, what)) / max(1, end.turns - middle.turns)


@contextmanager
def furnished(folder: Path) -> Iterator[tuple[House, Path]]:
    """A daemon that tells what it holds, with a model that answers each kind of message."""
    stats = folder / "stats.json"
    files = folder / "files"
    files.mkdir()
    (files / "dot.png").write_bytes(PICTURE)
    allow = ("files_ls", "files_read")
    with prepared(folder, Plan(only=("files",), allow=allow), stats) as home:
        fake = home.fake
        fake.when(
            "streamed", {"think": "Plums, plums. " * 5, "say": "A plum is a fruit; 李子也是水果。" * 20, "chunk": 6}
        )
        listed = {"calls": [{"name": "files_ls"}, {"name": "files_ls"}]}
        fake.when("tools", listed, {"calls": [{"name": "files_ls", "args": {"path": "nowhere"}}]}, {"say": "Listed."})
        fake.when("picture", {"calls": [{"name": "files_read", "args": {"path": "dot.png"}}]}, {"say": "A dot."})
        fake.when("failing", {"status": 400, "message": "This is refused."})
        fake.when("stopped", {"say": "slow " * 40, "chunk": 5, "delay": 0.01})
        fake.when("interrupted", {"say": "slow " * 20, "chunk": 5, "delay": 0.005})
        yield home, stats


@contextmanager
def prepared(folder: Path, plan: Plan, stats: Path) -> Iterator[House]:
    """As ``house``, by way of ``soak_child``, and with the files plugin in a folder of its own."""
    from tests.kit.fake_openai import fake_openai_thread

    with fake_openai_thread() as fake:
        home = House(folder / "data", fake, plan)
        with (folder / "data" / "homed.toml").open("a") as toml:
            toml.write(f"[plugin.files]\nroots = [{json.dumps(str(folder / 'files'))}]\n")
            toml.write("[core.spend]\nday_tokens = 0\n")  # some 4 000 turns would use the day's limit up
        home.daemon.program = (sys.executable, "-m", "tests.kit.soak_child", str(stats))
        try:
            yield home.start()
        finally:
            home.daemon.end()


class Driver:
    """Keeps ``LANES`` turns going over one connection until so many have ended."""

    def __init__(self, home: House, link: Link, run: Run) -> None:
        self._home, self._link, self._run = home, link, run
        self._asked: dict[int, tuple[int, str]] = {}
        self._waiting: dict[str, tuple[int, str]] = {}
        """Input → its lane and kind."""
        self._threads = [""] * LANES
        self._turns = [0] * LANES
        self.done = 0
        link.call("subscribe", {"types": ["turn"]})

    def until(self, turns: int) -> None:
        """Go on until ``turns`` have ended, and nothing runs."""
        begun = time.monotonic()
        start = self.done
        next_ = start
        idle = list(range(LANES))
        while self.done < turns:
            while idle and next_ < turns:
                self._say(idle.pop(), next_)
                next_ += 1
            idle += self._hear()
        self._run.seconds += time.monotonic() - begun

    def _say(self, lane: int, number: int) -> None:
        kind = KINDS[number % len(KINDS)]
        if self._turns[lane] % LENGTH == 0:
            self._threads[lane] = ""
        self._turns[lane] += 1
        params = {"text": f"{kind}: message {number}, about plum (李子) number {number * 7919 % 10_007}"}
        id_ = self._link.send("chat", {**params, **({"thread": self._threads[lane]} if self._threads[lane] else {})})
        self._asked[id_] = (lane, kind)

    def _hear(self) -> list[int]:
        """Lanes that have become free; a run that stands still fails."""
        if not self._link.inbox and not select.select([self._link], [], [], 60)[0]:
            raise AssertionError(f"nothing within a minute, after {self.done} turns; {self._waiting}")
        free: list[int] = []
        for one in self._link.receive():
            if isinstance(one, rpc.Response):
                self._answered(one)
            elif isinstance(one, rpc.Notification):
                free += self._noticed(one.params)
        return free

    def _answered(self, answer: rpc.Response) -> None:
        asked = self._asked.pop(answer.id, None) if isinstance(answer.id, int) else None
        if asked is None:
            return  # of a stop, or an interrupt that came too late
        assert answer.error is None, answer.error
        result: Any = answer.result
        self._threads[asked[0]] = result["thread"]
        self._waiting[result["input"]] = asked

    def _noticed(self, notice: Mapping[str, Any]) -> list[int]:
        data, thread = notice.get("data") or {}, str(notice.get("thread"))
        input_ = str(data.get("input"))
        if data.get("phase") == "start" and (known := self._of(input_, thread)):
            if known[1] == "stopped":
                self._link.send("stop", {"thread": thread})
            elif known[1] == "interrupted":
                self._link.send("interrupt", {"thread": thread, "text": "plain: quickly", "level": 3})
        if data.get("phase") != "end" or input_ not in self._waiting:
            return []
        lane, kind = self._waiting.pop(input_)
        state = str(data.get("state"))
        assert state in ENDS.get(kind, {"answered"}), (kind, state, data)
        self._run.ends[kind, state] += 1
        self.done += 1
        return [lane]

    def _of(self, input_: str, thread: str) -> tuple[int, str] | None:
        """A turn may begin before the answer to its message is here: both are on one connection, in either order."""
        if input_ not in self._waiting:
            with suppress(StopIteration):
                id_ = next(i for i, (lane, _) in self._asked.items() if self._threads[lane] in ("", thread))
                return self._asked[id_]
        return self._waiting.get(input_)


def held(home: House, stats: Path, turns: int) -> Held:
    """What is held once nothing runs any more."""
    until(lambda: not home.ask("admin.threads")["busy"], what="every turn at its end")
    told = _told(home, stats)
    for _ in range(50):  # a task that is on its way out is none that leaks
        again = _told(home, stats)
        if again["tasks"] >= told["tasks"]:
            break
        told = again
    pid = home.daemon.pid
    plugins = [child for child in home.daemon.descendants() if child != pid]
    data = home.data
    return Held(
        turns, told["tasks"], told["objects"], _count(pid, "fd"), _count(pid, "task"), _rss(pid), _rss(pid, "RssFile"),
        len(plugins), sum(_count(child, "fd") for child in plugins), sum(map(_rss, plugins)),
        sum(file.stat().st_size for file in data.glob("homed.db*")),
    )  # fmt: skip


def _told(home: House, stats: Path) -> dict[str, int]:
    before = json.loads(stats.read_text())["n"] if stats.exists() else 0
    home.daemon.send(signal.SIGUSR2)

    def read() -> dict[str, int] | None:
        found: dict[str, int] = json.loads(stats.read_text()) if stats.exists() else {"n": before}
        return found if found["n"] > before else None

    found: dict[str, int] = until(read, what="what it holds")
    return found


def _count(pid: int, what: str) -> int:
    with suppress(OSError):
        return len(list(Path(f"/proc/{pid}/{what}").iterdir()))
    return 0


def _rss(pid: int, what: str = "VmRSS") -> int:
    with suppress(OSError, StopIteration):
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        return int(next(line for line in lines if line.startswith(what)).split()[1]) * 1024
    return 0


def soak(folder: Path, turns: int, *, samples: int = 4, minutes: float = 0.0) -> Run:
    """``turns`` turns, or as many as ``minutes`` allow (0: all); ``samples`` samples, and one after a tenth."""
    run = Run()
    with furnished(folder) as (home, stats), home.link() as link:
        driver = Driver(home, link, run)
        until_ = time.monotonic() + minutes * 60
        for at in [turns // 10, *(turns * (n + 1) // samples for n in range(samples))]:
            driver.until(at)
            run.held.append(held(home, stats, driver.done))
            print(run.held[-1], f"{driver.done / run.seconds:.1f}/s", file=sys.stderr, flush=True)
            if minutes and time.monotonic() > until_:
                break
        run.doctor = home.ask("admin.memory_doctor", deep=True, timeout=900)
    return run


def table(run: Run) -> str:
    """For `docs/benchmarks.md`."""
    names = (
        "turns",
        "tasks",
        "objects",
        "fds",
        "threads",
        "rss",
        "mapped",
        "children",
        "plugins_fds",
        "plugins_rss",
        "store",
    )
    heads = ("turns", "tasks", "Python objects", "fds", "threads", "RSS, MB", "of it files, MB",
             "child processes", "their fds", "their RSS, MB", "database, MB")  # fmt: skip
    rows = [[_cell(name, getattr(one, name)) for name in names] for one in run.held]
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def _cell(name: str, value: int) -> str:
    return f"{value / 1e6:.1f}" if name in ("rss", "mapped", "plugins_rss", "store") else f"{value}"


def main(argv: Sequence[str] | None = None) -> int:
    """Soak, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=10_000)
    parser.add_argument("--samples", type=int, default=10)
    parser.add_argument("--minutes", type=float, default=0.0)
    args = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        run = soak(Path(folder), args.turns, samples=args.samples, minutes=args.minutes)
    print(table(run))
    print(f"{run.held[-1].turns / run.seconds:.1f} turns a second; {dict(run.ends)}")
    print(f"memory: {run.doctor['read']} rows read in {run.doctor['ms']} ms, {run.doctor['counts']}")
    print(
        {
            what: round(run.per_turn(what), 3)
            for what in ("tasks", "objects", "fds", "threads", "rss", "mapped", "store")
        }
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
