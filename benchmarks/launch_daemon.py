"""A homed for ``benchmarks.launch``: plugins forked or started afresh, all at once or as their manifests say."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

from homed.commands.run import begin_zygote
from homed.paths import Paths


def main(method: str, run: str, data: Path) -> int:
    """``method``: ``plain`` or ``zygote``; ``run``: ``all`` or ``lazy``."""
    paths = Paths(data)
    zygote = begin_zygote(paths) if method == "zygote" else nullcontext
    from homed import app
    from homed.ground import Options
    from homed.host.discover import Broken, Installed

    class Every(Options):
        """Each plugin runs from the start."""

        def plugins(self) -> Sequence[Installed | Broken]:
            return [_eager(plugin) for plugin in Options.plugins(self)]

    def _eager(plugin: Installed | Broken) -> Installed | Broken:
        if isinstance(plugin, Broken):
            return plugin
        return replace(plugin, manifest=replace(plugin.manifest, activation="eager", enabled=True))

    options = Every if run == "all" else Options
    return app.serve(options(paths=paths, say=_hush, zygote=zygote))


def _hush(_: str) -> None:
    """Nobody reads it."""


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1], sys.argv[2], Path(sys.argv[3])))
