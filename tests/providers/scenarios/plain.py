"""Questions and answers in words: whole and streamed, with everything a request may say besides."""

from __future__ import annotations

from homed.providers.base import Assistant, ContentDelta, Done, ReasoningDelta, System, UsagePart, User
from tests.providers.scenario import Book
from tests.providers.stage import LOOK, Case

BOOK = Book("Plain")
scenario = BOOK.scenario

TEXT = "你好🌍 — naïve ‮bidi‬ 👩‍👩‍👧‍👦 \u0000\t end"


@scenario()
async def streamed_answer(case: Case) -> None:
    """A streamed answer comes in pieces, in order, with its reason and its count at the end."""
    case.fake.say(TEXT)
    heard = await case.good("hi")
    assert heard.text == TEXT
    assert heard.said.reason == "stop"
    assert sum(isinstance(part, ContentDelta) for part in heard.parts) > 3
    assert isinstance(heard.parts[-1], Done)
    assert any(isinstance(part, UsagePart) for part in heard.parts)


@scenario()
async def whole_answer(case: Case) -> None:
    """An answer asked for in one piece says the same as a streamed one."""
    case.fake.say(TEXT, think="hm 想")
    heard = await case.good("hi", options={"stream": False})
    assert (heard.text, heard.said.reasoning, heard.said.reason) == (TEXT, "hm 想", "stop")
    assert heard.said.usage.completion > 0


@scenario()
async def thoughts_apart(case: Case) -> None:
    """What the model thinks aloud comes apart from what it says, and first."""
    case.fake.say("The answer.", think="Let me see. 让我想想。")
    heard = await case.good("hi")
    assert (heard.text, heard.said.reasoning) == ("The answer.", "Let me see. 让我想想。")
    kinds = [type(part) for part in heard.parts if isinstance(part, ContentDelta | ReasoningDelta)]
    assert kinds.index(ContentDelta) > kinds.index(ReasoningDelta)
    assert ReasoningDelta not in kinds[kinds.index(ContentDelta) :]


@scenario()
async def instructions(case: Case) -> None:
    """Instructions go where the wire has a place for them, and nowhere else."""
    case.fake.say("yes")
    await case.good(System("Be brief. 简短。"), User("hi"))
    assert case.sent.system == "Be brief. 简短。"
    assert case.sent.said == [("user", "hi")]


@scenario()
async def several_instructions(case: Case) -> None:
    """Instructions in several parts arrive whole and in order, and empty ones trouble nobody."""
    case.fake.say("yes")
    await case.good(System("One."), System(""), System("Two."), User("hi"))
    assert [word for word in ("One.", "Two.") if word in case.sent.system] == ["One.", "Two."]
    assert case.sent.system.index("One.") < case.sent.system.index("Two.")


@scenario()
async def length_is_told(case: Case) -> None:
    """A limit of tokens is asked for in the wire's own word, and reaching it is told as such."""
    finish = {"anthropic": "max_tokens", "gemini": "MAX_TOKENS"}.get(case.wire, "length")
    case.fake.say("cut off he", finish=finish)
    heard = await case.good("hi", max_tokens=4096)
    assert heard.said.reason == "length"
    body = case.sent.body
    holders = [body, body.get("generationConfig", {}), body.get("options", {})]
    assert 4096 in [value for holder in holders for value in holder.values()]


@scenario()
async def temperature(case: Case) -> None:
    """A temperature is sent where the source takes one, and left out where it does not."""
    case.fake.say("warm")
    await case.good("hi", temperature=0.5, options={"temperature": "send", **_no_thinking(case)})
    body = case.sent.body
    assert 0.5 in (
        body.get("temperature"), body.get("generationConfig", {}).get("temperature"),
        body.get("options", {}).get("temperature"),
    )  # fmt: skip
    case.fake.say("warm")
    await case.good("hi", temperature=0.5, options={"temperature": "omit"})
    assert "0.5" not in str(case.sent.body)


def _no_thinking(case: Case) -> dict[str, object]:
    return {"thinking": "off"} if case.wire == "anthropic" else {}


