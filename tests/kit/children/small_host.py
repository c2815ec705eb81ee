"""A daemon of nothing but a store and a host, to be killed from outside: ``small_host.py FOLDER NAME=MODE…``.

Prints the pids of its plugins, one line, once all of them are ready.
"""

from __future__ import annotations

import sys
from pathlib import Path

import trio

from homed.proc.reap import become_subreaper
from tests.kit.hosting import hosting, manifest


async def main(folder: Path, modes: dict[str, str]) -> None:
    async with hosting(folder, *(manifest(name, mode) for name, mode in modes.items())) as host:
        for name in modes:
            await host.wait_ready(name)
        print(*(status.pid for status in host.statuses()), flush=True)
        await trio.sleep_forever()


if __name__ == "__main__":
    become_subreaper()
    trio.run(main, Path(sys.argv[1]), dict(arg.split("=") for arg in sys.argv[2:]))
