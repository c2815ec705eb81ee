"""A program in a terminal that a test can look at: tmux, with a server of its own."""

from __future__ import annotations

import os
import select
import shlex
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

import pytest

PATIENCE = 60.0
needs_tmux = [pytest.mark.tmux, pytest.mark.slow, pytest.mark.skipif(not shutil.which("tmux"), reason="no tmux")]


class Tmux:
    """Runs ``argv``; a context manager.  What it left behind is shown with its exit status after it has ended."""

    def __init__(
        self, argv: Sequence[str], *, env: Mapping[str, str] | None = None, columns: int = 80, rows: int = 24
    ) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self._socket = str(Path(self._folder.name) / "tmux")
        inherited = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "TMUX")}
        # the session's shell outlives the program, so that its last screen and the terminal's state can be looked at
        command = (
            f"{shlex.join(argv)}; echo \"left with $?\"; stty -a | tr ' ' '\\n' | grep -x -e icanon -e -icanon; cat"
        )
        self._env = {**inherited, "LANG": "C.UTF-8", **(env or {})}
        drawn = str(Path(self._folder.name) / "drawn")
        os.mkfifo(drawn)
        # to be written, too: else it would be at its end for ever once the program and its shell have gone
        self._drawn = os.open(drawn, os.O_RDWR | os.O_NONBLOCK)
        self._tmux(
            "-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(rows), "sh", "-c", command,
            ";", "pipe-pane", "-O", f"exec cat >{shlex.quote(drawn)}",
        )  # fmt: skip

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._tmux("kill-server")
        os.close(self._drawn)
        self._folder.cleanup()

    def _tmux(self, *words: str, stdin: str = "") -> str:
        ran = subprocess.run(
            ["tmux", "-S", self._socket, *words], input=stdin.encode(), capture_output=True, env=self._env, check=False,
            timeout=PATIENCE,
        )  # fmt: skip
        assert ran.returncode == 0, ran.stderr.decode()
        return ran.stdout.decode()

    @property
    def screen(self) -> str:
        """What is to be seen, lines without blanks at their ends."""
        return "\n".join(line.rstrip() for line in self._tmux("capture-pane", "-p").rstrip("\n").split("\n"))

    @property
    def painted(self) -> str:
        """The same with its colours."""
        return self._tmux("capture-pane", "-p", "-e")

    @property
    def pid(self) -> int:
        """The shell's process."""
        return int(self._tmux("display-message", "-p", "#{pane_pid}"))

    def keys(self, *names: str) -> None:
        """Press keys, by tmux's names or as text."""
        self._tmux("send-keys", *names)

    def type(self, text: str) -> None:
        """Type text as it stands."""
        self._tmux("send-keys", "-l", "--", text)

    def paste(self, text: str) -> None:
        """Paste as a terminal does when it was asked to mark where a paste begins and ends."""
        self._tmux("load-buffer", "-", stdin=text)
        self._tmux("paste-buffer", "-p", "-r")

    def resize(self, columns: int, rows: int) -> None:
        """Make the window another size."""
        self._tmux("resize-window", "-x", str(columns), "-y", str(rows))

    def expect(self, *wanted: str, within: float = PATIENCE) -> str:
        """Wait until all of it is to be seen at once; returns the screen."""
        return self.until(lambda screen: all(text in screen for text in wanted), what=str(wanted), within=within)

    def gone(self, *unwanted: str, within: float = PATIENCE) -> str:
        """Wait until none of it is to be seen."""
        return self.until(
            lambda screen: not any(text in screen for text in unwanted), what=f"not {unwanted}", within=within
        )

    def until(self, fits: Callable[[str], bool], *, what: str, within: float = PATIENCE) -> str:
        """Wait until the screen fits."""
        deadline = time.monotonic() + within
        while not fits(screen := self.screen):
            if time.monotonic() > deadline:
                raise AssertionError(f"{what} in\n{screen}")
            self._wait_for_more()
        return screen

    def _wait_for_more(self) -> None:
        """Until the program has drawn something, which a look at the screen costs a process to find out; or a moment,
        for what comes before tmux began to tell."""
        if select.select([self._drawn], [], [], 0.25)[0]:
            time.sleep(0.02)  # the rest of the same picture
            with suppress(BlockingIOError):
                while os.read(self._drawn, 1 << 16):
                    pass
