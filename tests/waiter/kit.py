"""A true course of a conversation, as homed would tell it: notices with numbers, and the history at any of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Notice = Mapping[str, Any]


@dataclass
class Truth:
    """Makes notices of one thread and answers for its history as `io.history` would, at every moment."""

    thread: str = "th"
    notices: list[Notice] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)
    ended: list[dict[str, Any]] = field(default_factory=list)
    queued: list[dict[str, Any]] = field(default_factory=list)
    live: dict[str, Any] | None = None
    suspended: list[dict[str, Any]] = field(default_factory=list)
    histories: list[dict[str, Any]] = field(default_factory=list)
    turns: int = 0

    def __post_init__(self) -> None:
        self._snapshot()

    def _snapshot(self) -> None:
        live = self.live and {**self.live, "calls": [dict(call) for call in self.live["calls"]]}
        self.histories.append(
            {
                "thread": {"id": self.thread, "title": "a title"}, "events": list(self.events), "more": False,
                "ended": list(self.ended), "live": live, "queued": [dict(q) for q in self.queued], "approvals": [],
                "suspended": [dict(one) for one in self.suspended], "recalls": [], "seq": len(self.notices),
            }
        )  # fmt: skip

    def tell(self, type_: str, turn: str = "", **data: Any) -> None:
        """Post a notice; the history of this moment includes it."""
        seq = len(self.notices) + 1
        self.notices.append({"seq": seq, "type": type_, "thread": self.thread, "turn": turn, "data": data})
        self._snapshot()

    def store(self, turn: str, kind: str, text: str, **data: Any) -> None:
        """An event."""
        at = len(self.events) + 1
        self.events.append(
            {"seq": at, "id": f"e{at}", "turn": turn, "kind": kind, "peer": "cli:owner", "text": text, "data": data}
        )

    def accept(self, text: str) -> str:
        """A message comes; returns its input."""
        self.turns += 1
        input_ = f"in{self.turns}"
        self.queued.append({"input": input_, "text": text, "peer": "cli:owner"})
        self.tell("raw_input", "", input=input_, text=text, peer="cli:owner", client_msg_id=f"m{self.turns}")
        return input_

    def begin(self, input_: str) -> str:
        """Its turn begins."""
        turn = f"tu{input_[2:]}"
        self.live = {"turn": turn, "input": input_, "step": 0, "text": "", "reasoning": "", "calls": []}
        self.tell("turn", turn, phase="start", input=input_, state="running")
        waiting = next(q for q in self.queued if q["input"] == input_)
        self.queued.remove(waiting)
        self.store(turn, "user", waiting["text"], input=input_)
        self._snapshot_again()
        return turn

    def _snapshot_again(self) -> None:
        self.histories.pop()
        self._snapshot()

    def say(self, text: str) -> None:
        """A delta."""
        assert self.live is not None
        at = len(self.live["text"])
        self.live["text"] += text
        self.tell("content_delta", self.live["turn"], step=self.live["step"], at=at, text=text)

    def think(self, text: str) -> None:
        """A delta of reasoning."""
        assert self.live is not None
        at = len(self.live["reasoning"])
        self.live["reasoning"] += text
        self.tell("reasoning_delta", self.live["turn"], step=self.live["step"], at=at, text=text)

    def call(self, result: str) -> None:
        """The step ends with a tool call, which ends too; the next step begins."""
        live = self.live
        assert live is not None
        turn, step = live["turn"], live["step"]
        name = f"c{step}"
        call = {"call": name, "tool": "look", "plugin": "files", "args": {"n": step}, "status": "running", "result": ""}
        calls = [{"id": name, "name": "look", "arguments": {"n": step}}]
        self.store(turn, "assistant", live["text"], calls=calls, reasoning=live["reasoning"], step=step, final=False)
        text, reasoning = live["text"], live["reasoning"]
        self.live = {**live, "text": "", "reasoning": "", "step": step, "calls": []}
        self.tell("agent_llm_chain", turn, step=step, text=text, reasoning=reasoning, calls=calls)
        self.live["calls"] = [call]
        self.tell("tool_call", turn, step=step, **call)
        self.live["calls"] = []
        self.store(turn, "tool", result, call_id=name, name="look", status="ok", args={"n": step})
        self.tell("tool_call", turn, step=step, **{**call, "status": "ok", "result": result, "ms": 3})
        self.live["step"] = step + 1
        self._snapshot_again()

    def suspend(self, by: str) -> None:
        """The turn stands still for another input."""
        assert self.live is not None
        live, self.live = self.live, None
        self.suspended.append(live)
        self.tell("turn", live["turn"], phase="suspended", input=live["input"], by=by)

    def resume(self) -> None:
        """The last one that stands still goes on: its step begins anew."""
        self.live = {**self.suspended.pop(), "text": "", "reasoning": ""}
        live = self.live
        self.tell("turn", live["turn"], phase="resumed", input=live["input"], step=live["step"])

    def join(self, input_: str) -> None:
        """A message that waits is put into the turn."""
        assert self.live is not None
        waiting = next(q for q in self.queued if q["input"] == input_)
        self.queued.remove(waiting)
        self.store(self.live["turn"], "user", waiting["text"], input=input_, inserted=True)
        self.tell("turn", self.live["turn"], phase="joined", input=input_)

    def end_joined(self, input_: str) -> None:
        """Its end, which comes before that of the turn."""
        assert self.live is not None
        more = {"with": self.live["input"], "usage": {}, "error": "", "hint": "", "ms": 1}
        self.tell("turn", self.live["turn"], phase="end", input=input_, state="answered", **more)

    def finish(self, state: str = "answered") -> None:
        """The turn ends."""
        live = self.live
        assert live is not None
        turn, text = live["turn"], live["text"]
        self.store(turn, "assistant", text, reasoning=live["reasoning"], step=live["step"], final=True)
        end = {"input": live["input"], "state": state, "error": "", "hint": "", "usage": {"prompt": 5, "completion": 2}}
        self.ended.append({"turn": turn, **end, "ms": 9})
        self.live = None
        self.tell("agent_llm_chain", turn, step=live["step"], text=text, reasoning=live["reasoning"], calls=[])
        self.tell("agent_output", turn, input=live["input"], text=text, state=state)
        self.tell("turn", turn, phase="end", **end, ms=9)
