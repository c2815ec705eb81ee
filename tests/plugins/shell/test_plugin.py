"""cmd_run with real commands, on the real clock."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio

from homed.sdk.testing import Harness, harness
from plugins.shell.plugin import LIMIT, MAX_COMMAND, plugin
from tests.kit.daemon import until


@asynccontextmanager
async def shell(folder: Path, **settings: object) -> AsyncIterator[Harness]:
    async with harness(plugin, settings={"workdir": str(folder), **settings}) as kernel:
        yield kernel


async def run(kernel: Harness, command: str, **args: Any) -> dict[str, Any]:
    result = await kernel.invoke("cmd_run", command=command, **args)
    assert not result.is_error, result
    answer: dict[str, Any] = result.content
    return answer


def gone(pid: int) -> bool:
    """True when the process is not there, or only waits to be reaped by whoever adopted it."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return True
    return state == "Z"


async def eventually(condition: Callable[[], bool], within: float = 30) -> None:
    """Other processes give no event to wait on: ask again and again, in a thread."""
    await trio.to_thread.run_sync(partial(until, condition, within=within))


def written(path: Path) -> bool:
    return path.exists() and bool(path.read_text().strip())


async def test_a_command_answers_with_status_output_and_exit_code(tmp_path: Path) -> None:
    async with shell(tmp_path) as kernel:
        assert await run(kernel, "echo out; echo err >&2; exit 3") == {
            "status": "failed", "exit_code": 3, "stdout": "out\n", "stderr": "err\n",
        }  # fmt: skip
        assert (await run(kernel, "true"))["status"] == "ok"
        assert (await run(kernel, "printf '你好🌍'"))["stdout"] == "你好🌍"


@pytest.mark.parametrize(("number", "name"), [(9, "SIGKILL"), (40, "signal 40")])
async def test_a_command_killed_by_a_signal_says_so(tmp_path: Path, number: int, name: str) -> None:
    async with shell(tmp_path) as kernel:
        answer = await run(kernel, f"kill -{number} $$")
    assert (answer["status"], answer["exit_code"], answer["note"]) == ("failed", None, f"It was killed by {name}.")


async def test_a_timeout_kills_the_whole_tree_and_keeps_what_was_printed(tmp_path: Path) -> None:
    async with shell(tmp_path) as kernel:
        answer = await run(kernel, "echo before; sleep 600 & echo $! > pid; wait; echo after", timeout=1)
    assert (answer["status"], answer["exit_code"], answer["stdout"]) == ("timed_out", None, "before\n")
    assert "Killed after 1 s" in answer["note"]
    assert gone(int((tmp_path / "pid").read_text()))


async def test_a_cancelled_call_leaves_no_process_c13(tmp_path: Path) -> None:
    async with shell(tmp_path) as kernel:
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(run, kernel, "sh -c 'echo $$ > pid; sleep 600' & wait")
                await eventually(lambda: written(tmp_path / "pid"))
                scope.cancel()
        assert scope.cancelled_caught
        await eventually(lambda: gone(int((tmp_path / "pid").read_text())), within=2)


async def test_no_secret_of_the_environment_reaches_a_command_d6(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "HOMED_SOCKET", "AWS_SECRET_ACCESS_KEY", "PASSWORD", "SSH_AUTH_SOCK", "HARMLESS"):
        monkeypatch.setenv(name, "sk-very-secret")
    async with shell(tmp_path) as kernel:
        answer = await run(kernel, "env; cat /proc/$$/environ | tr '\\0' '\\n'")
    assert "very-secret" not in answer["stdout"]
    assert "PATH=" in answer["stdout"]


async def test_bytes_that_are_no_utf8_are_shown_not_replaced_a24(tmp_path: Path) -> None:
    async with shell(tmp_path) as kernel:
        assert (await run(kernel, "printf 'a\\377b'"))["stdout"] == "a\\xffb"


async def test_much_output_is_cut_in_the_middle_and_says_so(tmp_path: Path) -> None:
    async with shell(tmp_path) as kernel:
        answer = await run(kernel, "echo first; yes | head -c 5000000; echo last")
    assert len(answer["stdout"]) < LIMIT + 200
    assert answer["stdout"].startswith("first")
    assert answer["stdout"].endswith("last\n")
    assert "left out" in answer["stdout"]


async def test_a_command_that_reads_finds_the_end_of_its_input(tmp_path: Path) -> None:
    async with shell(tmp_path) as kernel:
        assert (await run(kernel, "cat; read x; echo $?", timeout=20))["stdout"] == "1\n"


async def test_a_workdir_may_be_relative_and_must_be_there(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    async with shell(tmp_path) as kernel:
        assert (await run(kernel, "pwd", workdir="sub"))["stdout"].strip() == str((tmp_path / "sub").resolve())
        missing = await kernel.invoke("cmd_run", command="pwd", workdir="nowhere")
        assert missing.is_error
        assert "There is no folder" in missing.content


@pytest.mark.parametrize(
    "args",
    [
        {"command": ""},
        {"command": " \n"},
        {"command": "a\0b"},
        {"command": "x" * (MAX_COMMAND + 1)},
        {"command": "true", "timeout": 0},
        {"command": "true", "timeout": -1},
        {"command": "true", "workdir": "a\0b"},
        {"command": "true", "nonsense": 1},
        {},
    ],
)
async def test_bad_arguments_are_refused_with_a_reason(tmp_path: Path, args: dict[str, Any]) -> None:
    async with shell(tmp_path) as kernel:
        result = await kernel.invoke("cmd_run", **args)
    assert result.is_error
    assert result.content


async def test_a_command_cannot_signal_the_plugin_by_its_group(tmp_path: Path) -> None:
    async with shell(tmp_path) as kernel:
        answer = await run(kernel, "kill -TERM 0; sleep 60", timeout=20)
        assert answer["status"] == "failed"
        assert (await run(kernel, "true"))["status"] == "ok"


async def test_what_a_command_left_in_the_background_ends_with_it(tmp_path: Path) -> None:
    async with shell(tmp_path) as kernel:
        await run(kernel, "sleep 600 > /dev/null 2>&1 & echo $! > pid")
        await eventually(lambda: gone(int((tmp_path / "pid").read_text())), within=2)
