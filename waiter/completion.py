"""Completion of commands and of what follows them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from prompt_toolkit.completion import CompleteEvent, Completer, Completion, PathCompleter
from prompt_toolkit.document import Document

from . import table
from .cells import clean, cut
from .model import State
from .words import Words

TITLE = 40
"""Cells of a title in the menu."""


class Commands(Completer):
    """Reads the state as it is; ``need`` is told the kind of names that are wanted and may not be known yet."""

    def __init__(self, state: Callable[[], State], words: Words, need: Callable[[str], None]) -> None:
        self._state = state
        self._words = words
        self._need = need
        self._files = PathCompleter(expanduser=True)

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """What may stand at the cursor; nothing unless the line is a command."""
        text = document.text_before_cursor
        if not table.is_command(text) or "\n" in text:
            return
        name, space, rest = text[1:].partition(" ")
        if not space:
            for entry in table.ENTRIES:
                if entry.name.startswith(name.lower()):
                    said, more = self._words(f"help.{entry.name}"), " " if entry.takes else ""
                    yield Completion(f"/{entry.name}{more}", -len(text), display=f"/{entry.name}", display_meta=said)
            return
        known = table.entry(name)
        if known is None:
            return
        if known.takes == ("file",):
            yield from self._files.get_completions(Document(rest, len(rest)), complete_event)
            return
        *before, word = rest.split(" ")
        if len(before) < len(known.takes):
            yield from self._of(known.takes[len(before)], word)

    def _of(self, kind: str | tuple[str, ...], word: str) -> Iterable[Completion]:
        if isinstance(kind, str) and kind == "thread":
            for number, row in enumerate(self._state().listed, 1):
                title = cut(clean(row.title or self._words("untitled")), TITLE)
                if str(number).startswith(word) or word.lower() in row.title.lower():
                    yield Completion(str(number), -len(word), display=str(number), display_meta=title)
            return
        for name in kind if isinstance(kind, tuple) else self._names(kind):
            if word.lower() in name.lower():
                yield Completion(name, -len(word), display=clean(name))

    def _names(self, kind: str) -> tuple[str, ...]:
        self._need(kind)
        names = self._state().names
        found = {
            "model": names.models, "plugin": names.plugins, "setting": names.settings, "connection": names.connections,
        }  # fmt: skip
        return found[kind] or ()
