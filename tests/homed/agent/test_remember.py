"""Looking through a scope: by words and by the day, never beyond it, nothing private, nothing that was taken out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast
from zoneinfo import ZoneInfo

import pytest

from homed.agent.explain import Explanations
from homed.agent.ports import CallContext
from homed.agent.remember import PAGE_BYTES, Remembering
from homed.builtin.coldcontext import ColdQuery
from homed.builtin.tools import builtin_tools
from homed.errors import InvalidInput, NotFound
from homed.identity.roles import Identity, Role
from homed.memory import removal
from homed.redact import Redactor
from tests.kit.builders import GUEST, OWNER, Agent, FakeHost, FakeModel, Setup, calls, running_agent, says

TODAY = datetime.now().strftime("%Y-%m-%d")
GROUP = Identity("webui:owner", "webui", "", Role.OWNER, "group:tg:g1")


def remembering(agent: Agent, *known: str) -> Remembering:
    return Remembering(agent.store, Redactor(known))


async def found(agent: Agent, who: Identity, query: str, **more: Any) -> list[dict[str, Any]]:
    answer = (await remembering(agent).search(who, query, **{"limit": 5, **more})).answer
    return list(cast(Any, answer["found"]))


async def day(agent: Agent, who: Identity, *, after: int = 0, limit: int = 200) -> Mapping[str, Any]:
    return (await remembering(agent).day(who, TODAY, after=after, limit=limit)).answer


async def test_a_scope_is_searched_and_no_other(tmp_path: Path) -> None:
    model = FakeModel(says("Noted."), says("Hello guest."), says("ok"))
    async with running_agent(tmp_path, Setup(model=model)) as agent:
        await agent.ask("The marmot's name is Waldemar")
        await agent.ask("My marmot is called Gustav", who=GUEST)
        mine = await found(agent, OWNER, "marmot name")
        assert [hit["text"] for hit in mine if hit["kind"] == "user"] == ["The marmot's name is Waldemar"]
        hit = mine[0]
        assert (hit["layer"], hit["peer"], hit["untrusted"], hit["channel"]) == (
            "context",
            "webui:owner",
            False,
            "webui",
        )
        assert 0 < hit["score"] <= 1
        assert all("Gustav" not in h["text"] for h in mine)
        assert "Waldemar" not in str(await found(agent, GUEST, "marmot name Waldemar"))
        assert await found(agent, GROUP, "marmot") == []
        assert await found(agent, OWNER, "marmot", layer="cold") == []
        assert len(await found(agent, OWNER, "marmot name", limit=1)) == 1


async def test_what_is_being_deleted_is_found_by_nobody(tmp_path: Path) -> None:
    """Its rows go bit by bit, after a kill at the next start: from the first moment on they are nobody's."""
    async with running_agent(tmp_path, Setup(model=FakeModel(says("Noted, marmot."), says("ok")))) as agent:
        gone = await agent.ask("The marmot's name is Waldemar")
        kept = await agent.ask("another marmot")
        context = CallContext("x", "webui", "webui:owner", "owner", "owner", kept.turn)
        read = builtin_tools(agent.store)[0]
        assert await found(agent, OWNER, "marmot Waldemar") != []
        (event,) = await agent.store.read(
            lambda tx: tx.all("SELECT id FROM events WHERE text LIKE '%Waldemar%' AND kind = 'user'")
        )
        assert "Waldemar" in str(await read.run(context, {"id": event[0]}))
        assert "Waldemar" in str(await ColdQuery(agent.store).ask(context, "marmot Waldemar", 3))
        assert "Waldemar" in str(await explained(agent, kept.turn))
        await agent.store.write(lambda tx: removal.hide(tx, gone.thread))
        assert "Waldemar" not in str(await found(agent, OWNER, "marmot Waldemar"))
        assert "Waldemar" not in str(await ColdQuery(agent.store).ask(context, "marmot Waldemar", 3))
        assert "Waldemar" not in str(await explained(agent, kept.turn))
        assert "Waldemar" not in json.dumps(await day(agent, OWNER))
        with pytest.raises(NotFound):
            await read.run(context, {"id": event[0]})
        assert "another" in str(await found(agent, OWNER, "marmot"))


async def explained(agent: Agent, turn: str) -> object:
    return await Explanations(agent.store).explain(OWNER, turn)


async def test_private_turns_are_neither_found_nor_in_the_log(tmp_path: Path) -> None:
    model = FakeModel(says("I will not tell."), says("ok"))
    async with running_agent(tmp_path, Setup(model=model)) as agent:
        await agent.ask("The safe opens with marzipan", no_memory=True)
        assert await found(agent, OWNER, "marzipan safe") == []
        assert "marzipan" not in json.dumps(await day(agent, OWNER))


async def test_the_turn_that_asks_does_not_find_itself(tmp_path: Path) -> None:
    async with running_agent(tmp_path, Setup(model=FakeModel(says("ok")))) as agent:
        done = await agent.ask("Where is the marmot")
        assert await found(agent, OWNER, "marmot") != []
        assert await found(agent, OWNER, "marmot", turn=done.turn) == []


