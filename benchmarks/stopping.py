"""Stopping a turn over and over, as a client sees it: how soon it is acknowledged, and what still comes then."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from homed.wire import rpc
from waiter.link import Link

SLOW = "slow plums"
"""The message that gets a long, slow answer."""

ANSWER: dict[str, object] = {"say": "plum " * 400, "chunk": 2, "delay": 0.003}
CONTENT = frozenset({"content_delta", "reasoning_delta", "tool_call", "agent_llm_chain"})


@dataclass
class Stopped:
    """``acknowledged``: seconds from the request to its answer; ``late``: content of the turn that came after that.

    ``stopped``: turns that the stop met while they ran; ``seen``: answers of which something was shown before it.
    """

    acknowledged: list[float] = field(default_factory=list)
    late: list[Mapping[str, Any]] = field(default_factory=list)
    seen: int = 0
    stopped: int = 0


class Stopper:
    """One connection, which hears everything; asks and stops."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._shown = ""
        link.call("subscribe", {})

    def rounds(self, count: int, *, seed: int = 0) -> Stopped:
        """Ask, wait for some of the answer (sometimes for none), stop, and listen until the turn has its end."""
        dice, found = random.Random(seed), Stopped()
        for _ in range(count):
            self._shown = ""
            thread = str(self._link.call("chat", {"text": SLOW})["thread"])
            self._wait(thread, pieces=dice.choice((0, 1, 2, 5, 20)), found=found)
            self._stop(thread, found)
        return found

    def _wait(self, thread: str, *, pieces: int, found: Stopped) -> None:
        """Until the turn has begun, and so many pieces of the answer have come."""
        begun = False
        while not begun or pieces > 0:
            for message in self._link.receive():
                notice = _notice(message, thread)
                if notice is not None:
                    begun = begun or notice["type"] == "turn"
                    pieces -= self._show(notice)
        found.seen += bool(self._shown)

    def _stop(self, thread: str, found: Stopped) -> None:
        """Stop it, and listen until it is over; in the order in which things came over the wire."""
        begun, acknowledged, over = time.perf_counter(), False, False
        asked = self._link.send("stop", {"thread": thread})
        while not (acknowledged and over):
            for message in self._link.receive():
                if isinstance(message, rpc.Response) and message.id == asked:
                    acknowledged = True
                    found.acknowledged.append(time.perf_counter() - begun)
                    found.stopped += bool(message.result and message.result["stopped"])
                notice = _notice(message, thread)
                if notice is None:
                    continue
                over = over or (notice["type"] == "turn" and notice["data"].get("phase") == "end")
                if acknowledged and self._is_new(notice):
                    found.late.append(notice)
                self._show(notice)

    def _show(self, notice: Mapping[str, Any]) -> bool:
        if notice["type"] != "content_delta":
            return False
        self._shown += notice["data"]["text"]
        return True

    def _is_new(self, notice: Mapping[str, Any]) -> bool:
        """Whether it shows anything that was not there before: the record of what was kept does not."""
        if notice["type"] == "agent_output":
            return bool(notice["data"]["text"] != self._shown)
        return notice["type"] in CONTENT and notice["data"].get("status") != "interrupted"


def _notice(message: rpc.Incoming, thread: str) -> Mapping[str, Any] | None:
    if isinstance(message, rpc.Notification) and message.method == "event" and message.params.get("thread") == thread:
        return message.params
    return None
