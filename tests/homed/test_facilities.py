"""The build step: what the modules say becomes an order, or an error that names everything that is wrong with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from homed import facilities
from homed.errors import ConfigError
from homed.facilities import ROOT, arrange, collect, main, render
from homed.host.facilities import Provider


def _provider(facility: str, *needs: str, slow: bool = False) -> Provider:
    return Provider(facility, f"homed.{facility}", needs, slow)


def test_each_stands_after_what_it_needs_and_slow_ones_come_last() -> None:
    given = [
        _provider("llm", "settings", slow=True),
        _provider("tools", "store", "events"),
        _provider("store", "config"),
        _provider("settings", "store"),
        _provider("events"),
        _provider("config"),
    ]
    order = [provider.facility for provider in arrange(given)]
    assert order == ["config", "events", "store", "settings", "tools", "llm"]
    assert [p.facility for p in arrange(reversed(given))] == order  # whatever order they were found in


def test_a_circle_is_named_whole() -> None:
    circle = [_provider("store", "window"), _provider("window", "cold"), _provider("cold", "store", "config")]
    with pytest.raises(ConfigError) as caught:
        arrange([_provider("config"), _provider("tools", "store"), *circle])
    assert "cold → store → window → cold" in caught.value.message
    assert "tools" not in caught.value.message  # it only waits for the circle


def test_one_that_needs_itself_is_a_circle() -> None:
    with pytest.raises(ConfigError, match="store → store"):
        arrange([_provider("store", "store")])


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([_provider("tools", "scenes")], ["tools (homed.tools) needs scenes, which no module provides"]),
        ([_provider("store"), Provider("store", "homed.else")], ["homed.store and homed.else both provide store"]),
        ([_provider("shop")], ["homed.shop provides 'shop', which is no facility"]),
        ([_provider("llm", slow=True), _provider("tools", "llm")], ["tools", "llm (homed.llm), which is slow"]),
    ],
)
def test_what_cannot_be_is_told_with_both_sides(given: list[Provider], words: list[str]) -> None:
    with pytest.raises(ConfigError) as caught:
        arrange(given)
    assert all(word in caught.value.message for word in words)


def test_what_needs_a_slow_one_is_slow_too() -> None:
    order = arrange([_provider("llm", slow=True), _provider("scenes", "llm", slow=True), _provider("config")])
    assert [provider.facility for provider in order] == ["config", "llm", "scenes"]


def _write(root: Path, name: str, text: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def test_what_modules_say_is_read_without_importing_them(tmp_path: Path) -> None:
    _write(tmp_path, "store/__init__.py", 'PROVIDES = ("store",)\nNEEDS = ("config",)\nraise SystemExit(3)\n')
    _write(tmp_path, "both.py", 'PROVIDES = ("window", "cold")\nNEEDS = ()\nSLOW = True\n')
    _write(tmp_path, "other.py", '"""It tells of PROVIDES, and has none."""\nNEEDS = ("store",)\n')
    assert collect(tmp_path) == [
        Provider("window", "homed.both", (), True),
        Provider("cold", "homed.both", (), True),
        Provider("store", "homed.store", ("config",)),
    ]


@pytest.mark.parametrize("line", ['PROVIDES = ("store")', "PROVIDES = _names()", 'NEEDS = ["store"]\nPROVIDES = ()'])
def test_a_constant_that_is_no_literal_tuple_is_an_error_with_its_module(tmp_path: Path, line: str) -> None:
    _write(tmp_path, "odd.py", f"{line}\n")
    with pytest.raises(ConfigError, match=r"in homed\.odd is no literal tuple"):
        collect(tmp_path)


def test_the_step_writes_once_and_tells_of_a_stale_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(facilities, "ROOT", tmp_path)
    monkeypatch.setattr(facilities, "COMMITTED", tmp_path / "order.py")
    _write(tmp_path, "store.py", 'PROVIDES = ("store",)\nNEEDS = ()\n')
    assert main(["--check"]) == 1
    assert "stale" in capsys.readouterr().err
    assert main([]) == 0
    assert 'Provider("store", "homed.store")' in (tmp_path / "order.py").read_text("utf-8")
    capsys.readouterr()
    assert (main([]), main(["--check"]), capsys.readouterr().out) == (0, 0, "")
    _write(tmp_path, "store.py", 'PROVIDES = ("store",)\nNEEDS = ("config",)\n')
    assert main([]) == 1
    assert "needs config, which no module provides" in capsys.readouterr().err


def test_the_kernel_says_what_it_provides() -> None:
    text = render(arrange(collect(ROOT)))
    assert text.count("Provider(") >= 13
