"""Whole turns: the real loop and store, talking over the wire."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import trio

from homed.identity.tokens import CallIdentity
from homed.memory.records import InputState
from tests.kit.builders import OWNER, FakeHost, message
from tests.kit.fake_script import Call
from tests.kit.fake_server import open_fake
from tests.kit.giving import Camera
from tests.providers.scenario import Book
from tests.providers.stage import Case
from tests.providers.turning import Providers, answered, talking

BOOK = Book("Turns")
scenario = BOOK.scenario

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
TEXT = "你好🌍 — 一字不差"


def looking(host: FakeHost) -> None:
    """A plugin with the tool ``look``."""

    async def look(args: Mapping[str, Any]) -> object:
        await trio.lowlevel.checkpoint()
        return f"seen at {args.get('at')}"

    host.tool("look", look, parameters=SCHEMA, parallel_safe=True)


SCHEMA: dict[str, object] = {"type": "object", "properties": {"at": {"type": "string"}}}


@scenario()
async def turn_with_a_tool(case: Case) -> None:
    """A turn with a tool is answered, and all of it stands in the history."""
    case.fake.call_tool("look", {"at": "北"}, say="Looking.", think="hm", then="It is {tool}.")
    async with talking(case, tools=looking) as agent:
        done = await answered(agent, "where?")
        assert done.outcome
        assert done.outcome.text == "It is seen at 北."
        events = (await agent.history(done.thread))["events"]
        assert [event["kind"] for event in events] == ["user", "assistant", "tool", "assistant"]
        await answered(agent, "and now?", thread=done.thread)
    assert case.sent.results == ["seen at 北"]


@scenario("A6", "A7", "E13")
async def turn_with_calls_at_once(case: Case) -> None:
    """Of three calls at once one is slow, one crashes without a word and one is there at once: three results."""
    slow = trio.Event()

    def tools(host: FakeHost) -> None:
        async def run(args: Mapping[str, Any]) -> object:
            if args["at"] == "slow":
                await slow.wait()
            if args["at"] == "broken":
                raise RuntimeError
            slow.set()
            return f"seen {args['at']}"

        host.tool("look", run, parameters=SCHEMA, parallel_safe=True)

    case.fake.call_tools(*(Call("look", {"at": at}) for at in ("slow", "broken", "quick")))
    case.fake.say("I see")
    async with talking(case, tools=tools) as agent:
        await answered(agent, "look everywhere")
    first, middle, last = case.sent.results
    assert (first, last) == ("seen slow", "seen quick")
    assert middle.strip()
    assert [dict(args)["at"] for _, args in case.sent.calls] == ["slow", "broken", "quick"]  # type: ignore[call-overload]


def drawing() -> Camera:
    """A plugin with the tool ``draw``, which gives a picture back."""

    async def draw(camera: Camera, lent: CallIdentity, args: Mapping[str, Any]) -> Mapping[str, Any]:
        at = str(args["at"])
        return {"content": f"drawn {at}", "files": [await camera.send(lent, PNG + at.encode(), f"{at}.png")]}

    host = Camera()
    host.gives("draw", draw, parameters=SCHEMA, parallel_safe=True)
    return host


@scenario("E17", needs=("vision",))
async def turn_with_pictures_from_tools(case: Case) -> None:
    """Pictures that tools give stand behind all results of their round, and are there again after a restart."""
    case.fake.insist(vision=True)
    case.fake.call_tools(*(Call("draw", {"at": at}) for at in ("a", "b")))
    case.fake.call_tool("draw", {"at": "c"}, think="one more", then="three cats")
    async with talking(case, host=(host := drawing()), vision=True) as agent:
        host.agent = agent
        done = await answered(agent, "draw")
    assert case.sent.pictures == [PNG + at for at in (b"a", b"b", b"c")]
    assert [result.partition("\n")[0] for result in case.sent.results] == ["drawn a", "drawn b", "drawn c"]
    case.fake.say("cats, all of them")
    async with talking(case, host=drawing(), vision=True) as agent:
        await answered(agent, "what was it?", thread=done.thread)
    assert case.sent.pictures == [PNG + at for at in (b"a", b"b", b"c")]


@scenario("E17")
async def turn_with_a_picture_for_the_blind(case: Case) -> None:
    """A model that sees no pictures is told what the tool gave, and the server gets none."""
    case.fake.call_tool("draw", {"at": "a"}, then="a cat, you say")
    async with talking(case, host=(host := drawing()), vision=False) as agent:
        host.agent = agent
        await answered(agent, "draw")
    assert case.sent.pictures == []
    (result,) = case.sent.results
    assert result.startswith("drawn a")
    assert "this model cannot see images" in result


@scenario("A15")
async def turn_with_broken_arguments(case: Case) -> None:
    """A call with broken arguments is never run; the model is told, and does better."""
    case.fake.call_tools(Call("look", raw='{"at":1'))
    case.fake.call_tool("look", {"at": "a"}, then="I see")
    async with talking(case, tools=looking) as agent:
        await answered(agent, "look")
        assert [call["args"] for call in agent.host.invoked()] == [{"at": "a"}]
    assert len(case.fake.chats) == 3


@scenario("A15")
async def turn_whose_server_could_not_parse(case: Case) -> None:
    """500 "error parsing tool call" once: the model is told, and the turn goes on."""
    case.fake.misbehave(status=500, message="error parsing tool call: raw='{', err=unexpected end of JSON input")
    case.fake.say("in words, then")
    async with talking(case, tools=looking) as agent:
        done = await answered(agent, "look")
        assert done.outcome
        assert done.outcome.text == "in words, then"
    first, second = case.fake.chats
    assert json.dumps(first.body) != json.dumps(second.body), "told, not asked again unchanged"


@scenario("A23")
async def turn_with_a_busy_source(case: Case) -> None:
    """A source that is busy once delays a turn, and does not end it; the person is told."""
    case.fake.misbehave(status=429, headers={"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, message="slow down")
    case.fake.say("here I am")
    async with talking(case) as agent:
        await answered(agent, "hi")
        assert [n for n in agent.of("system") if n.get("code") == "retrying"]
    assert len(case.fake.chats) == 2


@scenario("A23")
async def turn_with_a_source_that_stays_busy(case: Case) -> None:
    """A source that stays busy ends the turn with its own words, after two tries."""
    for _ in range(4):
        case.fake.misbehave(status=529, message="Overloaded, says the source")
    async with talking(case) as agent:
        done = await agent.ask("hi")
        assert done.state is InputState.FAILED
        assert "Overloaded, says the source" in str(done.outcome)
    assert len(case.fake.chats) == 2


@scenario()
async def turn_that_is_cut(case: Case) -> None:
    """A turn whose connection is cut keeps what was said, and is not asked again by itself."""
    case.fake.say("half of the answer is here", cut_frame=5)
    async with talking(case) as agent:
        done = await agent.ask("hi")
        assert done.state is InputState.FAILED
        events = (await agent.history(done.thread))["events"]
        said = [event for event in events if event["kind"] == "assistant"]
        assert said
        assert "half of the answer is here".startswith(said[0]["text"])
        await answered(agent, "go on", thread=done.thread)
    assert len(case.fake.chats) == 2


@scenario("A1", "A16", "A17", "E5")
async def turn_that_is_too_long(case: Case) -> None:
    """A window that is smaller than it was said to be: room is made, nothing is lost, and the answer comes."""
    async with talking(case, tools=looking, **_source(case, 24_000)) as agent:
        thread = ""
        for n in range(6):
            case.fake.call_tool("look", {"at": f"{n} " + "far away " * 150}, then="fine", chunk=500)
            thread = (await answered(agent, f"{n}: " + "a long story " * 200, thread=thread)).thread
        whole = case.fake.chats[-1].prompt
        assert whole is not None
        case.fake.insist(context=whole.tokens * 2 // 3, **({"overflow": "refuse"} if case.wire == "ollama" else {}))
        asked = len(case.fake.chats)
        await answered(agent, "and what now?", thread=thread)
        assert case.fake.chats[asked].status == 400
        assert case.fake.chats[-1].status == 200
        assert len(case.fake.chats) - asked <= 3
        kept = (await agent.history(thread))["events"]
        assert kept[0]["text"].startswith("0: a long story")


def _source(case: Case, window: int) -> dict[str, Any]:
    """A source with that window; its answers are short, so that there is room for questions."""
    options = {"max_tokens": 1024, "thinking": "off"} if case.wire == "anthropic" else {}
    return {"context_window": window, "options": options}


@scenario("A1", "A2", "A20")
async def conversation_longer_than_the_window(case: Case) -> None:
    """A conversation with tools that outgrows the window stays valid at every turn."""
    settings = {"core.agent.max_context_size": 8, "core.agent.protected_events": 2}
    async with talking(case, tools=looking, settings=settings, **_source(case, 12_000)) as agent:
        thread = ""
        for n in range(8):
            case.fake.call_tools(
                Call("look", {"at": f"{n}a"}), Call("look", {"at": "b " * 500}), say="So.", think="hm", chunk=500
            )
            case.fake.call_tool("look", {"at": f"{n}c"}, then=f"answer {n}")
            thread = (await answered(agent, f"{n}: " + "a story " * 200, thread=thread)).thread
    assert {chat.status for chat in case.fake.chats} == {200}
    assert len(case.sent.results) == len(case.sent.calls)


@scenario("A3", "C8")
async def turn_that_was_killed(case: Case) -> None:
    """A turn that ended between a call and its result is taken up after a restart, and the call not run again."""
    begun = trio.Event()

    def hanging(host: FakeHost) -> None:
        async def look(_: Mapping[str, Any]) -> object:
            begun.set()
            await trio.sleep_forever()

        host.tool("look", look, parameters=SCHEMA)

    case.fake.call_tool("look", {"at": "a"}, say="Looking.", think="hm")
    async with talking(case, tools=hanging) as agent:
        receipt = await agent.conversations.inject(OWNER, message("go", OWNER))
        await begun.wait()
    case.fake.say("I was interrupted.")
    async with talking(case, tools=looking) as agent:
        done = await agent.conversations.wait(OWNER, receipt.input.id)
        assert done.state is InputState.ANSWERED, done
        assert agent.host.invoked() == []
    assert len(case.sent.results) == len(case.sent.calls) == 1
    assert "nterrupted" in case.sent.results[0]


@scenario("C13")
async def turn_that_is_stopped(case: Case) -> None:
    """A turn that is stopped closes its connection, keeps what was said, and the next message works."""
    case.fake.say("slow and steady " * 40, delay=0.01)
    async with talking(case) as agent:
        receipt = await agent.conversations.inject(OWNER, message("hi", OWNER))
        await agent.until(lambda: agent.of("content_delta"))
        await agent.conversations.stop(OWNER, receipt.input.thread)
        done = await agent.conversations.wait(OWNER, receipt.input.id)
        assert done.state is InputState.STOPPED
        with trio.fail_after(60):
            while not case.fake.chats[0].end:
                await trio.lowlevel.checkpoint()
        assert case.fake.chats[0].end == "closed"
        await answered(agent, "again", thread=receipt.input.thread)


@scenario("A9", "A12", "A13")
async def turn_with_another_source(case: Case) -> None:
    """A conversation with tools and thoughts is gone on with by another source, and back again."""
    other_wire = "gemini" if case.wire == "anthropic" else "anthropic"
    async with open_fake(other_wire) as fake:
        other = case.another(other_wire, fake).provider(name="other", once=True)
        async with talking(case, tools=looking, others=[other]) as agent:
            assert isinstance(agent.model, Providers)
            thread = ""
            for name, server in ((case.wire, case.fake), ("other", fake), (case.wire, case.fake), ("other", fake)):
                agent.model.use(name)
                server.call_tools(Call("look", {"at": "a"}), Call("look", {"at": "北"}), think="thought", say="So.")
                server.call_tool("look", {"at": "c"}, think="more", then="Done, said {tool}.")
                thread = (await answered(agent, f"{name}, look", thread=thread)).thread
        assert {chat.status for chat in (*case.fake.chats, *fake.chats)} == {200}
    assert len(case.sent.calls) == len(case.sent.results) == 9


@scenario("E5")
async def turn_with_a_stand_in(case: Case) -> None:
    """When a source will not have us, another answers in the same turn, and the person is told."""
    async with open_fake("openai") as fake:
        other = case.another("openai", fake).provider(name="other", once=True)
        fake.say("I answer instead")
        case.fake.misbehave(status=403, message="not you")
        async with talking(case, tools=looking, others=[other]) as agent:
            done = await answered(agent, "hi")
            assert "I answer instead" in str(done.outcome)
            assert [n for n in agent.of("system") if n.get("code") == "fallback"]


@scenario("A9")
async def turn_whose_words_a_plugin_changed(case: Case) -> None:
    """What a plugin changes of an answer with calls is what goes back; what was signed is left out whole."""

    def tools(host: FakeHost) -> None:
        looking(host)

        async def shorten(fields: Mapping[str, Any]) -> Mapping[str, object]:
            return {"llm_text": fields["llm_text"].replace("secret", "******")}

        host.stage("post_action", shorten)

    case.fake.call_tool("look", {"at": "a"}, say="the secret plan", think="hm", then="done")
    async with talking(case, tools=tools) as agent:
        await answered(agent, "go")
    assert ("assistant", "the ****** plan") in case.sent.said
    assert "the secret plan" not in json.dumps(case.sent.body)


@scenario("A9", "D6")
async def turn_that_tells_a_key(case: Case) -> None:
    """A key that the model says beside its calls is stored nowhere, and the history without it is taken."""
    key = "sk-" + "proj-a1B2c3D4e5F6g7H8i9J0k1L2"
    case.fake.call_tool("look", {"at": "a"}, say=f"the key is {key}", think=f"hm, {key}", then="done")
    async with talking(case, tools=looking) as agent:
        done = await answered(agent, "go")
        await answered(agent, "again", thread=done.thread)
        assert key not in json.dumps(await agent.history(done.thread))
    assert key not in json.dumps(case.sent.body)


@scenario()
async def turn_with_too_many_rounds(case: Case) -> None:
    """A model that calls tools without end is asked for words at the limit, without tools, and gives them."""
    for n in range(3):
        case.fake.call_tool("look", {"at": str(n)})
    case.fake.say("what I have so far")
    async with talking(case, tools=looking, settings={"core.agent.max_tool_turns": 3}) as agent:
        await answered(agent, "go")
    assert len(case.fake.chats) == 4
    assert len(case.sent.results) == 3


@scenario("A24")
async def turn_byte_by_byte(case: Case) -> None:
    """An answer that comes byte by byte is the same on the page, in the outcome and in the store."""
    case.fake.say(TEXT, one_byte=True, chunk=1)
    async with talking(case) as agent:
        done = await answered(agent, TEXT)
        assert done.outcome
        assert done.outcome.text == TEXT
        shown = "".join(str(delta["text"]) for delta in agent.of("content_delta"))
        assert shown == TEXT
        assert [event["text"] for event in (await agent.history(done.thread))["events"]] == [TEXT, TEXT]
    assert case.sent.said[-1][1].endswith(TEXT)


@scenario(needs=("cache",))
async def turns_from_the_cache(case: Case) -> None:
    """From turn to turn most of a prompt comes out of the provider's cache."""
    case.fake.insist(cache_min=64, cache_unit=16)
    async with talking(case, tools=looking) as agent:
        thread = ""
        for n in range(8):
            case.fake.call_tool("look", {"at": f"{n} " + "far " * 100}, then=f"answer {n}", chunk=500)
            thread = (await answered(agent, f"{n}: " + "a story " * 100, thread=thread)).thread
    prompts = [chat.prompt for chat in case.fake.chats[2:] if chat.prompt is not None]
    share = sum(prompt.cached for prompt in prompts) / sum(prompt.tokens for prompt in prompts)
    assert share > 0.5, f"{share:.0%} came from the cache"
