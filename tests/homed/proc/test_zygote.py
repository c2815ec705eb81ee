"""Forked from a zygote, a child is what a fresh Python would be; whatever dies, nobody else is harmed.

Becoming a subreaper is for the life of a process, so each test works in a Python of its own.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from homed.proc.spawn import Command
from homed.proc.zygote import Entry, entry_of
from tests.kit.daemon import until

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]

PRELUDE = """
import json, os, signal, sys, time
from contextlib import asynccontextmanager
from pathlib import Path
import trio
from homed.errors import ConfigError
from homed.proc.reap import become_subreaper, reap_strays
from homed.proc.spawn import Command, spawn
from homed.proc import zygote as room
from homed.proc.reap import _children
from homed.proc.zygote import open_zygote
from tests.kit.processes import until, zombies
HERE = Path(sys.argv[1])
ENV = {"PATH": os.environ["PATH"], "PYTHONPATH": str(Path.cwd())}
PYTHON = sys.executable
FORKED = []
become_subreaper()

def program(name, text):
    (HERE / name).write_text(text, "utf-8")
    return str(HERE / name)

def asks(text, *args, env=None, cwd=HERE, fds=()):
    return Command((PYTHON, program("child.py", text), *args), cwd, {**ENV, **(env or {})}, fds)

@asynccontextmanager
async def zygote(modules=("json",)):
    async with open_zygote(modules, ENV, "fam-zygote") as one:
        assert await one.wait_ready()
        fork = one.fork
        async def counting(command, env):
            made = await fork(command, env)
            FORKED.append(made is not None)
            return made
        one.fork = counting
        yield one

async def talk(command, by, words=b"", mark="fam:x:1"):
    async with spawn(command, mark=mark, by=by) as child:
        out, err = bytearray(), bytearray()
        async def read(stream, into):
            async for data in stream:
                into += data
        async with trio.open_nursery() as nursery:
            nursery.start_soon(read, child.stdout, out)
            nursery.start_soon(read, child.stderr, err)
            if words:
                await child.stdin.send_all(words)
            await child.stdin.aclose()
        return await child.wait(), out.decode(), err.decode()
"""


def run(tmp_path: Path, body: str) -> str:
    code = PRELUDE + body + "\ntrio.run(main)\n"
    argv = [sys.executable, "-c", code, str(tmp_path)]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("argv", "entry"),
    [
        ((sys.executable, "-m", "a.b", "x"), Entry("a.b", "", ("x",), "/where")),
        ((sys.executable, "-P", "-m", "a.b"), Entry("a.b", "", (), "")),
        ((sys.executable, "main.py", "-m"), Entry("", "main.py", ("-m",), "/where")),
        ((sys.executable, "/there/main.py"), Entry("", "/there/main.py", (), "/there")),
        ((sys.executable, "-P", "main.py"), Entry("", "main.py", (), "")),
        ((sys.executable, "-c", "pass"), None),
        ((sys.executable, "-O", "main.py"), None),
        ((sys.executable, "-m"), None),
        ((sys.executable,), None),
        (("/usr/bin/python3", "main.py"), None),
        (("./plugin.bin",), None),
    ],
)
def test_only_plain_python_programs_are_forked(argv: tuple[str, ...], entry: Entry | None) -> None:
    assert entry_of(Command(argv, Path("/where"), {})) == entry


def test_exit_codes_signals_and_the_three_streams_are_those_of_any_child(tmp_path: Path) -> None:
    out = run(
        tmp_path,
        """
ECHO = "import sys; sys.stdout.write(sys.stdin.read().upper()); sys.stderr.write('log'); sys.exit(7)"
KILLED = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
async def main():
    async with zygote() as one:
        print(*await talk(asks(ECHO), one, b"hello"))
        print((await talk(asks("raise ValueError('no')"), one))[0])
        print((await talk(asks(KILLED), one))[0])
        async with spawn(asks("import time; print('up', flush=True); time.sleep(60)"), mark="m", by=one) as child:
            await child.stdout.receive_some(10)
            child.signal_group(signal.SIGTERM)
            print(await child.wait())
        assert _children() == [one.pid], _children()
    print(FORKED)
