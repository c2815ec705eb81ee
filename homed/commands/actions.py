"""The actions of a command (`config get`, `plugin start`, …): one way to add each."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any


class Actions:
    """The actions of one command; each gets the common options, ``--json`` and a help that ends in an example."""

    def __init__(self, parser: argparse.ArgumentParser, common: argparse.ArgumentParser) -> None:
        self._command = parser.prog
        self._common = common
        self._actions: Any = parser.add_subparsers(title="actions", metavar="ACTION", required=True)

    def add(
        self,
        name: str,
        handler: Callable[[argparse.Namespace], int],
        text: str,
        example: str = "",
        *,
        json: bool = True,
    ) -> argparse.ArgumentParser:
        """Add one; ``example`` is what follows its name, and ``json=False`` is for one that prints no data."""
        action: argparse.ArgumentParser = self._actions.add_parser(
            name,
            parents=[self._common],
            help=text,
            description=f"{text[0].upper()}{text[1:]}.",
            epilog=f"Example:\n  {self._command} {name} {example}".rstrip(),
        )
        if json:
            action.add_argument("--json", action="store_true", help="print JSON")
        action.set_defaults(handler=handler)
        return action
