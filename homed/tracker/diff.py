"""Two contents of a file, as lines that differ; pairs of a deleted and a created file that are one renamed.  Pure."""

from __future__ import annotations

import difflib
from collections import defaultdict
from collections.abc import Mapping, Sequence

from homed.wire.tracked import FILE, FOLDER, LINK, Change, State, printable

MOST_BYTES = 512 * 1024
"""Of both contents together: more is not compared line by line, which takes time with the square of it."""

MOST_LINES = 6_000
SHOWN_LINES = 2_000
SHOWN_WIDTH = 2_000
"""Characters of a line that are shown."""

EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
"""The sha256 of nothing: empty files are all alike."""


def text_of(data: bytes) -> str | None:
    """The text, or None for what is none."""
    if b"\0" in data[:8192] and not data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return None
    for encoding in ("utf-8", "utf-16" if data.startswith((b"\xff\xfe", b"\xfe\xff")) else "gb18030"):
        try:
            return data.decode(encoding)
        except UnicodeError:
            continue
    return None


def difference(before: bytes | None, after: bytes | None) -> dict[str, object]:
    """``{kind, lines, more}``: ``text`` with lines ``[sign, text]``, ``binary`` or ``large``.

    A sign is @, space, + or -.  None: there was, or is, no file.
    """
    if len(before or b"") + len(after or b"") > MOST_BYTES:
        return {"kind": "large", "lines": [], "more": False}
    then, now = text_of(before or b""), text_of(after or b"")
    if then is None or now is None:
        return {"kind": "binary", "lines": [], "more": False}
    old, new = then.splitlines(keepends=True), now.splitlines(keepends=True)
    if len(old) + len(new) > MOST_LINES:
        return {"kind": "large", "lines": [], "more": False}
    lines: list[list[str]] = []
    for line in difflib.unified_diff(old, new, n=3):
        if line.startswith(("--- ", "+++ ")) and not lines:
            continue
        if len(lines) >= SHOWN_LINES:
            return {"kind": "text", "lines": lines, "more": True}
        lines.append(_shown(line))
    return {"kind": "text", "lines": lines, "more": False}


def _shown(line: str) -> list[str]:
    if line.startswith("@@"):
        return ["@", line.strip()]
    sign, text = line[0], line[1:]
    ended = text.endswith("\n")
    text = text.rstrip("\n")
    carriage = "␍" if text.endswith("\r") else ""  # else two lines that differ in their ends alone look the same
    text = text.rstrip("\r")
    shown = text if len(text) <= SHOWN_WIDTH else f"{text[:SHOWN_WIDTH]}…"
    return [sign, f"{shown}{carriage}{'' if ended else ' ⏎̸'}"]


def renames(changes: Sequence[Change]) -> Mapping[bytes, bytes]:
    """New path → old path, of files that have another name and the same content, and of links."""
    gone: dict[object, list[bytes]] = defaultdict(list)
    for change in changes:
        if change.kind == "deleted" and (key := _key(change.before)):
            gone[key].append(change.path)
    found = {}
    for change in changes:
        if change.kind == "created" and (key := _key(change.after)) and gone[key]:
            same = [path for path in gone[key] if path.rpartition(b"/")[2] == change.path.rpartition(b"/")[2]]
            old = (same or gone[key])[0]
            gone[key].remove(old)
            found[change.path] = old
    return found


def _key(state: State | None) -> object:
    if state is None or state.kind not in (FILE, LINK) or state.hash == EMPTY:
        return None
    return (state.kind, state.hash, state.target, state.stamp) if state.hash or state.target else None


def state_view(state: State | None) -> dict[str, object] | None:
    """A state as people see it."""
    if state is None:
        return None
    view: dict[str, object] = {"kind": state.kind, "mode": f"{state.mode:o}"}
    if state.kind == FILE:
        view |= {"size": state.size, "unkept": state.unkept}
    if state.kind == LINK:
        view["target"] = printable(state.target)
    return view


def views(changes: Sequence[Change], *, start: int) -> list[dict[str, object]]:
    """Entries as ``admin.tracker_show`` has them, numbered from ``start``; a rename is told at its new name."""
    old = renames(changes)
    hidden = set(old.values())
    found = []
    for number, change in enumerate(changes, start):
        kind = "renamed" if change.path in old else "moved" if change.path in hidden else change.kind
        entry: dict[str, object] = {
            "number": number, "path": printable(change.path), "change": kind, "before": state_view(change.before),
            "after": state_view(change.after), "folder": FOLDER in (_kind(change.before), _kind(change.after)),
        }  # fmt: skip
        if change.path in old:
            entry["from"] = printable(old[change.path])
        found.append(entry)
    return found


def _kind(state: State | None) -> str:
    return state.kind if state is not None else ""
