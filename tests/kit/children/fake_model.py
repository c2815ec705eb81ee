"""Stands in for the child of a local model: speaks the same frames, holds no model.

What the file holds decides how it loads: ``cannot``, ``dies``, ``never``, else it does.  What the last message says
decides the answer: ``hang`` (reads for ever), ``endless`` (until stopped), ``deaf`` (endless, and does not hear a
stop), ``die``, ``full``, ``garbage``, ``list`` (a chunk that is no object), ``many N``, ``whoami`` (its pid), else the
message itself comes back, in words.
A file ``warm.log`` beside the model's gets the text of each first message, one a line.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

from homed.providers.local import frames

stopped: set[int] = set()
log = Path()


def say(do: str, **fields: object) -> None:
    os.write(1, frames.encode(do, **fields))


def text(id_: int, words: str) -> None:
    say("chunk", id=id_, data={"choices": [{"index": 0, "delta": {"content": words}}]})


def progress(id_: int, done: int, total: int) -> None:
    say("chunk", id=id_, data={"choices": [], "prompt_progress": {"total": total, "cache": 0, "processed": done}})


def finish(id_: int, reason: str = "stop") -> None:
    say("chunk", id=id_, data={"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
    say("chunk", id=id_, data={"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3}})


def load(frame: Any) -> None:
    global log
    path = Path(frame["path"])
    log = path.parent / "warm.log"
    how = path.read_text(errors="replace").strip()
    if how == "cannot":
        os.write(2, b"model loader: error loading model: tensor 'x' is not within the file\n")
        say("failed", why="Failed to init server")
    elif how == "dies":
        os._exit(3)
    elif how != "never":
        say("loaded")


def answer(id_: int, body: Any) -> None:
    messages = body["messages"]
    with log.open("a") as file:
        file.write(f"{messages[0]['content']}\n")
    asked = str(messages[-1]["content"])
    progress(id_, 0, 100)
    if asked == "hang" or messages[0]["content"] == "silence":
        return
    if asked == "die":
        text(id_, "I was ")
        os.kill(os.getpid(), signal.SIGKILL)
    if asked == "garbage":
        os.write(1, b"what is this\n")
        return
    if asked == "list":
        say("chunk", id=id_, data=["not", "an", "object"])
        return
    if asked == "full":
        error = {"code": 400, "message": "request (3000 tokens) exceeds the available context size", "type": "x"}
        say("error", id=id_, body={"error": error})
    elif asked in ("endless", "deaf"):
        while asked == "deaf" or id_ not in stopped:
            text(id_, "on ")
            time.sleep(0.01)
    elif asked.startswith("many"):
        for _ in range(int(asked.split()[1])):
            text(id_, "x")
        finish(id_)
    else:
        for word in str(os.getpid()).split() if asked == "whoami" else asked.split():
            text(id_, word + " ")
        finish(id_)
    say("end", id=id_)


def main() -> None:
    decoder = frames.Decoder()
    while data := os.read(0, 65536):
        for frame in decoder.feed(data):
            if frame["do"] == "load":
                load(frame)
            elif frame["do"] == "ask":
                threading.Thread(target=answer, args=(frame["id"], frame["body"]), daemon=True).start()
            elif frame["do"] == "stop":
                stopped.add(frame["id"])
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main())  # type: ignore[func-returns-value]
