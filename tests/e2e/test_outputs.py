"""A channel of a plugin from outside: what it lacks is refused, what is long comes in pieces."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.kit.fake_openai import fake_openai_thread
from tests.kit.house import House, Plan

pytestmark = pytest.mark.slow

POST = """
import json
from homed import sdk

plugin = sdk.Plugin("post")


@plugin.output("letters", caps=("text", "structured"), limit=60, description="Letters.")
async def send(ctx, content):
    with open(ctx.data_dir / "sent.jsonl", "a", encoding="utf-8") as file:
        file.write(json.dumps(content, ensure_ascii=False) + "\\n")
    return "queued"


if __name__ == "__main__":
    sdk.run(plugin)
"""
TOOL = "output_send__letters"
CHINESE = "这是第一句话，说的是今天的天气。这是第二句话，说的是明天要做的事情。"
ENGLISH = "The third sentence is in English, and not short. End."


def _install(data: Path) -> None:
    folder = data / "plugins" / "post"
    folder.mkdir(parents=True)
    output = {"name": "letters", "caps": ["text", "structured"], "limit": 60, "description": "Letters.", "format": ""}
    manifest = {"name": "post", "version": "1", "entry": "python main.py", "outputs": [output]}
    (folder / "plugin.json").write_text(json.dumps(manifest), "utf-8")
    (folder / "main.py").write_text(POST, "utf-8")


def _sent(data: Path) -> list[Any]:
    file = data / "plugin-data" / "post" / "sent.jsonl"
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()] if file.exists() else []


def test_a_channel_that_lacks_a_type_says_so_and_long_texts_come_in_pieces(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with fake_openai_thread() as fake:
        home = House(data, fake, Plan(allow=(TOOL,), vectors=False))
        _install(data)
        picture = {"name": TOOL, "args": {"content": {"type": "image", "block": "blk_1"}}}
        fake.when("a picture", {"calls": [picture]}, {"say": "{tool}"})
        fake.when("a letter", {"calls": [{"name": TOOL, "args": {"content": CHINESE + ENGLISH}}]}, {"say": "{tool}"})
        fake.when("a card", {"calls": [{"name": TOOL, "args": {"content": {"to": "Ann"}}}]}, {"say": "{tool}"})
        fake.when("what can it", {"calls": [{"name": TOOL + "_help", "args": {}}]}, {"say": "{tool}"})
        try:
            home.start()
            refused = home.waiter("-chat", "send a picture")
            assert "letters does not carry image; it carries text, structured." in refused.out
            assert _sent(data) == []
            assert home.says("send a letter") == "queued"
            assert _sent(data) == [CHINESE, ENGLISH]
            assert home.says("send a card") == "queued"
            assert _sent(data)[-1] == {"to": "Ann"}
            told = json.loads(home.says("what can it take?"))
            assert (told["caps"], told["flags"], told["limit"]) == (["text", "structured"], 17, 60)
        finally:
            home.daemon.end()
