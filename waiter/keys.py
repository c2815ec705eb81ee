"""Keys of the full screen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from prompt_toolkit.filters import Condition, has_completions
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.key_binding.key_processor import KeyPressEvent

Event = KeyPressEvent


class Hands(Protocol):
    """What keys do to the screen."""

    def send(self, *, urgent: bool = False) -> None:
        """Send what was typed; ``urgent``: to be taken up before what runs goes on."""

    def press(self, name: str) -> None:
        """A key that is not typing, for the state."""

    def scroll(self, pages: float) -> None:
        """Up (negative) or down by so many screens; 0 goes to the end."""

    def interrupt(self) -> None:
        """Ctrl-C."""

    def end(self) -> None:
        """Leave."""

    def answering(self) -> bool:
        """Whether a single key answers a question now."""

    def empty(self) -> bool:
        """Whether nothing is typed."""


def bindings(hands: Hands) -> KeyBindings:
    """All of them; what is not here is prompt-toolkit's ordinary editing."""
    keys = KeyBindings()
    _typing(keys, hands)
    _leaving(keys, hands)
    _moving(keys, hands)
    answering = Condition(hands.answering)
    for letters, name in (("yY", "allow"), ("tT", "always"), ("nN", "deny")):
        for letter in letters:
            keys.add(letter, filter=answering, eager=True)(_does(hands.press, name))
    return keys


def _does(what: Callable[[str], None], name: str) -> Callable[[Event], None]:
    def run(_event: Event) -> None:
        what(name)

    return run


def _typing(keys: KeyBindings, hands: Hands) -> None:
    @keys.add("enter")
    def _send(_event: Event) -> None:
        hands.send()

    @keys.add("escape", "i")
    def _now(_event: Event) -> None:
        hands.send(urgent=True)

    @keys.add("escape", "enter")
    @keys.add("c-j")
    def _newline(event: Event) -> None:
        event.current_buffer.insert_text("\n")

    @keys.add("tab", filter=~has_completions)
    def _complete(event: Event) -> None:
        event.current_buffer.start_completion(insert_common_part=True)

    @keys.add("escape", filter=has_completions)
    def _shut(event: Event) -> None:
        event.current_buffer.cancel_completion()

    @keys.add("escape", filter=~has_completions)
    def _stop(_event: Event) -> None:
        hands.press("stop")


def _leaving(keys: KeyBindings, hands: Hands) -> None:
    @keys.add("c-c")
    @keys.add("<sigint>")
    def _interrupt(_event: Event) -> None:
        hands.interrupt()

    @keys.add("c-d", filter=Condition(hands.empty))
    def _leave(_event: Event) -> None:
        hands.end()

    @keys.add("c-z")
    def _suspend(event: Event) -> None:
        event.app.suspend_to_background()

    @keys.add("c-l")
    def _redraw(event: Event) -> None:
        event.app.renderer.clear()


def _moving(keys: KeyBindings, hands: Hands) -> None:
    for key, pages in (("pageup", -1.0), ("pagedown", 1.0), ("c-up", -0.1), ("c-down", 0.1), ("c-end", 0.0)):
        keys.add(key)(_scrolls(hands, pages))
    keys.add("end", filter=Condition(hands.empty))(_scrolls(hands, 0.0))
    for names, name in ((("c-o",), "open"), (("escape", "down"), "next"), (("escape", "up"), "previous")):
        keys.add(*names)(_does(hands.press, name))


def _scrolls(hands: Hands, pages: float) -> Callable[[Event], None]:
    def run(_event: Event) -> None:
        hands.scroll(pages)

    return run
