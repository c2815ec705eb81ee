"""What is said again, otherwise, or by the assistant alone, through whole turns of the real daemon (B1, B2, B3, B5)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from tests.kit.daemon import READING, until
from tests.kit.fake_openai import fake_openai_thread
from tests.kit.house import House, Plan

pytestmark = pytest.mark.slow

REST = "，今天想和你聊聊我在苏州的新工作，还有周末去哪里玩比较好，你有没有什么建议，谢谢你了。"
MORE = ", and that is what I wanted to tell you before we plan the week together."
HATES = "The user hates coriander."
TURNS = 30

Json = dict[str, Any]


def fact(
    text: str, quote: str, subject: str = "", relation: str = "", object_: str = "", **more: str
) -> dict[str, Any]:
    triple = {"subject": subject, "relation": relation, "object": object_} if subject else {}
    return {"text": text, "kind": "fact", "confidence": 0.9, "quote": quote, **triple, **more}


def answer(*facts: dict[str, Any]) -> dict[str, str]:
    summary = {"request": "Say something.", "outcome": "Heard.", "importance": 4}
    return {"say": json.dumps({"summary": summary, "facts": facts}, ensure_ascii=False)}


SAID: Sequence[tuple[str, dict[str, str]]] = (
    (f"我叫李国宇{REST}", answer(fact("用户叫李国宇。", "我叫李国宇", "用户", "名字", "李国宇"))),
    (f"我改名了，我叫李国松{REST}", answer(fact("用户叫李国松。", "我叫李国松", "用户", "名字", "李国松"))),
    (f"I love coriander{MORE}", answer(fact("The user loves coriander.", "I love coriander", kind="preference"))),
    (f"I hate coriander{MORE}", answer(fact(HATES, "I hate coriander", kind="preference"))),
    (f"Ana works at Siemens{MORE}",
     answer(fact("Ana works at Siemens.", "Ana works at Siemens", "Ana", "works_at", "Siemens"))),
    (f"Ana administers the wiki of Siemens{MORE}",
     answer(fact("Ana administers the wiki of Siemens.", "Ana administers the wiki of Siemens", "Ana", "administers",
                 "the wiki of Siemens"))),
)  # fmt: skip
ECHOED = answer(fact(HATES, "As you told me"), fact("The user likes orchestras.", "As you told me"))


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    rules = [
        {"when": "<transcript>", "steps": [[reply for _, reply in SAID] + [ECHOED]]},
        {"when": "on day", "steps": [{"say": f"As you told me: {HATES} And you like orchestras, as you told me."}]},
    ]
    with fake_openai_thread({"rules": rules}) as fake:
        built = House(tmp_path_factory.mktemp("home") / "data", fake, Plan())
        built.daemon.env = {**built.daemon.env, READING: "on"}
        try:
            built.start()
            built.ask("admin.config_set", key="core.memory.recall_deadline", value=30)  # a busy machine remembers late
            for number, (text, _) in enumerate(SAID, 1):
                built.chat(text)
                until(lambda n=number: read(built) == n, what="what was made of it")
            yield built
        finally:
            built.daemon.end()


def read(home: House) -> int:
    """Turns that were read."""
    return int(home.rows("SELECT count(*) FROM records WHERE record = 'summary' AND extractor = 'model'")[0][0])


def facts(home: House) -> list[tuple[str, str]]:
    return home.rows("SELECT text, status FROM records WHERE record = 'fact' ORDER BY seq")


def notes(home: House, question: str) -> str:
    """What the model is told out of memory with a question."""
    home.chat(question)
    asked = [chat for chat in home.fake.chats if "<transcript>" not in json.dumps(chat.body, ensure_ascii=False)]
    told = [str(m["content"]) for m in asked[-1].body["messages"] if m["role"] == "user"]
    return "\n".join(text for text in told if 'source="memory"' in text)


def test_b2_b3_b5_the_newer_holds_the_older_is_history_and_nothing_else_is_touched(home: House) -> None:
    assert facts(home) == [
        ("用户叫李国宇。", "superseded"), ("用户叫李国松。", "active"),
        ("The user loves coriander.", "superseded"), (HATES, "active"),
        ("Ana works at Siemens.", "active"), ("Ana administers the wiki of Siemens.", "active"),
    ]  # fmt: skip
    assert home.rows("SELECT count(*), count(nullif(hash, '')) FROM evidence WHERE excerpt <> ''") == [(6, 6)]


def test_b2_the_newer_is_told_with_its_id_and_the_older_can_be_looked_up(home: House) -> None:
    told = notes(home, "你还记得用户叫什么名字吗？")
    assert "用户叫李国松" in told
    assert "用户叫李国宇" not in told
    ((id_,),) = home.rows("SELECT id FROM records WHERE text = '用户叫李国松。'")
    shown = home.daemon.run("memory", "open", str(id_))
    assert "李国宇" in shown.out, shown
    assert "我叫李国松" in shown.out


def test_b1_thirty_turns_in_which_memory_is_told_back_make_no_fact(home: House) -> None:
    before, done = facts(home), read(home)
    told = [notes(home, f"What should I cook on day {n} of my holidays? No coriander, please.") for n in range(TURNS)]
    assert sum(HATES in text for text in told) >= 5, "what the assistant has before its eyes is not told each time"
    until(lambda: read(home) >= done + TURNS, what="all of them read")
    assert facts(home) == before
    assert home.rows("SELECT max(times) FROM records WHERE record = 'fact'") == [(1,)]
