"""Our side of `peers`, in a process of its own so that its memory can be measured: ``python -m … FOLDER``.

Reads and writes what `peer_mem0` does, but makes its vectors with its own embedder, in its own child; how long that
takes is not in the figures.  `peers` gives it a folder for temporary files that nobody else uses.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import trio

from benchmarks.peer_plain import peak
from homed.jobs.trial import open_trial
from homed.jobs.trial_files import Said, Sought


def main() -> int:
    """Store all, ask all."""
    folder = Path(sys.argv[1])
    said = [
        Said(one["id"], one["history"], one["session"], one["at"], one["text"])
        for one in json.loads((folder / "said.json").read_text("utf-8"))
    ]
    sought = [Sought(**one) for one in json.loads((folder / "sought.json").read_text("utf-8"))]
    answers = trio.run(_answers, said, sought)
    (folder / "answers.json").write_text(json.dumps(answers), "utf-8")
    return 0


async def _answers(said: list[Said], sought: list[Sought]) -> dict[str, Any]:
    async with open_trial() as trial:
        filled = await trial.fill(said, _silent)
        found = await trial.answer(filled, sought, 10, _silent)
        disk = await trio.to_thread.run_sync(_disk)
        child = max((peak(pid) for pid in await trio.to_thread.run_sync(_children)), default=0)
    took = [whole - asked for whole, asked in zip(found.took, found.asked, strict=True)]
    return {
        "hits": found.hits, "took": took, "added": filled.stored, "rss": peak(), "child": child, "disk": disk,
    }  # fmt: skip


def _children() -> list[str]:
    tasks = Path("/proc/self/task").iterdir()
    return [pid for task in tasks for pid in (task / "children").read_text("ascii").split()]


def _disk() -> int:
    """The vectors are in it too; what else is in the folder is the model, as it was kept for the next start."""
    return sum(path.stat().st_size for path in Path(tempfile.gettempdir()).glob("homed-bench-*/homed.db*"))


def _silent(_: str) -> None:
    """Nobody waits for the progress."""


if __name__ == "__main__":
    raise SystemExit(main())
