"""The tools: what a model may ask for, checked and bounded, on top of the domain modules beside this one."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Literal

import trio
from typing_extensions import TypedDict

from homed import sdk

from . import disk
from .edits import Edit, apply
from .pictures import LARGEST, picture
from .roots import Place, Roots, opened
from .text import NotText, Text, decode

DEFAULT_ROOT = "~/homed-files"
MAX_LINES = 2_000
MAX_CHARS = 24_000
"""Characters of file text in one answer; with its JSON below the kernel's limit for a result: nothing is cut twice."""

MAX_MATCHES = 100
SEARCH_SECONDS = 30.0

plugin = sdk.Plugin("files")


class EditArgument(TypedDict):
    """One replacement."""

    old: str
    new: str


def roots_of(settings: Mapping[str, object], home: Path) -> Roots:
    """The allowed folders from the setting ``roots``.  Raises ConfigError for what is no list of absolute folders."""
    value = settings.get("roots", [DEFAULT_ROOT])
    if not isinstance(value, Sequence) or isinstance(value, str) or not all(isinstance(v, str) for v in value):
        raise sdk.ConfigError("The setting plugin.files.roots must be a list of folders.")
    if not value:
        raise sdk.ConfigError("plugin.files.roots names no folder.", hint="Name one, or stop the plugin files.")
    folders = [home / item[2:] if str(item).startswith("~/") else Path(str(item)) for item in value]
    for folder in folders:
        if not folder.is_absolute() or "\0" in str(folder):
            raise sdk.ConfigError(
                f"plugin.files.roots: {str(folder)!r} is no absolute path.", hint="Write it from / or from ~/."
            )
    return Roots(folders)


def _roots(kernel: sdk.Kernel) -> Roots:
    return roots_of(kernel.settings, Path.home())


def _tracked(place: Place) -> list[str]:
    """The one file that is to be changed, for ``Context.tracked``; a root itself never is."""
    return ["/".join(place.parts)] if place.parts else []


@plugin.on_start
def start(kernel: sdk.Kernel) -> None:
    """Refuse to start on a setting that names no folders."""
    _roots(kernel)


@plugin.tool(cls="read", parallel_safe=True)
def files_read(
    ctx: sdk.Context, path: str, offset: int = 1, limit: int = MAX_LINES
) -> dict[str, object] | sdk.WithFiles:
    """Read lines of a text file, or look at a picture (see tools/files_read.md)."""
    if offset < 1 or limit < 1:
        raise sdk.ToolError("`offset` and `limit` start at 1.")
    place = _roots(ctx).locate(path)
    read = disk.read(place)
    if kind := picture(read.data):
        return _picture(place, read, kind)
    found = _text(read, place)
    lines = _lines(found.text)
    shown, cut = _bounded(lines[offset - 1 : offset - 1 + min(limit, MAX_LINES)])
    if offset > max(len(lines), 1):
        raise sdk.ToolError(f"{place} has {len(lines)} lines; line {offset} is past its end.")
    return {
        "path": str(place),
        "text": "".join(shown).replace("\r\n", "\n"),
        "first_line": offset,
        "lines": len(shown),
        "total_lines": len(lines),
        "more": offset - 1 + len(shown) < len(lines),
        "cut_line": cut,
        "encoding": found.encoding,
    }


@plugin.tool(cls="write")
async def files_write(
    ctx: sdk.Context, path: str, text: str, mode: Literal["create", "overwrite", "append"] = "create"
) -> dict[str, object]:
    """Write a text file (see tools/files_write.md)."""
    if mode not in ("create", "overwrite", "append"):
        raise sdk.ToolError(f"There is no mode {mode!r}.", hint="Use create, overwrite or append.")
    place = _roots(ctx).locate(path)
    async with ctx.tracked(place.root, _tracked(place)):
        return await trio.to_thread.run_sync(_written, place, text, mode)


def _written(place: Place, text: str, mode: str) -> dict[str, object]:
    old = disk.read_if_there(place) if mode != "create" else None
    content, encoding = _content(text, old, place, append=mode == "append")
    disk.write(place, content, expect=old)
    return {"path": str(place), "bytes": len(content), "created": old is None, "encoding": encoding}


@plugin.tool(cls="write")
async def files_edit(ctx: sdk.Context, path: str, edits: list[EditArgument]) -> dict[str, object]:
    """Replace exact passages of a text file (see tools/files_edit.md)."""
    place = _roots(ctx).locate(path)
    async with ctx.tracked(place.root, _tracked(place)):
        return await trio.to_thread.run_sync(_edited, place, edits)


def _edited(place: Place, edits: list[EditArgument]) -> dict[str, object]:
    old = disk.read(place)
    found = _text(old, place)
    wanted = [_edit(found, item) for item in edits]
    content = _encode(found.with_text(apply(found.text, wanted)), place)
    disk.write(place, content, expect=old)
    return {"path": str(place), "edits": len(wanted), "bytes": len(content)}


