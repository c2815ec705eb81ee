"""Every word the page says exists in every language."""

from __future__ import annotations

import json
import re

import pytest

from homed.commands.memory_forget import WORDS
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


QUOTED = re.compile(r"""["'`]([a-z_]+\.?\w*\.?)(?=["'`{]|\$\{)""")
"""What stands in quotes, as far as something is filled in."""
PYTHON = "\n".join(path.read_text("utf-8") for path in FOLDER.glob("*.py"))


def test_every_key_that_a_template_or_script_uses_exists() -> None:
    used = set(re.findall(r"""\bt\("([\w.]+)"[,)]""", TEMPLATES)) | {
        f"js.{key}" for key in re.findall(r"""\bword\("([\w.]+)"[,)]""", SCRIPTS)
    }
    assert len(used) > 150
    assert used <= TEXTS["en"].keys()


def test_every_text_is_used() -> None:
    """By its whole key, or by the beginning of one that is put together: ``"state." ~ state``."""
    shown = set(QUOTED.findall(TEMPLATES + PYTHON))
    scripted = {f"js.{key}" for key in QUOTED.findall(SCRIPTS)}
    keys = TEXTS["en"].keys()
    begun = tuple(one for one in shown if "." in one and one not in keys)
    begun_js = tuple(one for one in scripted if one.endswith("_"))
    for key in keys:
        if key.startswith("js."):
            assert key in scripted or key.startswith(begun_js), key
        else:
            assert key in shown or key.startswith(begun), key


def test_no_text_for_people_stands_in_a_script_itself() -> None:
    """Neither as an element's text or label, nor assigned to one, nor in Chinese anywhere."""
    text = r"""(?:\btext|title|placeholder|"aria-label"|textContent|innerText)\s*[:=]\s*["'`]([^"'`]*)["'`]"""
    said = [one for one in re.findall(text, SCRIPTS) if re.search(r"[^\W\d_]", re.sub(r"\$\{.*", "", one))]
    assert said == []
    assert re.findall(r"[\u3400-\u9fff]+", SCRIPTS + TEMPLATES + PYTHON.replace("中文", "")) == []


def test_no_label_stands_in_a_template_itself() -> None:
    labels = re.findall(r"""(?:placeholder|title|alt|aria-label)="([^"{]*[^\W\d_][^"{]*)\"""", TEMPLATES)
    assert set(labels) <= {"sk-…", "/home/…/model.gguf", "90s, 5m, 1h30m", "https://…/v1"}


def test_the_reasons_that_are_translated_are_ones_that_the_host_gives() -> None:
    host = (FOLDER.parents[1] / "homed" / "host" / "supervise.py").read_text("utf-8")
    reasons = [key.removeprefix("reason.") for key in TEXTS["en"] if key.startswith("reason.")]
    assert len(reasons) == 2
    assert all(f'"{reason}"' in host for reason in reasons)


def test_no_text_for_people_stands_in_a_template_itself() -> None:
    made = re.sub(r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}", " ", TEMPLATES, flags=re.S)  # first: a condition may hold a ">"
    text = re.sub(r"<!doctype.*?>|<[^>]*>", " ", made, flags=re.S)
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


def test_all_that_a_forgetting_counts_has_a_word() -> None:
    named = {key.removeprefix("js.forget_what_") for key in TEXTS["en"] if key.startswith("js.forget_what_")}
    assert named == WORDS.keys()
