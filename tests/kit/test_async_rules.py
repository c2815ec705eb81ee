"""The one walk finds what ``flake8-async`` finds with its many."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

BAD = """\
import asyncio, contextlib, subprocess, time
import trio
from trio import move_on_after, open_nursery as opened

async def a():
    with trio.move_on_after(3):
        pass
    with trio.fail_after(3):  # noqa: ASYNC100
        x = 1
    async with trio.open_nursery() as n:
        yield 3
        n.start_soon(a)

async def b():
    try:
        await trio.sleep(1)
    except BaseException:
        await trio.sleep(3)
    finally:
        await trio.sleep(2)
    while True:
        await trio.sleep(1)
    trio.sleep(3)

async def c(timeout):
    return 1

async def d():
    asyncio.create_task(a())
    async with opened() as n:
        with open("x") as f:
            n.start_soon(f.read)
    with move_on_after(1):
        for i in range(3):
            if i:
                continue
            await c(1)
    time.sleep(3)
    subprocess.run("x")
    def inner():
        with trio.CancelScope():
            yield 1
    class Inner:
        async def m(self): pass
"""


def found(program: list[str], path: Path, *more: str) -> tuple[int, list[str]]:
    ran = subprocess.run(
        [*program, "--enable", ",".join(f"ASYNC{n}" for n in range(100, 1000)), *more, str(path)],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert not ran.stderr, ran.stderr
    return ran.returncode, ran.stdout.splitlines()


def test_it_finds_the_same(tmp_path: Path) -> None:
    bad = tmp_path / "bad.py"
    bad.write_text(BAD, "utf-8")
    alone, ours = [str(Path(sys.executable).with_name("flake8-async"))], [sys.executable, "-m", "tests.kit.async_rules"]
    code, lines = found(ours, bad)
    assert (code, lines) == found(alone, bad)
    assert code == 1
    codes = {line.split()[1] for line in lines}
    assert codes >= {"ASYNC100", "ASYNC101", "ASYNC102", "ASYNC103", "ASYNC105", "ASYNC110", "ASYNC221", "ASYNC910"}
    assert len(found(ours, bad, "--disable-noqa")[1]) == len(lines) + 1, "what is let pass where it stands"


def test_it_is_quiet_where_nothing_is_wrong(tmp_path: Path) -> None:
    good = tmp_path / "good.py"
    good.write_text("import trio\n\n\nasync def a() -> None:\n    await trio.sleep(1)\n", "utf-8")
    assert found([sys.executable, "-m", "tests.kit.async_rules"], good) == (0, [])
