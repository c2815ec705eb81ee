"""Run one plugin process for one life: start, handshake, init, start; then the ladder; nothing left behind."""

from __future__ import annotations

import logging
import secrets
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import trio

from homed.errors import ConfigError, Conflict, HomedError, ProtocolError, TimedOut, Unavailable
from homed.host.areas import Areas
from homed.host.life import Cause, Ending, Fate, Life, Plan
from homed.host.limits import HostLimits
from homed.host.session import Session, SessionPorts
from homed.host.states import Trust
from homed.host.suits import misfit
from homed.proc.ladder import stop_ladder
from homed.proc.spawn import Child, Command, Exit, Forker, spawn
from homed.wire import methods, version
from homed.wire.manifest import Manifest
from homed.wire.registration import differences

_log = logging.getLogger(__name__)

_LAST_WORDS = 0.5
_SHOWN = 5
"""Differences from the manifest that a person is told at once."""
_UNTALKABLE_GRACE = 1.0
"""Seconds between EOF and SIGTERM for a plugin that cannot be asked: never up, or its conversation is over."""


@dataclass(frozen=True, slots=True)
class LaunchPorts:
    """What launching needs.  ``env`` is all that a child inherits of ours; ``family`` begins all its marks.

    Python plugins are forked by ``zygote``, if there is one.
    """

    family: str
    env: Mapping[str, str]
    config_for: Callable[[str], Mapping[str, object]]
    data_dir: Callable[[str], Path]
    session: Callable[[str], SessionPorts]
    areas: Areas = field(default_factory=Areas)
    zygote: Forker | None = None
    limits: Callable[[], HostLimits] = HostLimits


class ProcessLauncher:
    """The launcher of real processes."""

    def __init__(self, ports: LaunchPorts) -> None:
        self._ports = ports

    async def __call__(self, life: Life) -> Ending:
        """Run ``life`` to its end.  Cancelled, it kills the group at once and reaps before it raises."""
        name = life.plan.name
        ports = self._ports.session(name)
        ports.log.begin()
        try:
            _check_suits(life.plan.manifest)
            data_dir = await trio.to_thread.run_sync(self._ports.data_dir, name)
            command = self._command(life.plan, data_dir)
            with self._ports.areas.of(life.plan) as areas:  # outlives the process: unmapped after the reaping
                command = replace(command, env={**command.env, **areas.env}, pass_fds=areas.pass_fds)
                mark = f"{self._ports.family}:{name}:{secrets.token_hex(4)}"
                async with spawn(command, mark=mark, by=self._ports.zygote) as child:
                    life.started(child.pid)
                    return await self._live(life, child, Session(life, child, ports, areas), data_dir)
        except ConfigError as error:
            return Ending(None, None, str(error), refused=True)
        except HomedError as error:
            return Ending(None, None, str(error))

    def _command(self, plan: Plan, data_dir: Path) -> Command:
        argv = plan.manifest.argv(plan.folder)
        packaged = plan.trust is Trust.PACKAGED
        if packaged and argv[0] == sys.executable:
            # -P: a file in the working folder must not stand in for a module.
            argv = (argv[0], "-P", *argv[1:])
        env = {**self._ports.env, "HOMED_PLUGIN": plan.name}
        return Command(argv, data_dir if packaged else plan.folder, env)

    async def _live(self, life: Life, child: Child, session: Session, data_dir: Path) -> Ending:
        drained = trio.Event()

        async def drain() -> None:
            await session.ports.log.drain(child.stderr)
            drained.set()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(drain)
            nursery.start_soon(session.converse)
            nursery.start_soon(_watch, life, child)
            nursery.start_soon(self._rise, life, session, data_dir)
            fate = await life.doomed()
            exit_ = await _end(life, fate, child, session)
            with trio.move_on_after(_LAST_WORDS):
                await drained.wait()
            nursery.cancel_scope.cancel()
        return _ending(fate, exit_, session)

    async def _rise(self, life: Life, session: Session, data_dir: Path) -> None:
        """Bring the plugin to ready and keep pinging it; a failure dooms the life with its reason."""
        try:
            await self._introduce(life.plan, session, data_dir)
        except TimedOut as error:
            life.doom(Cause.FAILED, error.message)
        except (ConfigError, Conflict, ProtocolError) as error:  # what it answers the same way however often it starts
            life.doom(Cause.REFUSED, str(error))
        except Unavailable as error:
            _log.debug("%s went away during its start: %s", life.plan.name, error)
        except HomedError as error:
            life.doom(Cause.FAILED, f"it could not start: {error}")
        else:
            life.ready(session)
            await session.ping()

    async def _introduce(self, plan: Plan, session: Session, data_dir: Path) -> None:
        areas = dict(session.areas.handshake)
        hello = {"protocol": version.PROTOCOL, "core_version": version.CORE, "name": plan.name, "areas": areas}
        limits = self._ports.limits()
        with trio.move_on_after(limits.handshake) as limit:
            answer = await session.ask(methods.HANDSHAKE, hello)
            _check_protocol(plan.name, answer)
            session.agree(answer)
        if limit.cancelled_caught:
            raise TimedOut(f"it did not answer the handshake within {limits.handshake:g} s")
        with trio.move_on_after(limits.start) as limit:
            init = {"config": dict(self._ports.config_for(plan.name)), "data_dir": str(data_dir)}
            _check_registration(plan.name, differences(plan.manifest, await session.ask(methods.INIT, init)))
            await session.ask(methods.START, {})
        if limit.cancelled_caught:
            raise TimedOut(f"it did not start within {limits.start:g} s")


