"""What stands before the first task runs: what the command line said, the keys, the log's redactor, the notices."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field

from homed.clock import WallClock, system_wall_clock
from homed.config.definitions import LOG_LEVEL
from homed.config.environment import Environment, Override, read_environment
from homed.config.lock import data_lock
from homed.config.secrets import Secrets
from homed.events import Bus
from homed.failpoints import Failpoints, NoFailpoints
from homed.host.discover import Broken, Installed, discover, packaged_folder
from homed.host.facilities import Facilities
from homed.host.shelf import Shelf
from homed.lifecycle import report_emptied
from homed.log import logging_to
from homed.order import ORDER
from homed.paths import Paths
from homed.proc.spawn import Forker
from homed.redact import Redactor

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line said.  ``say`` prints a line for the person who started it.

    Plugins in Python are forked from ``zygote``; without one each is started afresh.
    """

    paths: Paths
    say: Callable[[str], None]
    listen: str | None = None
    log_level: str | None = None
    safe: bool = False
    wall: WallClock = system_wall_clock
    failpoints: Failpoints = field(default_factory=NoFailpoints)
    zygote: Callable[[], AbstractAsyncContextManager[Forker | None]] = nullcontext

    @property
    def greeting(self) -> str:
        """Its first words, with what is unusual about this start."""
        mode = " without plugins (--safe): nothing listens until it is started without" if self.safe else ""
        return f"homed is up on {self.paths.data}{mode}."

    def plugins(self) -> Sequence[Installed | Broken]:
        """Every plugin that is installed; none with ``safe``.  One that was being replaced when homed ended is back."""
        if self.safe:
            return []
        for name in Shelf(self.paths.plugins).recover():
            _log.warning("the plugin %s was being replaced when homed ended; the old one is back", name)
        return discover(packaged_folder(), self.paths.plugins)


@dataclass(frozen=True, slots=True)
class Ground:
    """The floor that ``app.run`` builds on."""

    options: Options
    overrides: Mapping[str, Override]
    secrets: Secrets
    redactor: Redactor
    bus: Bus
    facilities: Facilities


@contextmanager
def lay_ground(options: Options) -> Iterator[Ground]:
    """Lock the data folder and log into it, for the length of the block.  Raises a ``HomedError`` if it cannot be."""
    options.paths.create()
    flags = {"plugin.webui.listen": options.listen, LOG_LEVEL: options.log_level}
    given = {key: value for key, value in flags.items() if value is not None}
    environment = read_environment(options.paths.config, flags=given)
    secrets = Secrets(options.paths.secrets, environment.secrets)
    redactor = Redactor(secrets.known())
    with data_lock(options.paths), logging_to(options.paths.log, level="info", redact=redactor.redact):
        report_emptied(options.paths, options.say)
        facilities, bus = Facilities(ORDER, options.failpoints), Bus(options.wall)
        facilities.up("config", "events")
        yield Ground(options, _overrides(options, environment), secrets, redactor, bus, facilities)


def _overrides(options: Options, environment: Environment) -> dict[str, Override]:
    socket = environment.socket or str(options.paths.socket)
    where = Override("plugin.cli.socket", socket, "flag", "the data folder")
    return {**environment.overrides, where.key: where}
