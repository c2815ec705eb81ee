"""A plugin that comes up as it should and then sends whatever comes to mind, from the seed in the file ``seed``.

Standard library only.  Most lines are JSON-RPC with something wrong in them: unreadable ones end a conversation after
fifty.  It stays below the rate at which calls count as a flood, and leaves after ``SECONDS``.
"""

from __future__ import annotations

import json
import os
import random
import sys
import threading
import time
from pathlib import Path
from typing import Any

SECONDS = 2.0
PAUSE = 0.002
MANIFEST = json.loads(Path("plugin.json").read_text("utf-8"))
METHODS: dict[str, dict[str, str]] = json.loads(Path("methods.json").read_text("utf-8"))
"""Method → its parameters and their JSON types, as far as one is known."""
ARENA_ERRORS = 2
"""Wild references to the arena in one life; some more and the kernel ends it."""
OUT = sys.stdout.buffer
LOCK = threading.Lock()

KEYS = (
    "peer", "text", "thread", "group", "client_msg_id", "no_memory", "can_ask", "wait", "attachments", "call", "upload",
    "name", "media_type", "data", "offset", "last", "block", "length", "input", "query", "limit", "before", "event",
    "turn", "title", "approval", "decision", "remember", "types", "content", "via", "level", "message", "kind",
    "address", "key", "value", "len", "off", "lease", "held", "tools", "every", "at", "prompt", "source", "max_tokens",
    "day", "tool", "args", "path", "sha256", "grant", "ids", "events", "messages", "system", "secret",
)  # fmt: skip


