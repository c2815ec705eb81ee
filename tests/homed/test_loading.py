from __future__ import annotations

import sys

import pytest
import trio

from homed.loading import load


async def test_what_is_missing_is_loaded_and_what_is_there_costs_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "this", raising=False)
    monkeypatch.setattr("builtins.print", lambda *_: None)  # that module speaks
    await load("this")
    assert "this" in sys.modules

    async def none_left(*_: object, **__: object) -> None:
        raise AssertionError("a thread for a module that is there")

    monkeypatch.setattr(trio.to_thread, "run_sync", none_left)
    await load("this")


async def test_one_that_is_not_there_is_said_to_be_missing() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"homed\.nothing"):
        await load("homed.nothing")


async def test_one_that_somebody_else_is_loading_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[str]()

    async def run_sync(_: object, module: str) -> None:
        asked.append(module)

    monkeypatch.setattr(sys.modules["json"].__spec__, "_initializing", True, raising=False)
    monkeypatch.setattr(trio.to_thread, "run_sync", run_sync)
    await load("json")
    assert asked == ["json"]
