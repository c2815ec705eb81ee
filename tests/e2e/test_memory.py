"""What homed remembers, on the real daemon: over kill -9, over thousands of other events, and never across scopes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from homed.memory.tokens import estimate_tokens
from tests.kit.daemon import until
from tests.kit.house import House, Plan, at_rest, house
from tests.kit.past import Past, Said, put

pytestmark = pytest.mark.slow

FACTS = (
    "My sister Ragnhild lives in Tromsø and her birthday is on the 9th of March.",
    "The spare key hangs behind the blue watering can.",
    "我的猫叫橘子，今年七岁，只吃三文鱼。",
)
ASKED = (
    ("When is the birthday of my sister Ragnhild?", FACTS[0]),
    ("Where does the spare key hang?", FACTS[1]),
    ("我的猫叫什么名字，吃什么？", FACTS[2]),
)


@pytest.fixture
def home(tmp_path: Path) -> Iterator[House]:
    with house(tmp_path / "data", Plan(probes={"chat": ["io"]}, grants={"chat": ["io"]})) as built:
        built.ask("admin.config_set", key="core.memory.recall_deadline", value=30)  # a busy machine remembers late
        yield built


def chatter(count: int) -> list[Past]:
    """So many events about anything else, in conversations of fifty messages each, English and Chinese."""
    things = ("garden", "invoice", "printer", "holiday", "recipe", "budget", "train", "meeting", "window", "shoes")
    pasts = []
    for block in range(count // 100):
        said = [
            Said(
                question=f"About the {things[n % 10]} number {block}-{n}: help? 关于第{block}项，{n}号，怎么办？",
                answer=f"For {things[n % 10]} {block}-{n} I would wait until Friday. 等到星期五再说。",
            )
            for n in range(50)
        ]
        pasts.append(Past(said=said, title=f"Talk {block}", at=1_750_000_000.0 + block))
    return pasts


def prompt(home: House, at: int = -1) -> str:
    """Everything the model was sent in one request, but the instructions."""
    return "\n".join(str(m["content"]) for m in home.fake.chats[at].body["messages"] if m["role"] != "system")


def stored(home: House, pasts: list[Past]) -> None:
    """Put these into the folder while no daemon holds it, as an earlier release would have left them: not indexed."""

    async def write(store: Any) -> None:
        for past in pasts:
            await store.write(partial(put, past=past, indexed=False))

    at_rest(home.data, write)


def indexed(home: House) -> bool:
    return home.rows("SELECT count(*) FROM events, word_marks WHERE seq <= backlog OR seq > mark OR version = 0") == [
        (0,)
    ]


def test_three_facts_told_once_are_there_after_kill_9_and_five_thousand_other_events(home: House) -> None:
    """The main job: told in one conversation, asked for in another, in English and Chinese."""
    thread = ""
    for fact in FACTS:
        thread = str(home.chat(fact, thread=thread)["thread"])
    home.daemon.kill()
    stored(home, chatter(5_000))
    home.start()
    until(lambda: indexed(home), what="the words of what was there are indexed")
    for question, fact in ASKED:
        done = home.chat(question)
        assert fact in prompt(home), question
        assert estimate_tokens(prompt(home)) < 0.8 * 32_768
        (row,) = home.rows("SELECT id FROM events WHERE text = ?", fact)
        (told,) = home.ask("history", thread=done["thread"])["recalls"]
        assert row[0] in [*told["shown"], *told["cold"]], "and what was recalled is listed"
        explained = home.daemon.json("context", "explain", told["turn"])
        assert explained["events"][row[0]]["excerpt"].startswith(fact[:30])
    said = home.daemon.run("context", "explain", "last")
    assert said.code == 0
    assert "橘子" in said.out


def test_a_group_never_gets_the_owners_events_nor_the_owner_the_groups(home: House) -> None:
    """B14, through a real channel plugin."""
    home.chat(FACTS[0])
    chat = home.probes["chat"]
    group = {"peer": "chat:anna", "group": "7", "wait": True}
    chat.call("io.inject", text="We meet at the old mill at nine.", **group)
    chat.call("io.inject", text=ASKED[0][0], **group)
    assert FACTS[0] not in prompt(home)
    assert "old mill" in prompt(home), "the group's own is there"
    home.chat("Where do we meet? The old mill?")
    assert "We meet at" not in prompt(home)
    assert FACTS[0] in prompt(home)
    chat.call("io.inject", text=f"{ASKED[0][0]} And where is the old mill?", peer="chat:anna", wait=True)
    assert FACTS[0] not in prompt(home)
    assert "We meet at" not in prompt(home), "and alone she is in neither"


def test_events_sink_while_people_talk_and_come_back_by_the_tool(home: House) -> None:
    """A16: with a small window; the tool finds, the answer brings back, after a kill -9 it is still so."""
    home.daemon.run("config", "set", "core.agent.max_context_size", "4")
    home.daemon.run("config", "set", "core.agent.protected_events", "1")
    home.daemon.run("config", "set", "core.memory.inject_min_score", "1", "--reason", "only what is looked for")
    home.chat(FACTS[1])
    for n in range(8):
        home.chat(f"Something else, number {n}.")
    cold = "SELECT layer FROM events WHERE text = ?"
    until(lambda: home.rows(cold, FACTS[1]) == [("cold",)], what="it sank")
    look = {"calls": [{"name": "coldcontext_query", "args": {"query": "spare key"}}]}
    home.fake.when("look it up", look, {"say": "{tool}"})
    done = home.chat("Please look it up.")
    assert FACTS[1] in done["outcome"]["text"]
    assert home.rows("SELECT layer, source FROM events WHERE text = ?", FACTS[1]) == [("context", "cold_storage")]
    home.daemon.kill()
    home.start()
    records = home.ask("memory.explain", turn="last")["entries"]
    assert {"select", "recall", "peek", "confirm"} <= {one["kind"] for one in records}


def test_a_long_task_makes_room_and_says_so(home: House) -> None:
    """A17 on the wire: the strict server refuses what is too long, and the turn goes on with less."""
    home.fake.insist(context=6_000)
    thread = ""
    for n in range(6):
        done = home.chat(f"part {n}: " + "word " * 600, thread=thread)
        assert done["state"] == "answered", done
        thread = str(done["thread"])
    refused = [at for at, chat in enumerate(home.fake.chats) if chat.status == 400]
    assert refused, "the server said it was too long"
    assert "not shown to you any more" in prompt(home, refused[0] + 1)
    turns = [turn for (turn,) in home.rows("SELECT id FROM turns")]
    entries = [one for turn in turns for one in home.ask("memory.explain", turn=turn)["entries"]]
    assert {one["data"]["why"] for one in entries if one["kind"] == "guard"} == {"refused"}
    assert home.rows("SELECT count(*) FROM events WHERE kind = 'user'") == [(6,)], "nothing is deleted"
