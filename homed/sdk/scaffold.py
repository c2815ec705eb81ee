"""``new`` writes a plugin that works, with its test; ``manifest`` brings a ``plugin.json`` in step with its code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from homed.errors import ConfigError, Conflict, HomedError, InvalidInput
from homed.proc import run_bounded
from homed.sdk.entry import DESCRIBE
from homed.sdk.launch import command, fresh_mark
from homed.wire.manifest import FILE_NAME, NAME, load_manifest

_TEMPLATE = Path(__file__).with_name("template")
_LIMIT = 30.0
"""Seconds for a plugin to describe itself; it is imported, nothing more."""

GENERATED = ("tools", "stages", "outputs", "inputs")
"""The fields of a manifest that come from the code."""


async def new(name: str, into: Path) -> Path:
    """Write the plugin ``name`` into the new folder ``into/name`` and return that folder."""
    if not NAME.fullmatch(name):
        raise InvalidInput(f"{name!r} is no name for a plugin.", hint=f"It must match {NAME.pattern}: try my_plugin.")
    folder = into / name
    try:
        folder.mkdir(parents=True)
        for source, target in (("plugin", f"{name}_plugin"), ("main", "__main__"), ("test", f"test_{name}_plugin")):
            text = (_TEMPLATE / f"{source}.py.txt").read_text(encoding="utf-8")
            (folder / f"{target}.py").write_text(text.replace("{{name}}", name), encoding="utf-8")
        _write(folder, _first_manifest(name))
    except FileExistsError:
        raise Conflict(f"{folder} exists already.", hint="Take another name, or another --dir.") from None
    except OSError as error:
        raise InvalidInput(f"{folder} cannot be written: {error.strerror}.") from error
    await update_manifest(folder)
    return folder


def _first_manifest(name: str) -> dict[str, Any]:
    return {
        "name": name,
        "version": "0.1.0",
        "description": f"What {name} does, in one sentence.",
        "author": "",
        "license": "AGPL-3.0-only",
        "entry": "python __main__.py",
        "capabilities": [],
        "settings": [
            {
                "key": "greeting",
                "type": "string",
                "default": "Hello",
                "name": "Greeting",
                "description": "The word that a greeting begins with.",
            }
        ],
    }


async def describe(folder: Path) -> dict[str, Any]:
    """What the code in ``folder`` declares: the generated fields of its manifest, made by running it."""
    manifest = load_manifest(folder)
    with command(manifest, folder, DESCRIBE) as cmd:
        done = await run_bounded(cmd, timeout=_LIMIT, mark=fresh_mark())
    if done.timed_out or done.exit.failed:
        said = done.stderr.decode(errors="replace").strip()
        why = "it did not end" if done.timed_out else str(done.exit)
        raise ConfigError(f"{manifest.entry} {DESCRIBE} failed ({why}):\n{said}")
    try:
        described = json.loads(done.stdout)
        return {key: described[key] for key in GENERATED}
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"{manifest.entry} {DESCRIBE} printed no description.") from error


async def update_manifest(folder: Path) -> bool:
    """Rewrite the generated fields of ``folder/plugin.json``; what was written by hand stays.  True if it changed."""
    described = await describe(folder)
    current = json.loads((folder / FILE_NAME).read_text(encoding="utf-8"))
    wanted = {**{key: value for key, value in current.items() if key not in GENERATED}, **_filled(described)}
    if wanted == current:
        return False
    try:
        _write(folder, wanted)
    except OSError as error:
        raise InvalidInput(f"{folder / FILE_NAME} cannot be written: {error.strerror}.") from error
    return True


async def difference(folder: Path) -> list[str]:
    """Names of the generated fields that no longer say what the code does; ``[]`` when all is in step."""
    described = _filled(await describe(folder))
    current = json.loads((folder / FILE_NAME).read_text(encoding="utf-8"))
    return [key for key in GENERATED if current.get(key, []) != described.get(key, [])]


def _filled(described: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in described.items() if value}


def _write(folder: Path, manifest: dict[str, Any]) -> None:
    text = json.dumps(manifest, ensure_ascii=False, indent=2) + "\n"
    (folder / FILE_NAME).write_text(text, encoding="utf-8")


def explain(error: HomedError) -> str:
    """An error as a person at a terminal should see it."""
    return f"{error.message}\n{error.hint}".rstrip()
