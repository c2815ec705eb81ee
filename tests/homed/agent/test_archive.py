"""Looking back: single events word for word, and finding a conversation by what was said in it, however long ago."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import apsw
import pytest
import trio

from homed.agent.archive import SLICE, SLICE_BYTES
from homed.agent.fitting import size
from homed.errors import NotFound
from homed.memory import evidence, facts, passes, threads
from homed.memory.newfact import NewFact
from homed.wire.rpc import encode
from homed.wire.version import MAX_LINE
from tests.kit.builders import GUEST, OWNER, Agent, FakeHost, FakeModel, Setup, calls, running_agent, says


async def event(agent: Agent, id_: str, **more: Any) -> dict[str, Any]:
    found: dict[str, Any] = await agent.conversations.archive.event(OWNER, id_, **more)
    return found


async def move(agent: Agent, thread: str, layer: str) -> None:
    await agent.store.write(lambda tx: tx.execute("UPDATE events SET layer = ? WHERE thread = ?", (layer, thread)))


async def test_an_event_is_given_word_for_word_in_any_layer(tmp_path: Path) -> None:
    async with running_agent(tmp_path, Setup(model=FakeModel(says("你好, world 🌍")))) as agent:
        done = await agent.ask("Say hello\r\n\twith tabs")
        user, answer = (await agent.history(done.thread))["events"]
        for layer in ("context", "cold", "archived"):
            await move(agent, done.thread, layer)
            found = await event(agent, user["id"])
            assert found["text"] == "Say hello\r\n\twith tabs"
            assert found["event"]["layer"] == layer
        found = await event(agent, answer["id"])
        assert found == {
            "event": {
                "id": answer["id"], "seq": answer["seq"], "thread": done.thread, "turn": answer["turn"],
                "kind": "assistant", "peer": "", "created_at": answer["created_at"], "layer": "archived",
                "data": answer["data"],
            },
            "text": "你好, world 🌍", "offset": 0, "of": 11,
        }  # fmt: skip
        assert (await event(agent, answer["id"], offset=4, length=5))["text"] == "world"
        assert (await event(agent, answer["id"], offset=99))["text"] == ""


async def test_only_those_of_the_scope_see_it(tmp_path: Path) -> None:
    async with running_agent(tmp_path) as agent:
        done = await agent.ask("private")
        id_ = (await agent.history(done.thread))["events"][0]["id"]
        for who, wanted in ((GUEST, id_), (OWNER, "ev_nothing"), (OWNER, "")):
            with pytest.raises(NotFound, match="no such event"):
                await agent.conversations.archive.event(who, wanted)


@pytest.mark.parametrize("letter", ["a", "中", "\x00", "🌍"])
async def test_a_huge_text_comes_in_slices_that_fit_a_line(tmp_path: Path, letter: str) -> None:
    async def much(_: Mapping[str, Any]) -> object:
        await trio.lowlevel.checkpoint()
        return letter * 450_000 + "the end"

    host = FakeHost()
    host.tool("much", much)
    async with running_agent(tmp_path, Setup(model=FakeModel(calls(("much", "{}")), says("ok")), host=host)) as agent:
        done = await agent.ask("much")
        id_ = next(e["id"] for e in (await agent.history(done.thread))["events"] if e["kind"] == "tool")
        whole, rounds = "", 0
        while True:
            found = await event(agent, id_, offset=len(whole))
            assert len(found["text"]) <= SLICE
            assert size(found["text"]) <= SLICE_BYTES
            assert len(encode({"jsonrpc": "2.0", "id": 1, "result": found})) < MAX_LINE
            whole += found["text"]
            rounds += 1
            if len(whole) >= found["of"]:
                break
        stored = await agent.store.read(lambda tx: tx.value("SELECT text FROM events WHERE id = ?", (id_,)))
        assert whole == stored
        assert rounds < 20


async def titles(agent: Agent, query: str) -> list[str]:
    found: dict[str, Any] = await agent.conversations.archive.threads(OWNER, query)
    return [thread["title"] for thread in found["threads"]]


async def test_a_conversation_is_found_by_title_by_letters_and_by_words_of_long_ago(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running_agent(tmp_path, Setup(model=FakeModel(*[says("noted")] * 6))) as agent:
        for text in ("The giraffes were sleeping", "我的猫叫豆豆，今年三岁", "Nothing of interest", "Something new"):
            await agent.ask(text)
        for query in ("GIRAFFE", "affes were", "豆豆", "今年三"):
            assert len(await titles(agent, query)) == 1, query
        await agent.store.write(lambda tx: tx.execute("UPDATE threads SET title = 'untitled' || rowid"))
        assert await titles(agent, "untitled2") == ["untitled2"]
        # as if all but the newest two events lay deep in the past
        monkeypatch.setattr(threads, "LOOKED_THROUGH", 2)
        assert await titles(agent, "something NEW") == ["untitled4"]
        assert await titles(agent, "giraffe sleeps") == ["untitled1"], "other forms of the words"
        assert await titles(agent, "豆豆") == ["untitled2"]
        assert await titles(agent, "三岁") == ["untitled2"]
        assert await titles(agent, "giraffes nothing") == [], "all the words, in one message"
        for nonsense in ('"', "* OR *", "NEAR(", "'; DROP TABLE events", "-", "\x00"):
            assert await titles(agent, nonsense) == [], nonsense


async def test_with_a_damaged_index_it_is_found_by_letters_and_title(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running_agent(tmp_path) as agent:
        await agent.ask("the giraffe")
        monkeypatch.setattr(threads, "LOOKED_THROUGH", 1)
        connection = apsw.Connection(str(tmp_path / "homed.db"))
        connection.execute("DELETE FROM word_index_data")
        connection.close()
        assert await titles(agent, "the gir") == ["the giraffe"]
        assert agent.store.words_damaged(), "and it will be made anew"


async def test_words_of_others_find_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "LOOKED_THROUGH", 0)
    async with running_agent(tmp_path) as agent:
        await agent.ask("the giraffe")
        assert len(await titles(agent, "giraffe")) == 1
        found: dict[str, Any] = await agent.conversations.archive.threads(GUEST, "giraffe")
        assert found["threads"] == []


async def test_a_history_says_what_was_really_written_of_each_turn(tmp_path: Path) -> None:
    """B9: whatever the model says of it, the page shows what there is."""
    async with running_agent(tmp_path, Setup(model=FakeModel(says("Noted, I'll remember!"), says("Yes.")))) as agent:
        done = await agent.ask("Remember that I keep bees.")
        (made,) = (await agent.history(done.thread))["written"]
        assert made == {"turn": done.turn, "state": "waiting", "records": {}}, "nothing yet, and it says so"
        await agent.store.write(lambda tx: passes.settle(tx, [done.turn]))
        (made,) = (await agent.history(done.thread))["written"]
        assert made == {"turn": done.turn, "state": "done", "records": {}}, "the model only said so"
        said = (await agent.history(done.thread))["events"][0]
        fact = NewFact("owner", "The user keeps bees.")
        kept = await agent.store.write(lambda tx: facts.put(tx, fact, [evidence.Pointer(said["id"])], at=1.0))
        (made,) = (await agent.history(done.thread))["written"]
        assert made["records"] == {"fact": [kept.record]}
