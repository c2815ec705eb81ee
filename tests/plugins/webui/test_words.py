"""Every word the page says exists in every language."""

from __future__ import annotations

import json
import re

import pytest

from plugins.webui.context import FOLDER
from plugins.webui.words import LANGUAGES, choose, load

TEXTS = {lang: json.loads((FOLDER / "strings" / f"{lang}.json").read_text("utf-8")) for lang in LANGUAGES}
TEMPLATES = "\n".join(path.read_text("utf-8") for path in (FOLDER / "templates").glob("*.html"))
SCRIPTS = "\n".join(path.read_text("utf-8") for path in (FOLDER / "static" / "js").glob("*.js"))


@pytest.mark.parametrize("lang", sorted(set(LANGUAGES) - {"en"}))
def test_a_language_has_every_key_and_the_same_placeholders(lang: str) -> None:
    assert TEXTS[lang].keys() == TEXTS["en"].keys()
    for key, text in TEXTS["en"].items():
        assert set(re.findall(r"\{\w+\}", TEXTS[lang][key])) == set(re.findall(r"\{\w+\}", text)), key


def test_every_key_that_a_template_or_script_uses_exists() -> None:
    used = set(re.findall(r"""\bt\("([\w.]+)"[,)]""", TEMPLATES)) | {
        f"js.{key}" for key in re.findall(r"""\bword\("([\w.]+)"[,)]""", SCRIPTS)
    }
    assert len(used) > 60
    assert used <= TEXTS["en"].keys()


def test_every_text_is_used() -> None:
    by_prefix = (
        "status.",
        "class.",
        "state.",
        "trust.",
        "source.",
        "ask.",
        "end.",
        "welcome.idea",
        "group.",
        "reason.",
    )
    for key in TEXTS["en"]:
        if key.startswith("js."):
            assert re.search(rf'"{key[3:]}"', SCRIPTS), key
        elif not key.startswith(by_prefix):
            assert f'"{key}"' in TEMPLATES, key


def test_the_reasons_that_are_translated_are_ones_that_the_host_gives() -> None:
    host = (FOLDER.parents[1] / "homed" / "host" / "supervise.py").read_text("utf-8")
    reasons = [key.removeprefix("reason.") for key in TEXTS["en"] if key.startswith("reason.")]
    assert len(reasons) == 2
    assert all(f'"{reason}"' in host for reason in reasons)


def test_no_text_for_people_stands_in_a_template_itself() -> None:
    text = re.sub(r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}|<!doctype.*?>|<[^>]*>", " ", TEMPLATES, flags=re.S)
    words = set(re.findall(r"[^\W\d_]{3,}", text))
    assert words <= {"HologramAgent", "homed", "link", "pid"}, words


@pytest.mark.parametrize(
    ("cookie", "accept", "lang"),
    [
        ("", "", "en"),
        ("zh", "en", "zh"),
        ("", "zh-CN,zh;q=0.9,en;q=0.8", "zh"),
        ("", "de,fr;q=0.5", "en"),
        ("xx", "zh", "zh"),
        ("", "EN-gb", "en"),
        ("en", "zh", "en"),
    ],
)
def test_the_language_is_the_persons_choice_then_the_browsers(cookie: str, accept: str, lang: str) -> None:
    assert choose(cookie, accept) == lang


def test_words_fill_in_values_and_know_what_is_missing() -> None:
    words = load(FOLDER / "strings")
    assert words["en"]("ask.title", tool="cmd_run") == "Allow cmd_run?"
    assert "cmd_run" in words["zh"]("ask.title", tool="cmd_run")
    assert words["en"].get("state.unheard", "unheard") == "unheard"
    assert json.loads(words["zh"].scripts())["copy"] == "复制"
    with pytest.raises(KeyError):
        words["en"]("no.such.key")
