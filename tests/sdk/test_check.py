"""``new``, ``check`` and ``manifest``: from nothing to a plugin that homed takes; a clear word where it would not."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
import trio

from homed.errors import ConfigError, Conflict, InvalidInput
from homed.sdk.__main__ import main
from homed.sdk.check import Report, check
from homed.sdk.scaffold import LANGUAGES, difference, new, update_manifest

PLUGINS = sorted(path.parent for path in (Path(__file__).parents[2] / "plugins").glob("*/plugin.json"))


def step(report: Report, name: str) -> tuple[bool, str]:
    (found,) = [step for step in report.steps if step.name == name]
    return found.ok, found.detail


def edit(folder: Path, name: str, old: str, new_text: str) -> None:
    path = folder / f"{name}.py"
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new_text), "utf-8")


def names_in(folder: Path) -> list[str]:
    return [path.name for path in folder.rglob("*")]


@pytest.fixture(scope="module")
def _written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trio.run(new, "hello", tmp_path_factory.mktemp("written"))


@pytest.fixture
def hello(_written: Path, tmp_path: Path) -> Path:
    """A folder of the test's own with the plugin that ``new`` writes; it was written once, which takes a process."""
    return Path(shutil.copytree(_written, tmp_path / "hello", ignore=shutil.ignore_patterns("__pycache__")))


MARKS = {"c": pytest.mark.cc, "node": pytest.mark.node}
ALONE = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
"""pytest as it comes: who writes a plugin need not have our extensions of it, and loading them takes seconds."""


@pytest.mark.parametrize("lang", [pytest.param(lang, marks=MARKS.get(lang, ())) for lang in LANGUAGES])
async def test_a_new_plugin_passes_its_own_tests_and_the_check_in_under_a_minute(tmp_path: Path, lang: str) -> None:
    begun = time.monotonic()
    # whatever the project is like that it is written into
    (tmp_path / "pyproject.toml").write_text(
        '[tool.pytest.ini_options]\naddopts = "--import-mode=importlib"\n', "utf-8"
    )
    folder = await new("hello", tmp_path, lang)
    tests = subprocess.run(  # noqa: ASYNC221 - nothing else runs in this test
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(folder)],
        cwd=tmp_path, capture_output=True, text=True, check=False, env={**os.environ, **ALONE},
    )  # fmt: skip
    assert tests.returncode == 0, tests.stdout
    assert "2 passed" in tests.stdout
    report = await check(folder)
    assert report.ok, report.text()
    assert step(report, "tool hello_greet") == (True, "it refuses a call without its arguments")
    assert time.monotonic() - begun < 60
    said = (folder / "README.md").read_text("utf-8")
    assert "hello-0.1.0.hmap" in said
    assert "{{" not in "".join(path.read_text("utf-8") for path in folder.iterdir() if path.suffix)


async def test_a_language_without_a_template_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="no template for 'cobol'"):
        await new("hello", tmp_path, "cobol")
    assert names_in(tmp_path) == []


async def test_a_plugin_may_be_called_like_a_standard_module(tmp_path: Path) -> None:
    assert (await check(await new("json", tmp_path))).ok


@pytest.mark.parametrize("name", ["Hello", "a-b", "../x", ""])
async def test_a_bad_name_is_refused_and_nothing_is_written(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidInput, match="no name for a plugin"):
        await new(name, tmp_path)
    assert names_in(tmp_path) == []


async def test_a_folder_that_exists_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "hello").mkdir()
    with pytest.raises(Conflict, match="exists already"):
        await new("hello", tmp_path)
    assert names_in(tmp_path) == ["hello"]


async def test_a_changed_tool_is_found_out_of_step_and_brought_in_step(hello: Path) -> None:
    edit(hello, "hello_plugin", "loudly", "aloud")
    ok, detail = step(await check(hello), "manifest in step")
    assert not ok
    assert "tools differ from the code" in detail
    assert await update_manifest(hello)
    assert not await update_manifest(hello)
    manifest = json.loads((hello / "plugin.json").read_text("utf-8"))
    assert "aloud" in manifest["tools"][0]["parameters"]["properties"]
    assert manifest["settings"][0]["key"] == "greeting", "what was written by hand stays"
    assert (await check(hello)).ok


async def test_a_tool_that_only_one_side_knows_is_named(hello: Path) -> None:
    edit(hello, "hello_plugin", 'cls="read"', 'name="other", cls="read"')
    ok, detail = step(await check(hello), "registrations")
    assert not ok
    assert "hello_greet stands in plugin.json but is not registered" in detail
    assert "other is registered but does not stand in plugin.json" in detail


