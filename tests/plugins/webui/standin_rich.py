"""A stand-in kernel that looks like a year of use: what the pages are looked at with, and what is checked in Chromium.

``python -m tests.plugins.webui.standin_rich [--port N]`` serves it.
"""

from __future__ import annotations

import argparse
import struct
import time
import zlib
from typing import Any

import trio

from .standin import ANSWER, OWNER, Asked, StandIn, Talk, Turn, furnished, serve, show
from .standin_ledger import furnish_ledger
from .standin_memory import FAR
from .standin_records import furnished_records

CHINESE = """可以。南边的苗床长 **2.4 米**，按每株 45 厘米算，能种 5 株：

- 先在室内育苗
- 终霜之后再移栽

```bash
df -h / | tail -1   # 看看还剩多少空间
```
"""
SECONDS = 86_400.0


def picture(width: int = 320, height: int = 180) -> bytes:
    """A small PNG with a gradient."""
    rows = b"".join(
        b"\0" + b"".join(bytes((40 + x * 150 // width, 120 + y * 90 // height, 100)) for x in range(width))
        for y in range(height)
    )

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def ended(talk: Talk, turn: str, state: str = "answered", **more: Any) -> None:
    usage = {"prompt": 3104, "completion": 212, "cached": 2690}
    end: dict[str, Any] = {"phase": "end", "input": "", "error": "", "hint": "", "ms": 8140, "usage": usage}
    talk.ended[turn] = {**end, "turn": turn, "state": state, **more}


def conversation(kernel: StandIn) -> Talk:
    """One of everything that a turn can be."""
    talk = kernel.open_talk("Garden plan for the coming year")
    photo = kernel.put("south bed.png", "image/png", picture())
    notes = kernel.put("Notizen – Garten 2026 (final, really final).pdf", "application/pdf", b"%PDF-" + b"x" * 248_000)
    kernel.store(talk, "ta", "user", "Which tomatoes did badly last year?", blocks=[photo, notes])
    call = {"id": "c1", "name": "files_read", "arguments": {"path": "notes/garden.md", "lines": [1, 20]}}
    kernel.store(talk, "ta", "assistant", "", calls=[call], reasoning="The person asks about tomatoes.")
    result = "South bed   2.4 m × 0.9 m   free from May\nWall bed    3.1 m × 0.4 m   peas until June"
    kernel.store(
        talk, "ta", "tool", result, call_id="c1", name="files_read", status="ok", args=call["arguments"], ms=230
    )
    kernel.store(talk, "ta", "assistant", ANSWER, final=True)
    ended(talk, "ta")
    kernel.remember(
        "9f3c1a7b", "…no, the others were fine. Black Krim split and then rotted when it rained all August."
    )
    kernel.remember("41d0c2ee", "南边的苗床是 2.4 米 × 0.9 米，五月以后空着。", title="花园", layer="context")
    kernel.remember("c77a90b1", "Garden, this year: cordon tomatoes along the wall. " * 40, kind="assistant")
    told = {"shown": ["9f3c1a7b", "41d0c2ee"], "cold": ["c77a90b1"], "chars": 640, "kept": 12}
    talk.recalls.append({"turn": "ta", **told})
    ids = [kernel.remember(f"{n:08x}", f"Message number {n} about something else.", title="Other") for n in range(20)]
    scores = {"9f3c1a7b": 0.83, "41d0c2ee": 0.41, **{id_: n / 40 for n, id_ in enumerate(ids)}}
    chose = {"window": 65536, "fixed": 1204, "context": 34000, "memory": 17000, "of": 34, "more": 12, "scores": scores}
    kept = {"score": ["9f3c1a7b"], "active": ["41d0c2ee"], "recent": ids[:6]}
    hits = [{"id": "c77a90b1", "score": 0.77, "told": True}, {"id": ids[19], "score": 0.2, "told": False}]
    weights = {"before": {"events": 62, "tokens": 80_000}, "after": {"events": 30, "tokens": 31_000}}
    kernel.why["ta"] = [
        {"kind": "select", "at": FAR, "data": {**chose, "kept": kept, "left_out": ids[6:]}},
        {"kind": "recall", "at": FAR, "data": {**told, "hits": hits, "gate": 0.12, "below": 4, "late": ["cold"]}},
        {"kind": "confirm", "at": FAR, "data": {"back": ["c77a90b1"]}},
        {"kind": "sink", "at": FAR, "data": {"events": ids[6:9], "scores": scores, **weights}},
    ]
    kernel.store(talk, "tb", "user", "那就种五株吧，可以吗？")
    kernel.store(talk, "tb", "assistant", CHINESE, final=True)
    ended(talk, "tb", ms=61_240)
    kernel.store(talk, "tc", "user", "And now write me a very long story.")
    kernel.store(talk, "tc", "assistant", "Once upon a time there was", partial=True)
    ended(talk, "tc", "stopped")
    kernel.store(talk, "td", "user", "Send it to the printer.")
    kernel.store(talk, "td", "note", "deepseek cannot be reached", code="no_answer")
    hint = "Check this source's API key on the Models page, or set it anew with `homed models add`."
    ended(talk, "td", "failed", error="deepseek answered HTTP 401.", hint=hint)
    asking(kernel, talk)
    return talk


def asking(kernel: StandIn, talk: Talk) -> None:
    """A turn that waits for a word."""
    kernel.store(talk, "te", "user", "How much space do my pictures take?")
    command = {"command": "du -sh ~/* | sort -h | tail -5", "workdir": "~"}
    call = {"call": "c9", "step": 0, "tool": "cmd_run", "plugin": "shell", "class": "dangerous", "args": command}
    talk.live = {"turn": "te", "input": "in9", "step": 0, "text": "Let me look.", "reasoning": ""}
    talk.live["calls"] = [{**call, "status": "running", "result": None, "ms": 0}]
    ask: dict[str, Any] = {
        "approval": "ask9",
        "tool": "cmd_run",
        "plugin": "shell",
        "class": "dangerous",
        "args": command,
    }
    ask |= {"reason": "cmd_run cannot be undone, so it is asked for each time.", "expires_at": time.time() + 300,
            "yes": "thread"}  # fmt: skip
    kernel.asked["ask9"] = Asked({**ask, "thread": talk.id, "turn": "te"})


def rich(kernel: StandIn) -> StandIn:
    """A lived-in kernel."""
    furnished(kernel)
    conversation(kernel)
    embedded = {"name": "embedded", "base_url": "", "model": "SmolLM2-135M", "kind": "embedded", "path": ""}
    kernel.sources.append({**kernel.sources[0], **embedded, "tools": False, "has_key": False, "current": False})
    kernel.admin_models_add(OWNER, "mine", model="qwen3-4b", gguf="/srv/models/qwen3-4b-q4_k_m.gguf", vision=True)
    now = time.time()
    kernel.api_keys += [
        {
            "name": "home-assistant",
            "peer": "webui:hall",
            "scopes": ["chat"],
            "created_at": now - 90 * SECONDS,
            "used_at": now - 60,
        },
        {
            "name": "backup.script",
            "peer": OWNER,
            "scopes": ["chat", "memory", "admin"],
            "created_at": now,
            "used_at": None,
        },
    ]
    disk: dict[str, Any] = {"name": "disk", "state": "warn", "what": "1.2 GB are free where the data folder is."}
    key = {"name": "model", "state": "bad", "what": "deepseek answered HTTP 401."}
    kernel.checks += [
        {**disk, "hint": "Make room, or move the data folder."},
        {**key, "hint": "Check the key of this source on the Models page."},
        {"name": "plugins", "state": "ok", "what": "All 7 run.", "hint": ""},
    ]
    for plugin in kernel.plugins:
        for crash in plugin["crashes"]:
            crash["pending"] = ["timer_list (call 4f2a)"]
    return kernel


def remembering(kernel: StandIn) -> StandIn:
    """The same with records, and with what the ledger, the graph, the health check and thresholds show."""
    rich(kernel)
    furnished_records(kernel)
    furnish_ledger(kernel)
    return kernel


async def small(turn: Turn) -> None:
    """As the built-in model does it: it loads, it reads, it answers."""
    if "progress" in turn.text:
        await turn.wait("loading", pause=0.1)
        await turn.wait("reading", pause=0.1)
        if "forever" in turn.text:
            await trio.sleep_forever()
        await turn.say("Hello!")
        return
    turn.recall(["9f3c1a7b"], ["c77a90b1"], 312)
    await show(turn)


def main() -> None:
    """Serve until Ctrl+C."""
    options = argparse.ArgumentParser()
    options.add_argument("--port", type=int, default=0)
    options.add_argument("--embedded", action="store_true")
    options.add_argument("--readonly", action="store_true")
    given = options.parse_args()
    kernel = rich(StandIn(small))
    if given.embedded:
        kernel.admin_models_use(OWNER, "embedded")
    if given.readonly:
        reason = "The database is damaged and was opened for reading only."
        kernel.storage |= {"state": "read_only", "reason": reason, "kept": "/data/kept/homed.db"}
    kernel.links.update(f"link{n}" for n in range(200))
    trio.run(serve, kernel, given.port, lambda port: print(f"http://127.0.0.1:{port}/login#link1", flush=True))


if __name__ == "__main__":
    main()
