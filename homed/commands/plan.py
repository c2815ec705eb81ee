"""`homed plan`: in which order the kernel comes up, and which plugin waits for what; works without a daemon."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from homed.commands.output import as_json, table
from homed.commands.place import paths_of
from homed.commands.saying import phrase, translated
from homed.errors import StorageError
from homed.host.discover import Broken, Installed, discover, packaged_folder
from homed.host.facilities import Facilities, Provider
from homed.host.states import Trust
from homed.order import ORDER


def register(commands: Any, common: argparse.ArgumentParser) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "plan",
        parents=[common],
        help="in which order the kernel comes up, and which plugin waits for what",
        description="Show the start order, which module provides each facility, and the waves in which plugins start.\n"
        "Lazy plugins start with the first call, no sooner than their wave.",
        epilog="Examples:\n  homed plan\n  homed plan --svg plan.svg\n  homed plan --json",
    )
    parser.add_argument("--svg", metavar="FILE", default=None, help="write it as a picture")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(handler=run)


@dataclass(frozen=True, slots=True)
class Waiting:
    """A plugin in the plan.  ``wave`` counts from 1, 0 for one that never starts; ``after`` is what it waits for last.

    ``mode``: ``at once``, ``lazy``, ``off`` (until a person starts it), ``broken``.
    """

    name: str
    needs: tuple[str, ...]
    after: str
    wave: int
    mode: str
    trust: str
    blocked: str = ""


@dataclass(frozen=True, slots=True)
class StartPlan:
    """Everything there is to show: facilities in their order, and the plugins by wave and name."""

    order: tuple[Provider, ...]
    plugins: tuple[Waiting, ...]


def make_plan(order: Sequence[Provider], found: Sequence[Installed | Broken]) -> StartPlan:
    """Which plugin starts after which facility."""
    place = {provider.facility: number for number, provider in enumerate(order)}
    facilities = Facilities(order)
    waiting = [_waiting(plugin, place, facilities) for plugin in found]
    lasts = sorted({plugin.after for plugin in waiting if not plugin.blocked}, key=lambda name: place.get(name, -1))
    waves = {name: number for number, name in enumerate(lasts, start=1)}
    placed = [
        Waiting(p.name, p.needs, p.after, 0 if p.blocked else waves[p.after], p.mode, p.trust, p.blocked)
        for p in waiting
    ]
    return StartPlan(tuple(order), tuple(sorted(placed, key=lambda p: (not p.wave, p.wave, p.mode, p.name))))


def _waiting(plugin: Installed | Broken, place: dict[str, int], facilities: Facilities) -> Waiting:
    trust = plugin.trust.value
    if isinstance(plugin, Broken):
        return Waiting(plugin.name, (), "", 0, "broken", trust, f"needs attention: {'; '.join(plugin.errors)}")
    manifest = plugin.manifest
    after = max((need for need in manifest.needs if need in place), key=lambda need: place[need], default="")
    mode = "off" if not manifest.enabled else "lazy" if manifest.activation == "lazy" else "at once"
    return Waiting(plugin.name, manifest.needs, after, 0, mode, trust, facilities.blocked(manifest.needs))


def run(args: argparse.Namespace) -> int:
    """Print the plan, or write its picture."""
    found = discover(packaged_folder(), paths_of(args).plugins)
    plan = make_plan(ORDER, found)
    if args.svg is not None:
        _write(Path(args.svg), plan)
        print(phrase("{svg} written", svg=args.svg))
    elif args.json:
        as_json(_wire(plan))
    else:
        _show(plan)
    return 0


def _write(path: Path, plan: StartPlan) -> None:
    from homed.commands.plan_picture import picture

    try:
        path.write_text(picture(plan), "utf-8")
    except OSError as error:
        raise StorageError(f"{path} cannot be written: {error.strerror}.", hint="Name another file.") from error


def _wire(plan: StartPlan) -> dict[str, object]:
    return {
        "order": [
            {"facility": p.facility, "module": p.module, "needs": list(p.needs), "slow": p.slow} for p in plan.order
        ],
        "plugins": [
            {
                "name": p.name, "needs": list(p.needs), "after": p.after, "wave": p.wave, "mode": p.mode,
                "trust": p.trust, "blocked": p.blocked,
            }
            for p in plan.plugins
        ],
    }  # fmt: skip


def _show(plan: StartPlan) -> None:
    print(phrase("The kernel comes up in this order:\n"))
    table(
        [
            (number, p.facility, ", ".join(p.needs), p.module + (phrase("  (beside the others)") if p.slow else ""))
            for number, p in enumerate(plan.order, start=1)
        ],
        ("", "facility", "needs", "provided by"),
    )
    print(phrase("\nPlugins start as soon as what they need is up:\n"))
    table(
        [(_wave(p), p.name, ", ".join(p.needs), _mode(p)) for p in plan.plugins],
        ("wave", "plugin", "waits for", "starts"),
    )


def _wave(plugin: Waiting) -> str:
    return str(plugin.wave) if plugin.wave else "-"


def _mode(plugin: Waiting) -> str:
    outside = f"  ({phrase(plugin.trust)})" if plugin.trust == Trust.EXTERNAL.value else ""
    words = {"lazy": "with the first call", "off": "when a person starts it"}.get(plugin.mode, plugin.mode)
    return f"{translated(plugin.blocked) or phrase(words)}{outside}"
