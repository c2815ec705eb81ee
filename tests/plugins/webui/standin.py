"""A kernel small enough to read, behind the interface the page uses: threads and notices in memory, models by script.

``python -m tests.plugins.webui.standin [--port N] [--empty]`` serves the page on it, for looking at.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import trio

from homed.errors import Denied, HomedError, InvalidInput, NotFound
from plugins.webui.context import Site
from plugins.webui.guard import Guard
from plugins.webui.hub import Hub
from plugins.webui.listen import Address, open_socket
from plugins.webui.server import serve_until_cancelled
from plugins.webui.web import create_app
from tests.plugins.webui.standin_usage import Usage

from .standin_kept import Kept
from .standin_ledger import Ledger
from .standin_memory import Files, Keys, Memory
from .standin_packages import Packages
from .standin_records import Records, furnished_records
from .standin_settings import Settings

OWNER = "webui:owner"
Script = Callable[["Turn"], Awaitable[None]]


@dataclass(frozen=True)
class Said:
    """A notice as the SDK gives it."""

    seq: int
    type: str
    thread: str
    turn: str
    data: Mapping[str, object]
    at: float = 0.0
    scope: str = "owner"


@dataclass
class Talk:
    id: str
    title: str
    events: list[dict[str, Any]] = field(default_factory=list)
    live: dict[str, Any] | None = None
    scope: str = "owner"
    updated_at: float = 0.0
    stop: trio.CancelScope | None = None
    ended: dict[str, dict[str, Any]] = field(default_factory=dict)
    recalls: list[dict[str, Any]] = field(default_factory=list)
    written: list[dict[str, Any]] = field(default_factory=list)


class Turn:
    """What a script plays with: it says things the way the kernel's turn loop does."""

    def __init__(self, kernel: StandIn, talk: Talk, text: str, turn: str, input_: str) -> None:
        self.kernel, self.talk, self.text, self.turn, self.input = kernel, talk, text, turn, input_
        self.step = 0
        self.said = ""
        self.thought = ""
        self.calls: list[dict[str, Any]] = []

    def _post(self, type_: str, **data: object) -> None:
        self.kernel.post(type_, self.talk.id, self.turn, **data)

    async def say(self, *pieces: str, pause: float = 0.0) -> None:
        for piece in pieces:
            at, self.said = len(self.said), self.said + piece
            assert self.talk.live is not None
            self.talk.live["text"] = self.said
            self._post("content_delta", step=self.step, at=at, text=piece)
            await trio.sleep(pause)

    async def think(self, *pieces: str, pause: float = 0.0) -> None:
        for piece in pieces:
            at, self.thought = len(self.thought), self.thought + piece
            assert self.talk.live is not None
            self.talk.live["reasoning"] = self.thought
            self._post("reasoning_delta", step=self.step, at=at, text=piece)
            await trio.sleep(pause)

    def recall(
        self, shown: list[str], cold: list[str], chars: int, late: tuple[str, ...] = (), **known: Any
    ) -> None:  # fmt: skip
        """What came back from memory; ``known``: ``facts`` and their ``counts``."""
        told = {"shown": shown, "cold": cold, "chars": chars, "kept": 12, **known}
        self.talk.recalls.append({"turn": self.turn, **told})
        self.kernel.why.setdefault(self.turn, []).append({"kind": "recall", "at": time.time(), "data": told})
        self._post("recall", input=self.input, late=list(late), **told)

    async def wait(self, what: str, shares: int = 5, pause: float = 0.0) -> None:
        """A local model that loads, or reads the message."""
        for done in range(shares + 1):
            self._post("progress", what=what, done=done * 100, total=shares * 100)
            await trio.sleep(pause)

    async def tool(self, name: str, args: dict[str, Any], result: str, *, ask: bool = False, pause: float = 0) -> None:
        call = f"call-{next(self.kernel.ids)}"
        known = {"call": call, "step": self.step, "tool": name, "plugin": name.partition("_")[0], "class": "write"}
        self._call({**known, "args": args, "status": "running", "result": None, "ms": 0})
        if ask and not await self._ask(name, args):
            self._call({**known, "args": args, "status": "denied", "result": "denied by the owner", "ms": 1})
        else:
            await trio.sleep(pause)
            self._call({**known, "args": args, "status": "ok", "result": result, "ms": 230})
        self._chain()

    def _call(self, call: dict[str, Any]) -> None:
        self.calls = [one for one in self.calls if one["call"] != call["call"]] + [call]
        assert self.talk.live is not None
        self.talk.live["calls"] = self.calls
        self._post("tool_call", **call)

    async def _ask(self, name: str, args: dict[str, Any]) -> bool:
        approval = f"ask-{next(self.kernel.ids)}"
        entry: dict[str, Any] = {"approval": approval, "tool": name, "plugin": "shell", "class": "dangerous"}
        entry |= {"args": args, "reason": "It runs a command.", "expires_at": time.time() + 300, "yes": "thread"}
        answer = self.kernel.asked[approval] = Asked({**entry, "thread": self.talk.id, "turn": self.turn})
        self._post("approval", status="asked", **entry)
        await answer.done.wait()
        del self.kernel.asked[approval]
        self._post("approval", status="allowed" if answer.allow else "denied", **entry)
        return answer.allow

    def _chain(self) -> None:
        """The model call is over: its text, reasoning and calls become events, and the next step begins."""
        calls = [{"id": c["call"], "name": c["tool"], "arguments": c["args"]} for c in self.calls]
        self.kernel.store(self.talk, self.turn, "assistant", self.said, calls=calls, reasoning=self.thought)
        for call in self.calls:
            told = {"call_id": call["call"], "name": call["tool"], "status": call["status"], "args": call["args"]}
            self.kernel.store(self.talk, self.turn, "tool", call["result"], **told)
        self._post("agent_llm_chain", step=self.step, text=self.said, reasoning=self.thought, calls=calls)
        self.step, self.said, self.thought, self.calls = self.step + 1, "", "", []
        assert self.talk.live is not None
        self.talk.live |= {"step": self.step, "text": "", "reasoning": "", "calls": []}


