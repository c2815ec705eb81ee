"""The start plan as an SVG picture: facilities from left to right as they come up, below them the plugins they free.

Colours follow the reader's light or dark.  Everything that a plugin could have written is escaped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from homed.commands.output import width
from homed.commands.plan import StartPlan, Waiting
from homed.host.facilities import Provider

_COLUMN, _BOX, _HIGH, _ROW = 180, 136, 46, 64
_LEFT, _TOP = 28, 92
_CHIP, _CHIP_ROW = 26, 32
_NAME, _MODULE = 16, 24
"""Columns of text that a chip and a module line take."""

_STYLE = """
  svg { color-scheme: light dark; }
  .page { fill: #fbfbfd; } .title, .name { fill: #1b1f2a; } .soft { fill: #687085; }
  .box { fill: #ffffff; stroke: #c9cfdd; } .slow { stroke-dasharray: 5 4; }
  .frees { stroke: #3f6fd8; stroke-width: 1.6; }
  .edge { fill: none; stroke: #b4bccd; stroke-width: 1.4; } .tip { fill: #b4bccd; } .rule { stroke: #e4e7ef; }
  .once { fill: #3f6fd8; } .oncetext { fill: #ffffff; }
  .lazy { fill: #e9effc; stroke: #9db6ee; } .lazytext { fill: #274a9c; }
  .off { fill: none; stroke: #c9cfdd; stroke-dasharray: 3 3; } .offtext { fill: #687085; }
  .blocked { fill: #fdecea; stroke: #e09b92; } .blockedtext { fill: #9c2b1d; }
  @media (prefers-color-scheme: dark) {
    .page { fill: #14171f; } .title, .name { fill: #eceff6; } .soft { fill: #949db3; }
    .box { fill: #1e232f; stroke: #3b4356; } .frees { stroke: #7ba2f5; }
    .edge { stroke: #525c73; } .tip { fill: #525c73; } .rule { stroke: #2a303d; }
    .once { fill: #7ba2f5; } .oncetext { fill: #10141d; }
    .lazy { fill: #222d47; stroke: #47639f; } .lazytext { fill: #bcd0fb; }
    .off { stroke: #4a5367; } .offtext { fill: #949db3; }
    .blocked { fill: #3a2020; stroke: #8d4a42; } .blockedtext { fill: #f5b5ac; }
  }
  text { font-family: system-ui, 'Segoe UI', Roboto, 'Noto Sans', 'Noto Sans CJK SC', sans-serif; }
"""

_BOLD, _MIDDLE = ' font-weight="600"', ' text-anchor="middle"'
_KEY = (("once", "at once"), ("lazy", "with the first call"), ("off", "when a person starts it"), ("blocked", "never"))
_CLASS = {"at once": "once", "lazy": "lazy", "off": "off"}


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a facility's box stands, in pixels, and in which column."""

    x: int
    y: int
    column: int


def picture(plan: StartPlan) -> str:
    """The whole SVG document."""
    depth = depths(plan.order)
    spots = _spots(plan.order, depth)
    frees = {plugin.after for plugin in plan.plugins if plugin.wave}
    floor = max((spot.y for spot in spots.values()), default=_TOP) + _HIGH + 40
    chips, bottom = _plugins(plan.plugins, spots, floor)
    wide = _LEFT * 2 + _COLUMN * max(max(depth.values(), default=0) + 1, 5) - (_COLUMN - _BOX)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {bottom}" width="{wide}" height="{bottom}"'
        ' role="img" aria-label="The start plan of homed">',
        f"<style>{_STYLE}</style>",
        f'<rect class="page" width="{wide}" height="{bottom}"/>',
        _text(_LEFT, 40, "How homed starts", "title", 20, _BOLD),
        _text(_LEFT, 62, "Facilities come up from left to right; each plugin starts when the last it needs is up.",
              "soft", 13),
        *(_edge(spots[need], spots[p.facility]) for p in plan.order for need in _direct(p, plan.order)),
        *(_box(p, spots[p.facility], p.facility in frees) for p in plan.order),
        f'<path class="rule" d="M{_LEFT} {floor - 12}H{wide - _LEFT}"/>',
        *chips,
        *_key(bottom - 30),
        "</svg>",
    ]  # fmt: skip
    return "\n".join(parts) + "\n"


def depths(order: Sequence[Provider]) -> dict[str, int]:
    """How many facilities come up one after the other before each; ``order`` as committed."""
    found: dict[str, int] = {}
    for provider in order:
        found[provider.facility] = max((found[need] + 1 for need in provider.needs), default=0)
    return found


def _spots(order: Sequence[Provider], depth: Mapping[str, int]) -> dict[str, Spot]:
    counts: dict[int, int] = {}
    spots = {}
    for provider in order:
        column = depth[provider.facility]
        row = counts.get(column, 0)
        counts[column] = row + 1
        spots[provider.facility] = Spot(_LEFT + column * _COLUMN, _TOP + row * _ROW, column)
    return spots


def _direct(provider: Provider, order: Sequence[Provider]) -> list[str]:
    """The needs that no other need of it brings along: an arrow for each of the others would only tangle."""
    below: dict[str, set[str]] = {}
    for one in order:
        below[one.facility] = set(one.needs).union(*(below[need] for need in one.needs))
    return [need for need in provider.needs if not any(need in below[other] for other in provider.needs)]


def _edge(start: Spot, end: Spot) -> str:
    x1, y1, x2, y2 = start.x + _BOX, start.y + _HIGH // 2, end.x - 5, end.y + _HIGH // 2
    between = _COLUMN - _BOX
    bend = x2 - between // 2
    if end.column - start.column > 1:  # between two rows, so that it crosses no box
        gap, first, last = start.y + (_HIGH + _ROW) // 2, x1 + between, end.x - between
        line = f"M{x1} {y1}C{x1 + between // 2} {y1} {x1 + between // 2} {gap} {first} {gap}"
        line += f"H{last}C{bend} {gap} {bend} {y2} {x2} {y2}"
    elif y1 != y2:
        line = f"M{x1} {y1}C{bend} {y1} {bend} {y2} {x2} {y2}"
    else:
        line = f"M{x1} {y1}H{x2}"
    return f'<path class="edge" d="{line}"/><path class="tip" d="M{x2 + 5} {y2}l-8 -4v8z"/>'


def _box(provider: Provider, spot: Spot, frees: bool) -> str:
    kind = "box" + (" slow" if provider.slow else "") + (" frees" if frees else "")
    module = provider.module.removeprefix("homed.")
    return (
        f'<rect class="{kind}" x="{spot.x}" y="{spot.y}" width="{_BOX}" height="{_HIGH}" rx="8"/>'
        + _text(spot.x + 12, spot.y + 20, provider.facility, "name", 14, _BOLD)
        + _text(spot.x + 12, spot.y + 36, _cut(module, _MODULE), "soft", 10)
    )


def _plugins(plugins: Sequence[Waiting], spots: Mapping[str, Spot], floor: int) -> tuple[list[str], int]:
    """The chips by wave, each below the facility that frees it, and the height of the picture."""
    parts: list[str] = []
    ends: dict[int, int] = {}
    groups: dict[tuple[int, str], list[Waiting]] = {}
    for plugin in plugins:
        groups.setdefault((plugin.wave, plugin.after if plugin.wave else ""), []).append(plugin)
    last = max((spot.column for spot in spots.values()), default=0)
    for (wave, after), members in groups.items():
        column = spots[after].column if after in spots else 0 if wave else last
        x, y = _LEFT + column * _COLUMN, ends.get(column, floor + 16)
        head = f"wave {wave}" + (f" · after {after}" if after else "") if wave else "never, as it is"
        parts.append(_text(x, y, head, "soft", 12, _BOLD))
        for row, plugin in enumerate(members):
            parts.append(_chip(plugin, x, y + 12 + row * _CHIP_ROW))
        ends[column] = y + 12 + len(members) * _CHIP_ROW + 26
    return parts, max(ends.values(), default=floor) + 44


def _chip(plugin: Waiting, x: int, y: int) -> str:
    kind = "blocked" if plugin.blocked else _CLASS[plugin.mode]
    waits = plugin.blocked or (f"waits for {', '.join(plugin.needs)}" if plugin.needs else "waits for nothing")
    return (
        f"<g><title>{escape(f'{plugin.name}: {waits}')}</title>"
        f'<rect class="{kind}" x="{x}" y="{y}" width="{_BOX}" height="{_CHIP}" rx="13"/>'
        + _text(x + _BOX // 2, y + 17, _cut(plugin.name, _NAME), f"{kind}text", 12, _MIDDLE)
        + "</g>"
    )


def _key(y: int) -> list[str]:
    parts, x = [_text(_LEFT, y, "starts", "soft", 12)], _LEFT + 52
    for kind, words in _KEY:
        parts.append(f'<rect class="{kind}" x="{x}" y="{y - 11}" width="22" height="14" rx="7"/>')
        parts.append(_text(x + 30, y, words, "soft", 12))
        x += 58 + 7 * len(words)
    parts.append(f'<rect class="box slow" x="{x}" y="{y - 11}" width="22" height="14" rx="4"/>')
    parts.append(_text(x + 30, y, "comes up beside the others", "soft", 12))
    return parts


def _text(x: int, y: int, words: str, kind: str, size: int, more: str = "") -> str:
    return f'<text class="{kind}" x="{x}" y="{y}" font-size="{size}"{more}>{escape(words)}</text>'


def _cut(words: str, most: int) -> str:
    if width(words) <= most:
        return words
    while width(words) > most - 1:
        words = words[:-1]
    return f"{words}…"