""",
    )
    assert out.splitlines() == [
        "exit code 7 HELLO log", "exit code 1", "killed by SIGKILL", "killed by SIGTERM", "[True, True, True, True]",
    ]  # fmt: skip


@pytest.mark.parametrize("interrupt", ["default_int_handler", "SIG_IGN"])  # as in a terminal, and in the background
def test_a_forked_child_sees_what_a_fresh_one_sees(tmp_path: Path, interrupt: str) -> None:
    """Environment, folder, arguments, path, signals, session, parent: both ways of starting give the same answer."""
    out = run(
        tmp_path,
        f"signal.signal(signal.SIGINT, signal.{interrupt})"
        """
LOOK = '''
import json, os, random, signal, sys, logging, gc, threading
print(json.dumps({
    "env": sorted(os.environ.items()), "cwd": os.getcwd(), "argv": sys.argv, "path": sys.path, "orig": sys.orig_argv,
    "leads": os.getpid() == os.getsid(0) == os.getpgid(0), "parent": os.getppid(), "name": __name__,
    "signals": [str(signal.getsignal(n)) for n in (1, 2, 13, 15, 17)], "mask": len(signal.pthread_sigmask(0, ())),
    "root": [logging.root.level, len(logging.root.handlers)], "gc": gc.isenabled(), "threads": threading.active_count(),
    "fds": sorted(set(map(int, os.listdir("/proc/self/fd"))) - {3}), "main": sys.modules["__main__"].__name__,
    "proc": sorted(filter(None, open("/proc/self/environ").read().split("\\\\0"))),
    "cmdline": [x for x in open("/proc/self/cmdline").read().split("\\\\0") if x],
}))
'''
async def main():
    async with zygote() as one:
        command = asks(LOOK, "a b", "", "ü", env={"WORD": "größe 你好", "EMPTY": ""})
        fresh = await talk(command, None)
        lazily = await talk(command, one)
        a, b = json.loads(fresh[1]), json.loads(lazily[1])
        for key in a:
            if key == "cmdline":
                assert b[key] == [w for w in a[key] if w], (a[key], b[key])
            elif key == "env":
                assert b[key] == [pair for pair in a[key] if tuple(pair)[0] != "LC_CTYPE"], (a[key], b[key])
            else:
                assert a[key] == b[key], (key, a[key], b[key])
        assert a["parent"] == os.getpid() and a["leads"]
        (HERE / "pack").mkdir(); (HERE / "pack" / "__init__.py").touch()
        (HERE / "pack" / "__main__.py").write_text("import sys; print(sys.argv, __name__, __package__, sys.path[0])")
        module = Command((PYTHON, "-m", "pack", "x"), HERE, ENV)
        assert await talk(module, None) == (said := await talk(module, one)), said
        (HERE / "json.py").write_text("print('taken')")
        safe = Command((PYTHON, "-P", "-m", "pack"), HERE, ENV)
        answers = [await talk(safe, by) for by in (None, one)]
        assert all("No module named pack" in answer[2] for answer in answers), answers
        gone = Command((PYTHON, "nothing.py"), HERE, ENV)
        assert str((await talk(gone, one))[0]) == "exit code 2"
        assert FORKED == [True] * 4, FORKED
        print("same")
""",
    )
    assert out == "same\n"


def test_passed_descriptors_keep_their_numbers_whatever_the_zygote_uses(tmp_path: Path) -> None:
    out = run(
        tmp_path,
        """
READ = '''
import os, sys
print([os.pread(int(n), 9, 0).decode() for n in sys.argv[1:]])
print(*os.listdir("/proc/self/fd"))
'''
async def main():
    async with zygote() as one:
        numbers = []
        for wanted in (3, 4, 5, 6, 7, 8, 9, 10, 40):  # some of them are open here, and most in the zygote
            fd = os.memfd_create("given")
            try:
                os.fstat(wanted)
            except OSError:
                os.dup2(fd, wanted)
                os.close(fd)
                fd = wanted
            os.set_inheritable(fd, True)
            os.pwrite(fd, f"fd{fd}".encode(), 0)
            numbers.append(fd)
        answers = [await talk(asks(READ, *map(str, numbers), fds=tuple(numbers)), by) for by in (None, one)]
        assert answers[0] == answers[1], answers
        heard, listed = answers[1][1].splitlines()
        assert heard == str([f"fd{n}" for n in numbers])
        assert len(set(map(int, listed.split())) - {0, 1, 2, *numbers}) == 1, listed  # the listing itself
        assert FORKED == [True]
        print("kept")