def _check_suits(manifest: Manifest) -> None:
    if why := misfit(manifest, core=version.CORE, platform=sys.platform):
        raise ConfigError(why, hint="Install a version of the plugin made for this machine and homed, or update homed.")


def _check_protocol(name: str, answer: object) -> None:
    theirs = answer.get("protocol") if isinstance(answer, dict) else None
    if theirs != version.PROTOCOL:
        raise ConfigError(
            f"The plugin {name} speaks protocol {theirs!r}, homed {version.CORE} speaks {version.PROTOCOL}.",
            hint="Install a version of the plugin made for this homed, or update homed.",
        )


def _check_registration(name: str, wrong: Sequence[str]) -> None:
    if wrong:
        more = f"; and {len(wrong) - _SHOWN} more" if len(wrong) > _SHOWN else ""
        raise ConfigError(
            f"The plugin {name} does not register what its manifest says: {'; '.join(wrong[:_SHOWN])[:500]}{more}.",
            hint="Write plugin.json anew: python -m homed.sdk manifest DIR.",
        )


async def _watch(life: Life, child: Child) -> None:
    exit_ = await child.wait()
    life.doom(Cause.EXITED, str(exit_))


async def _end(life: Life, fate: Fate, child: Child, session: Session) -> Exit:
    if fate.cause is Cause.EXITED:
        return await child.wait()
    if fate.cause is Cause.HUNG:
        child.signal_group(signal.SIGKILL)
        return await child.wait()
    if fate.cause is Cause.BROKEN or not life.was_ready:
        return await stop_ladder(child, ask=session.ask_to_stop, grace=_UNTALKABLE_GRACE)
    return await stop_ladder(child, ask=session.ask_to_stop)


def _ending(fate: Fate, exit_: Exit, session: Session) -> Ending:
    return Ending(
        code=None if exit_.signal else exit_.code,
        signal=exit_.signal or None,
        reason=fate.reason,
        stderr=session.ports.log.tail(),
        pending=session.lost,
        asked_for=fate.cause is Cause.ASKED,
        refused=fate.cause is Cause.REFUSED,
        failed=exit_.failed if fate.cause is Cause.EXITED else fate.cause is not Cause.ASKED,
    )
