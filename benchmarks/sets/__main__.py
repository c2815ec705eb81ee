"""``python -m benchmarks.sets``: make all sets anew, the same as before unless a generator has changed."""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.sets import rows
from benchmarks.sets.every import SETS


def main() -> int:
    """Write them below the given folder, or where they are committed."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else rows.DATA
    for name, make in SETS.items():
        made = make()
        rows.write(made, folder / name)
        print(f"{name}: {len(made.events)} events, {len(made.queries)} questions")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
