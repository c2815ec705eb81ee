"""Install the probe plugin into a data folder, and steer it while it runs."""

from __future__ import annotations

import json
import shutil
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from homed.errors import from_code
from tests.kit.daemon import until

SOURCE = Path(__file__).with_name("probe_plugin")


class Probe:
    """A probe installed under ``name``; its tools are ``NAME_echo``, ``NAME_slow``, …"""

    def __init__(self, data: Path, name: str, capabilities: Sequence[str] = ()) -> None:
        self.name = name
        self.folder = data / "plugins" / name
        shutil.copytree(SOURCE, self.folder, ignore=shutil.ignore_patterns("__pycache__", "__init__.py"))
        manifest = json.loads((SOURCE / "plugin.json").read_text("utf-8").replace('"probe', f'"{name}'))
        manifest["capabilities"] = list(capabilities)
        (self.folder / "plugin.json").write_text(json.dumps(manifest), "utf-8")

    def forget(self) -> None:
        """Before a start: the door of an earlier life is none."""
        (self.folder / "door").unlink(missing_ok=True)

    def do(self, command: str, **more: object) -> Any:
        """One command of ``probe_plugin/__main__.py``; raises the kernel's error as the plugin got it."""
        with until(self._knock, what=f"the door of {self.name}") as door, door.makefile("rwb") as lines:
            lines.write(json.dumps({"do": command, **more}).encode() + b"\n")
            lines.flush()
            line = lines.readline()
        if not line:
            raise ConnectionResetError(f"{self.name} went away during {command}")
        answer = json.loads(line)
        if error := answer.get("error"):
            raise from_code(error["code"], error["message"], hint=error["hint"], detail=error["detail"])
        return answer["result"]

    def _knock(self) -> socket.socket | None:
        """A connection to its door; None while there is none, or only that of an earlier life."""
        try:
            return socket.create_connection(("127.0.0.1", int((self.folder / "door").read_text("ascii"))), timeout=60)
        except (FileNotFoundError, ConnectionRefusedError, ValueError):  # ValueError: it is being written
            return None

    def call(self, method: str, **params: object) -> Any:
        """Make it call the kernel."""
        return self.do("call", method=method, params=params)
