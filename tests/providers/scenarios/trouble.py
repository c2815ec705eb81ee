"""Whole turns in which something is amiss: in what was stored, in what was set, in what the server does."""

from __future__ import annotations

import json
from dataclasses import replace

import trio

from homed.builtin.tools import builtin_tools
from homed.memory.records import InputState
from homed.providers.fallback import Policy
from tests.kit.builders import OWNER, message
from tests.kit.fake_script import Call
from tests.kit.past import remember
from tests.providers.scenario import Book
from tests.providers.scenarios.turns import TEXT, _source, looking
from tests.providers.stage import Case
from tests.providers.turning import answered, talking

BOOK = Book("Turns in trouble")
scenario = BOOK.scenario

CELLO = "My daughter Ida plays the cello, and 她每天练习大提琴两个小时."
TEACHER = "Ida's cello teacher is called Rosalind Achterberg."
UNREAD = "There is no such contract on this wire"
LOST = (
    "UPDATE events SET data = json_remove(data, '$.call_id') WHERE kind = 'tool'",
    "UPDATE events SET data = json_set(data, '$.call_id', '') WHERE kind = 'tool'",
    "UPDATE events SET data = json_set(data, '$.call_id', 'nobody') WHERE kind = 'tool'",
)


@scenario("A4")
async def turn_after_ids_were_lost(case: Case) -> None:
    """Where stored results lost their ids, or have those of nobody, the conversation goes on, and all is in pairs."""
    thread = ""
    for n, damage in enumerate(LOST):
        async with talking(case, tools=looking) as agent:
            case.fake.call_tools(Call("look", {"at": f"{n}a"}), Call("look", {"at": f"{n}b"}), think="hm")
            case.fake.say("seen")
            thread = (await answered(agent, f"look {n}", thread=thread)).thread
            await agent.store.write(lambda tx, sql=damage: tx.execute(sql))  # type: ignore[misc]
        async with talking(case, tools=looking) as agent:
            await answered(agent, "and now?", thread=thread)
    assert {chat.status for chat in case.fake.chats} == {200}
    assert len(case.sent.results) == len(case.sent.calls)
    said = json.dumps(case.sent.body)
    assert all(f"look {n}" in said for n in range(len(LOST)))


@scenario("A10", "A11", unless=dict.fromkeys(("anthropic", "gemini", "ollama"), UNREAD.lower()))
async def turns_of_two_contracts(case: Case) -> None:
    """Whether thoughts must come back or must not is a setting, kept to through turns, tools and a restart."""
    contracts = {"required": "echo", "forbidden": "strip"}
    for number, (contract, option) in enumerate(contracts.items()):
        if (case.wire, contract) == ("openai", "required"):
            continue  # it does not want them back
        case.fake.insist(reasoning=contract)
        of_it = replace(case, folder=case.folder / contract)
        of_it.folder.mkdir()
        thread, options = "", {"reasoning": option}
        for _ in range(2):
            async with talking(of_it, tools=looking, options=options) as agent:
                for n in range(2):
                    case.fake.call_tool("look", {"at": f"{number}{n}"}, think="想", say="So.")
                    case.fake.call_tool("look", {"at": "b"}, think="more", then="done")
                    thread = (await answered(agent, "look", thread=thread)).thread
        assert {chat.status for chat in case.fake.chats} == {200}
        assert len(case.sent.results) == len(case.sent.calls) == 8


@scenario("A12")
async def turn_that_is_refused(case: Case) -> None:
    """A request that is refused for what is in it is never sent again as it was, and the server's words are told."""
    for _ in range(3):
        case.fake.misbehave(status=400, message="Function call is missing a thought_signature, says the source")
    async with talking(case, tools=looking) as agent:
        done = await agent.ask("hi")
        assert done.state is InputState.FAILED
        assert "missing a thought_signature, says the source" in str(done.outcome)
    sent = [json.dumps(chat.body, sort_keys=True) for chat in case.fake.chats]
    assert len(set(sent)) == len(sent) <= 2


@scenario("A14")
async def turn_with_calls_without_ids(case: Case) -> None:
    """Two calls of one tool without ids are two calls, in this turn, in the next and after a restart."""
    for ids in ("missing", "empty", "same"):
        case.fake.call_tools(Call("look", {"at": f"{ids} a"}), Call("look", {"at": f"{ids} b"}), ids=ids)
        case.fake.say("seen")
    async with talking(case, tools=looking) as agent:
        thread = (await answered(agent, "look")).thread
        await answered(agent, "look again", thread=thread)
    async with talking(case, tools=looking) as agent:
        await answered(agent, "once more", thread=thread)
    assert case.sent.results == [f"seen at {ids} {at}" for ids in ("missing", "empty", "same") for at in "ab"]
    assert len(case.sent.calls) == 6


