"""What runs beside the work from start to stop: signals, settings that take effect live, the first words."""

from __future__ import annotations

import logging
import signal
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import trio

from homed.api.door import PAGE, Door
from homed.clock import WallClock
from homed.config.definitions import LOG_BYTES, LOG_FILES, LOG_LEVEL
from homed.config.secrets import Secrets
from homed.events import PLUGIN_STATE, SYSTEM, Bus
from homed.failpoints import Failpoints
from homed.host.facilities import Facilities
from homed.host.host import Host
from homed.identity.keys import ApiKeys
from homed.identity.logins import Logins
from homed.identity.peers import Directory
from homed.identity.tokens import CallTokens
from homed.log import set_files, set_level
from homed.paths import Paths, data_option
from homed.redact import Redactor
from homed.settings.plugin import split_key
from homed.settings.registry import Settings
from homed.store.db import Store
from homed.store.examine import blank
from homed.wire.stream import homed_error

_log = logging.getLogger(__name__)

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class House:
    """What stands already when the rest is wired."""

    paths: Paths
    store: Store
    settings: Settings
    secrets: Secrets
    redactor: Redactor
    bus: Bus
    host: Host
    door: Door
    logins: Logins
    keys: ApiKeys
    directory: Directory
    tokens: CallTokens
    wall: WallClock
    failpoints: Failpoints
    say: Say
    safe: bool
    facilities: Facilities


async def watch_signals(stop: trio.Event, host: Host, *, task_status: trio.TaskStatus[None]) -> None:
    """The first SIGTERM or SIGINT sets ``stop``; the second kills every plugin and ends everything now."""
    with trio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as received:
        task_status.started()
        async for number in received:
            name = signal.Signals(number).name
            if stop.is_set():
                _log.warning("%s again: ending now", name)
                host.kill_now()
                raise KeyboardInterrupt
            _log.info("%s: stopping", name)
            stop.set()


def cause_of(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """What to raise instead of the nurseries' group: the one error of ours, the second signal, or the group itself."""
    _, rest = group.split(KeyboardInterrupt)
    return KeyboardInterrupt() if rest is None else homed_error(rest) or rest


def apply_log(settings: Settings) -> None:
    """Have the log as it is set: how much, and in which files."""
    set_level(settings.str(LOG_LEVEL))
    set_files(size=settings.int(LOG_BYTES), kept=settings.int(LOG_FILES))


async def follow_settings(
    settings: Settings, host: Host, redactor: Redactor, known: Callable[[], Iterable[str]]
) -> None:
    """Bring changed settings to their readers until cancelled: the log, the redactor (new keys), plugins."""
    with settings.watch() as changes:
        async for key, value in changes:
            redactor.know(known())
            if key in (LOG_LEVEL, LOG_BYTES, LOG_FILES):
                apply_log(settings)
            elif (found := split_key(key)) is not None:
                host.settings_changed(*found, value)


def report_emptied(paths: Paths, say: Say) -> None:
    """Before the database is opened: say that a new one begins where attachments tell that there was one.  Blocks."""
    if not blank(paths.db) or not any(path.is_file() for path in paths.media.rglob("*")):
        return
    found = "is empty" if paths.db.exists() else "is not there"
    message = f"The database {paths.db} {found}, but {paths.media} holds attachments of an earlier one."
    hint = "A new one begins. If that was not meant, stop homed and put a copy of yours in its place."
    _log.warning("%s %s", message, hint)
    say(f"{message}\n  {hint}")


async def report_damage(store: Store, bus: Bus, say: Say) -> None:
    """Say once, everywhere a person may look, that the database is damaged; until cancelled, mostly for nothing."""
    damage = await store.wait_damaged()
    _log.error("%s %s (found: %s)", damage.message, damage.hint, damage.found)
    say(f"{damage.message}\n  {damage.hint}")
    bus.post(SYSTEM, data={"code": "read_only", "message": damage.message, "hint": damage.hint})


async def greet(bus: Bus, logins: Logins, say: Say, paths: Paths) -> None:
    """Say a login link once a page is reachable, and when a plugin needs the person; until cancelled."""
    with bus.subscribe(frozenset({SYSTEM, PLUGIN_STATE})) as notices:
        async for notice in notices:
            data = notice.data
            # only the page itself: a secret printed beside an address somebody else announced would be theirs
            if data.get("code") == "announced" and data.get("plugin") == PAGE and data.get("kind") == "url":
                secret, _ = await logins.make_link()
                say(f"\n  Open  {data['message']}/login#{secret}\n")
                say(f"  It works once, for five minutes; `homed link{data_option(paths.data)}` makes another.\n")
            elif data.get("state") == "stopped" and "attention" in str(data.get("reason")):
                say(f"Plugin {data['plugin']} is stopped: {data['reason']}")
