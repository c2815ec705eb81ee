"""A stand-in for an embedding child: speaks its frames, makes vectors of letters, and fails as it is told.

``spec["how"]``: ``fine``; ``unfit`` (cannot be loaded); ``broken`` (ends while loading); ``late`` (busy three times
before it is open).  A text may say ``crash``, ``hang``, ``babble`` (no frame), ``refuse``, ``short`` (too few numbers)
or ``environment``.  ``spec["log"]`` names a file that gets a line a start and a line a text.
"""

from __future__ import annotations

import json
import os
import struct
import sys
import time
from pathlib import Path
from typing import Any

from homed.retrieval.embed import frames

DIMS = 4


class FakeChild:
    def __init__(self) -> None:
        self._log: Path | None = None

    def run(self) -> None:
        decoder = frames.Decoder()
        while data := os.read(0, 1 << 16):
            for frame in decoder.feed(data):
                self._serve(frame)

    def _serve(self, frame: frames.Frame) -> None:
        if frame.do == "open":
            self._open(frame.said["spec"])
        elif frame.do == "texts":
            for text in frame.said["texts"]:
                self._note(text)
            self._texts(frame.said["texts"])
        else:
            self._say("vectors", struct.pack(f"<{DIMS}f", *[len(frame.data)] * DIMS), rows=1)

    def _open(self, spec: Any) -> None:
        self._log = Path(spec["log"]) if "log" in spec else None
        self._note(
            f"started {os.getpid()} nice {os.nice(0)} threads {spec['threads']} {' '.join(sys.argv[1:])}".rstrip()
        )
        how = spec.get("how", "fine")
        if how == "unfit":
            self._say("failed", why="it is no model", lasting=True)
            return
        if how == "broken":
            sys.stderr.write("Traceback (most recent call last):\nValueError: a private text\n")
            os._exit(1)
        for _ in range(3 if how == "late" else 0):
            self._say("busy")
        self._say("opened", dims=DIMS, media=True, baseline=0.5)

    def _texts(self, texts: list[str]) -> None:
        made = b""
        for text in texts:
            match text:
                case "crash":
                    os._exit(3)
                case "hang":
                    time.sleep(3600)
                case "babble":
                    os.write(1, b"\xff" * 64)
                    return
                case "refuse":
                    self._say("failed", why="it will not", lasting=False)
                    return
                case "environment":
                    self._note(json.dumps(sorted(os.environ)))
            made += struct.pack(f"<{DIMS}f", *([len(text)] * DIMS))
        self._say("vectors", made[:-4] if "short" in texts else made, rows=len(texts))

    def _say(self, do: str, data: bytes = b"", **said: object) -> None:
        os.write(1, frames.encode(do, data, **said))

    def _note(self, line: str) -> None:
        if self._log is not None:
            with self._log.open("a", encoding="utf-8") as file:
                file.write(line + "\n")


if __name__ == "__main__":
    FakeChild().run()
