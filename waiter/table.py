"""The commands: one table for ``/help``, for completion and for what is handled.  Pure."""

from __future__ import annotations

from dataclasses import dataclass

from .remembered import VERBS


@dataclass(frozen=True, slots=True)
class Entry:
    """A command: what follows its name, and the kinds of words that can be completed there, place by place.

    A place is a tuple of words that may stand there, or the name of a kind (thread, model, plugin, setting, file,
    connection).  ``lines``: also in line mode.  What it does is said by the catalogue under ``help.NAME``.
    """

    name: str
    usage: str = ""
    takes: tuple[str | tuple[str, ...], ...] = ()
    lines: bool = False


PERSONAS = ("steady", "friend", "brief", "tutor", "butler")
"""The suggestions that homed comes with, for completion; homed itself says which there are."""

MEMORY = (
    "stats|search TEXT|open ID|list|note TEXT|edit ID TEXT|hide ID|combine ID ID|reinstate ID|forget ID|injections"
    "|doctor|why"
)

ENTRIES = (
    Entry("help", lines=True),
    Entry("stop", lines=True),
    Entry("interrupt", "TEXT"),
    Entry("new", lines=True),
    Entry("threads", "[TEXT]", lines=True),
    Entry("open", "NUMBER", ("thread",), lines=True),
    Entry("rename", "TITLE"),
    Entry("delete", "[NUMBER]", ("thread",)),
    Entry("export", "FILE", ("file",)),
    Entry("attach", "FILE", ("file",)),
    Entry("memory", f"[{MEMORY}]", (VERBS,), lines=True),
    Entry("models", "[use NAME]", (("use",), "model"), lines=True),
    Entry("plugins", "[start|stop NAME]", (("start", "stop"), "plugin"), lines=True),
    Entry("settings", "[get|set KEY]", (("get", "set", "list"), "setting")),
    Entry("persona", "[NAME|text TEXT|none]", ((*PERSONAS, "text", "none", "later"),), lines=True),
    Entry("status", lines=True),
    Entry("connect", "NAME", ("connection",)),
    Entry("remote", "URL"),
    Entry("local"),
    Entry("theme", "[dark|light|auto]", (("dark", "light", "auto"),)),
    Entry("quit", lines=True),
)

NAMES = tuple(entry.name for entry in ENTRIES)


def entry(name: str) -> Entry | None:
    """The command of this name, capitals or not."""
    return next((one for one in ENTRIES if one.name == name.lower()), None)


def is_command(text: str) -> bool:
    """Whether a line is for waiter: ``//`` at the start sends one that begins with ``/``."""
    return text.startswith("/") and not text.startswith("//")


def split(line: str) -> tuple[str, str]:
    """``(name, rest)`` of a command line."""
    name, _, rest = line.strip().removeprefix("/").partition(" ")
    return name.lower(), rest.strip()


def message(text: str) -> str:
    """What is sent for a line that is no command."""
    return text[1:] if text.startswith("//") else text
