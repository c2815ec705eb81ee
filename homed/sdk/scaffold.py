"""``new`` writes a plugin that works, with its test; ``manifest`` brings a ``plugin.json`` in step with its code."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from homed.errors import ConfigError, Conflict, HomedError, InvalidInput
from homed.proc.bounded import run_bounded
from homed.sdk.entry import DESCRIBE
from homed.sdk.launch import command, fresh_mark
from homed.wire.manifest import FILE_NAME, LUA, NAME, load_manifest

_TEMPLATE = Path(__file__).with_name("template")
_LIMIT = 30.0
"""Seconds for a plugin to describe itself; it is imported, nothing more."""

GENERATED = ("tools", "stages", "outputs", "inputs", "cleaners")
"""The fields of a manifest that come from the code."""


async def new(name: str, into: Path, lang: str = "python") -> Path:
    """Write the plugin ``name`` in one of `LANGUAGES` into the new folder ``into/name`` and return that folder."""
    if not NAME.fullmatch(name):
        raise InvalidInput(f"{name!r} is no name for a plugin.", hint=f"It must match {NAME.pattern}: try my_plugin.")
    if lang not in LANGUAGES:
        raise InvalidInput(f"There is no template for {lang!r}.", hint=f"There are: {', '.join(LANGUAGES)}.")
    folder = into / name
    manifest = _first_manifest(name, LANGUAGES[lang])
    try:
        folder.mkdir(parents=True)
        for source, target in LANGUAGES[lang].files.items():
            text = _filled_in((_TEMPLATE / source).read_text(encoding="utf-8"), name, lang)
            (folder / target.format(name=name)).write_text(text, encoding="utf-8")
        _write(folder, manifest)
    except FileExistsError:
        raise Conflict(f"{folder} exists already.", hint="Take another name, or another --dir.") from None
    except OSError as error:
        raise InvalidInput(f"{folder} cannot be written: {error.strerror}.") from error
    if describes_itself(manifest["entry"]):
        await update_manifest(folder)
    return folder


@dataclass(frozen=True, slots=True)
class Language:
    """A template: ``files`` of the template folder → their names in the plugin's."""

    entry: str
    files: Mapping[str, str]


_TEST = {"program_test.py.txt": "test_{name}.py"}
LANGUAGES: Mapping[str, Language] = {
    "python": Language(
        "python __main__.py",
        {
            "python/plugin.py.txt": "{name}_plugin.py", "python/main.py.txt": "__main__.py",
            "python/test.py.txt": "test_{name}_plugin.py", "python/README.md.txt": "README.md",
            "python/pytest.ini.txt": "pytest.ini",
        },
    ),
    "lua": Language(LUA, {"lua/main.lua.txt": "main.lua", "lua/README.md.txt": "README.md", **_TEST}),
    "c": Language(
        "./{name}",
        {
            "c/plugin.c.txt": "{name}.c", "c/wire.h": "wire.h", "c/json.h": "json.h", "c/Makefile.txt": "Makefile",
            "c/README.md.txt": "README.md", **_TEST,
        },
    ),
    "node": Language(
        "node main.js",
        {
            "node/main.js.txt": "main.js", "node/wire.js": "wire.js", "node/README.md.txt": "README.md", **_TEST,
        },
    ),
}  # fmt: skip
"""What ``new --lang`` takes."""

_MAKE = """

def setup_module() -> None:
    subprocess.run(["make", "-s"], cwd=FOLDER, check=True)

"""


def _filled_in(text: str, name: str, lang: str) -> str:
    make = lang == "c"
    pieces = {"name": name, "prepare_import": "import subprocess\n" if make else "", "prepare": _MAKE if make else ""}
    for key, value in pieces.items():
        text = text.replace(f"{{{{{key}}}}}", value)
    return text


def describes_itself(entry: str) -> bool:
    """Whether the code says what its tools are; elsewhere they stand in ``plugin.json`` as its author wrote them."""
    return entry.strip().startswith("python") or entry.strip() == LUA


def _first_manifest(name: str, language: Language) -> dict[str, Any]:
    manifest: dict[str, Any] = {
        "name": name,
        "version": "0.1.0",
        "description": f"What {name} does, in one sentence.",
        "author": "",
        "license": "AGPL-3.0-only",
        "entry": language.entry.format(name=name),
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
    return manifest if describes_itself(manifest["entry"]) else {**manifest, "tools": [_greet(name)]}


def _greet(name: str) -> dict[str, Any]:
    who = {"type": "string", "description": "The name of the person to greet."}
    loudly = {"type": "boolean", "description": "Whether to write it in capitals.", "default": False}
    return {
        "name": f"{name}_greet",
        "description": "Greet somebody in the words set for this plugin.",
        "parameters": {
            "type": "object",
            "properties": {"who": who, "loudly": loudly},
            "additionalProperties": False,
            "required": ["who"],
        },
        "class": "read",
        "timeout": 60,
        "parallel_safe": True,
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
        return {key: described.get(key, []) if key == "cleaners" else described[key] for key in GENERATED}
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
