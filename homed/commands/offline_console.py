"""The memory console on a folder that no daemon holds: found by words alone, and nobody is told of a change."""

from __future__ import annotations

from homed.jobs.console.ports import ConsolePorts, Folders
from homed.jobs.upkeep import backups_folder
from homed.memory.ports import Embedder
from homed.paths import Paths
from homed.redact import Redactor
from homed.retrieval.embed.current import Standing
from homed.settings.registry import Settings
from homed.store.db import Store


class NoEmbedder:
    """None is loaded for one question; vectors that are missing are made once homed runs."""

    current: Embedder | None = None
    standing = Standing("", "", "", "")
    trouble = ""

    def wake(self) -> None:
        """Nobody makes vectors."""

    def post(self, type_: str, *, scope: str = "", data: dict[str, object]) -> object:
        """Nobody listens."""


def console_ports(paths: Paths, store: Store, settings: Settings, redactor: Redactor) -> ConsolePorts:
    """What the console needs."""
    absent = NoEmbedder()
    folders = Folders(paths.data, paths.db, paths.vectors, paths.media, backups_folder(paths.data))
    return ConsolePorts(
        store=store, settings=settings, redactor=redactor, bus=absent, embedder=absent, dense=absent, folders=folders,
        know=redactor.know,
    )  # fmt: skip
