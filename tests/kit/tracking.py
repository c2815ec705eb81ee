"""A tracker on a real store, and a plugin's end of it in the same process: everything but the wire."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import trio

from homed.config.secrets import Secrets
from homed.errors import HomedError, PluginFailed
from homed.sdk.tracking.restore import restore
from homed.sdk.tracking.track import tracked
from homed.settings.registry import Settings, open_settings
from homed.store.db import Store, open_store
from homed.tracker.tracker import Asked, Tracker, TrackerPorts
from homed.wire.methods import TRACKER_RESTORE
from homed.wire.tracked import change_of, decoded

ASKED = Asked(plugin="files", tool="files_edit", call="call_1", turn="turn_1", thread="thr_1", scope="owner", peer="p")


@dataclass
class Desk:
    """``kernel`` is what a plugin calls; ``tracker`` what it reaches."""

    store: Store
    settings: Settings
    tracker: Tracker
    folder: Path
    data_dir: Path
    calls: list[str] = field(default_factory=list)
    refuse: dict[str, HomedError] = field(default_factory=dict)
    asked: Asked = ASKED
    deaths: int = 0
    """Times that the plugin dies when it is told to put something back."""

    async def call(self, method: str, params: Mapping[str, Any]) -> Any:
        """As the API's handlers do, without their checks."""
        self.calls.append(method)
        if method in self.refuse:
            raise self.refuse[method]
        tracker, set_ = self.tracker, str(params.get("set", ""))
        match method:
            case "tracker.begin":
                return await tracker.begin(self.asked, decoded(params["folder"]))
            case "tracker.add":
                found = [change_of(one) for one in params["changes"]]
                return {"missing": await tracker.add("files", set_, found, params["at"])}
            case "tracker.put":
                data, hash_ = decoded(params["data"]), params["hash"]
                await tracker.put("files", set_, hash_, data, params["offset"], last=params["last"])
            case "tracker.finish":
                cut, problem = params.get("cut", False), params.get("problem", "")
                await tracker.finish("files", set_, cut=cut, problem=problem)
            case "tracker.plan":
                return await tracker.plan("files", set_, params["after"])
            case "tracker.get":
                return await tracker.give("files", set_, params["hash"], params["offset"])
        return {}

    @asynccontextmanager
    async def tracked(self, *paths: str | bytes) -> AsyncIterator[str]:
        """As ``Context.tracked``: the whole folder, or these."""
        async with tracked(self, "token", self.folder, list(paths) or None) as set_:
            yield set_

    async def newest(self) -> dict[str, Any]:
        """The newest change, with its files."""
        from homed.tracker.records import Wanted

        listed: Any = await self.tracker.listed(Wanted(1))
        shown: Any = await self.tracker.show(listed["changes"][0]["id"])
        return dict(shown)

    async def count(self) -> int:
        """Sets there are."""
        return int(await self.store.read(lambda tx: tx.value("SELECT count(*) FROM tracker_sets")))

    async def back(self, set_: str, *, force: bool = False) -> dict[str, Any]:
        """Put one back."""
        return await self.tracker.rollback(set_, Asked(plugin="webui", peer="p"), force=force)

    def blobs(self) -> list[str]:
        """Names of the contents on the disk."""
        return sorted(path.name for path in self.tracker._blobs.root.rglob("*") if path.is_file())


class _Plugins:
    def __init__(self) -> None:
        self.desk: Desk | None = None

    async def wait_ready(self, name: str) -> None:
        await trio.lowlevel.checkpoint()

    async def call(self, plugin: str, method: str, params: Mapping[str, object], *, timeout: float) -> object:
        assert (plugin, method) == ("files", TRACKER_RESTORE)
        assert self.desk is not None
        if self.desk.deaths:
            self.desk.deaths -= 1
            raise PluginFailed("files died.")
        return await restore(self.desk, params)


@asynccontextmanager
async def open_desk(tmp: Path) -> AsyncIterator[Desk]:
    """A tracker, a plugin and a work folder below ``tmp``: empty, or as an earlier one left it."""
    data, folder = tmp / "data", tmp / "work"
    for path in (data, folder, data / "plugin-data" / "files"):
        path.mkdir(parents=True, exist_ok=True)
    plugins = _Plugins()
    async with (
        open_store(data / "homed.db") as store,
        open_settings(store, {}, Secrets(data / "secrets.json")) as settings,
    ):
        tracker = Tracker(TrackerPorts(store=store, settings=settings, plugins=plugins, data=data))
        plugins.desk = Desk(store, settings, tracker, folder, data / "plugin-data" / "files")
        yield plugins.desk


def everything(folder: Path) -> dict[bytes, tuple[object, ...]]:
    """Every entry below a folder, byte for byte: kind, permissions, content or target."""
    found: dict[bytes, tuple[object, ...]] = {}
    for above, folders, files in os.walk(os.fsencode(folder)):
        for name in (*folders, *files):
            path = os.path.join(above, name)
            info = os.lstat(path)
            if stat.S_ISLNK(info.st_mode):
                found[path] = ("link", os.readlink(path))
            elif stat.S_ISREG(info.st_mode):
                with open(path, "rb") as file:
                    found[path] = ("file", stat.S_IMODE(info.st_mode), hashlib.sha256(file.read()).hexdigest())
            else:
                found[path] = (stat.S_IFMT(info.st_mode), stat.S_IMODE(info.st_mode))
    return found
