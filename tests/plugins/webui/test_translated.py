"""What the kernel says is there in the other language too: nothing built in is forgotten, nothing outlives its text."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from homed.config.definitions import CORE
from homed.errors import Unavailable
from homed.sentences import PART, catalogue
from homed.settings.exposed import HINT
from homed.store.repair import INVARIANTS
from plugins.webui.api_admin import listed
from plugins.webui.context import FOLDER
from plugins.webui.translated import Translated, load_translated
from plugins.webui.words import load
from tests.kit import doctor_words

from .client import browsing
from .standin import StandIn, furnished

ROOT = FOLDER.parents[1]
CATALOGUE = catalogue("kernel", "zh")
MANIFESTS = [json.loads(path.read_text("utf-8")) for path in sorted((ROOT / "plugins").glob("*/plugin.json"))]
ZH = load_translated("zh")
DECLARED = {definition.key: definition.category for definition in CORE} | {
    f"plugin.{manifest['name']}.{setting['key']}": setting["category"]
    for manifest in MANIFESTS
    for setting in manifest.get("settings", [])
}


def test_every_built_in_setting_has_a_name_and_a_description_and_no_other_has() -> None:
    assert len(DECLARED) > 15
    assert CATALOGUE["settings"].keys() == DECLARED.keys()
    assert all(len(texts) == 2 and all(texts) for texts in CATALOGUE["settings"].values())
    assert set(DECLARED.values()) | {"other"} == CATALOGUE["categories"].keys()


def test_every_built_in_plugin_has_a_description_and_no_other_has() -> None:
    assert CATALOGUE["plugins"].keys() == {manifest["name"] for manifest in MANIFESTS}


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_every_check_of_the_doctor_has_a_name(lang: str) -> None:
    verdict = re.compile(r"\b(?:ok|warn|bad)\(\s*\"([a-z ]+)\"")
    names = {name for path in (ROOT / "homed").rglob("*.py") for name in verdict.findall(path.read_text("utf-8"))}
    assert len(names) > 15
    words = load(FOLDER / "strings")[lang]
    assert not [name for name in names if not words.get(f"js.check_name_{name.replace(' ', '_')}", "")]


ENGLISH = re.compile(r"\b[a-z]{3,} [a-z]{2,}")
"""Two words in a row outside of what is typed."""


@pytest.mark.parametrize(
    ("said", "least"), [(doctor_words.of_installation, 60), (doctor_words.of_memory, 300), (doctor_words.refusals, 30)]
)
def test_all_that_the_doctors_can_say_is_there(said: Callable[[], set[str]], least: int) -> None:
    texts = said()
    assert len(texts) > least, "they are not found where they stand any more"
    told = {text: ZH.text(text) for text in texts}
    assert [text for text, zh in told.items() if zh == text] == []
    assert [zh for zh in told.values() if ENGLISH.search(re.sub("`[^`]*`", "", zh))] == []


def test_several_findings_in_one_are_told_each() -> None:
    told = listed("shell is backoff (4 crashes within 5 minutes); timer is attention (needs attention: x)", ZH.text)
    assert told.startswith("shell：稍后重试（")
    assert "；timer：需要处理（" in told
    broken = "; ".join([*INVARIANTS, "events that names a lost threads"])
    assert not ENGLISH.search(listed(broken, ZH.text))
    assert listed("one; two", ZH.text) == "one; two"


def test_what_is_said_of_scripts_trials_and_a_day_that_may_not_go_on_is_there() -> None:
    for said in (
        "8 scripts, 1 of your own",
        "core.agent.persona would hold what looks like a secret (github), and is shown to whoever sees settings.",
        HINT,
        "It wants to be asked otherwise; to keep that, set it up with --no-vision.",
        "Nobody can be asked in this channel. It goes on tomorrow, or with a higher core.spend.x (0: no limit).",
        "Nobody answered within 300 s. It goes on tomorrow, or with a higher core.spend.day_money (0: no limit).",
    ):
        assert not re.search("[A-Z][a-z]+ [a-z]+ ", ZH.text(said)), said
        assert ZH.text(said) != said


def literals(folder: Path) -> set[str]:
    """Every string that stands in the code."""
    trees = [ast.parse(path.read_text("utf-8")) for path in folder.rglob("*.py")]
    return {
        node.value
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


def test_every_sentence_is_one_the_kernel_says_with_the_same_parts() -> None:
    code = "\0".join(literals(ROOT / "homed"))  # one search a piece; no piece has what stands between them
    for english, text in CATALOGUE["texts"].items():
        assert set(PART.findall(english)) == set(PART.findall(text)), english
        for piece in re.split(PART, english)[::2]:
            assert len(piece) < 4 or piece.strip(" .") in code, piece


def test_sentences_are_found_whole_and_with_what_is_filled_in() -> None:
    assert ZH.text("No model is set up yet.") == "还没有设置模型。"
    assert ZH.text("mine (a.example) answered HTTP 401: no: such key") == "mine (a.example) 返回 HTTP 401：no: such key"
    assert ZH.text("needs attention: 4 crashes within 5 minutes, the last: signal 9") == (
        "需要处理：5 分钟内崩溃 4 次，最后一次：signal 9"
    )
    assert ZH.text("{where} was not asked: \\1.") == "没有询问 {where}：\\1。"
    assert ZH.text("Something that no catalogue knows.") == "Something that no catalogue knows."
    assert ZH.text("") == ""
    assert ZH.text("cmd_run is a dangerous tool.") == "cmd_run 属于高风险类工具。"


def test_english_stays_as_the_kernel_says_it() -> None:
    english = Translated()
    assert english.text("No model is set up yet.") == "No model is set up yet."
    assert english.setting("plugin.x.some_key", "", "About.") == ("Some key", "About.")
    assert english.setting("core.log.level", "Log level", "About.") == ("Log level", "About.")
    assert english.category("web page") == "Web page"
    assert load(FOLDER / "strings")["en"].kernel.plugin("files", "Reads.") == "Reads."


async def test_settings_are_called_by_their_names_with_the_key_beneath() -> None:
    async with browsing(furnished(StandIn())) as browser:
        body = (await browser.get("/settings")).body
        assert "<b>Steps a turn</b>" in body
        assert "<code>core.agent.max_tool_turns</code>" in body
        body = (await browser.get("/settings", Accept_Language="zh")).body
        assert "<b>每轮步数</b>" in body
        assert "<code>core.agent.max_tool_turns</code>" in body


async def test_a_built_in_plugin_is_described_in_chinese_and_a_foreign_one_of_its_name_is_not() -> None:
    async with browsing(furnished(StandIn())) as browser:
        assert CATALOGUE["plugins"]["timer"] in (await browser.get("/plugins", Accept_Language="zh")).body
        for plugin in browser.kernel.plugins:
            plugin["trust"] = "external"
        assert CATALOGUE["plugins"]["timer"] not in (await browser.get("/plugins", Accept_Language="zh")).body


async def test_errors_and_the_result_of_a_test_are_told_in_the_persons_language() -> None:
    async with browsing(furnished(StandIn())) as browser:
        browser.kernel.fail["admin.models_list"] = Unavailable("No model is set up yet.", hint="Ask again.")
        told = (await browser.get("/api/v1/models", Accept_Language="zh")).json["error"]
        assert (told["message"], told["hint"]) == ("还没有设置模型。", "请再问一次。")
