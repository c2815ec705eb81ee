"""The picture of growth curves."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from benchmarks.curves import HEIGHT, WIDTH, picture

CURVES = {"ours <quick>": [(1_000, 2.0), (100_000, 9.0)], "bare": [(100_000, 30.0), (1_000, 1.0), (10_000, 5.0)]}


def test_it_is_a_picture_with_every_curve_and_its_name() -> None:
    svg = picture("Latency & size", "events", "ms", CURVES)
    root = ElementTree.fromstring(svg)
    lines = root.findall("{*}polyline")
    assert [len(line.attrib["points"].split()) for line in lines] == [2, 3]
    texts = [text.text for text in root.findall("{*}text")]
    assert {"Latency & size", "events", "ms", "ours <quick>", "bare", "100 000"} <= set(texts)


def test_points_lie_inside_and_rise_where_values_do() -> None:
    svg = picture("t", "x", "y", CURVES)
    for line in re.findall(r'points="([^"]+)"', svg):
        places = [tuple(map(float, point.split(","))) for point in line.split()]
        assert all(0 < x < WIDTH and 0 < y < HEIGHT for x, y in places)
        assert places == sorted(places), "from left to right"
        assert [y for _, y in places] == sorted((y for _, y in places), reverse=True)


def test_one_point_is_enough() -> None:
    assert "<circle" in picture("t", "x", "y", {"one": [(10.0, 10.0)]})