class Mind:
    """Where the values come from."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.wild = 0
        self.known: list[Any] = ["fuzz:1", "fuzz:2", "webui:owner", "cli:local", "", "owner"]

    def learn(self, value: Any) -> None:
        """Ids and tokens that the kernel said: the next frames name them."""
        if isinstance(value, dict):
            for one in value.values():
                self.learn(one)
        elif isinstance(value, list):
            for one in value[:20]:
                self.learn(one)
        elif isinstance(value, str) and 0 < len(value) < 80 and len(self.known) < 400:
            self.known.append(value)

    def scalar(self) -> Any:
        dice = self.dice
        return dice.choice(
            [
                None, True, False, 0, -1, 1, 3, 64, 65536, 2**31, 2**53, 2**63, -(2**70), 1e308, -0.0, 1.5, "", "0",
                "\0", "\udead" if dice.random() < 0.02 else "é", "../../etc/passwd", "/etc/passwd",
                "\u202egnp.exe", "allow",
                "x" * dice.choice([1, 300, 5000, 70_000]), "😀" * dice.choice([1, 900]), dice.choice(self.known),
                {"id": dice.choice(self.known)}, {"id": "fuzz:3", "name": "N" * dice.choice([1, 4000])},
            ]
        )  # fmt: skip

    def value(self, depth: int = 0) -> Any:
        dice = self.dice
        roll = dice.random()
        if roll < 0.75 or depth > 3:
            return self.scalar()
        if roll < 0.85:
            return [self.value(depth + 1) for _ in range(dice.choice([0, 1, 3, 40]))]
        if roll < 0.98:
            return {dice.choice(KEYS): self.value(depth + 1) for _ in range(dice.choice([0, 1, 3, 20]))}
        deep: Any = 1
        for _ in range(dice.choice([30, 900])):
            deep = [deep] if dice.random() < 0.5 else {"a": deep}
        return deep

    def typed(self, kind: str) -> Any:
        """A value of that JSON type, or, sometimes, of any."""
        dice = self.dice
        if dice.random() < 0.15:
            return self.value()
        match kind:
            case "string":
                return dice.choice([*self.known, "", "hi", "a question about the garden", "x" * 500, "2026-11-30"])
            case "integer":
                return dice.choice([0, 1, 2, 5, 50, 500, 70_000, -1, 2**40])
            case "number":
                return dice.choice([0, 1, 0.5, 30, 1e9, time.time() + 1, -1])
            case "boolean":
                return dice.random() < 0.5
            case "array":
                return [self.scalar() for _ in range(dice.choice([0, 1, 3]))]
        return self.value()

    def params(self, method: str) -> Any:
        dice = self.dice
        if dice.random() < 0.03:
            return self.value()
        made = {name: self.typed(kind) for name, kind in METHODS[method].items() if dice.random() < 0.7}
        if "call" in made and dice.random() < 0.7:
            del made["call"]
        if dice.random() < 0.1:
            made[dice.choice(KEYS)] = self.value()
        if "peer" in METHODS[method] and dice.random() < 0.9:
            made["peer"] = dice.choice(["fuzz:1", "fuzz:1", {"id": "fuzz:2", "name": "Two"}])
        if self.wild < ARENA_ERRORS and dice.random() < 0.02:
            self.wild += 1
            made["$arena"] = {
                dice.choice(KEYS): {
                    "off": dice.choice([0, 64, 4096, 2**26 - 1, 2**26, -1, 2**63, self.scalar()]),
                    "len": dice.choice([0, 1, 70_000, 2**26, 2**40, -5, self.scalar()]),
                    "as": dice.choice(["json", "text", "bytes", self.scalar()]),
                }
            }
        return made

    def frame(self, number: int) -> dict[str, Any]:
        dice = self.dice
        roll = dice.random()
        method = dice.choice(list(METHODS))
        if method == "core.arena_free":
            self.wild += 1
            method = method if self.wild <= ARENA_ERRORS else "core.arena_alloc"
        made: dict[str, Any] = {"jsonrpc": "2.0", "id": f"f{number}", "method": method, "params": self.params(method)}
        if roll < 0.9:
            return made
        if roll < 0.92:
            made["id"] = dice.choice([number % 7, "same", "x" * 300])
        elif roll < 0.94:
            del made["id"]
            made["method"] = dice.choice(["$/cancel", "$/cancel", "event", "progress"])
            made["params"] = dice.choice([{"id": f"f{number - 1}"}, {"id": self.value()}, {}])
        elif roll < 0.955:
            made = {"jsonrpc": "2.0", "id": dice.choice([1, 2, number, "f1", None]), "result": self.value()}
        elif roll < 0.97:
            error = {"code": self.value(), "message": self.value(), "data": self.value()}
            made = {"jsonrpc": "2.0", "id": dice.choice([1, 2, number]), "error": dice.choice([error, self.value()])}
        else:
            made["params"] = {
                **(made["params"] if isinstance(made["params"], dict) else {}),
                "call": dice.choice(self.known),
            }
        return made

    def result(self, method: str) -> Any:
        dice = self.dice
        if method == "tool.invoke":
            made: Any = {"content": self.value(), "is_error": dice.choice([True, False, self.value()])}
        elif method == "stage.invoke":
            fields = (
                "raw_message",
                "llm_text",
                "tool_calls",
                "tool_results",
                "final_text",
                "extra",
                "memory",
                "errors",
            )
            made = {"changes": {dice.choice(fields): self.value() for _ in range(dice.choice([0, 1, 2]))}}
        else:
            made = {"status": self.value()}
        if dice.random() < 0.2:
            made = self.value()
        if isinstance(made, dict) and self.wild < ARENA_ERRORS and dice.random() < 0.1:
            self.wild += 1
            made["$arena"] = {"content": {"off": self.scalar(), "len": self.scalar(), "as": "json"}}
        return made


def send(message: Any) -> None:
    raw(json.dumps(message).encode() + b"\n")


def raw(data: bytes) -> None:
    with LOCK:
        try:
            OUT.write(data)
            OUT.flush()
        except (BrokenPipeError, ValueError):
            os._exit(0)


def answer(mind: Mind, request: dict[str, Any]) -> None:
    """The life-cycle as it should be; the rest as it comes."""
    method, id_ = request["method"], request["id"]
    if method == "handshake":
        send({"jsonrpc": "2.0", "id": id_, "result": {"protocol": 1, "sdk": "fuzz/1", "pid": os.getpid()}})
    elif method == "plugin.init":
        stages = [
            {"stage": one["stage"], "scope": "global", "order": 0, "on_failure": "open"} for one in MANIFEST["stages"]
        ]
        outputs = [{"name": "fuzz", "caps": ["text"], "description": "Nowhere.", "format": ""}]
        registered = {"tools": ["fuzz_tool"], "stages": stages, "outputs": outputs, "inputs": ["fuzz"]}
        send({"jsonrpc": "2.0", "id": id_, "result": registered})
    elif method in ("plugin.start", "plugin.ping"):
        send({"jsonrpc": "2.0", "id": id_, "result": {}})
    elif method == "plugin.stop":
        send({"jsonrpc": "2.0", "id": id_, "result": {}})
        os._exit(0)
    elif mind.dice.random() < 0.9:
        send({"jsonrpc": "2.0", "id": id_, "result": mind.result(method)})


def talk(mind: Mind) -> None:
    """Frame after frame, then leave."""
    end = time.monotonic() + SECONDS
    number = rubbish = 0
    while time.monotonic() < end:
        number += 1
        if rubbish < 10 and mind.dice.random() < 0.005:
            rubbish += 1
            raw(
                bytes(mind.dice.randrange(256) for _ in range(mind.dice.choice([1, 50, 2000]))).replace(b"\n", b"")
                + b"\n"
            )
        else:
            send(mind.frame(number))
        time.sleep(PAUSE)
    os._exit(0)


def main() -> None:
    seed = Path("seed")
    number = int(seed.read_text("ascii"))
    seed.write_text(str(number + 1), "ascii")
    sys.stderr.write(f"seed {number}\n")
    sys.stderr.flush()
    mind, talking = Mind(number), False
    for line in sys.stdin.buffer:
        message = json.loads(line)
        mind.learn(message)
        if "method" in message and "id" in message:
            answer(mind, message)
            if message["method"] == "plugin.start" and not talking:
                talking = True
                threading.Thread(target=talk, args=(mind,), daemon=True).start()


main()
