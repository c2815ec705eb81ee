"""The build step that finds the start order: ``python -m homed.facilities`` writes ``homed/order.py``.

A kernel module that provides a facility says so in two constants, ``PROVIDES = ("store",)`` and
``NEEDS = ("config",)``, and in a third, ``SLOW = True``, if it comes up beside the others.  They are read from the
source, so that nothing is imported.  The running daemon never sorts.
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from homed.errors import ConfigError
from homed.host.facilities import Provider
from homed.wire.facilities import FACILITIES

ROOT = Path(__file__).parent
COMMITTED = ROOT / "order.py"

_CONSTANTS: Mapping[str, type] = {"PROVIDES": tuple, "NEEDS": tuple, "SLOW": bool}
_MEND = "Mend PROVIDES and NEEDS in these modules, then: python -m homed.facilities."


def collect(root: Path, package: str = "homed") -> list[Provider]:
    """Every provider below ``root``, by module.  Raises `ConfigError` for constants that are no literals."""
    found = []
    for path in sorted(root.rglob("*.py")):
        source = path.read_text("utf-8")
        if "PROVIDES" not in source:
            continue
        parts = path.relative_to(root).with_suffix("").parts
        module = ".".join((package, *parts)).removesuffix(".__init__")
        said = _said(ast.parse(source), module)
        needs, slow = said.get("NEEDS", ()), said.get("SLOW", False)
        found += [Provider(name, module, needs, slow) for name in said.get("PROVIDES", ())]
    return found


def _said(tree: ast.Module, module: str) -> dict[str, Any]:
    """The constants that stand there, each of its type."""
    said: dict[str, Any] = {}
    for node in tree.body:
        target = node.targets[0] if isinstance(node, ast.Assign) else None
        if isinstance(node, ast.Assign) and isinstance(target, ast.Name) and target.id in _CONSTANTS:
            kind = _CONSTANTS[target.id]
            try:
                value = ast.literal_eval(node.value)
            except ValueError:
                value = None
            if not isinstance(value, kind):
                raise ConfigError(f"{target.id} in {module} is no literal {kind.__name__}.", hint=_MEND)
            said[target.id] = value
    return said


def arrange(providers: Iterable[Provider]) -> tuple[Provider, ...]:
    """The providers so that each stands after what it needs: by how much is below them, then by name; slow ones last.

    Raises `ConfigError` naming the whole cycle, both sides of a missing provider, both providers of one facility, or
    a word that no manifest could use.
    """
    named: dict[str, Provider] = {}
    for provider in providers:
        if provider.facility in named:
            both = f"{named[provider.facility].module} and {provider.module}"
            raise ConfigError(f"{both} both provide {provider.facility}.", hint=_MEND)
        named[provider.facility] = provider
    for provider in named.values():
        _check(provider, named)
    order: list[Provider] = []
    left = dict(named)
    while left:
        done = {provider.facility for provider in order}
        ready = [provider for provider in left.values() if done.issuperset(provider.needs)]
        if not ready:
            raise ConfigError(f"Facilities need each other in a circle: {' → '.join(_circle(left))}.", hint=_MEND)
        order += sorted(ready, key=lambda provider: provider.facility)
        for provider in ready:
            del left[provider.facility]
    return tuple(sorted(order, key=lambda provider: provider.slow))


def _check(provider: Provider, named: dict[str, Provider]) -> None:
    if provider.facility not in FACILITIES:
        raise ConfigError(
            f"{provider.module} provides {provider.facility!r}, which is no facility.",
            hint="The words stand in homed/wire/facilities.py.",
        )
    for need in provider.needs:
        if need not in named:
            raise ConfigError(
                f"{provider.facility} ({provider.module}) needs {need}, which no module provides.", hint=_MEND
            )
        if named[need].slow and not provider.slow:
            raise ConfigError(
                f"{provider.facility} ({provider.module}) needs {need} ({named[need].module}), which is slow:"
                f" then {provider.facility} is slow too.",
                hint="Say SLOW = True, so that the start does not wait for it.",
            )


def _circle(left: dict[str, Provider]) -> list[str]:
    """One whole cycle among providers of which each needs another of them, its first at both ends."""
    path = [min(left)]
    while True:
        follow = min(need for need in left[path[-1]].needs if need in left)
        if follow in path:
            circle = path[path.index(follow) :]
            first = circle.index(min(circle))
            return [*circle[first:], *circle[:first], circle[first]]
        path.append(follow)


def render(order: Sequence[Provider]) -> str:
    """The text of ``homed/order.py``."""
    lines = "\n".join(f"    {_row(provider)}," for provider in order)
    return (
        '"""The order in which the kernel\'s facilities come up.\n\n'
        "Generated by ``python -m homed.facilities`` from what the modules say; do not edit.\n"
        '"""\n\nfrom __future__ import annotations\n\nfrom homed.host.facilities import Provider\n\n'
        f"ORDER: tuple[Provider, ...] = (\n{lines}\n)\n"
    )


def _row(provider: Provider) -> str:
    needs = ", ".join(f'"{need}"' for need in provider.needs) + ("," if len(provider.needs) == 1 else "")
    rest = f", ({needs})" if provider.needs else ""
    return f'Provider("{provider.facility}", "{provider.module}"{rest}{", slow=True" if provider.slow else ""})'


def main(argv: Sequence[str] | None = None) -> int:
    """Write the order anew if it is another; with ``--check`` only say so (1)."""
    parser = argparse.ArgumentParser(prog="python -m homed.facilities")
    parser.add_argument("--check", action="store_true", help="change nothing; 1 when the committed order is stale")
    args = parser.parse_args(argv)
    try:
        text = render(arrange(collect(ROOT)))
    except ConfigError as error:
        sys.stderr.write(f"homed.facilities: {error.message}\n  {error.hint}\n")
        return 1
    if text == (COMMITTED.read_text("utf-8") if COMMITTED.exists() else ""):
        return 0
    if args.check:
        sys.stderr.write("homed/order.py is stale: python -m homed.facilities\n")
        return 1
    COMMITTED.write_text(text, "utf-8")
    sys.stdout.write("homed/order.py written\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
