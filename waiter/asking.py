"""One message from the asking to its one outcome, whatever happens in between."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from homed.errors import HomedError, NotFound, Unavailable
from homed.wire import rpc

from . import show
from .approvals import answer_of, prompt, question
from .keyboard import Keyboard, Readable
from .link import Link, result, retry_waits
from .progress import Ask, Piece, Progress, Say, Settled, approval
from .session import Session

RECONNECT_SECONDS = 60.0
STOP_SECONDS = 10.0
"""How long the outcome is waited for after a stop: homed ends even a hung plugin in 8."""

STOP = "/stop"


class Left(Exception):
    """The person left without waiting for the outcome."""


@dataclass(frozen=True, slots=True)
class Message:
    """Something to ask.  ``id`` makes asking it again the same question, which is answered once."""

    text: str
    thread: str = ""
    id: str = field(default_factory=lambda: f"waiter_{secrets.token_hex(12)}")


@dataclass(frozen=True, slots=True)
class Outcome:
    """How it ended.  ``state``: answered, stopped, failed, refused or reported."""

    state: str
    text: str
    error: str
    hint: str
    thread: str
    input: str
    usage: Mapping[str, object]


def outcome_of(answer: Mapping[str, Any]) -> Outcome:
    """The outcome in a reply of ``chat`` or ``wait``."""
    found = answer.get("outcome") or {}
    state = str(found.get("state") or answer.get("state") or "failed")
    text, error, hint = (str(found.get(key) or "") for key in ("text", "error", "hint"))
    usage = found.get("usage") if isinstance(found.get("usage"), Mapping) else {}
    return Outcome(state, text, error, hint, str(answer.get("thread", "")), str(answer.get("input", "")), usage or {})


class Asking:
    """Asks one message over a session.  Use ``outcome`` once."""

    def __init__(self, session: Session, message: Message) -> None:
        self._session = session
        self._terminal = session.terminal
        self._message = message
        self._progress = Progress(message.thread, "", words=session.words)
        self._pressed = session.interrupts.count
        self._open: dict[str, Ask] = {}
        self._asked = ""
        self._ahead: list[str] = []
        self._stop_until: float | None = None
        self._lost_until: float | None = None

    def outcome(self) -> Outcome:
        """Ask, show what comes, and return the outcome.

        When homed goes away the same message is asked again, for up to ``RECONNECT_SECONDS``.  Ctrl-C asks homed to
        stop; once more raises Left.  Raises HomedError when no outcome is to be had.
        """
        self._session.link()  # nobody there at the start is an error at once
        waits = retry_waits()
        while True:
            try:
                return self._attempt()
            except Unavailable as error:
                self._session.close()
                if self._lost_until is None:
                    waits = retry_waits()
                self._lose(error)
            self._session.interrupts.wait((), next(waits))
            if self._presses:
                raise Left

    @property
    def _presses(self) -> int:
        return self._session.interrupts.count - self._pressed

    def _lose(self, error: Unavailable) -> None:
        """Note the loss once; raise when it has lasted too long."""
        now = time.monotonic()
        if self._lost_until is None:
            self._lost_until = now + RECONNECT_SECONDS
            self._terminal.note(self._session.words("talk.lost", error=error.message))
        elif now > self._lost_until:
            said = self._session.words("talk.gone", seconds=f"{RECONNECT_SECONDS:g}", error=error.message)
            raise HomedError(said, hint=error.hint) from error

    def _attempt(self) -> Outcome:
        link, message = self._session.link(), self._message
        params: dict[str, object] = {"text": message.text, "client_msg_id": message.id}
        params["can_ask"] = self._session.keyboard is not None
        if message.thread:
            params["thread"] = message.thread
        if self._session.cwd:
            params["cwd"] = self._session.cwd
        receipt = link.call("chat", params)
        if not receipt.get("duplicate"):
            self._lost_until = None
        self._progress.thread, self._progress.input = str(receipt["thread"]), str(receipt["input"])
        if receipt.get("outcome"):
            return self._ended(outcome_of(receipt))
        if receipt.get("duplicate"):
            self._catch_up(link)
        waiting = link.send("wait", {"input": receipt["input"]})
        while True:
            for incoming in self._heard(link):
                if isinstance(incoming, rpc.Response) and incoming.id == waiting:
                    return self._ended(outcome_of(result(incoming)))
                if isinstance(incoming, rpc.Notification) and incoming.method == "event":
                    self._lost_until = None  # only now is it sure that homed is at work on it again
                    self._show(self._progress.feed(incoming.params))

    def _catch_up(self, link: Link) -> None:
        """Somewhere in the middle: take over what is running and what waits for an approval."""
        history = link.call("history", {"thread": self._progress.thread, "limit": 1})
        if isinstance(history.get("live"), Mapping):
            self._show(self._progress.catch_up(history["live"]))
        self._open.clear()
        self._asked = ""
        self._show(approval(entry) for entry in history.get("approvals") or ())

    def _heard(self, link: Link) -> Iterable[rpc.Incoming]:
        """What came from homed; the person's keys are served meanwhile."""
        if link.inbox:
            return link.receive()
        keyboard = self._session.keyboard
        listening = keyboard is not None and not keyboard.ended and (self._session.talking or self._asked)
        sources: list[Readable] = [link, keyboard] if listening and keyboard else [link]
        ready = self._session.interrupts.wait(sources, 0.5 if self._stop_until else None)
        self._serve_stop(link)
        if keyboard is not None and keyboard in ready:
            keyboard.read()
            self._serve_lines(keyboard, link)
        return link.receive() if link in ready else ()

    def _serve_lines(self, keyboard: Keyboard, link: Link) -> None:
        """Answers to what is asked, and ``/stop``; what else is typed meanwhile is kept for later."""
        while (line := keyboard.take()) is not None:
            if self._asked:
                self._answer(line, link)
            elif line.strip() == STOP:
                self._stop(link)
            else:
                self._ahead.append(line)
        if keyboard.ended and self._asked:
            self._answer("no", link)

    def _serve_stop(self, link: Link) -> None:
        if self._presses and self._stop_until is None:
            self._stop(link)
        if self._presses > 1 or (self._stop_until is not None and time.monotonic() > self._stop_until):
            self._put_back()
            raise Left

    def _stop(self, link: Link) -> None:
        self._stop_until = time.monotonic() + STOP_SECONDS
        link.send("stop", {"thread": self._progress.thread})  # the outcome tells that it worked

    def _show(self, pieces: Iterable[Piece]) -> None:
        for piece in pieces:
            if isinstance(piece, Ask):
                self._open[piece.approval] = piece
            elif isinstance(piece, Settled):
                self._settle(piece)
            elif self._session.stream or not isinstance(piece, Say):
                show.piece(self._terminal, piece, quiet=self._session.quiet)
        self._question()

    def _question(self) -> None:
        """Put the next open question, if somebody can answer and none stands already."""
        keyboard = self._session.keyboard
        if self._asked or not self._open or keyboard is None:
            return
        keyboard.flush()  # what was typed before the question is no answer to it
        self._asked = next(iter(self._open))
        ask, words = self._open[self._asked], self._session.words
        self._terminal.note(question(ask, words), dim=False)
        self._terminal.prompt(prompt(ask, words))

    def _settle(self, settled: Settled) -> None:
        self._open.pop(settled.approval, None)
        if settled.approval == self._asked:
            self._asked = ""
            said = settled.status
            known = said in ("allowed", "denied", "expired", "cancelled", "withdrawn")
            words = self._session.words
            self._terminal.note(f"\n{words('talk.settled', status=words(f'ask.{said}') if known else said)}")

    def _answer(self, line: str, link: Link) -> None:
        ask, words = self._open[self._asked], self._session.words
        given = answer_of(line, ask)
        if given is None:
            self._terminal.prompt(prompt(ask, words))
            return
        approval_id, self._asked = self._asked, ""
        self._open.pop(approval_id, None)
        decision, remember = given
        try:
            link.call("approve", {"approval": approval_id, "decision": decision, "remember": remember})
        except NotFound:
            self._terminal.note(words("talk.late"))
        self._question()

    def _ended(self, outcome: Outcome) -> Outcome:
        self._put_back()
        pieces = self._progress.finish(outcome.text) if self._session.stream else [Say(outcome.text)]
        for piece in pieces if outcome.text else ():
            show.piece(self._terminal, piece, quiet=self._session.quiet)
        self._terminal.end_line()
        return outcome

    def _put_back(self) -> None:
        if self._session.keyboard is not None:
            self._session.keyboard.put_back(self._ahead)
        self._ahead = []
