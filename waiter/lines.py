"""Line mode: read a line, show the answer, again."""

from __future__ import annotations

from homed.errors import HomedError

from . import commands, show
from .asking import Asking, Left, Message
from .commands import Talk
from .session import Session

PROMPT, MORE = "› ", "… "


def talk(session: Session, thread: str) -> int:
    """Talk until the person leaves; returns the exit status."""
    state = Talk(session, thread)
    session.link()  # better told now than after the first message was typed
    session.terminal.note(session.words("hello"))
    while not state.over:
        text = read_message(state)
        if text is None:
            session.terminal.note("")
            return 0
        if text.strip():
            serve(state, text)
    return 0


def read_message(state: Talk) -> str | None:
    """One message: a line, or several joined where each but the last ends with a backslash.  None: the end."""
    lines: list[str] = []
    while True:
        line = state.session.read_line(MORE if lines else PROMPT, state.thread)
        if line is None:
            return None if not lines else "\n".join(lines)
        if not line.endswith("\\"):
            return "\n".join((*lines, line))
        lines.append(line[:-1])


def serve(state: Talk, text: str) -> None:
    """Run a command or ask; what goes wrong is told and the conversation goes on."""
    terminal, words = state.session.terminal, state.session.words
    try:
        if text.startswith("/") and not text.startswith("//"):
            commands.run(state, text)
            return
        said = text[1:] if text.startswith("//") else text
        outcome = Asking(state.session, Message(said, state.thread)).outcome()
        state.thread = outcome.thread or state.thread
        if outcome.state == "stopped":
            terminal.note(words("talk.stopped"))
        elif outcome.state != "answered":
            terminal.note(
                show.error_lines(outcome.error or words("talk.ended", state=outcome.state), outcome.hint), dim=False
            )
    except HomedError as error:
        terminal.note(show.error_lines(words.kernel(error.message), words.kernel(error.hint)), dim=False)
    except Left:
        terminal.note(words("talk.left"))
