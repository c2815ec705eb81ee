"""What tools changed and what was said, of a stand-in for the kernel."""

from __future__ import annotations

import json
from typing import Any

from homed.errors import Conflict, NotFound

AT = 1_770_000_000.0
FILE = {"kind": "file", "mode": "644", "size": 20, "unkept": ""}


def row(id_: str, seq: int, **more: Any) -> dict[str, Any]:
    """An entry of ``admin.tracker_list``."""
    known = {
        "id": id_, "seq": seq, "at": AT + seq, "ended_at": AT + seq, "state": "done", "plugin": "shell",
        "tool": "cmd_run", "turn": "t1", "thread": "th1", "peer": "webui:owner", "scope": "owner",
        "folder": "/home/mei/项目/holo-notes", "undoes": "", "undone_by": "", "cut": False, "note": "", "created": 1,
        "changed": 2, "deleted": 1,
    }  # fmt: skip
    return {**known, **more}


def file(number: int, path: str, change: str, **more: Any) -> dict[str, Any]:
    """An entry of ``admin.tracker_show``."""
    before, after = (None if change == "created" else FILE), (None if change == "deleted" else FILE)
    return {"number": number, "path": path, "change": change, "before": before, "after": after, "folder": False, **more}


def furnished_changes() -> list[dict[str, Any]]:
    """Some of every kind."""
    return [
        row("back_4", 4, tool="", plugin="files", undoes="chg_1", deleted=0),
        row("chg_3", 3, state="untracked", note="it holds more than 20000 files and folders", created=0, changed=0,
            deleted=0),
        row("chg_2", 2, cut=True),
        row("chg_1", 1, plugin="files", tool="files_edit", created=0, changed=1, deleted=0, undone_by="back_4"),
    ]  # fmt: skip


FILES = [
    file(0, "docs/说明.md", "changed"),
    file(1, "src/main.py", "renamed", **{"from": "src/old_name_that_is_rather_long_for_a_narrow_screen.py"}),
    file(2, "run.sh", "changed", before={**FILE, "mode": "755"}),
    file(3, "<b>new</b>\\n.txt", "created"),
    file(4, "photo.jpg", "deleted"),
    file(5, "assets", "created", folder=True, after={"kind": "folder", "mode": "755"}),
    *(file(number, f"many/{number}.txt", "created") for number in range(6, 40)),
]

DIFF = [
    ["@", "@@ -1,3 +1,3 @@"], [" ", "# 说明"],
    ["-", "旧的一行 <script>alert(1)</script>"], ["+", "新的一行 " + "长" * 120],
    [" ", ""],
]  # fmt: skip


class Kept:
    """``admin.tracker_*`` and ``textlog.read`` in memory.  ``since``: files that were changed since."""

    def __init__(self) -> None:
        self.changes: list[dict[str, Any]] = []
        self.since: list[str] = []
        self.said: list[dict[str, Any]] = []
        self.put_back: list[tuple[str, bool]] = []

    def admin_tracker_list(self, peer: str, limit: int = 50, before: int = 0, **_: Any) -> Any:
        found = [one for one in self.changes if not before or one["seq"] < before]
        return {"changes": found[:limit], "more": len(found) > limit}

    def admin_tracker_show(self, peer: str, set: str, after: int = 0, limit: int = 500) -> Any:
        found = next((one for one in self.changes if one["id"] == set), None)
        if found is None:
            raise NotFound(f"There is no change {set}.")
        return {**found, "files": FILES[after : after + limit], "more": False}

    def admin_tracker_diff(self, peer: str, set: str, number: int) -> Any:
        if set not in {one["id"] for one in self.changes} or not 0 <= number < len(FILES):
            raise NotFound(f"There is no file {number} in the change {set}.")
        known = FILES[number]
        if known["path"] == "photo.jpg":
            return {**known, "kind": "binary", "lines": [], "more": False}
        if known["change"] == "renamed" or known["path"] == "run.sh":
            return {**known, "kind": "same", "lines": [], "more": False}
        return {**known, "kind": "text", "lines": DIFF, "more": number == 0}

    def admin_tracker_rollback(self, peer: str, set: str, force: bool = False) -> Any:
        if self.since and not force:
            files = [{"path": path, "why": "changed", "detail": ""} for path in self.since]
            raise Conflict("Files were changed since then.", detail={"files": files})
        self.put_back.append((set, force))
        self.changes.insert(0, row(f"back_{len(self.changes)}", 9, undoes=set))
        return {"set": self.changes[0]["id"], "restored": 4, "troubles": []}

    def admin_tracker_forget(self, peer: str, set: str) -> Any:
        self.changes = [one for one in self.changes if one["id"] != set]
        return {"entries": 4}

    def textlog_read(self, peer: str, day: str = "", after: int = 0, limit: int = 200) -> Any:
        return {
            "day": day or "2026-01-31",
            "lines": [json.dumps(one) for one in self.said],
            "more": False,
            "next": after,
        }