""",
    )
    assert out == "kept\n"


def test_fifty_at_once_each_with_its_own_words_and_nothing_left(tmp_path: Path) -> None:
    out = run(
        tmp_path,
        """
WORD = "import random, sys; print(sys.argv[1], random.random(), sys.stdin.read())"
async def main():
    os.set_inheritable(os.memfd_create("of whoever started homed"), True)
    before = len(os.listdir("/proc/self/fd"))
    said = []
    async with zygote() as one:
        command = asks(WORD)
        async def single(n):
            argv = (*command.argv, str(n))
            done, words, err = await talk(Command(argv, HERE, ENV), one, b"w%d" % n, mark=f"fam:x:{n}")
            assert str(done) == "exit code 0", err
            number, chance, heard = words.split()
            assert (number, heard) == (str(n), f"w{n}")
            said.append(chance)
        async with trio.open_nursery() as nursery:
            for n in range(50):
                nursery.start_soon(single, n)
        assert len(os.listdir(f"/proc/{one.pid}/fd")) == 4
        assert _children() == [one.pid] and zombies() == []
    assert len(set(said)) == 50, "they share their chances"
    assert FORKED == [True] * 50
    assert _children() == [] and len(os.listdir("/proc/self/fd")) == before
    print("all")
""",
    )
    assert out == "all\n"


def test_a_killed_zygote_harms_no_child_and_the_next_start_works(tmp_path: Path) -> None:
    out = run(
        tmp_path,
        """
async def main():
    async with zygote() as one, trio.open_nursery() as nursery:
        nursery.start_soon(reap_strays)
        async with spawn(asks("import sys; print(sys.stdin.read())"), mark="fam:x:1", by=one) as child:
            first = one.pid
            os.kill(first, signal.SIGKILL)
            await until(lambda: one.pid != first, within=10)
            again = await talk(asks("print('again')"), one, mark="fam:x:2")
            await child.stdin.send_all(b"unharmed")
            await child.stdin.aclose()
            print((await child.stdout.receive_some(100)).decode().strip(), await child.wait(), again[1].strip())
        assert await one.wait_ready() and one.pid != first
        print(await talk(asks("print('forked')"), one))
        assert (FORKED[0], FORKED[-1]) == (True, True)
        nursery.cancel_scope.cancel()
    assert _children() == []
""",
    )
    assert out == "unharmed exit code 0 again\n(Exit(code=0, signal=0), 'forked\\n', '')\n"


def test_one_killed_in_the_middle_of_many_starts_fails_none_of_them(tmp_path: Path) -> None:
    out = run(
        tmp_path,
        """
async def main():
    async with zygote() as one:
        command, done = asks("print('done')"), []
        async def single(n):
            done.append((await talk(command, one, mark=f"fam:x:{n}"))[1])
        async with trio.open_nursery() as nursery:
            for n in range(12):
                nursery.start_soon(single, n)
            await until(lambda: len(done) >= 2, within=10)
            os.kill(one.pid, signal.SIGKILL)
        assert done == ["done\\n"] * 12, done
    assert _children() == [] and zombies() == []
    print("none")
""",
    )
    assert out == "none\n"


def test_a_hung_one_is_ended_and_the_start_is_plain(tmp_path: Path) -> None:
    out = run(
        tmp_path,
        """
async def main():
    room._REPLY_LIMIT = 0.5
    async with zygote() as one:
        os.kill(hung := one.pid, signal.SIGSTOP)
        print((await talk(asks("print('plain')"), one))[1].strip(), FORKED)
        await until(lambda: one.pid not in (None, hung), within=10)
        assert not Path(f"/proc/{hung}").exists()
""",
    )
    assert out == "plain [False]\n"


def test_where_an_environment_cannot_be_shown_in_proc_the_start_is_plain(tmp_path: Path) -> None:
    out = run(
        tmp_path,
        """