@dataclass
class Asked:
    entry: dict[str, Any]
    done: trio.Event = field(default_factory=trio.Event)
    allow: bool = False


class StandIn(Files, Memory, Keys, Packages, Settings, Usage, Kept, Ledger, Records):
    """The kernel's methods of ``docs/wire.md`` that the page uses."""

    def __init__(self, script: Script | None = None) -> None:
        for part in (Files, Memory, Keys, Packages, Settings, Usage, Kept, Ledger, Records):
            part.__init__(self)
        self.script: Script = script or echo
        self.hub = Hub()
        self.ids = itertools.count(1)
        self.seq = 0
        self.talks: dict[str, Talk] = {}
        self.asked: dict[str, Asked] = {}
        self.inputs: dict[str, dict[str, Any]] = {}
        self.links = {"open-sesame"}
        self.sessions = {"session-1": OWNER}
        self.password = ""
        self.sources: list[dict[str, Any]] = []
        self.keys: dict[str, str] = {}
        self.plugins: list[dict[str, Any]] = []
        self.folder: Path | None = None
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.nursery: trio.Nursery | None = None
        self.waiting: list[dict[str, Any]] = []
        self.fail: dict[str, HomedError] = {}
        self.held: dict[str, trio.Event] = {}
        """Methods that answer once these are set."""
        self.storage: dict[str, Any] = {"state": "ok", "reason": "", "kept": ""}

    async def call(self, method: str, params: Mapping[str, object]) -> Any:
        await trio.lowlevel.checkpoint()
        given: dict[str, Any] = dict(params)
        self.calls.append((method, given))
        if method in self.fail:
            raise self.fail[method]
        answer = getattr(self, method.replace(".", "_"))(**given)
        if method in self.held:
            await self.held[method].wait()
        return answer

    def post(self, type_: str, thread: str, turn: str, **data: object) -> None:
        self.seq += 1
        self.hub.publish(Said(self.seq, type_, thread, turn, data, time.time()))

    def store(self, talk: Talk, turn: str, kind: str, text: str, **data: object) -> None:
        number = next(self.ids)
        event = {"seq": number, "id": f"e{number}", "turn": turn, "kind": kind, "peer": OWNER, "text": text}
        talk.events.append({**event, "data": data, "created_at": time.time()})
        self.remember(f"e{number}", text, turn=turn, kind=kind, thread=talk.id, layer="context", seq=number)

    # -- auth
    def auth_state(self) -> Any:
        return {"password_set": bool(self.password)}

    def _session(self) -> Any:
        session = f"session-{next(self.ids)}-{'x' * 32}"
        self.sessions[session] = OWNER
        return {"session": session, "peer": OWNER, "expires_at": time.time() + 86400}

    def auth_redeem(self, secret: str) -> Any:
        if secret not in self.links:
            raise Denied("This link is not valid.")
        self.links.remove(secret)
        return self._session()

    def auth_login(self, password: str) -> Any:
        if not self.password or password != self.password:
            raise Denied("Wrong password.")
        return self._session()

    def auth_check(self, session: str) -> Any:
        if session not in self.sessions:
            raise Denied("This session is over.")
        return {"peer": self.sessions[session], "role": "owner", "expires_at": time.time() + 86400}

    def auth_logout(self, session: str) -> Any:
        self.sessions.pop(session, None)
        return {}

    # -- io
    def _talk(self, thread: str) -> Talk:
        if thread not in self.talks:
            raise NotFound("There is no such thread.")
        return self.talks[thread]

    def open_talk(self, title: str) -> Talk:
        talk = Talk(f"th{next(self.ids)}", title, updated_at=time.time())
        self.talks[talk.id] = talk
        self.post("thread", talk.id, "", title=title, channel="webui", created=True)
        return talk

    def io_inject(
        self,
        peer: str,
        text: str,
        client_msg_id: str = "",
        thread: str = "",
        can_ask: bool = False,
        attachments: list[str] | None = None,
    ) -> Any:
        if client_msg_id in self.inputs:
            return {**self.inputs[client_msg_id], "duplicate": True}
        talk = self._talk(thread) if thread else self.open_talk(text[:40])
        input_ = f"in{next(self.ids)}"
        answer = {"input": input_, "thread": talk.id, "state": "accepted", "duplicate": False, "outcome": None}
        self.inputs[client_msg_id] = answer
        blocks = self.take(attachments or [])
        said = {"input": input_, "text": text, "peer": peer, "blocks": blocks}
        self.post("raw_input", talk.id, "", client_msg_id=client_msg_id, **said)
        self.waiting.append({**said, "thread": talk.id, "accepted_at": time.time()})
        assert self.nursery is not None
        self.nursery.start_soon(self._run, talk, text, input_, blocks)
        return answer

    def io_interrupt(self, **given: Any) -> Any:
        return {**self.io_inject(**given), "level": 2, "way": "starts"}

    async def _run(self, talk: Talk, text: str, input_: str, blocks: list[dict[str, Any]]) -> None:
        turn = f"turn{next(self.ids)}"
        play = Turn(self, talk, text, turn, input_)
        talk.live = {"turn": turn, "input": input_, "step": 0, "text": "", "reasoning": "", "calls": []}
        self.post("turn", talk.id, turn, phase="start", input=input_, state="running")
        await trio.lowlevel.checkpoint()
        self.store(talk, turn, "user", text, input=input_, **({"blocks": blocks} if blocks else {}))
        self.waiting = [entry for entry in self.waiting if entry["input"] != input_]
        with trio.CancelScope() as talk.stop:
            await self.script(play)
        stopped = talk.stop.cancelled_caught
        if play.said or stopped:
            self.store(talk, turn, "assistant", play.said, reasoning=play.thought, final=not stopped, partial=stopped)
        talk.live, talk.updated_at = None, time.time()
        if not stopped:
            self.post("agent_output", talk.id, turn, input=input_, text=play.said, state="answered")
        usage = {"prompt": 3104, "completion": len(play.said) // 4, "cached": 2690}
        state = "stopped" if stopped else "answered"
        end: dict[str, Any] = {"phase": "end", "input": input_, "state": state, "error": "", "hint": "", "ms": 1840}
        talk.ended[turn] = {**end, "turn": turn, "usage": usage}
        self.post("turn", talk.id, turn, **end, usage=usage)

    def io_stop(self, peer: str, thread: str) -> Any:
        talk = self._talk(thread)
        if talk.stop is not None:
            talk.stop.cancel()
        return {"stopped": talk.live is not None}

    def _shown(self, talk: Talk) -> dict[str, Any]:
        found = {"id": talk.id, "title": talk.title, "channel": "webui", "scope": talk.scope, "created_at": 0.0}
        return {**found, "updated_at": talk.updated_at, "busy": talk.live is not None}

    def io_threads(self, peer: str, query: str = "", limit: int = 50, before: float = 0) -> Any:
        found = [self._shown(talk) for talk in self.talks.values() if query.lower() in talk.title.lower()]
        return {"threads": sorted(found, key=lambda one: -one["updated_at"])[:limit], "more": False}

    def io_history(self, peer: str, thread: str, limit: int = 50, before: int = 0) -> Any:
        talk = self._talk(thread)
        events = [event for event in talk.events if not before or event["seq"] < before]
        approvals = [asked.entry for asked in self.asked.values() if asked.entry["thread"] == thread]
        page = [{**event, "text": _shortened(event["text"])} for event in events[-limit:]]
        shown: dict[str, Any] = {"thread": self._shown(talk), "events": page, "more": len(events) > limit}
        turns = {event["turn"] for event in shown["events"]}
        shown["ended"] = [end for turn, end in talk.ended.items() if turn in turns]
        shown["recalls"] = [recall for recall in talk.recalls if recall["turn"] in turns]
        shown["written"] = [made for made in talk.written if made["turn"] in turns]
        shown["queued"] = [entry for entry in self.waiting if entry["thread"] == thread]
        shown["suspended"] = []
        return {**shown, "live": dict(talk.live) if talk.live else None, "approvals": approvals, "seq": self.seq}

    def io_thread_rename(self, peer: str, thread: str, title: str) -> Any:
        self._talk(thread).title = title
        self.post("thread", thread, "", title=title, channel="webui", created=False)
        return {}

    def io_thread_delete(self, peer: str, thread: str) -> Any:
        talk = self._talk(thread)
        del self.talks[thread]
        self.post("thread", thread, "", title=talk.title, channel="webui", created=False, deleted=True)
        return {"events": len(talk.events), "files": 0}

    def io_approvals(self, peer: str) -> Any:
        return {"approvals": [asked.entry for asked in self.asked.values()]}

    def io_approve(self, peer: str, approval: str, decision: str, remember: str) -> Any:
        if approval not in self.asked:
            raise NotFound("Nothing waits for that answer.")
        self.asked[approval].allow = decision == "allow"
        self.asked[approval].done.set()
        return {}

    # -- admin
    def admin_status(self, peer: str) -> Any:
        current = next((source for source in self.sources if source["current"]), None)
        model = {"configured": current is not None, "source": "", "model": "", "hint": "Add a key."}
        model |= {"kind": "", "state": "", "note": ""}
        if current:
            model |= {"source": current["name"], "model": current["model"], "hint": ""}
            model |= {"kind": current["kind"], "state": current.get("state", "ready")}
        known = {
            "storage": self.storage,
            "version": "0.1.0",
            "pid": 1,
            "started_at": 0.0,
            "data_dir": "/data",
            "safe": False,
        }
        return {**known, "model": model, "plugins": self.plugins, "threads": {"busy": 0, "queued": 0}, "counts": {}}

    def admin_plugins(self, peer: str) -> Any:
        return {"plugins": self.plugins}

    def _plugin(self, name: str, state: str) -> Any:
        for plugin in self.plugins:
            if plugin["name"] == name:
                plugin |= {"state": state, "reason": "", "pid": 4242 if state == "ready" else None}
                self.post("plugin_state", "", "", plugin=name, state=state, reason="")
                return plugin
        raise NotFound(f"There is no plugin {name!r}.")

    def admin_plugin_start(self, peer: str, name: str) -> Any:
        return self._plugin(name, "ready")

    def admin_plugin_stop(self, peer: str, name: str) -> Any:
        return self._plugin(name, "stopped")

    def admin_plugin_logs(self, peer: str, name: str, limit: int = 200) -> Any:
        return {"lines": [f"{name}: started", f"{name}: <b>hello</b>"]}

    def admin_models_list(self, peer: str) -> Any:
        return {"sources": self.sources}

    def admin_models_add(self, peer: str, name: str, base_url: str = "", model: str = "", **more: Any) -> Any:
        if more.get("api_key"):
            self.keys[name] = more["api_key"]
        source = {"name": name, "base_url": base_url, "model": model, "adapter": more.get("adapter", "openai")}
        source |= {"context_window": more.get("context_window", 65536), "learnt_window": more.get("learnt_window", 0)}
        source |= {"priority": more.get("priority", 0), "max_concurrent": more.get("max_concurrent", 8)}
        source |= {"audio": more.get("audio", False), "options": more.get("options", {})}
        source |= {"tools": more.get("tools", True), "vision": more.get("vision", False)}
        source |= {"kind": "gguf" if more.get("gguf") else "remote", "path": more.get("gguf", "")}
        source |= {"has_key": name in self.keys, "current": False}
        self.sources = [one for one in self.sources if one["name"] != name] + [source]
        return source

    def admin_models_use(self, peer: str, name: str) -> Any:
        if all(source["name"] != name for source in self.sources):
            raise NotFound(f"There is no source {name!r}.")
        for source in self.sources:
            source["current"] = source["name"] == name
        return {}

    def admin_models_remove(self, peer: str, name: str) -> Any:
        self.sources = [one for one in self.sources if one["name"] != name]
        return {}

    def admin_models_test(self, peer: str, name: str) -> Any:
        return {
            "ok": True, "latency_ms": 412.3, "total_ms": 812.5, "streaming": True, "tools": True, "images": None,
            "reasoning": False, "usage": True, "notes": [], "error": "", "hint": "",
        }  # fmt: skip

    def admin_models_available(self, peer: str, **place: Any) -> Any:
        if place.get("api_key") == "sk-wrong":
            raise InvalidInput("fake (127.0.0.1) answered HTTP 401: no", hint="Check this source's API key.")
        names = ("deepseek-chat", "deepseek-reasoner") if "deepseek" in place.get("base_url", "") else ()
        return {
            "models": [
                {"id": name, "title": "", "context_window": 131072, "vision": None, "tools": None} for name in names
            ]
        }


def _shortened(text: str) -> str:
    """As homed shows an over-long text: head and tail."""
    if len(text) < 10_000:
        return text
    return f"{text[:1000]}\n[… {len(text) - 2000} of {len(text)} characters left out …]\n{text[-1000:]}"


async def echo(turn: Turn) -> None:
    """Say the question back."""
    await turn.say(turn.text)


ANSWER = """\"Black Krim\" was the one that did **badly**: it split and rotted in the wet August.

Four cordon plants need `45 cm` each:

| bed | length | free |
|-----|-------:|------|
| South | 2.4 m | from May |
| Wall | 3.1 m | from June |

```python
def plants(length_cm: int, each: int = 45) -> int:
    \"\"\"How many fit.\"\"\"
    return length_cm // each  # 240 → 5
```

1. Raise the seedlings indoors.
2. Plant out after the last frost, see [the almanac](https://example.org/frost).

> Shall I put the planting date in your calendar?
"""


async def show(turn: Turn) -> None:
    """Everything a page can show in one turn."""
    if "ask" in turn.text:
        command = {"command": "du -sh ~/* | sort -h | tail -5", "workdir": "~"}
        await turn.tool("cmd_run", command, "1.2G\tPictures", ask=True)
        await turn.say("Your pictures take the most space: 1.2 GB.")
        return
    await turn.think("The person asks about tomatoes. ", "I should read the garden notes first.", pause=0.2)
    notes = "South bed   2.4 m × 0.9 m   free from May\nWall bed    3.1 m × 0.4 m   peas until June"
    await turn.tool("files_read", {"path": "notes/garden.md", "lines": [1, 20]}, notes, pause=0.4)
    pieces = [ANSWER[i : i + 6] for i in range(0, len(ANSWER), 6)]
    await turn.say(*pieces, pause=0.02)


def furnished(kernel: StandIn) -> StandIn:
    """With a model, some conversations and plugins in every state."""
    for name, model, current in (("deepseek", "deepseek-chat", True), ("ollama", "qwen3:8b", False)):
        key = "sk-secret" if current else ""
        kernel.admin_models_add(OWNER, name, f"https://{name}.example/v1", model, api_key=key)
    kernel.admin_models_use(OWNER, "deepseek")
    for title in ("服务器迁移计划", "Garden plan", "Reading <b>list</b> for the winter and everything after it"):
        kernel.open_talk(title)
    states = {"webui": "ready", "shell": "ready", "files": "ready", "timer": "stopped", "sanitizer": "backoff"}
    for name, state in states.items():
        plugin: dict[str, Any] = {"name": name, "name_zh": "", "version": "0.1.0", "state": state, "trust": "packaged"}
        plugin |= {"description": f"What {name} does, in a sentence.", "reason": "", "since": time.time() - 4000}
        plugin |= {"pid": 4000 if state == "ready" else None, "tools": [f"{name}_run", f"{name}_list"], "crashes": []}
        plugin |= {"retry_at": None}
        if state in ("stopped", "backoff"):
            crash: dict[str, Any] = {"at": time.time() - 60, "code": None, "signal": 9, "pending": []}
            crash["stderr"] = "Traceback…\nKeyError: 'x'"
            plugin |= {"crashes": [crash] * 4, "reason": "4 crashes in 5 minutes; it waits for you."}
        kernel.plugins.append(plugin)
    return kernel


async def serve(kernel: StandIn, port: int, started: Callable[[int], None]) -> None:
    """Serve the page on this kernel until cancelled."""
    listening = open_socket(Address("127.0.0.1", port))
    port = listening.getsockname()[1]
    site = Site.build(kernel, kernel.hub, Guard(), port=port, folder=kernel.folder)
    async with trio.open_nursery() as nursery:
        kernel.nursery = nursery
        nursery.start_soon(serve_until_cancelled, create_app(site), kernel.hub, listening)
        started(port)


def main() -> None:
    """Serve until Ctrl+C."""
    options = argparse.ArgumentParser()
    options.add_argument("--port", type=int, default=0)
    options.add_argument("--empty", action="store_true")
    given = options.parse_args()
    kernel = StandIn(show)
    if not given.empty:
        furnished(kernel)
        furnished_records(kernel)
    kernel.links.update(f"link{n}" for n in range(50))
    trio.run(serve, kernel, given.port, lambda port: print(f"http://127.0.0.1:{port}/login#link1", flush=True))


if __name__ == "__main__":
    main()
