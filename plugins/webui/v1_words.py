"""What of a turn's words a program has been told, which can not be taken back, and what is still to tell.  Pure.

A turn speaks in steps, one a model call.  Deltas come with the place where they belong, and may be lost, or begin anew
where a call was made again; the whole text of a step comes at its end, and that of the answer at the turn's.
"""

from __future__ import annotations

BETWEEN = "\n\n"
"""Between two steps, and before what begins anew."""


class Words:
    """The words of one turn, or its thoughts."""

    def __init__(self) -> None:
        self._step = -1
        self._told = ""
        self._any = False
        self._held = False

    def delta(self, step: int, at: int, text: str) -> str:
        """More of a step, at this offset: what to tell of it now.  After a gap nothing, until the whole is there."""
        self._open(step)
        had = len(self._told)
        known = self._told[at : at + len(text)]
        if self._held or at > had or not text.startswith(known):
            self._held = True
            return ""
        return self._tell(text[had - at :])

    def whole(self, step: int, text: str) -> str:
        """The whole of a step that is over: what was not told of it, or all of it anew if that was something else."""
        self._open(step)
        self._held = True
        return self.end(text) if text else ""

    def end(self, text: str) -> str:
        """The answer: what was not told of it by its last step."""
        if text.startswith(self._told):
            return self._tell(text[len(self._told) :])
        if not text.strip():
            return ""
        self._told = text
        return BETWEEN + text

    def _open(self, step: int) -> None:
        if step != self._step:
            self._step, self._told, self._held = step, "", False

    def _tell(self, text: str) -> str:
        if not text:
            return ""
        lead = BETWEEN if self._any and not self._told else ""
        self._told, self._any = self._told + text, True
        return lead + text