async def test_a_plugin_that_cannot_be_imported_shows_its_last_words(hello: Path) -> None:
    edit(hello, "hello_plugin", "from homed import sdk", "from homed import sdk\nimport nonesuch")
    report = await check(hello)
    assert not report.ok
    assert "No module named 'nonesuch'" in report.text()


async def test_writing_to_the_wire_is_found(hello: Path) -> None:
    """C2"""
    edit(hello, "__main__", "sdk.run", "print('a banner', flush=True)\nsdk.run")
    report = await check(hello)
    ok, detail = step(report, "stdout")
    assert not ok
    assert "a banner" in detail


async def test_a_plugin_that_does_not_leave_is_found(hello: Path) -> None:
    edit(hello, "__main__", "sdk.run(plugin)", "sdk.run(plugin)\nraise SystemExit(9)")
    ok, detail = step(await check(hello), "clean stop")
    assert not ok
    assert "exit code 9" in detail


async def test_a_call_without_its_capability_is_found(hello: Path) -> None:
    more = '\n\n@plugin.main\nasync def watch(kernel: sdk.Kernel) -> None:\n    await kernel.threads("hello:me")\n'
    edit(hello, "hello_plugin", "else greeting\n", f"else greeting\n{more}")
    ok, detail = step(await check(hello), "capabilities")
    assert not ok
    assert "io.threads (io)" in detail


async def test_wanting_to_be_configured_first_is_no_fault(hello: Path) -> None:
    more = '\n\n@plugin.on_start\ndef ready(kernel: sdk.Kernel) -> None:\n    raise sdk.ConfigError("No key yet.")\n'
    edit(hello, "hello_plugin", "else greeting\n", f"else greeting\n{more}")
    report = await check(hello)
    assert report.ok, report.text()
    assert "No key yet" in step(report, "start")[1]


@pytest.mark.parametrize(
    ("body", "wrong"),
    [
        ("[text[1:] for text in texts]", ""),
        ("texts[1:]", "made 1 texts of 2"),
        ("[text * 2 for text in texts]", "longer than it was"),
    ],
)
async def test_a_cleaner_is_tried_and_written_into_the_manifest(hello: Path, body: str, wrong: str) -> None:
    source = hello / "hello_plugin.py"
    extra = f'plugin.input("mail")\n\n\n@plugin.cleaner("mail")\ndef clean(texts):\n    return {body}\n'
    source.write_text(f"{source.read_text('utf-8')}\n\n{extra}", "utf-8")
    assert await difference(hello) == ["inputs", "cleaners"]
    await update_manifest(hello)
    report = await check(hello)
    ok, said = step(report, "cleaner mail")
    assert (report.ok, ok) == (not wrong, not wrong)
    assert wrong in said


async def test_a_broken_manifest_ends_the_check_with_every_error(tmp_path: Path) -> None:
    (tmp_path / "plugin.json").write_text('{"name": "A"}')
    report = await check(tmp_path)
    assert [(s.name, s.ok) for s in report.steps] == [("manifest", False)]
    assert len(report.steps[0].detail.splitlines()) == 3


async def test_an_entry_that_is_no_program_is_named(tmp_path: Path) -> None:
    (tmp_path / "plugin.json").write_text('{"name": "a", "version": "1", "entry": "./plugin.bin"}')
    ok, detail = step(await check(tmp_path), "entry")
    assert not ok
    assert "plugin.bin" in detail


async def test_describing_what_does_not_run_says_why(hello: Path) -> None:
    edit(hello, "hello_plugin", "who: str", "who: set")
    with pytest.raises(ConfigError, match="JSON has no set"):
        await difference(hello)


def test_the_command_line_has_exit_codes_that_say_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "hello", "--dir", str(tmp_path)]) == 0
    assert main(["manifest", str(tmp_path / "hello")]) == 0
    assert "is in step" in capsys.readouterr().out
    assert main(["check", str(tmp_path / "hello")]) == 0
    assert "All is well." in capsys.readouterr().out
    (tmp_path / "hello" / "plugin.json").write_text("{}")
    assert main(["check", str(tmp_path / "hello")]) == 1
    assert "FAIL  manifest" in capsys.readouterr().out
    assert main(["new", "hello", "--dir", str(tmp_path)]) == 1
    assert "exists already" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        main(["dance"])


@pytest.mark.parametrize("folder", PLUGINS, ids=lambda path: path.name)
async def test_a_packaged_plugins_manifest_is_in_step_with_its_code(folder: Path) -> None:
    assert await difference(folder) == []
