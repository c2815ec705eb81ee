"""The tools ``skill_*``.  What is enabled stands, a line each, in the description of ``skill_load``."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import trio

from homed import sdk
from homed.errors import HomedError
from homed.sdk import process

from . import carry, front
from .clean import one_line, visible
from .front import BadSkill
from .shelf import MAX_BYTES, Shelf, Skill, read_unchanged

T = TypeVar("T")

LOAD = "skill_load"
LOOK = "look"
"""The manifest's schedule: folders of the person's may have changed."""
_INDEX = 4000
"""Characters of the index: it is in every request."""
_LINE = 160
_SHOWN = 24_000
"""Characters of a text that is shown before anybody enabled it, and of one file of a skill."""
_LISTED = 100


class Tools:
    """The tools over one shelf, which exists once ``start`` has run."""

    def __init__(self) -> None:
        self._kernel: sdk.Kernel | None = None
        self._shelf: Shelf | None = None
        self._told: object = None
        self._lock = trio.Lock()
        """One look or change at a time: each reads the folders and writes the list anew."""

    async def start(self, kernel: sdk.Kernel) -> None:
        """Look at what there is and offer it."""
        self._kernel = kernel
        self._shelf = Shelf(Path(kernel.data_dir), process.environment())
        await _blocking(carry.recover, self._shelf.own, process.environment())
        await self._look(kernel)

    async def look(self, kernel: sdk.Kernel, _due: sdk.Due) -> None:
        """As often as the schedule says."""
        await self._look(kernel)

    async def setting(self, key: str, _value: object) -> None:
        """The folders have changed."""
        if key == "folders" and self._kernel is not None and self._shelf is not None:
            await self._look(self._kernel)

    async def load(self, ctx: sdk.Context, _name: str, args: Mapping[str, Any]) -> str:
        """``skill_load``: the text of an enabled skill, or one of its files."""
        skill = await self._skill(ctx, str(args.get("name", "")))
        shelf = self._ready()
        if shelf.standing(skill) != "enabled":
            raise sdk.ToolError(f"The skill {skill.name} is {_STANDING[shelf.standing(skill)]}.", hint=_HINT)
        file = str(args.get("file", ""))
        if file:
            return await _blocking(_file_text, skill, file)
        async with self._lock:
            await _blocking(shelf.note_loaded, ctx.thread, skill.name, loaded=True)
        others = [name for name in skill.files if name.lower() != "skill.md"]
        listed = f"\n\nFiles beside it, in {skill.folder}: {', '.join(others[:_LISTED])}" if others else ""
        body = skill.body.replace("{baseDir}", str(skill.folder))
        return f"Skill {skill.name}: follow it for this task.\n\n{body}{listed}"

    async def list(self, ctx: sdk.Context) -> dict[str, object]:
        """See tools/skill_list.md."""
        shelf = await self._look(ctx)
        loaded = shelf.state.loaded.get(ctx.thread, [])
        return {
            "skills": [_row(shelf, skill, loaded) for _, skill in sorted(shelf.skills.items())],
            "hidden_by_another": [one_line(str(skill.folder), 500) for skill in shelf.shadowed],
        }

    async def info(self, ctx: sdk.Context, name: str) -> dict[str, object]:
        """See tools/skill_info.md."""
        skill = await self._skill(ctx, name)
        about = skill.front
        return {
            "name": skill.name, "state": self._ready().standing(skill), "sha256": skill.sha256,
            "description": about.description, "license": about.license, "version": about.version,
            "compatibility": about.compatibility, "homepage": about.homepage,
            "allowed_tools": list(about.allowed_tools), "missing": list(skill.missing), "problem": skill.problem,
            "warnings": list(about.warnings), "folder": str(skill.folder), "files": list(skill.files),
            "text": skill.body[:_SHOWN], "text_cut": len(skill.body) > _SHOWN,
        }  # fmt: skip

    async def unload(self, ctx: sdk.Context, name: str) -> str:
        """See tools/skill_unload.md."""
        shelf = await self._look(ctx)
        if name not in shelf.state.loaded.get(ctx.thread, []):
            raise sdk.ToolError("No such skill is loaded in this conversation.", hint="skill_list shows which are.")
        async with self._lock:
            await _blocking(shelf.note_loaded, ctx.thread, name, loaded=False)
        return f"The skill {name} no longer applies in this conversation: do not follow it any more."

    async def enable(self, ctx: sdk.Context, name: str, sha256: str) -> dict[str, object]:
        """See tools/skill_enable.md."""
        _owner(ctx)
        skill = await self._skill(ctx, name)
        if skill.problem:
            raise sdk.ToolError(f"{name} cannot be enabled: {skill.problem}.")
        if sha256 != skill.sha256:
            raise sdk.ToolError(f"{name} has another sha256.", hint="Read it with skill_info first and give that one.")
        await self._change(ctx, name, sha256)
        return {"name": name, "state": self._ready().standing(skill), "missing": list(skill.missing)}

    async def disable(self, ctx: sdk.Context, name: str) -> dict[str, object]:
        """See tools/skill_disable.md."""
        _owner(ctx)
        shelf = await self._look(ctx)
        if name not in shelf.state.enabled:
            raise sdk.ToolError("No such skill is enabled.", hint="skill_list shows what there is.")
        await self._change(ctx, name, None)
        return {"name": name, "state": "disabled"}

    async def create(self, ctx: sdk.Context, name: str, description: str, text: str) -> dict[str, object]:
        """See tools/skill_create.md."""
        _owner(ctx)
        shelf = await self._look(ctx)
        await _blocking(lambda: carry.create(shelf.own, name, front.write(name, description, text)))
        return await self._brought(ctx, name)

    async def export(self, ctx: sdk.Context, name: str) -> dict[str, object]:
        """See tools/skill_export.md."""
        _owner(ctx)
        skill = await self._skill(ctx, name)
        if skill.problem:
            raise sdk.ToolError(f"{name} cannot be exported: {skill.problem}.")
        out = Path(ctx.data_dir) / "exports" / f"{skill.name}.zip"
        await _blocking(carry.export, skill, out)
        return {"path": str(out), "sha256": skill.sha256}

    async def install(self, ctx: sdk.Context, source: str, replace: bool = False) -> dict[str, object]:
        """See tools/skill_install.md."""
        _owner(ctx)
        shelf = await self._look(ctx)
        with tempfile.TemporaryDirectory(dir=ctx.data_dir, prefix="incoming-") as made:
            found = await _fetched(source, Path(made)) if "://" in source else Path(source)
            if not found.is_absolute() or not await trio.Path(found).exists():
                raise sdk.ToolError(
                    "There is no such file or folder.", hint="Give an absolute path or an https address."
                )
            environment = process.environment()
            skill = await _blocking(lambda: carry.install(found, shelf.own, environment, replace=replace))
        return await self._brought(ctx, skill.name)

    async def _brought(self, ctx: sdk.Context, name: str) -> dict[str, object]:
        """What came in, disabled whatever was enabled under that name before."""
        shelf = await self._look(ctx)
        if name in shelf.state.enabled:
            await self._change(ctx, name, None)
        skill = shelf.skills[name]
        return {
            "name": name, "state": shelf.standing(skill), "sha256": skill.sha256, "files": len(skill.files),
            "missing": list(skill.missing), "warnings": list(skill.front.warnings),
            "next": "An owner reads it (skill_info) and enables it (skill_enable).",
        }  # fmt: skip

    async def _change(self, kernel: sdk.Kernel, name: str, sha256: str | None) -> None:
        """Enable one as it is with that hash, or disable it; what else is enabled is as it is by then."""
        shelf = self._ready()
        async with self._lock:
            shelf.state.enabled.pop(name, None)
            if sha256 is not None:
                shelf.state.enabled[name] = sha256
            await _blocking(shelf.save)
        await self._look(kernel)

    async def _skill(self, kernel: sdk.Kernel, name: str) -> Skill:
        shelf = await self._look(kernel)
        if name not in shelf.skills:
            raise sdk.ToolError(f"There is no skill {one_line(name, 64)!r}.", hint="skill_list shows what there is.")
        return shelf.skills[name]

    async def _look(self, kernel: sdk.Kernel) -> Shelf:
        """Read the folders; tell the kernel when the index is another, and whoever listens what is new."""
        shelf = self._ready()
        async with self._lock:
            new = await _blocking(shelf.look, _folders(kernel.settings.get("folders")))
            tools = [described(shelf.enabled())] if shelf.enabled() else []
            if tools != self._told:
                await kernel.set_tools(tools)
                self._told = tools
        for skill in new:
            with contextlib.suppress(HomedError):  # nobody's skill when no person is there to whom it can be told
                await kernel.publish("skill_detected", skill=skill.name, title=skill.name)
        return shelf

    def _ready(self) -> Shelf:
        if self._shelf is None:
            raise sdk.ToolError("The plugin has not started.")
        return self._shelf


_STANDING = {
    "disabled": "not enabled",
    "changed": "not as it was when it was enabled",
    "lacking": "enabled, and this machine lacks what it needs",
    "broken": "damaged",
}
_HINT = "skill_info shows it; an owner enables it with skill_enable."


def _row(shelf: Shelf, skill: Skill, loaded: Sequence[str]) -> dict[str, object]:
    """Of what nobody enabled only the name is told: its words are a stranger's."""
    state = shelf.standing(skill)
    row: dict[str, object] = {"name": skill.name, "state": state}
    if state == "enabled":
        row["description"] = one_line(skill.front.description, _LINE)
    if skill.name in loaded:
        row["loaded"] = True
    return row