@scenario("A16", "E8", "E9")
async def turn_that_brings_back(case: Case) -> None:
    """What has gone to the cold layer comes back word for word when the model looks for it, to its place in time."""
    settings = {"core.memory.inject_min_score": 1.0}
    async with talking(case, builtins=lambda store, _: builtin_tools(store), settings=settings) as agent:
        told = await remember(agent.store, CELLO, layer="cold")
        case.fake.call_tool("coldcontext_query", {"query": "cello 大提琴"}, then="She plays the cello.")
        done = await answered(agent, "Which instrument is hers?")
        assert CELLO in case.sent.results[-1]
        await answered(agent, "And how long a day?", thread=done.thread)
        layers = await agent.store.read(lambda tx: tx.all("SELECT layer FROM events WHERE text = ?", (CELLO,)))
        assert layers == [("context",)]
    assert told
    said = json.dumps(case.sent.body, ensure_ascii=False)
    assert CELLO in said
    assert said.index(CELLO) < said.index("Which instrument is hers?")


@scenario("A18")
async def turns_with_limits_of_nothing(case: Case) -> None:
    """Limits of nothing, less than nothing and more than there is leave nobody stuck: each message is answered."""
    keys = ("core.agent.max_context_size", "core.agent.protected_events", "core.memory.recall_percent")
    for number, limit in enumerate((0, -7, 10**9)):
        of_it = replace(case, folder=case.folder / str(number))
        of_it.folder.mkdir()
        settings = dict.fromkeys(keys, limit)
        async with talking(of_it, tools=looking, settings=settings, **_source(case, 12_000)) as agent:
            thread = ""
            for n in range(2):
                case.fake.call_tool("look", {"at": f"{n}"}, then=f"answer {n}")
                thread = (await answered(agent, f"{n}: " + "a story " * 300, thread=thread)).thread
    assert {chat.status for chat in case.fake.chats} == {200}


@scenario("A20", "E3")
async def turn_with_one_event_above_the_budget(case: Case) -> None:
    """A message that is longer than the window is shown by its beginning and its end, stored whole, and answered."""
    text = "It begins here. " + "middle of the story " * 4000 + "And here it ends."
    async with talking(case, tools=looking, **_source(case, 12_000)) as agent:
        case.fake.call_tool("look", {"at": "a"}, then="long")
        done = await answered(agent, text)
        said = json.dumps(case.sent.body)
        assert "It begins here." in said
        assert "And here it ends." in said
        assert len(said) < len(text)
        assert (await agent.history(done.thread))["events"][0]["text"] == text
        await answered(agent, "and now?", thread=done.thread)
    assert {chat.status for chat in case.fake.chats} == {200}


@scenario("A23")
async def turn_that_waits_for_ever(case: Case) -> None:
    """A source that wants to be left alone for days is not waited for, and that is said; a stop ends a wait."""
    case.fake.misbehave(status=429, headers={"retry-after": "999999"}, message="slow down")
    async with talking(case, policy=Policy()) as agent:
        done = await agent.ask("hi")
        assert done.state is InputState.FAILED
        assert "12 days" in str(done.outcome)
        assert len(case.fake.chats) == 1
    case.fake.misbehave(status=429, headers={"retry-after": "30"}, message="slow down")
    asked = len(case.fake.chats)
    async with talking(case, policy=Policy()) as agent:
        receipt = await agent.conversations.inject(OWNER, message("hi", OWNER))
        await agent.until(lambda: [n for n in agent.of("system") if n.get("code") == "retrying"])
        with trio.fail_after(60):
            await agent.conversations.stop(OWNER, receipt.input.thread)
            done = await agent.conversations.wait(OWNER, receipt.input.id)
        assert done.state is InputState.STOPPED
        assert len(case.fake.chats) == asked + 1
        await answered(agent, "again", thread=receipt.input.thread)


@scenario("A24")
async def turn_with_bytes_that_are_no_text(case: Case) -> None:
    """Bytes that are no text end a turn with a visible error, and no replacement character is shown or stored."""
    case.fake.say("fine until here, and further", bad_utf8=True)
    case.fake.say(TEXT, one_byte=True, crlf=True, chunk=1)
    async with talking(case) as agent:
        done = await agent.ask("hi")
        assert done.state is InputState.FAILED
        assert "UTF-8" in str(done.outcome)
        after = await answered(agent, "again", thread=done.thread)
        assert after.outcome
        assert after.outcome.text == TEXT
        shown = "".join(str(delta["text"]) for delta in agent.of("content_delta"))
        kept = [event["text"] for event in (await agent.history(done.thread))["events"]]
        assert "\ufffd" not in shown + "".join(kept)
        assert kept[-1] == TEXT


@scenario("A21", "B2")
async def turn_told_what_is_known(case: Case) -> None:
    """What is known comes back after a restart, in notes that are marked as data."""
    async with talking(case, tools=looking, builtins=lambda store, _: builtin_tools(store)) as agent:
        case.fake.call_tool("memory_note", {"text": TEACHER}, then="Noted.")
        await answered(agent, f"Remember that: {TEACHER}")
    async with talking(case, tools=looking, builtins=lambda store, _: builtin_tools(store)) as agent:
        case.fake.say("Rosalind Achterberg.")
        await answered(agent, "What is Ida's cello teacher called?")
    notes = [words for role, words in case.sent.said if role == "user" and 'source="memory"' in words]
    assert len(notes) == 1, "the notes stand by themselves, marked as data"
    assert TEACHER in notes[0]
