"""``waiter``: from the command line to an exit status."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict

from homed.errors import HomedError, InvalidInput

from . import show
from .asking import Asking, Left, Message, Outcome
from .endpoint import places
from .keyboard import Interrupts, Keyboard
from .link import Link, dial
from .options import Options, parse
from .project import folder
from .session import Session
from .terminal import Terminal, json_line, wants_colour
from .words import Words, language_of

ANSWERED, FAILED, USAGE, INTERRUPTED = 0, 1, 2, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run waiter and return its exit status."""
    words = sys.argv[1:] if argv is None else argv
    if argv is None and any(word.startswith("--api-key") for word in words):
        from .whole import without_key

        without_key(sys.orig_argv, os.environ)
    as_json = "--json" in words  # known before the words are: that they are wrong is told as an object too
    # With --json the object is all that stands on stdout.
    out = io.BytesIO() if as_json else sys.stdout.buffer
    on_screen = sys.stderr.isatty()
    colour = wants_colour(os.environ, tty=on_screen)
    terminal = Terminal(out, sys.stderr.buffer, colour, together=on_screen and sys.stdout.isatty())
    try:
        return _guarded(words, terminal, as_json=as_json)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nobody reads: leave without a traceback
        return FAILED


def _guarded(words: Sequence[str], terminal: Terminal, *, as_json: bool) -> int:
    """Run, and tell what fails."""
    try:
        return _run(parse(words), terminal)
    except HomedError as error:
        terminal.end_line()
        if as_json:
            _print_failure(error.message, error.hint)
        else:
            terminal.note(show.error_lines(f"waiter: {error.message}", error.hint), dim=False)
        return USAGE if isinstance(error, InvalidInput) else FAILED
    except (KeyboardInterrupt, Left):
        terminal.end_line()
        if as_json:
            _print_failure("Interrupted before there was an outcome.", "homed may still be at work on it.")
        return INTERRUPTED


def _run(options: Options, terminal: Terminal) -> int:
    typed = sys.stdin is not None and sys.stdin.isatty()
    text = _message(options, typed=typed)
    if text is None and _whole_screen(options):
        return _full_screen(options)
    reach = _reach(options, typed=typed)
    with Interrupts() as interrupts:
        session = Session(
            reach,
            terminal,
            interrupts,
            Keyboard(sys.stdin.fileno()) if typed and sys.stderr.isatty() else None,
            stream=_streams(options),
            quiet=options.quiet or options.json,
            talking=text is None,
            cwd=folder(os.environ),
            words=Words(language_of(os.environ, options.lang)),
        )
        try:
            thread = _latest(session) if options.go_on else options.thread
            if text is None:
                return _talk(session, thread)
            outcome = Asking(session, Message(text, thread)).outcome()
            status = _report(options, terminal, outcome)
            return INTERRUPTED if interrupts.count and outcome.state == "stopped" else status
        finally:
            session.close()


def _whole_screen(options: Options) -> bool:
    """Whether to talk on the whole screen: on a terminal that can, unless lines are asked for."""
    able = sys.stdout.isatty() and os.environ.get("TERM", "dumb") not in ("", "dumb", "unknown")
    return able and not (options.lines or options.json)


def _full_screen(options: Options) -> int:
    from .whole import show  # a single question does not pay for importing it

    return show(options, os.environ)


def _reach(options: Options, *, typed: bool) -> Callable[[], Link]:
    """How homed is dialled."""
    if options.remote or options.connect:
        from .whole import reach

        return reach(options, os.environ, typed=typed)
    where = places(os.environ, socket=options.socket, data=options.data)
    return lambda: dial(where)


def _message(options: Options, *, typed: bool) -> str | None:
    """The message to ask; None to talk line by line.  Without ``-chat`` a stdin that is no terminal is the message."""
    if options.chat is not None and options.chat != "-":
        try:
            text = os.fsencode(options.chat).decode()  # whatever the locale says: bytes on the command line are UTF-8
        except UnicodeError:
            raise InvalidInput("The message is not valid UTF-8.") from None
    elif typed and options.chat is None:
        return None
    else:
        text = _from_stdin()
    if not text.strip():
        raise InvalidInput("The message is empty.", hint="Write it after -chat, or pipe it in.")
    return text


def _from_stdin() -> str:
    try:
        return sys.stdin.buffer.read().decode() if sys.stdin is not None else ""
    except UnicodeDecodeError as error:
        raise InvalidInput(f"stdin is not valid UTF-8 (byte {error.start}).") from None


def _streams(options: Options) -> bool:
    if options.json:
        return False
    return sys.stdout.isatty() if options.stream is None else options.stream


def _latest(session: Session) -> str:
    """The thread that was last spoken in over this channel; empty (a new one) if there is none."""
    found = session.call("threads", {"limit": 50}).get("threads") or []
    return next((str(thread["id"]) for thread in found if thread.get("channel") == "cli"), "")


def _talk(session: Session, thread: str) -> int:
    from .lines import talk  # a single question does not pay for importing it

    return talk(session, thread)


def _report(options: Options, terminal: Terminal, outcome: Outcome) -> int:
    answered = outcome.state == "answered"
    if options.json:
        _print_json({"ok": answered, **asdict(outcome)})
    elif not answered:
        message = outcome.error or f"homed ended this as {outcome.state}."
        terminal.note(show.error_lines(f"waiter: {message}", outcome.hint), dim=False)
    return ANSWERED if answered else FAILED


def _print_failure(error: str, hint: str) -> None:
    """The object of a question that came to no outcome."""
    _print_json({"ok": False, **asdict(Outcome("failed", "", error, hint, thread="", input="", usage={}))})


def _print_json(value: Mapping[str, object]) -> None:
    sys.stdout.buffer.write(json_line(value))
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    sys.exit(main())
