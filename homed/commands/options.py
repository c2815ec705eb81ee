"""What every command line of ours has: how errors of usage end, and the options that all commands share."""

from __future__ import annotations

import argparse

from homed.commands.saying import phrase, translated
from homed.config.environment import child_environment
from homed.helptext import Formatter, language_of


class Help(Formatter):
    """What ``--help`` says."""

    def language(self) -> str:
        """The terminal's."""
        return language_of(child_environment())


class Parser(argparse.ArgumentParser):
    """argparse with one house rule: a usage error ends with 2 and one line that says where help is."""

    def __init__(self, **options: object) -> None:
        options.setdefault("formatter_class", Help)
        super().__init__(allow_abbrev=False, **options)  # type: ignore[arg-type]

    def error(self, message: str) -> None:  # type: ignore[override]
        """Say what is wrong and where help is, then leave with 2."""
        self.exit(2, phrase("{prog}: {message}. See `{prog} --help`.\n", prog=self.prog, message=translated(message)))


def common(default: object) -> Parser:
    """Options that may stand before or after the command; ``default`` keeps the later from undoing the earlier."""
    shared = Parser(add_help=False)
    shared.add_argument("--data", "-data", metavar="DIR", default=default, help="the data folder (also: HOMED_DATA)")
    shared.add_argument(
        "--profile", metavar="NAME", default=default, help="a data folder by name; the default is `default`"
    )
    shared.add_argument(
        "--socket", metavar="PATH", default=default, help="a running daemon's socket (also: HOMED_SOCKET)"
    )
    return shared
