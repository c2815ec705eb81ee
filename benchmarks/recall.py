"""How well questions find their evidence: ``python -m benchmarks.recall DIR``, on DIR/events.jsonl, DIR/queries.jsonl.

It is ``homed bench recall``; the ranked ids go to DIR/hits.jsonl, for the scorer that came with the data.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from homed.__main__ import main as homed


def main(argv: Sequence[str]) -> int:
    """Ask every question; further arguments are the command's own."""
    if not argv:
        print("usage: python -m benchmarks.recall DIR [--embedder NAME] [--limit N] [--ablate]", file=sys.stderr)
        return 2
    folder = Path(argv[0])
    files = [f"--{kind}={folder / name}.jsonl" for kind, name in (("events", "events"), ("queries", "queries"))]
    return homed(["bench", "recall", *files, f"--out={folder / 'hits.jsonl'}", *argv[1:]])


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
