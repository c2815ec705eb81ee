"""Which model of this machine runs when, and what is said of it."""

from __future__ import annotations

import hashlib
import stat
import struct
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
import trio

from homed.config.environment import child_environment
from homed.providers.base import Source
from homed.providers.local import models as models_module
from homed.providers.local.engine import EnginePorts
from homed.providers.local.models import EMBEDDED, NOTE, LocalModels, LocalPorts, Standing
from homed.providers.local.weights import Pinned, Weights
from tests.homed.providers.local.kit import OPENING, ROOT, said, until
from tests.kit.processes import with_mark

pytestmark = pytest.mark.slow

GGUF = struct.pack("<4sIQQ", b"GGUF", 3, 1, 1)
PINNED = Pinned("tiny.gguf", len(GGUF), hashlib.sha256(GGUF).hexdigest())


def family(data: Path) -> str:
    return hashlib.sha256(str(data.resolve()).encode()).hexdigest()[:8] + "-model"


def running(data: Path) -> list[int]:
    return with_mark(family(data), group=True)


@pytest.fixture(autouse=True)
def _stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """The stand-in for every child."""

    def made(**given: object) -> EnginePorts:
        argv = (sys.executable, "-m", "tests.kit.children.fake_model")
        return EnginePorts(**{**given, "argv": argv})  # type: ignore[arg-type]

    monkeypatch.setattr(models_module, "EnginePorts", made)


@asynccontextmanager
async def models_in(data: Path) -> AsyncIterator[LocalModels]:
    wheel = data.parent / "wheel"
    wheel.write_bytes(GGUF)
    ports = LocalPorts(
        data, data / "models", data / "run" / "model", {**child_environment(), "PYTHONPATH": str(ROOT)},
        lambda: OPENING, weights=Weights(data / "models", pinned=PINNED, source=lambda _: wheel),
    )  # fmt: skip
    async with trio.open_nursery() as nursery:
        yield LocalModels(ports, nursery.start_soon)
        nursery.cancel_scope.cancel()


async def test_the_current_one_is_kept_ready_and_another_ends_it(tmp_path: Path) -> None:
    data = tmp_path / "data"
    remote = Source("far", "http://x/v1", "m")
    async with models_in(data) as models:
        assert models.standing(EMBEDDED) == Standing("", NOTE)
        models.follow([EMBEDDED], EMBEDDED)
        assert await models.wait_ready(EMBEDDED) == ""
        assert models.standing(EMBEDDED).state == "ready"
        assert len(running(data)) == 1
        assert stat.S_IMODE((data / "run" / "model").stat().st_mode) == 0o700
        models.follow([remote, EMBEDDED], remote)
        await until(lambda: not running(data))
        await until(lambda: models.standing(EMBEDDED).state == "")


async def test_with_another_source_current_it_is_never_started(tmp_path: Path) -> None:
    async with models_in(tmp_path / "data") as models:
        models.follow([Source("far", "http://x/v1", "m"), EMBEDDED], Source("far", "http://x/v1", "m"))
        await trio.sleep(0.3)
        assert running(tmp_path / "data") == []
        assert not (tmp_path / "data" / "models").exists()


async def test_a_file_of_the_persons_runs_beside_and_a_changed_one_anew(tmp_path: Path) -> None:
    data, file = tmp_path / "data", tmp_path / "mine.gguf"
    file.write_bytes(GGUF)
    source = Source("mine", "", "mine", adapter="local", path=str(file))
    async with models_in(data) as models:
        assert await said(models.provider(source), "hi") == "hi "
        assert models.standing(source) == Standing("ready", "")
        before = running(data)
        changed = replace(source, context_window=8192)
        models.follow([changed, EMBEDDED], None)
        assert models.standing(changed).state == ""
        assert await said(models.provider(changed), "hi") == "hi "
        await until(lambda: len(running(data)) == 1)
        assert running(data) != before


async def test_a_file_that_is_no_model_any_more_says_so(tmp_path: Path) -> None:
    file = tmp_path / "mine.gguf"
    file.write_bytes(GGUF)
    source = Source("mine", "", "mine", adapter="local", path=str(file))
    async with models_in(tmp_path / "data") as models:
        file.write_bytes(b"something else entirely....")
        models.follow([source], source)
        why = await models.wait_ready(source)
        assert why.startswith("mine does not run: ")
        assert "not a GGUF file" in why
        assert models.standing(source).state == "failed"
        assert "not a GGUF file" in models.standing(source).note


async def test_without_weights_it_is_not_offered(tmp_path: Path) -> None:
    async with models_in(tmp_path / "data") as models:
        assert models.built_in
        (tmp_path / "wheel").unlink()
        # the stand-in's source still names the file: gone, it is none
        models._weights = Weights(tmp_path / "data" / "models", pinned=PINNED, source=lambda _: None)
        assert not models.built_in
