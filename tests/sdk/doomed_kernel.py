"""A kernel to be killed: starts the sample plugin, calls one tool, then waits (``python -m`` this module)."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from homed.wire import methods
from homed.wire.rpc import Peer, Response

SAMPLE = Path(__file__).with_name("sample.py")


def main(tool: str, mark: str, data_dir: str) -> None:
    """Bring the plugin up, call ``tool`` and say ``called`` on stdout."""
    plugin = subprocess.Popen(
        [sys.executable, str(SAMPLE)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "HOMED_MARK": mark},
        start_new_session=True,
    )
    assert plugin.stdin
    assert plugin.stdout
    peer = Peer()
    hello = {"protocol": 1, "core_version": "0", "name": "sample", "areas": {}}
    for method, params in (
        (methods.HANDSHAKE, hello),
        (methods.INIT, {"config": {}, "data_dir": data_dir}),
        (methods.START, {}),
    ):
        plugin.stdin.write(peer.request(method, params)[1])
        plugin.stdin.flush()
        (answer,) = peer.feed(plugin.stdout.readline())
        assert isinstance(answer, Response)
        assert answer.error is None, answer
    plugin.stdin.write(peer.request(methods.TOOL_INVOKE, {"tool": tool, "args": {}})[1])
    plugin.stdin.flush()
    print("called", flush=True)
    time.sleep(600)


if __name__ == "__main__":
    main(*sys.argv[1:])