@plugin.tool(cls="read", parallel_safe=True)
def files_ls(ctx: sdk.Context, path: str = "") -> dict[str, object]:
    """List a folder (see tools/files_ls.md)."""
    roots = _roots(ctx)
    place = roots.locate(path or ".")
    known = {"path": str(place), "roots": [str(Place(r, ())) for r in roots.folders]}
    if not place.parts and not os.path.lexists(place.root):  # before the first write: nothing is wrong
        return {**known, "entries": [], "more": False, "note": "Not there yet: the first file written makes it."}
    entries, more = disk.listing(place)
    shown = [{"name": e.name, "type": e.type, "size": e.size, "modified": e.modified} for e in entries]
    return {**known, "entries": shown, "more": more}


@plugin.tool(cls="read", parallel_safe=True)
async def files_search(
    ctx: sdk.Context,
    pattern: str,
    path: str = "",
    glob: str = "",
    regex: bool = False,
    ignore_case: bool = False,
) -> dict[str, object]:
    """Search text in the files below a folder (see tools/files_search.md)."""
    if not pattern:
        raise sdk.ToolError("`pattern` is empty.")
    place = _roots(ctx).locate(path or ".")
    request = {"pattern": pattern, "glob": glob, "regex": regex, "ignore_case": ignore_case}
    body = json.dumps(request | {"limit": MAX_MATCHES}).encode()
    with ExitStack() as stack:
        folder = await trio.to_thread.run_sync(stack.enter_context, opened(place))
        # Through the open descriptor: the child starts in this very folder, whatever its name means by then.
        done = await sdk.process.run(
            [sys.executable, "-I", str(Path(__file__).with_name("searcher.py"))],
            cwd=Path(f"/proc/{os.getpid()}/fd/{folder}"),
            input=body,
            timeout=SEARCH_SECONDS,
            limit=1 << 20,
        )
    return {"path": str(place), **_answer(done)}


def _answer(done: sdk.process.Completed) -> dict[str, object]:
    if done.timed_out:
        raise sdk.ToolError(
            f"The search was stopped after {SEARCH_SECONDS:g} s.", hint="Search a smaller folder or a simpler pattern."
        )
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        raise sdk.ToolError("The search failed.", hint="Search a smaller folder.") from None
    if "error" in answer:
        raise sdk.ToolError(str(answer["error"]))
    return dict(answer)


def _picture(place: Place, found: disk.Found, kind: str) -> sdk.WithFiles:
    if len(found.data) > LARGEST:
        raise sdk.ToolError(f"{place} is a picture of {len(found.data)} bytes; {LARGEST >> 20} MiB are the limit.")
    told: dict[str, object] = {"path": str(place), "picture": kind, "bytes": len(found.data)}
    return sdk.WithFiles(told, [sdk.File(place.parts[-1], found.data, kind)])


def _text(found: disk.Found, place: Place) -> Text:
    try:
        return decode(found.data)
    except NotText:
        raise sdk.ToolError(f"{place} is not a text file ({len(found.data)} bytes).") from None


def _lines(text: str) -> list[str]:
    """Lines with their ends, cut at line feeds only, so that numbers agree with editors and ``files_search``."""
    lines = [line + "\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def _bounded(lines: list[str]) -> tuple[list[str], bool]:
    """As many whole lines as fit into ``MAX_CHARS``; a first line that is longer by itself is cut, and said so."""
    if lines and len(lines[0]) > MAX_CHARS:
        return [lines[0][:MAX_CHARS]], True
    used = 0
    for number, line in enumerate(lines):
        used += len(line)
        if used > MAX_CHARS:
            return lines[:number], False
    return lines, False


def _edit(found: Text, item: EditArgument) -> Edit:
    if not isinstance(item, Mapping) or not all(isinstance(item.get(key), str) for key in ("old", "new")):
        raise sdk.ToolError("Every edit is an object with the texts `old` and `new`.")
    return Edit(found.native(item["old"]), found.native(item["new"]))


def _encode(text: Text, place: Place) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        lacking = text.text[error.start : error.start + 1]
        raise sdk.ToolError(
            f"{place} is in {text.encoding}, which has no {lacking!r}.",
            hint="Leave that character out, or overwrite the whole file, which then becomes UTF-8.",
        ) from None


def _content(text: str, old: disk.Found | None, place: Place, *, append: bool) -> tuple[bytes, str]:
    """The new bytes of a file and their encoding: as the old file was, where there is one and it is text."""
    if old is None:
        return _encode(Text(text), place), "utf-8"
    try:
        before = decode(old.data)
    except NotText:
        if append:
            raise sdk.ToolError(f"{place} is not a text file; nothing was appended.") from None
        return _encode(Text(text), place), "utf-8"
    after = before.with_text((before.text if append else "") + before.native(text))
    try:
        return after.encode(), after.encoding
    except UnicodeEncodeError:
        if append:
            return _encode(after, place), after.encoding  # says which character
        return _encode(Text(after.text), place), "utf-8"
