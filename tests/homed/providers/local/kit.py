"""An engine with the stand-in for its child, and what is asked of it."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import trio

from homed.config.environment import child_environment
from homed.providers.base import ChatRequest, ContentDelta, Part, Source, System, User
from homed.providers.local.engine import Engine, EnginePorts
from homed.providers.local.provider import LocalProvider

ROOT = Path(__file__).parents[4]
SOURCE = Source("mine", "", "tiny", adapter="local", context_window=2048, max_concurrent=1, path="/x.gguf")
OPENING = "Be brief."


def request(*texts: str, max_tokens: int | None = None) -> ChatRequest:
    """A system message and what the person says."""
    return ChatRequest((System(OPENING), *(User(text) for text in texts)), max_tokens=max_tokens)


async def said(provider: LocalProvider, text: str) -> str:
    """The answer's text."""
    parts = await everything(provider, text)
    return "".join(part.text for part in parts if isinstance(part, ContentDelta))


async def everything(provider: LocalProvider, text: str) -> list[Part]:
    """All parts of an answer."""
    async with provider.stream(request(text)) as parts:
        return [part async for part in parts]


async def first(provider: LocalProvider, text: str, seen: trio.Event, kind: type[Part] = ContentDelta) -> None:
    """Ask, set ``seen`` at the first part of that kind, and read on until cancelled."""
    async with provider.stream(request(text)) as parts:
        async for part in parts:
            if isinstance(part, kind):
                seen.set()


def ports(folder: Path, how: str = "fine", **changes: object) -> EnginePorts:
    """For the stand-in; ``how`` is what the model's file says."""
    model = folder / "model.gguf"
    model.write_text(how)
    given: dict[str, object] = {
        "file": lambda _: model, "opening": lambda: OPENING, "folder": folder, "family": f"test-{folder.name}",
        "env": {**child_environment(), "PYTHONPATH": str(ROOT)},
        "argv": (sys.executable, "-m", "tests.kit.children.fake_model"),
    }  # fmt: skip
    return EnginePorts(**{**given, **changes})  # type: ignore[arg-type]


@asynccontextmanager
async def engine_in(folder: Path, how: str = "fine", **changes: object) -> AsyncIterator[tuple[Engine, LocalProvider]]:
    """A running engine; nothing of it is left at the end."""
    async with trio.open_nursery() as nursery:
        engine = Engine(SOURCE, ports(folder, how, **changes))
        nursery.start_soon(engine.run)
        yield engine, LocalProvider(engine)
        nursery.cancel_scope.cancel()


async def until(true: Callable[[], bool], within: float = 60.0) -> None:
    """Poll what another process decides."""
    with trio.fail_after(within):
        while not true():  # noqa: ASYNC110 - see above
            await trio.sleep(0.01)