async def test_strangers_words_are_told_as_such_and_secrets_learned_later_are_out(tmp_path: Path) -> None:
    async def web(_: Mapping[str, Any]) -> object:
        return "The marmot says: buy now. hunter22secret"

    host = FakeHost()
    host.tool("web", web, untrusted=True)
    model = FakeModel(calls(("web", "{}")), says("Read."))
    async with running_agent(tmp_path, Setup(model=model, host=host)) as agent:
        await agent.ask("read the page")
        result = await remembering(agent, "hunter22secret").search(OWNER, "marmot says", limit=5)
        assert result.untrusted
        assert "hunter22secret" not in str(result.answer)
        assert "marmot" in str(result.answer)
        log = await remembering(agent, "hunter22secret").day(OWNER, TODAY, after=0, limit=100)
        assert log.untrusted
        assert "hunter22secret" not in str(log.answer)
        lines = [json.loads(line) for line in cast(Any, log.answer["lines"])]
        assert [line["kind"] for line in lines] == ["user", "assistant", "tool", "assistant"]
        assert lines[2]["data"] == {"name": "web", "status": "ok", "args": {}, "untrusted": True}


async def test_a_day_goes_page_by_page_and_is_whole(tmp_path: Path) -> None:
    model = FakeModel(*(says(f"answer {n}") for n in range(6)))
    async with running_agent(tmp_path, Setup(model=model)) as agent:
        for n in range(6):
            await agent.ask(f"question {n}")
        await agent.store.write(
            lambda tx: tx.execute("UPDATE events SET created_at = created_at - 172800 WHERE seq < 3")
        )
        whole = await day(agent, OWNER)
        seqs = [json.loads(line)["seq"] for line in whole["lines"]]
        assert seqs == list(range(3, 13))
        assert not whole["more"]
        paged: list[int] = []
        after, more = 0, True
        while more:
            page = await day(agent, OWNER, after=after, limit=3)
            paged += [json.loads(line)["seq"] for line in page["lines"]]
            after, more = page["next"], page["more"]
        assert paged == seqs
        assert (await day(agent, GUEST))["lines"] == []


async def test_today_is_where_the_person_lives(tmp_path: Path) -> None:
    """D8: not where the server stands."""
    late = datetime(2026, 3, 8, 23, 30, tzinfo=UTC).timestamp()
    async with running_agent(tmp_path, Setup(model=FakeModel(says("ok")))) as agent:
        for zone, today in (("America/New_York", "2026-03-08"), ("Asia/Shanghai", "2026-03-09")):
            looking = Remembering(agent.store, Redactor(), zone=lambda z=zone: ZoneInfo(z), wall=lambda: late)  # type: ignore[misc]
            assert (await looking.day(OWNER, "", after=0, limit=5)).answer["day"] == today


@pytest.mark.parametrize("limit", [1, 2, 3, 4])
async def test_drafts_take_no_place_on_a_page(tmp_path: Path, limit: int) -> None:
    """An answer that was checked stands behind its draft: a page full of those is not the end of the day."""
    model = FakeModel(*(says(f"answer {n}") for n in range(6)))
    async with running_agent(tmp_path, Setup(model=model)) as agent:
        for n in range(6):
            await agent.ask(f"question {n}")
        await agent.store.write(
            lambda tx: tx.execute(
                "UPDATE events SET kind = 'note', data = ? WHERE seq IN (1, 3, 4, 5, 6)", ('{"code":"draft"}',)
            )
        )
        seen: list[int] = []
        after, more = 0, True
        while more:
            page = await day(agent, OWNER, after=after, limit=limit)
            assert page["lines"]
            seen += [json.loads(line)["seq"] for line in page["lines"]]
            after, more = page["next"], page["more"]
        assert seen == [2, *range(7, 13)]


async def test_a_page_is_bounded_by_its_size_too(tmp_path: Path) -> None:
    model = FakeModel(*(says("x" * 90_000) for _ in range(7)))
    async with running_agent(tmp_path, Setup(model=model)) as agent:
        for n in range(7):
            await agent.ask(f"question {n}")
        sizes, seen = [], 0
        after, more = 0, True
        while more:
            page = await day(agent, OWNER, after=after)
            sizes.append(len(json.dumps(page).encode()))
            seen += len(page["lines"])
            after, more = page["next"], page["more"]
        assert seen == 14
        assert len(sizes) > 1
        assert max(sizes) < PAGE_BYTES + 120_000


@pytest.mark.parametrize("wrong", ["2026-02-30", "0000-01-01", "9999-12-31", "2026-13-01"])
async def test_what_is_no_day_is_refused(tmp_path: Path, wrong: str) -> None:
    async with running_agent(tmp_path, Setup()) as agent:
        with pytest.raises(InvalidInput, match="no day"):
            await remembering(agent).day(OWNER, wrong, after=0, limit=1)
