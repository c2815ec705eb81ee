"""The process that holds an embedding model (``python -m homed.retrieval.embed.child``); only `worker` starts it.

It speaks `frames` over its stdin and stdout, which are moved to private descriptors first, so that no library can
write into the conversation.  It listens nowhere, and ends the moment homed does, whatever it is at: a thread waits
for the other end of stdin to go.  With ``--bulk`` it gives way to everybody else on the machine.
"""

from __future__ import annotations

import fcntl
import os
import select
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, BinaryIO

from homed.retrieval.embed import frames
from homed.retrieval.embed.encoders import Encoder, Unfit, load

if TYPE_CHECKING:
    from homed.memory.ports import Vectors

BULK = "--bulk"
NICENESS = 15
OOM_SCORE = "500"
"""Where memory is short this process goes before homed does: it is started again and nothing is lost."""


def main(argv: Sequence[str]) -> None:
    """Serve until stdin ends."""
    if BULK in argv:
        os.nice(NICENESS)
    with suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write(OOM_SCORE)
    commands, answers = _private(0), _private(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    threading.Thread(target=_end_with, args=(commands,), daemon=True).start()
    with os.fdopen(commands, "rb", buffering=0) as source, os.fdopen(answers, "wb", buffering=0) as sink:
        Child(source, sink).run()
    os._exit(0)  # the libraries' threads have nothing to save


def _private(fd: int) -> int:
    """A close-on-exec copy of a descriptor, out of the way of libraries."""
    return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10)


def _end_with(fd: int) -> None:
    """Leave when the other end of ``fd`` is closed, also in the middle of a computation."""
    poll = select.poll()
    poll.register(fd, 0)  # a hang-up is always told
    poll.poll()
    os._exit(0)


class Child:
    """One answer to every command, in their order."""

    def __init__(self, commands: BinaryIO, answers: BinaryIO) -> None:
        self._commands = commands
        self._answers = answers
        self._encoder: Encoder | None = None

    def run(self) -> None:
        """Until stdin ends."""
        decoder = frames.Decoder()
        while data := self._commands.read(1 << 16):
            for frame in decoder.feed(data):
                self._serve(frame)

    def _serve(self, frame: frames.Frame) -> None:
        try:
            if frame.do == "open":
                self._encoder = None
                encoder = self._encoder = load(frame.said["spec"], lambda: self._say("busy"))
                self._say("opened", dims=encoder.dims, media=encoder.media, baseline=encoder.baseline)
            else:
                self._give(self._vectors(frame))
        except Unfit as error:
            self._say("failed", why=str(error), lasting=frame.do == "open")
        except MemoryError:
            self._say("failed", why="there is not enough memory for it", lasting=False)

    def _vectors(self, frame: frames.Frame) -> Vectors:
        assert self._encoder is not None  # homed opens before it asks
        if frame.do == "texts":
            return self._of_texts(self._encoder, frame.said["texts"], query=frame.said["query"])
        images, at = [], 0
        for size in frame.said["sizes"]:
            images.append(frame.data[at : at + size])
            at += size
        return self._encoder.images(images)

    @staticmethod
    def _of_texts(encoder: Encoder, texts: Sequence[str], *, query: bool) -> Vectors:
        """A blank text says nothing and is near nothing; the libraries take no lone surrogates."""
        import numpy as np

        made = np.zeros((len(texts), encoder.dims), np.float32)
        wanted = [at for at, text in enumerate(texts) if text.strip()]
        if wanted:
            clean = [texts[at].encode("utf-8", "replace").decode() for at in wanted]
            made[wanted] = encoder.texts(clean, query=query)
        return made

    def _give(self, vectors: Vectors) -> None:
        unit = unit_rows(vectors)
        self._say("vectors", unit.tobytes(), rows=len(unit))

    def _say(self, do: str, data: bytes = b"", **said: object) -> None:
        left = memoryview(frames.encode(do, data, **said))
        try:
            while left:
                left = left[self._answers.write(left) :]
        except BrokenPipeError:
            os._exit(0)


def unit_rows(vectors: Vectors) -> Vectors:
    """The rows as float32 of length 1; one that is zero or no number stays, or becomes, zero: it is near nothing."""
    import numpy as np

    rows = np.nan_to_num(np.asarray(vectors, dtype=np.float32), nan=0.0, posinf=0.0, neginf=0.0)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.ascontiguousarray(rows / np.where(lengths > 0, lengths, 1), dtype=np.float32)


if __name__ == "__main__":
    main(sys.argv[1:])