def described(skills: Sequence[Skill]) -> dict[str, Any]:
    """The tool ``skill_load`` with the index of these skills in it."""
    lines, room = [], _INDEX
    offered = [skill for skill in skills if skill.front.invocable]
    for skill in offered:
        line = f"- {skill.name}: {one_line(skill.front.description, _LINE)}"
        if len(line) > room:
            break
        lines.append(line)
        room -= len(line) + 1
    if len(lines) < len(skills):
        lines.append(f"and {len(skills) - len(lines)} more: skill_list")
    text = Path(__file__).with_name("skill_load.md").read_text("utf-8").strip()
    properties = {"name": {"type": "string"}, "file": {"type": "string", "default": ""}}
    return {
        "name": LOAD, "description": "\n".join([text, *lines]), "class": "read", "timeout": 60,
        "parameters": {"type": "object", "properties": properties, "required": ["name"], "additionalProperties": False},
    }  # fmt: skip


def _folders(value: object) -> list[Path]:
    names = value if isinstance(value, list) else []
    return [
        Path(name).expanduser() for name in names if isinstance(name, str) and Path(name).expanduser().is_absolute()
    ]


def _file_text(skill: Skill, name: str) -> str:
    if name not in skill.files:
        raise BadSkill(f"{skill.name} has no file {one_line(name, 100)!r}")
    data = read_unchanged(skill, name)
    try:
        text = visible(data.decode())[0]
    except UnicodeDecodeError:
        return f"{name} is no text: {len(data)} bytes, at {skill.folder / name}"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}\n(cut; the whole is at {skill.folder / name})"


