"""`homed memory …`: what is remembered, and what is made of it."""

from __future__ import annotations

import argparse
from typing import Any

from homed.commands import memory_files, memory_forget, memory_jobs, memory_merges
from homed.commands.actions import Actions


def register(commands: Any, common: argparse.ArgumentParser) -> None:
    """Add the command and its own."""
    parser = commands.add_parser(
        "memory",
        parents=[common],
        help="what is remembered, and the work on it",
        description="What homed remembers, and what it does with it by itself.",
        epilog="Examples:\n  homed memory jobs\n  homed memory forget fact 1a2b3c4d\n  homed memory export DIR",
    )
    actions = Actions(parser, common)
    memory_jobs.add(actions)
    memory_merges.add(actions)
    memory_forget.add(actions)
    memory_files.add(actions)
