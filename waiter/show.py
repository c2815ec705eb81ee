"""How the pieces of a turn look on a terminal."""

from __future__ import annotations

from .progress import Note, Piece, Say, Tool
from .terminal import Terminal, as_json, one_line

WIDTH = 160
MARKS = {"running": "→", "ok": "✓", "error": "✗", "denied": "⊘", "interrupted": "■"}


def piece(terminal: Terminal, shown: Piece, *, quiet: bool) -> None:
    """Write one piece: text goes to the answer, everything else beside it."""
    if isinstance(shown, Say):
        if shown.fresh:
            terminal.end_line()
        terminal.say(shown.text)
    elif isinstance(shown, Tool) and not quiet:
        terminal.note(tool_line(shown))
    elif isinstance(shown, Note):
        terminal.note(shown.text)


def tool_line(tool: Tool) -> str:
    """``→ cmd_run {"command": "date"}`` when it starts, ``✓ cmd_run 12 ms: …`` when it ended.

    ``✓ plot 3 ms [plot.png]: …`` when it gave files.
    """
    mark = MARKS.get(tool.status, "?")
    if tool.status == "running":
        return one_line(f"{mark} {tool.name} {compact(tool.args)}", WIDTH)
    took = f" {tool.ms} ms" if tool.ms is not None else ""
    said = f" [{', '.join(tool.files)}]" if tool.files else ""
    said += f": {compact(tool.result)}" if tool.result not in (None, "") else ""
    return one_line(f"{mark} {tool.name}{took}{said}", WIDTH)


def compact(value: object) -> str:
    """A value on one line: text as it is, anything else as JSON."""
    return value if isinstance(value, str) else as_json(value)


def error_lines(message: str, hint: str) -> str:
    """What went wrong, and what to do on a line of its own."""
    return f"{message}\n{hint}" if hint else message
