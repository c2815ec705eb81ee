"""The fake server on OpenAI's wire, which most tests talk to; see ``fake_server`` for what it can be told.

As a process: ``python -m tests.kit.fake_openai --port-file F --script S.json [--record R.jsonl]``.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import Any

from tests.kit.fake_server import FakeServer, Recorded, fake_thread, main, open_fake

__all__ = ["FakeOpenAI", "Recorded", "fake_openai_thread", "open_fake_openai"]


FakeOpenAI = FakeServer
"""What stands behind both functions."""


def open_fake_openai(script: Mapping[str, Any] | None = None) -> AbstractAsyncContextManager[FakeServer]:
    """The server in the caller's own loop, for the length of the block."""
    return open_fake("openai", script)


def fake_openai_thread(script: Mapping[str, Any] | None = None) -> AbstractContextManager[FakeServer]:
    """The server in a thread of its own, for tests without a loop."""
    return fake_thread("openai", script)


if __name__ == "__main__":
    main()
