"""`homed plan` without a daemon: text, JSON, and a picture that a hostile manifest cannot turn into something else."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest

from homed.__main__ import main
from homed.commands.plan import StartPlan, make_plan
from homed.commands.plan_picture import depths, picture
from homed.host.discover import Broken, Installed
from homed.host.facilities import Provider
from homed.host.states import Trust
from homed.order import ORDER
from homed.wire.manifest import Manifest

FOLDER = Path("/plugins/x")


def _plugin(name: str, *needs: str, trust: Trust = Trust.PACKAGED, **more: object) -> Installed:
    return Installed(Manifest(name=name, version="1", entry="x", needs=needs, **more), FOLDER, trust)  # type: ignore[arg-type]


FOUND: list[Installed | Broken] = [
    _plugin("page", "settings"),
    _plugin("files", "tools", "settings", activation="lazy"),
    _plugin("free"),
    _plugin("cleaner", "stages", enabled=False),
    _plugin("dreams", "tools", "scenes", trust=Trust.EXTERNAL),
    Broken("odd", FOLDER, Trust.EXTERNAL, ("version: is missing",)),
]


def _by_name(plan: StartPlan) -> dict[str, tuple[int, str, str]]:
    return {plugin.name: (plugin.wave, plugin.after, plugin.mode) for plugin in plan.plugins}


def test_each_plugin_is_in_the_wave_of_the_last_facility_it_waits_for() -> None:
    plan = make_plan(ORDER, FOUND)
    assert _by_name(plan) == {
        "free": (1, "", "at once"),
        "page": (2, "settings", "at once"),
        "cleaner": (3, "stages", "off"),
        "files": (4, "tools", "lazy"),
        "dreams": (0, "tools", "at once"),
        "odd": (0, "", "broken"),
    }
    blocked = {plugin.name: plugin.blocked for plugin in plan.plugins if plugin.blocked}
    assert blocked == {
        "dreams": "blocked on scenes: this homed has none",
        "odd": "needs attention: version: is missing",
    }


def _write(data: Path, name: str, *needs: str) -> None:
    folder = data / "plugins" / name
    folder.mkdir(parents=True)
    manifest = {"name": name, "version": "1", "entry": "python main.py", "needs": list(needs)}
    (folder / "plugin.json").write_text(json.dumps(manifest), "utf-8")


def test_it_is_printed_without_a_daemon(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _write(tmp_path, "dreamer", "scenes")
    assert main(["plan", "--data", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    lines = [line.split() for line in out.splitlines()]
    order = [line[1] for line in lines if line and line[0].isdigit() and line[-1].startswith("homed.")]
    assert order == [p.facility for p in ORDER if not p.slow]
    assert "homed.providers.registry  (beside the others)" in out
    assert any(line[1:2] == ["webui"] and line[-2:] == ["at", "once"] for line in lines)
    assert "blocked on scenes: this homed has none  (external)" in out
    assert not (tmp_path / "homed.db").exists()


def test_json_has_all_of_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--json", "--data", str(tmp_path)]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert [one["facility"] for one in plan["order"]] == [p.facility for p in ORDER]
    page = next(one for one in plan["plugins"] if one["name"] == "webui")
    assert (page["needs"], page["mode"], page["blocked"]) == (["settings", "events"], "at once", "")


def test_built_in_plugins_need_only_what_there_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["plan", "--json", "--data", str(tmp_path)])
    plugins = json.loads(capsys.readouterr().out)["plugins"]
    assert [(one["name"], one["blocked"]) for one in plugins if one["blocked"]] == []
    assert {one["name"] for one in plugins if not one["needs"]} == set()


def test_the_picture_is_written_and_is_well_formed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "plan.svg"
    assert main(["plan", "--svg", str(target), "--data", str(tmp_path)]) == 0
    words = _words(target.read_text("utf-8"))
    assert {"settings", "webui", "llm"} <= set(words)
    assert any(word.startswith("wave 1") for word in words)
    assert main(["plan", "--svg", str(tmp_path / "no" / "where.svg"), "--data", str(tmp_path)]) == 1
    assert "cannot be written" in capsys.readouterr().err


def _words(svg: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(svg).iter() if element.tag.endswith("text")]


def test_names_of_strangers_are_text_in_it(tmp_path: Path) -> None:
    evil = Broken("<script>", FOLDER, Trust.EXTERNAL, ('"><a href="javascript:x">',))
    svg = picture(make_plan(ORDER, [evil, _plugin("很长的名字很长的名字很长的名字")]))
    root = ElementTree.fromstring(svg)
    assert not [element for element in root.iter() if element.tag.endswith(("script", "}a"))]
    assert "<script>" in _words(svg)
    assert any(word.endswith("…") for word in _words(svg))


def test_no_two_boxes_or_chips_overlap_and_all_are_inside() -> None:
    many = [_plugin(f"tool{n}", "tools", activation="lazy") for n in range(28)]
    root = ElementTree.fromstring(picture(make_plan(ORDER, [*FOUND, *many])))
    rects = [element.attrib for element in root.iter() if element.tag.endswith("rect")]
    page, *boxes = ({key: int(rect.get(key, "0")) for key in ("x", "y", "width", "height")} for rect in rects)
    for one in boxes:
        assert one["x"] >= 0
        assert one["x"] + one["width"] <= page["width"]
        assert one["y"] + one["height"] <= page["height"]
    for number, one in enumerate(boxes):
        for other in boxes[number + 1 :]:
            apart = one["x"] + one["width"] <= other["x"] or other["x"] + other["width"] <= one["x"]
            assert apart or one["y"] + one["height"] <= other["y"] or other["y"] + other["height"] <= one["y"]


def test_a_facility_stands_right_of_all_it_needs() -> None:
    found = depths(ORDER)
    assert all(found[need] < found[p.facility] for p in ORDER for need in p.needs)
    chain = depths([Provider("a", ""), Provider("b", "", ("a",)), Provider("c", "", ("a", "b"))])
    assert all(right - left == 1 for left, right in pairwise(chain.values()))
