"""What ``--help`` says, in the language of the terminal: for every command line of ours, homed's and waiter's.

A command line is defined in English; a catalogue has its sentences in another language.  It is read with the first
sentence that is shown: who asks for no help reads none.
"""

from __future__ import annotations

import argparse
import json
import sys
import unicodedata
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

LANGUAGES = ("en", "zh")


def language_of(environment: Mapping[str, str], chosen: str = "") -> str:
    """``chosen``, else what LC_ALL, LC_MESSAGES or LANG say, in this order; English for anything else."""
    said = chosen or next((environment[k] for k in ("LC_ALL", "LC_MESSAGES", "LANG") if environment.get(k)), "")
    language = said.lower().replace("_", "-").partition("-")[0].partition(".")[0]
    return language if language in LANGUAGES else "en"


class Formatter(argparse.RawDescriptionHelpFormatter):
    """argparse's, which says its words and ours in that language, and in English what the catalogue lacks or the
    terminal can not show."""

    package = "homed"
    """Whose catalogue: ``PACKAGE/strings/help.LANG.json``."""

    def language(self) -> str:
        """One of ``LANGUAGES``."""
        return "en"

    def said(self, text: str) -> str:
        """A sentence, or a line of one, in that language."""
        catalogue = _catalogue(self.package, self.language())
        if (found := catalogue.get(text)) is None and text.endswith("."):  # of an action: its line in the list
            listed = catalogue.get(f"{text[0].lower()}{text[1:-1]}")
            found = f"{listed}。" if listed else None
        return found if found is not None and shown(found) else text

    def _format_usage(self, usage: Any, actions: Any, groups: Any, prefix: str | None) -> str:
        return super()._format_usage(usage, actions, groups, self.said("usage: ") if prefix is None else prefix)

    def start_section(self, heading: str | None) -> None:
        """See argparse."""
        super().start_section(self.said(heading) if heading else heading)

    def add_text(self, text: str | None) -> None:
        """See argparse; translated line by line."""
        plain = not text or text == argparse.SUPPRESS
        super().add_text(text if plain else "\n".join(map(self.said, str(text).splitlines())))

    def _get_help_string(self, action: argparse.Action) -> str | None:
        return self.said(action.help) if action.help else action.help

    def _split_lines(self, text: str, width: int) -> list[str]:
        if text.isascii():
            return super()._split_lines(text, width)
        lines = [""]
        for piece in _pieces(text):
            if lines[-1] and _columns(lines[-1]) + _columns(piece.rstrip()) > width:
                lines.append("")
            lines[-1] += piece if lines[-1] else piece.lstrip()
        return [line.rstrip() for line in lines]


@cache
def _catalogue(package: str, language: str) -> dict[str, str]:
    if language == "en":
        return {}
    from importlib.resources import files  # with the first sentence

    found: dict[str, str] = json.loads((files(package) / "strings" / f"help.{language}.json").read_text("utf-8"))
    return found


def shown(text: str) -> bool:
    """Whether the terminal can show it."""
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except (UnicodeError, LookupError):
        return False
    return True


_CLOSING = "，。、；：）！？”"
"""What begins no line."""


def _pieces(text: str) -> Iterable[str]:
    """Where a line may end: after a space, and beside a wide sign."""
    piece = ""
    for sign in text:
        if piece and sign not in _CLOSING and sign != " " and (_wide(sign) or _wide(piece[-1]) or piece[-1] == " "):
            yield piece
            piece = ""
        piece += sign
    yield piece


def _wide(sign: str) -> bool:
    return unicodedata.east_asian_width(sign) in "WF"


def _columns(text: str) -> int:
    return sum(1 + _wide(sign) for sign in text)
