"""`homed memory …`: what is remembered, and what is made of it."""

from __future__ import annotations

import argparse
from typing import Any

from homed.commands import (
    memory_change,
    memory_check,
    memory_files,
    memory_forget,
    memory_jobs,
    memory_merges,
    memory_records,
    memory_setup,
)
from homed.commands.actions import Actions


def register(commands: Any, common: argparse.ArgumentParser) -> None:
    """Add the command and its own."""
    parser = commands.add_parser(
        "memory",
        parents=[common],
        help="what is remembered, and the work on it",
        description="What homed remembers, and what it does with it by itself.",
        epilog='Examples:\n  homed memory stats\n  homed memory search "where does Anna live"\n'
        "  homed memory open 1a2b3c4d\n  homed memory doctor --deep\n  homed memory forget 1a2b3c4d\n"
        "  homed memory export DIR",
    )
    actions = Actions(parser, common)
    memory_setup.add(actions)
    memory_records.add(actions)
    memory_change.add(actions)
    memory_check.add(actions)
    memory_jobs.add(actions)
    memory_merges.add(actions)
    memory_forget.add(actions)
    memory_files.add(actions)
