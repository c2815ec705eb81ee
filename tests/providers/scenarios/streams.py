"""Streams that are cut, stalled, mixed up or not what was asked for."""

from __future__ import annotations

import trio

from homed.providers.base import ChatRequest, ContentDelta, ErrorKind, ToolCall, User
from homed.providers.http import Limits
from tests.kit.fake_script import Call
from tests.providers.scenario import Book
from tests.providers.stage import LOOK, Case

BOOK = Book("Streams")
scenario = BOOK.scenario

TEXT = "你好🌍"


@scenario("A24")
async def one_byte_at_a_time(case: Case) -> None:
    """An answer that comes byte by byte is byte-identical."""
    case.fake.say(TEXT, think=TEXT, one_byte=True, chunk=1)
    heard = await case.good("hi")
    assert (heard.text, heard.said.reasoning) == (TEXT, TEXT)


@scenario("A24")
async def carriage_returns(case: Case) -> None:
    """Lines that end in carriage return and newline, cut between the two, are the same lines."""
    case.fake.say(TEXT, one_byte=True, crlf=True)
    assert (await case.good("hi")).text == TEXT


@scenario()
async def comments_between(case: Case) -> None:
    """Comments, pings and empty lines between the pieces are no part of the answer."""
    case.fake.say(TEXT * 3, think="hm", keepalive=True)
    heard = await case.good("hi")
    assert (heard.text, heard.said.reasoning) == (TEXT * 3, "hm")


@scenario("E16")
async def stream_not_asked_for(case: Case) -> None:
    """A stream in answer to a question that wanted none is read all the same."""
    case.fake.say(TEXT, sse=True)
    assert (await case.good("hi", options={"stream": False})).text == TEXT


@scenario("E16")
async def whole_where_a_stream_was_asked_for(case: Case) -> None:
    """One whole answer where a stream was asked for is read all the same."""
    case.fake.call_tools(Call("look", {"at": "北"}), sse=False, say=TEXT)
    heard = await case.good("hi", tools=(LOOK,))
    assert heard.text == TEXT
    assert heard.calls == [("look", {"at": "北"})]


@scenario()
async def cut_in_the_middle(case: Case) -> None:
    """A connection that is cut keeps what came, says so, and is not asked again."""
    case.fake.say("half of it is here", cut_frame=7 if case.wire in ("anthropic", "openai") else 4)
    heard = await case.ask("hi")
    assert heard.failure.kind is ErrorKind.TRANSIENT
    assert heard.failure.partial
    assert heard.text
    assert "half of it is here".startswith(heard.text)
    assert len(case.fake.chats) == 1


@scenario()
async def cut_before_anything(case: Case) -> None:
    """A connection that is cut before a word came is asked once more."""
    case.fake.say("lost", cut=0)
    case.fake.say("found")
    heard = await case.good("hi")
    assert heard.text == "found"
    assert len(heard.retries) == 1


@scenario()
async def no_first_byte(case: Case) -> None:
    """A server that does not begin to answer is given up after the limit, with the setting's name."""
    for _ in range(2):
        case.fake.say("never", hang="before")
    heard = await case.ask("hi", limits=Limits(first_byte=0.05))
    assert heard.failure.kind is ErrorKind.TRANSIENT
    assert "core.llm.first_byte_timeout" in heard.failure.hint
    assert len(case.fake.chats) == 2


@scenario()
async def silence_in_the_middle(case: Case) -> None:
    """A server that falls silent in mid-answer is given up after the limit; what came stays."""
    case.fake.say("half of it is here", hang="mid", chunk=3)
    heard = await case.ask("hi", limits=Limits(idle=0.05))
    assert heard.failure.kind is ErrorKind.TRANSIENT
    assert "core.llm.idle_timeout" in heard.failure.hint
    assert len(case.fake.chats) == 1 + len(heard.retries)


@scenario()
async def error_in_the_middle(case: Case) -> None:
    """An error frame in mid-answer is told in the source's words; what came stays."""
    case.fake.say("half of it is here", error_after=3, message="Overloaded: come back later")
    heard = await case.ask("hi")
    assert "come back later" in heard.failure.message
    assert heard.failure.partial
    assert heard.text


@scenario()
async def broken_frame(case: Case) -> None:
    """A frame that is no JSON is an error that says so, never a guess."""
    for _ in range(2):
        case.fake.say("half of it is here", broken_json=True)
    heard = await case.ask("hi")
    assert heard.failure.kind is ErrorKind.TRANSIENT
    assert "cannot be read" in heard.failure.message


@scenario()
async def broken_whole_answer(case: Case) -> None:
    """A whole answer that is cut or no JSON is an error, and asked for once more."""
    case.fake.say("half of it is here", broken_json=True)
    case.fake.say("better")
    heard = await case.good("hi", options={"stream": False})
    assert heard.text == "better"


@scenario("A24")
async def bytes_that_are_no_text(case: Case) -> None:
    """Bytes that are not UTF-8 in a finished line are a visible error, never a replacement character."""
    case.fake.say("fine until here", bad_utf8=True)
    heard = await case.ask("hi")
    assert "UTF-8" in heard.failure.message
    assert "\ufffd" not in heard.text


@scenario()
async def no_last_word(case: Case) -> None:
    """A stream that ends without its last word is whole if the reason to end had come, else broken off."""
    case.fake.say("all of it", done=False)
    case.fake.say("all of it", done=False)
    heard = await case.ask("hi")
    assert heard.text == "all of it"
    if case.wire in ("ollama", "gemini"):  # the reason to end is the last word
        assert heard.failure.partial
    else:
        assert heard.error is None


@scenario("C13")
async def cancelled_in_the_middle(case: Case) -> None:
    """Cancelling closes the connection at once, and the source can be asked again."""
    case.fake.say("slow and steady " * 50, delay=0.02)
    provider = case.provider()
    with trio.CancelScope() as scope:
        async with provider.stream(ChatRequest((User("hi"),))) as parts:
            async for part in parts:
                if isinstance(part, ContentDelta):
                    scope.cancel()
    assert scope.cancelled_caught
    with trio.fail_after(60):
        while not case.fake.chats[0].end:
            await trio.lowlevel.checkpoint()
    assert case.fake.chats[0].end == "closed"
    assert (await case.good("again")).text == "You said: again"


@scenario("A15", needs=("call-pieces",))
async def cut_within_a_call(case: Case) -> None:
    """A call whose arguments were cut is told as broken off; half of them is never run."""
    case.fake.call_tools(Call("look", {"at": "a rather long place to look at"}), cut_frame=4)
    case.fake.call_tools(Call("look", {"at": "a rather long place to look at"}), cut_frame=4)
    heard = await case.ask("hi", tools=(LOOK,))
    assert heard.failure.kind is ErrorKind.TRANSIENT
    whole: list[ToolCall] = [call for call in heard.said.calls if call.arguments]
    assert all(dict(call.arguments or {}) == {"at": "a rather long place to look at"} for call in whole)
