"""The conversation with homed: a connection that is dialled when needed, and who sits before it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from homed.errors import Unavailable
from homed.wire import rpc

from .keyboard import Interrupts, Keyboard, Readable
from .link import Link
from .terminal import Terminal, one_line
from .words import Words


@dataclass(slots=True)
class Session:
    """One person's link, terminal and keyboard.

    ``keyboard`` is None where nobody can be asked; homed then refuses tools that would need an approval.  ``stream``:
    show text as it comes, not only when it is complete.  ``quiet``: no tool lines.  ``talking``: the keyboard is ours
    all the time, not only when there is something to answer.  ``cwd``: the folder that is worked in, see ``project``.
    """

    dial: Callable[[], Link]
    terminal: Terminal
    interrupts: Interrupts
    keyboard: Keyboard | None = None
    stream: bool = True
    quiet: bool = False
    talking: bool = False
    cwd: str = ""
    words: Words = field(default_factory=Words)
    _link: Link | None = field(default=None)

    def close(self) -> None:
        """Hang up."""
        if self._link is not None:
            self._link.close()
            self._link = None

    def link(self) -> Link:
        """The connection, dialled and subscribed if there is none.  Raises Unavailable."""
        if self._link is None:
            link = self.dial()
            try:
                link.call("subscribe", {})
            except BaseException:
                link.close()
                raise
            self._link = link
        return self._link

    def call(self, method: str, params: Mapping[str, object]) -> dict[str, Any]:
        """A plain question to homed; dials again if the old connection had died.  Raises what homed answers."""
        old = self._link
        try:
            return self.link().call(method, params)
        except Unavailable:
            self.close()
            if old is None:
                raise
        return self.link().call(method, params)

    def read_line(self, prompt: str, thread: str) -> str | None:
        """The next line the person types; None at the end of the input or, with nothing typed, on Ctrl-C twice.

        What happens in ``thread`` meanwhile (a timer speaks up) is shown.
        """
        assert self.keyboard is not None
        pressed = self.interrupts.count
        self.terminal.prompt(prompt)
        while (line := self.keyboard.take()) is None:
            if self.keyboard.ended or self.interrupts.count > pressed + 1:
                return None
            sources: list[Readable] = [self.keyboard] if self._link is None else [self.keyboard, self._link]
            ready = self.interrupts.wait(sources)
            if self.keyboard in ready:
                self.keyboard.read()
            elif self._link in ready:
                self._overhear(thread, prompt)
            elif self.interrupts.count == pressed + 1:
                self.terminal.note(f"\n{self.words('talk.leave')}")
                self.terminal.prompt(prompt)
        return line

    def _overhear(self, thread: str, prompt: str) -> None:
        assert self._link is not None
        try:
            heard = self._link.receive()
        except Unavailable:
            self.close()  # dialled again when next needed
            return
        shown = False
        for message in heard:
            if isinstance(message, rpc.Notification) and message.params.get("thread") == thread != "":
                shown = self._show_overheard(message.params, first=not shown) or shown
        if shown:
            self.terminal.prompt(prompt)

    def _show_overheard(self, notice: Mapping[str, Any], *, first: bool) -> bool:
        type_, text = notice.get("type"), (notice.get("data") or {}).get("text")
        if type_ not in ("raw_input", "agent_output") or not isinstance(text, str):
            return False
        if first:
            self.terminal.note("", dim=False)  # off the line of the prompt
        if type_ == "raw_input":
            self.terminal.note(one_line(text, 200))
        else:
            self.terminal.say(text)
            self.terminal.end_line()
        return True
