"""Growth curves as a picture: both axes logarithmic, SVG by hand, legible on light and dark."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

WIDTH, HEIGHT = 720, 420
LEFT, RIGHT, TOP, BOTTOM = 70, 200, 40, 50
COLORS = ("#2563eb", "#d97706", "#059669", "#db2777", "#7c3aed", "#475569")

Curve = Sequence[tuple[float, float]]
"""Points (x, y), both above 0."""


def picture(title: str, x_name: str, y_name: str, curves: Mapping[str, Curve]) -> str:
    """The SVG.  There must be a point."""
    points = [point for curve in curves.values() for point in curve]
    across, up = _axis([x for x, _ in points]), _axis([y for _, y in points])
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif"'
        ' font-size="12" role="img">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        f'<text x="{LEFT}" y="22" font-size="15" fill="#0f172a">{escape(title)}</text>',
        *_grid(across, up),
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 10}" fill="#334155" text-anchor="middle">'
        f"{escape(x_name)}</text>",
        f'<text x="16" y="{HEIGHT / 2}" fill="#334155" text-anchor="middle"'
        f' transform="rotate(-90 16 {HEIGHT / 2})">{escape(y_name)}</text>',
    ]
    for at, (name, curve) in enumerate(curves.items()):
        parts += _curve(name, sorted(curve), COLORS[at % len(COLORS)], at, across, up)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _axis(values: Sequence[float]) -> tuple[int, int]:
    """Powers of ten around all values."""
    first, last = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return first, max(last, first + 1)


def _place(value: float, axis: tuple[int, int], begin: float, end: float) -> float:
    share = (math.log10(value) - axis[0]) / (axis[1] - axis[0])
    return round(begin + share * (end - begin), 1)


def _x(value: float, axis: tuple[int, int]) -> float:
    return _place(value, axis, LEFT, WIDTH - RIGHT)


def _y(value: float, axis: tuple[int, int]) -> float:
    return _place(value, axis, HEIGHT - BOTTOM, TOP)


def _grid(across: tuple[int, int], up: tuple[int, int]) -> list[str]:
    parts = []
    for power in range(across[0], across[1] + 1):
        x = _x(10.0**power, across)
        parts.append(f'<line x1="{x}" y1="{TOP}" x2="{x}" y2="{HEIGHT - BOTTOM}" stroke="#e2e8f0"/>')
        parts.append(
            f'<text x="{x}" y="{HEIGHT - BOTTOM + 18}" fill="#334155" text-anchor="middle">{_said(power)}</text>'
        )
    for power in range(up[0], up[1] + 1):
        y = _y(10.0**power, up)
        parts.append(f'<line x1="{LEFT}" y1="{y}" x2="{WIDTH - RIGHT}" y2="{y}" stroke="#e2e8f0"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y + 4}" fill="#334155" text-anchor="end">{_said(power)}</text>')
    return parts


def _curve(name: str, curve: Curve, color: str, at: int, across: tuple[int, int], up: tuple[int, int]) -> list[str]:
    places = [(_x(x, across), _y(y, up)) for x, y in curve]
    line = " ".join(f"{x},{y}" for x, y in places)
    label = TOP + 16 * at + 6
    return [
        f'<polyline points="{line}" fill="none" stroke="{color}" stroke-width="2"/>',
        *(f'<circle cx="{x}" cy="{y}" r="3" fill="{color}"/>' for x, y in places),
        f'<rect x="{WIDTH - RIGHT + 14}" y="{label - 9}" width="10" height="10" fill="{color}"/>',
        f'<text x="{WIDTH - RIGHT + 30}" y="{label}" fill="#0f172a">{escape(name)}</text>',
    ]


def _said(power: int) -> str:
    if power < 0:
        return f"{10.0**power:g}"
    return f"{10**power:,}".replace(",", " ")
