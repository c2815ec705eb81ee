"""``make bench``: measure, print, and with ``--save`` write the figures to docs/benchmarks.md with date and commit."""

from __future__ import annotations

import argparse
import json
import subprocess
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from benchmarks import (
    adapters,
    areas,
    client,
    embedders,
    growth,
    launch,
    memory,
    needles,
    peers,
    prefix,
    quality,
    recalling,
    ring,
    stable,
    stages,
    start,
    stop,
    storm,
    turn,
    vectors,
    wire,
)
from benchmarks.figures import Figure

ROOT = Path(__file__).parent.parent
SUITES = {
    "wire": wire.measure,
    "ring": ring.measure,
    "areas": areas.measure,
    "stages": stages.measure,
    "turn": turn.measure,
    "prefix": prefix.measure,
    "adapters": adapters.measure,
    "memory": memory.measure,
    "stable": stable.measure,
    "recall": recalling.measure,
    "needles": needles.measure,
    "embedders": embedders.measure,
    "vectors": vectors.measure,
    "quality": quality.measure,
    "growth": growth.measure,
    "peers": peers.measure,
    "start": start.measure,
    "launch": launch.measure,
    "client": client.measure,
    "stop": stop.measure,
    "storm": storm.measure,
}

ASKED_FOR = {"growth-million": growth.million}
"""Suites that run only when they are named."""


def main() -> int:
    """Run the suites named (all by default)."""
    parser = argparse.ArgumentParser(prog="make bench ARGS=…")
    parser.add_argument("suite", nargs="*", choices=[*SUITES, *ASKED_FOR, []], help="which ones")
    parser.add_argument("--save", action="store_true", help="add the figures to docs/benchmarks.md")
    args = parser.parse_args()
    figures = []
    for name in args.suite or SUITES:
        for figure in (SUITES | ASKED_FOR)[name]():
            print(
                f"{figure.name}: {figure.value:.2f} {figure.unit} · {figure.ratio:.2f} × {figure.against_what}",
                flush=True,
            )
            figures.append(figure)
    out = ROOT / "build" / "benchmarks.json"
    out.parent.mkdir(exist_ok=True)
    out.write_text(json.dumps([asdict(f) for f in figures], indent=2), "utf-8")
    if args.save:
        save(figures)
    return 0


def save(figures: list[Figure]) -> None:
    """Append a table."""
    if growth.PICTURE.exists():
        (ROOT / "docs" / "images" / "growth.svg").write_bytes(growth.PICTURE.read_bytes())
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.strip()
    rows = [f"| {f.name} | {f.value:.2f} {f.unit} | {f.ratio:.2f} × {f.against_what} |" for f in figures]
    head = [f"\n## {datetime.now(UTC):%Y-%m-%d}, {commit}\n", "| what | median | ratio |", "|---|---|---|"]
    with (ROOT / "docs" / "benchmarks.md").open("a", encoding="utf-8") as page:
        page.write("\n".join([*head, *rows]) + "\n")


if __name__ == "__main__":
    raise SystemExit(main())
