"""Pictures: in what people say, from tools, and where the model is blind."""

from __future__ import annotations

from homed.providers.base import Assistant, ErrorKind, Image, ToolResult, User
from tests.providers.scenario import Book
from tests.providers.stage import LOOK, Case

BOOK = Book("Pictures")
scenario = BOOK.scenario

PNG = Image("image/png", b"\x89PNG\r\n\x1a\n" + bytes(range(256)))
GIF = Image("image/gif", b"GIF89a" + bytes(reversed(range(256))))
JPEG = Image("image/jpeg", b"\xff\xd8\xff" + bytes(64))
WEBP = Image("image/webp", b"RIFF" + bytes(64))


@scenario(needs=("vision",))
async def picture_of_a_person(case: Case) -> None:
    """A picture reaches the server byte for byte, behind the text that names it."""
    case.fake.insist(vision=True)
    case.fake.say("a cat")
    await case.good(User("what is this?", (PNG,)))
    assert case.sent.pictures == [PNG.data]
    assert case.sent.said == [("user", "what is this?")]


@scenario(needs=("vision",))
async def several_pictures(case: Case) -> None:
    """Several pictures, of every kind and in several messages, arrive in their order."""
    case.fake.insist(vision=True)
    case.fake.say("cats")
    await case.good(User("these?", (PNG, GIF)), Assistant("cats"), User("and these?", (JPEG, WEBP, PNG)))
    assert case.sent.pictures == [one.data for one in (PNG, GIF, JPEG, WEBP, PNG)]


@scenario(needs=("vision",))
async def picture_without_words(case: Case) -> None:
    """A picture alone is a message."""
    case.fake.insist(vision=True)
    case.fake.say("a cat")
    await case.good(User("", (PNG,)))
    assert case.sent.pictures == [PNG.data]


@scenario("E17", needs=("vision",))
async def picture_from_a_tool(case: Case) -> None:
    """A picture that a tool made goes in a message of the person's behind the result, where models see it."""
    case.fake.insist(vision=True)
    case.fake.call_tool("look", {"at": "a"}, think="hm")
    heard = await case.good("draw", tools=(LOOK,))
    case.fake.say("it is a cat")
    shown = User("(The picture that look made.)", (PNG,))
    history = (User("draw"), heard.message, ToolResult(heard.ids[0], "look", "1 picture"), shown)
    assert (await case.good(*history, tools=(LOOK,))).text == "it is a cat"
    assert case.sent.pictures == [PNG.data]
    assert case.sent.results == ["1 picture"]


@scenario("E17", unless={"anthropic": "all its models see"})
async def blind_model(case: Case) -> None:
    """A model that is blind refuses pictures, and the refusal says that it is the pictures."""
    case.fake.insist(vision=False)
    heard = await case.ask(User("what is this?", (PNG,)), vision=True)
    if heard.error is None:  # noticed, and asked again without
        assert case.sent.pictures == []
    else:
        assert heard.failure.kind in (ErrorKind.BAD_REQUEST, ErrorKind.TRANSIENT)
        assert "image" in heard.failure.message.lower()


@scenario(needs=("vision",))
async def broken_picture(case: Case) -> None:
    """A file that is no picture is refused in plain words."""
    case.fake.insist(vision=True)
    heard = await case.ask(User("what is this?", (Image("image/png", b"not a picture"),)))
    if case.wire != "ollama":  # it finds out when the model reads it
        assert heard.failure.kind is ErrorKind.BAD_REQUEST
        assert "image" in heard.failure.message