@scenario(unless=dict.fromkeys(("openai", "gemini", "ollama", "deepseek"), "only Anthropic dates its API"))
async def later_version(case: Case) -> None:
    """The API of a later date is asked for by a setting, and not sent what it does not know any more."""
    case.fake.call_tool("look", {"at": "a"}, think="hm")
    later = {"version": "2026-10-21", "thinking": "off"}
    heard = await case.good("hi", tools=(LOOK,), temperature=0.5, options=later)
    assert case.sent.headers["anthropic-version"] == "2026-10-21"
    assert heard.calls == [("look", {"at": "a"})]


@scenario()
async def extra_fields(case: Case) -> None:
    """A field of the person's own goes out as it is; the model's name goes where the wire has it."""
    key = {"gemini": "safetySettings", "ollama": "keep_alive", "anthropic": "metadata"}.get(case.wire, "seed")
    value: object = {"gemini": [], "anthropic": {"user_id": "me"}, "ollama": "5m"}.get(case.wire, 7)
    case.fake.say("fine")
    await case.good("hi", options={"extra": {key: value}})
    assert case.sent.body[key] == value
    assert case.fake.model in case.fake.chats[-1].path or case.sent.body["model"] == case.fake.model


@scenario()
async def own_headers(case: Case) -> None:
    """Headers of the person's own go out besides."""
    case.fake.say("fine")
    await case.good("hi", options={"headers": {"X-Title": "mine"}})
    assert case.sent.headers["x-title"] == "mine"


@scenario("A24")
async def strange_text(case: Case) -> None:
    """Control characters, half surrogates and long runs in what people say reach the server as valid text."""
    case.fake.say("ok")
    await case.good(User("a\x00b\ud83c c \u202e d" + "🌍" * 2000))
    told = case.sent.said[-1][1]
    assert "🌍" * 2000 in told
    assert told.startswith("a")


@scenario()
async def conversation(case: Case) -> None:
    """A conversation of several turns arrives turn by turn, in order."""
    case.fake.say("fine")
    await case.good(User("one"), Assistant("1"), User("two"), Assistant("2"), User("three"))
    assert case.sent.said == [
        ("user", "one"), ("assistant", "1"), ("user", "two"), ("assistant", "2"), ("user", "three"),
    ]  # fmt: skip


@scenario()
async def long_history(case: Case) -> None:
    """A long history with tools goes out whole and valid."""
    from homed.providers.base import ToolCall, ToolResult

    messages: list[User | Assistant | ToolResult] = []
    for n in range(150):
        messages += [User(f"question {n}"), Assistant("", (ToolCall(f"c{n}", "look", {"at": str(n)}),))]
        messages += [ToolResult(f"c{n}", "look", f"seen {n}"), Assistant(f"answer {n}")]
    case.fake.insist(context=200_000)
    case.fake.say("done")
    heard = await case.good(*messages, User("and now?"), tools=(LOOK,), context_window=200_000, **_window(case))
    assert heard.text == "done"
    assert len(case.sent.results) == len(case.sent.calls) == 150
    assert case.sent.results[149] == "seen 149"


def _window(case: Case) -> dict[str, object]:
    return {"options": {"num_ctx": 131_072}} if case.wire == "ollama" else {}


@scenario("E47", needs=("cache",))
async def cached_counted_once(case: Case) -> None:
    """What came from the cache is part of the prompt and counted once."""
    case.fake.say("one", cached=3)
    usage = (await case.good("hello there, how are you today?")).said.usage
    prompt = case.fake.chats[-1].prompt
    assert prompt is not None
    assert usage.prompt == prompt.tokens
    assert usage.cached == 3
    assert usage.completion > 0


@scenario("E47")
async def thoughts_are_counted(case: Case) -> None:
    """Tokens of thoughts are part of what the answer cost."""
    case.fake.say("four", think="a long thought " * 20)
    usage = (await case.good("hi")).said.usage
    assert usage.completion >= 70


@scenario("D7")
async def count_missing(case: Case) -> None:
    """An answer without a count is an answer; nothing is made up."""
    case.fake.say("fine", usage=False)
    heard = await case.good("hi")
    assert heard.text == "fine"
    assert heard.said.usage.completion <= 1


@scenario()
async def blank_person(case: Case) -> None:
    """A message of blanks, or none at all, is never sent as such where it would be refused."""
    case.fake.say("yes?")
    heard = await case.good(User("hi"), Assistant("hello"), User("  \n"))
    assert heard.text == "yes?"