async def _fetched(source: str, into: Path) -> Path:
    from homed.sdk.fetch import fetch  # slow to import

    return (await fetch(source, into / "skill.zip", limit=2 * MAX_BYTES)).path


async def _blocking(function: Callable[..., T], *args: Any, **named: Any) -> T:
    """Run it in a thread, which a cancellation waits for: no skill is left half there.  `BadSkill` → `ToolError`."""
    try:
        return await trio.to_thread.run_sync(lambda: function(*args, **named))
    except BadSkill as error:
        raise sdk.ToolError(f"{str(error)[:1000]}.") from error
    except OSError as error:
        raise sdk.ToolError(f"{error.filename or 'a file'}: {error.strerror}.") from error


def _owner(ctx: sdk.Context) -> None:
    if ctx.role != "owner":
        raise sdk.ToolError("Only an owner may do that with skills.")


def make() -> sdk.Plugin:
    """The plugin with its tools."""
    made, tools = sdk.Plugin("skills"), Tools()
    made.on_start(tools.start)
    made.on("settings")(tools.setting)
    made.schedule(LOOK)(tools.look)
    made.dynamic_tools(tools.load)
    made.tool(name="skill_list", cls="read", parallel_safe=True)(tools.list)
    made.tool(name="skill_info", cls="read", parallel_safe=True, untrusted=True)(tools.info)
    made.tool(name="skill_unload", cls="read")(tools.unload)
    made.tool(name="skill_enable", confirm=True)(tools.enable)
    made.tool(name="skill_disable")(tools.disable)
    made.tool(name="skill_create")(tools.create)
    made.tool(name="skill_export")(tools.export)
    made.tool(name="skill_install", confirm=True, timeout=120)(tools.install)
    return made


plugin = make()
