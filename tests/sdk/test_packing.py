"""``pack``: in step with the code first, then one file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import trio

from homed.errors import ConfigError, InvalidInput
from homed.sdk.packing import pack, packed
from homed.sdk.scaffold import new


async def test_the_manifest_is_brought_in_step_and_the_file_is_named_for_its_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = await new("hello", tmp_path)
    about = json.loads((folder / "plugin.json").read_text())
    (folder / "plugin.json").write_text(json.dumps({**about, "tools": [], "version": "1.0/../x"}))
    made = await pack(folder)
    assert made.archive.path == Path("hello-1.0_.._x.hmap")
    assert [tool.name for tool in made.manifest.tools] == ["hello_greet"]
    assert "test_hello_plugin.py" in made.files
    said = await packed(folder, tmp_path / "out.hmap")
    assert made.sha256 in said
    assert f"{made.size} bytes" in said


async def test_code_that_does_not_run_is_not_packed(tmp_path: Path) -> None:
    folder = await new("hello", tmp_path)
    (folder / "hello_plugin.py").write_text("raise RuntimeError\n")
    with pytest.raises(ConfigError, match="--describe failed"):
        await pack(folder, tmp_path / "out.hmap")
    assert not await trio.Path(tmp_path / "out.hmap").exists()


async def test_in_another_language_the_manifest_is_taken_as_it_stands(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    about = {"name": "x", "version": "1", "entry": "node main.js"}
    (tmp_path / "x" / "plugin.json").write_text(json.dumps(about))
    assert (await pack(tmp_path / "x", tmp_path / "out.hmap")).manifest.name == "x"


async def test_a_skill_needs_its_text(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "plugin.json").write_text(json.dumps({"name": "x", "version": "1", "entry": "SKILL.md"}))
    with pytest.raises(InvalidInput, match=r"has no SKILL\.md"):
        await pack(tmp_path / "x", tmp_path / "out.hmap")
    (tmp_path / "x" / "SKILL.md").write_text("---\nname: x\n---\n")
    assert (await pack(tmp_path / "x", tmp_path / "out.hmap")).is_skill
