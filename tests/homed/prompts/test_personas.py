"""Suggestions for a persona: complete in each language, short, and without what would be wrong next year (E36)."""

from __future__ import annotations

import re

import pytest

from homed.agent.persona import filled
from homed.memory.tokens import estimate_tokens
from homed.prompts.personas import LANGUAGES, NAMES, preset, presets
from homed.wire.version import CORE


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("name", NAMES)
def test_each_is_whole_in_each_language_and_names_no_version(name: str, lang: str) -> None:
    found = preset(name, lang)
    assert (found.name, found.lang) == (name, lang)
    assert all([found.title, found.about, found.text])
    assert bool(re.search("[\u4e00-\u9fff]", found.text)) == (lang == "zh")
    assert not re.search(r"\d+\.\d+|20\d\d", found.text), "a placeholder says what changes"
    assert estimate_tokens(found.text) < 120, "it is in every prompt"


def test_another_language_is_english_and_another_name_is_none() -> None:
    assert [one.lang for one in presets("xx")] == ["en"] * len(NAMES)
    with pytest.raises(KeyError):
        preset("../steady", "en")


def test_blanks_are_filled_and_every_other_brace_stays() -> None:
    text = 'I am {version} on {date}. {"json": {}} {unknown} {{version}}'
    assert filled(text, date="Monday") == f'I am {CORE} on Monday. {{"json": {{}}}} {{unknown}} {{{CORE}}}'
