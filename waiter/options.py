"""The command line of waiter."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from homed.errors import InvalidInput
from homed.helptext import Formatter, language_of

EXAMPLES = """\
examples:
  waiter                                talk, on the whole screen
  waiter --lines                        talk, line by line
  waiter -chat "What is due today?"     one question; the answer on stdout
  git diff | waiter -chat -             the message comes from stdin
  waiter -chat "and then?" --continue   go on with the last conversation
  waiter -chat "list my notes" --json   one JSON object instead of text
  waiter --remote https://home:8080     a homed elsewhere; its key from HOMED_API_KEY, waiter.yaml or typed in
  waiter --connect work                 a homed that waiter.yaml names

exit status: 0 answered, 1 failed, 2 wrong usage, 130 interrupted
"""


@dataclass(frozen=True, slots=True)
class Options:
    """What was asked for.  ``chat`` is None when no message stands on the command line."""

    chat: str | None
    json: bool
    socket: str
    data: str
    thread: str
    go_on: bool
    stream: bool | None
    quiet: bool
    lines: bool
    remote: str
    api_key: str = field(repr=False)
    connect: str
    insecure: bool
    lang: str
    theme: str


class Help(Formatter):
    """What ``--help`` says."""

    package = "waiter"

    def __init__(self, prog: str, chosen: str = "") -> None:
        super().__init__(prog)
        self._chosen = chosen

    def language(self) -> str:
        """The chosen one, or the terminal's."""
        return language_of(os.environ, self._chosen)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Raise, so that a wrong command line is told as every other failure is."""
        raise InvalidInput(f"{message[:1].upper()}{message[1:]}.", hint=self.format_usage().rstrip())


def parser(language: str = "") -> argparse.ArgumentParser:
    """The definition that ``--help`` (and later man page and completions) is made from, in a language or the
    terminal's."""
    made = _Parser(
        prog="waiter",
        description="Talk to homed from a terminal.",
        epilog=EXAMPLES,
        formatter_class=lambda *, prog: Help(prog, language),
        allow_abbrev=False,
    )
    made.add_argument(
        "-chat", "--chat", metavar="TEXT", help="ask TEXT (- reads it from stdin), print the answer, leave"
    )
    made.add_argument("--json", action="store_true", help="print the outcome as one JSON object")
    made.add_argument("--thread", default="", metavar="ID", help="speak in this conversation")
    made.add_argument(
        "--continue", dest="go_on", action="store_true", help="speak in the latest conversation held in a terminal"
    )
    made.add_argument(
        "--stream",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="print the answer as it comes (the default on a terminal) or once it is complete (elsewhere)",
    )
    made.add_argument("--quiet", action="store_true", help="do not tell which tools run")
    made.add_argument("--socket", default="", metavar="PATH", help="the socket of homed")
    made.add_argument("-data", "--data", default="", metavar="DIR", help="the data folder of homed")
    made.add_argument("--lines", action="store_true", help="talk line by line, not on the whole screen")
    made.add_argument("--remote", default="", metavar="URL", help="the page of a homed elsewhere")
    made.add_argument("--api-key", default="", metavar="KEY", help="the key for --remote; better HOMED_API_KEY")
    made.add_argument("--connect", default="", metavar="NAME", help="a homed that waiter.yaml names")
    made.add_argument("--insecure", action="store_true", help="allow --remote without TLS to another machine")
    made.add_argument("--lang", default="", choices=("", "en", "zh"), metavar="LANG", help="en or zh (default: LANG)")
    made.add_argument("--theme", default="auto", choices=("auto", "dark", "light"), help="colours (default: auto)")
    return made


def parse(argv: Sequence[str]) -> Options:
    """Read the command line.  Raises InvalidInput when it is wrong; leaves with status 0 after ``--help``."""
    named = re.search(r"(?:^|\0)--lang[=\0](en|zh)(?:\0|$)", "\0".join(argv))
    made = parser(named[1] if named else "")
    found = Options(**vars(made.parse_args(argv)))
    if found.thread and found.go_on:
        made.error("--thread and --continue exclude each other")
    if sum(map(bool, (found.remote, found.connect, found.socket or found.data))) > 1:
        made.error("--remote, --connect and --socket or --data exclude each other")
    return found