async def main():
    async with zygote() as one:
        room.ENV_ROOM = 50_000  # more than this zygote was given; some systems do not even say where it lies
        print((await talk(asks("print('plain')", env={"BIG": "x" * 20_000}), one))[1].strip(), FORKED)
        print((await talk(asks("print('forked')"), one))[1].strip(), FORKED)
""",
    )
    assert out == "plain [False]\nforked [False, True]\n"


def test_without_a_handle_left_the_child_is_ended_again_and_the_caller_told(tmp_path: Path) -> None:
    out = run(
        tmp_path,
        """
import errno
from homed.errors import Unavailable
from homed.proc.reap import known
def none_left(pid):
    raise OSError(errno.EMFILE, "Too many open files")
async def main():
    async with zygote() as one:
        some, real, before = asks("import time; time.sleep(60)"), os.pidfd_open, set(known().pids)
        for by in (None, one):
            os.pidfd_open = none_left
            try:
                await talk(some, by)
            except Unavailable as error:
                print(error.message.replace(PYTHON, "python"))
            os.pidfd_open = real
            assert _children() == [one.pid] and zombies() == [] and known().pids == before
        print(FORKED)
""",
    )
    assert out == "python could not be started: Too many open files.\n" * 2 + "[True]\n"


def test_one_that_cannot_come_up_leaves_plain_starts(tmp_path: Path) -> None:
    out = run(
        tmp_path,
        """
async def main():
    async with open_zygote(("no_such_module",), ENV, "fam-zygote") as one:
        assert not await one.wait_ready()
        print((await talk(asks("print('plain')"), one))[1].strip())
""",
    )
    assert out == "plain\n"


def test_a_missing_folder_is_told_as_by_a_plain_start(tmp_path: Path) -> None:
    out = run(
        tmp_path,
        """
async def main():
    async with zygote() as one:
        for by in (None, one):
            try:
                await talk(asks("pass", cwd=HERE / "nowhere"), by)
            except ConfigError as error:
                print(error.message.replace(str(HERE), "HERE").replace(PYTHON, "python"))
""",
    )
    assert out == "The folder HERE/nowhere to run python in does not exist.\n" * 2


def test_an_environment_that_does_not_fit_or_works_from_the_beginning_only_is_plain(tmp_path: Path) -> None:
    out = run(
        tmp_path,
        """
async def main():
    async with zygote() as one:
        for more in ({"BIG": "x" * 9000}, {"PYTHONHASHSEED": "1"}, {"LC_ALL": "C"}):
            command = asks("import os, sys; print(len(os.environ.get('BIG', '')), hash('a'))", env=more)
            assert await one.fork(command, command.env) is None, more
            print((await talk(command, one))[1].split()[0])
""",
    )
    assert out == "9000\n0\n0\n"


def test_homed_killed_takes_zygote_and_children_with_it(tmp_path: Path) -> None:
    body = (
        PRELUDE
        + """
async def main():
    async with zygote() as one:
        async with spawn(asks("import sys; sys.stdin.read()"), mark="fam:x:1", by=one) as child:
            print(os.getpid(), one.pid, child.pid, flush=True)
            await trio.sleep_forever()
trio.run(main)
"""
    )
    argv = [sys.executable, "-c", body, str(tmp_path)]
    with subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.PIPE, text=True) as homed:
        assert homed.stdout is not None
        _, *others = (int(word) for word in homed.stdout.readline().split())
        homed.kill()
        homed.wait()
        until_all_gone(others)


def until_all_gone(pids: list[int]) -> None:
    until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids), within=5, what="all gone")


def test_cancelled_during_a_start_leaves_nothing(tmp_path: Path) -> None:
    out = run(
        tmp_path,
        """
async def main():
    async with zygote() as one:
        first = one.pid
        for step in range(20):
            with trio.move_on_after(step / 1000):
                await talk(asks("import sys; sys.stdin.read()"), one, mark=f"fam:x:{step}")
        assert _children() == [one.pid] == [first], _children()
        assert len(os.listdir(f"/proc/{one.pid}/fd")) == 4
    print("nothing", zombies())
""",
    )
    assert out == "nothing []\n"
