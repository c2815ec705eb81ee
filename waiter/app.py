"""The full screen: prompt-toolkit on asyncio, Trio as its guest in the same thread, and the terminal put right again
whatever happens."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from homed.errors import HomedError

from .cells import Glyphs, clean
from .connections import Directory
from .follow import put
from .inputs import Inputs, history_path
from .messages import Dial
from .model import Following, Line, Names, Note, State
from .output import GlyphOutput
from .project import folder
from .screen import Screen
from .view import Painter
from .words import Words

if TYPE_CHECKING:
    import outcome

    from .worker import Worker

ENDING = (signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True, slots=True)
class Start:
    """How the full screen begins: the homed to dial, the conversation to open, language and colours."""

    dial: Dial
    thread: str = ""
    go_on: bool = False
    language: str = "en"
    theme: str = "auto"


def run(start: Start, directory: Directory, environment: Mapping[str, str]) -> int:
    """Show the full screen until the person leaves; returns the exit status (128 + n after signal n)."""
    # whatever a library has to say would be written across the screen
    logging.basicConfig(handlers=[logging.NullHandler()], force=True)
    try:
        return asyncio.run(_run(start, directory, environment))
    except (HomedError, BrokenPipeError):
        raise
    except Exception as error:  # the terminal is the person's again, and what is to be reported is one line of it
        raise _fault(error) from error


def _fault(error: BaseException) -> HomedError:
    """An error of this program's as one of ours: the last line of its traceback, and where that was."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    said = traceback.format_exception_only(error)[-1].strip()
    where = traceback.extract_tb(error.__traceback__)[-1:]
    at = "".join(f" ({Path(one.filename).name}, line {one.lineno})" for one in where)
    return HomedError(f"A fault of waiter itself ended it{at}:\n{said}", hint="Please report it; homed goes on.")


def _screen(start: Start, directory: Directory, environment: Mapping[str, str], words: Words) -> Screen:
    glyphs = Glyphs()
    note = Note("w:hello", words("hello"))
    try:
        connections = directory.names()
    except HomedError as error:
        connections, note = (), Note("w:hello", f"{error.message}\n{error.hint}".rstrip(), "error")
    state = State(
        Line(""), start.thread, follow=Following(put((), note)), names=Names(connections=connections),
        theme=start.theme, go_on=start.go_on, notes=1,
        cwd=folder(environment),
    )  # fmt: skip
    where = start.dial.url or start.dial.name or directory.place
    inputs = Inputs(history_path(environment, where))
    output = GlyphOutput.over(sys.stdout, glyphs)
    return Screen(state, words, Painter(glyphs, words), inputs, output=output, environment=environment)


async def _run(start: Start, directory: Directory, environment: Mapping[str, str]) -> int:
    words = Words(start.language)
    screen = _screen(start, directory, environment, words)
    application, loop = screen.application, asyncio.get_running_loop()

    def leave(status: int = 0, problem: BaseException | None = None) -> None:
        if application.is_running and not application.is_done:
            if problem is not None:
                application.exit(exception=problem)
            else:
                application.exit(result=status)

    def broken(_loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        problem = context.get("exception")
        leave(problem=problem if isinstance(problem, BaseException) else RuntimeError(str(context.get("message"))))

    loop.set_exception_handler(broken)
    for number in ENDING:
        loop.add_signal_handler(number, leave, 128 + number)
    shown = loop.create_task(application.run_async(set_exception_handler=False))
    await asyncio.sleep(0)  # it is painted before Trio is imported: what stands on the screen can be read meanwhile
    worker, guest = _invited(screen, directory, words, lambda error: leave(problem=error))
    worker.submit(start.dial)
    await asyncio.wait([shown])
    worker.leave()
    left = await guest  # the guest leaves before its host
    if screen.state.outbox:
        said = [words("unsent.dropped"), *(clean(one.text) for one in screen.state.outbox)]
        print("\n\n".join(said), file=sys.stderr)
    left.unwrap()
    try:
        return shown.result()
    except EOFError:  # the terminal went away
        return 1


def _invited(
    screen: Screen, directory: Directory, words: Words, failed: Callable[[BaseException], None]
) -> tuple[Worker, asyncio.Future[outcome.Outcome[None]]]:
    """Trio as a guest of the running loop; the future holds how it left, ``failed`` hears if that was by an error."""
    import outcome
    import trio

    from .worker import Worker

    loop = asyncio.get_running_loop()
    guest: asyncio.Future[outcome.Outcome[None]] = loop.create_future()
    worker = Worker(screen.dispatch, directory, words)
    screen.submit = worker.submit

    def ended(result: outcome.Outcome[None]) -> None:
        guest.set_result(result)
        if isinstance(result, outcome.Error):
            failed(result.error)

    trio.lowlevel.start_guest_run(
        worker.run,
        run_sync_soon_threadsafe=loop.call_soon_threadsafe,
        done_callback=ended,
        host_uses_signal_set_wakeup_fd=True,
    )
    return worker, guest
