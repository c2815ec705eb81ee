"""What a model thought, with tools: returned to those that want it, withheld from those that refuse it."""

from __future__ import annotations

from dataclasses import replace

from homed.providers.base import Assistant, ErrorKind, Message, ToolCall, ToolResult, User
from tests.kit.fake_script import Call
from tests.providers.scenario import Book
from tests.providers.stage import LOOK, PLAIN, Case, Heard

BOOK = Book("Reasoning")
scenario = BOOK.scenario


async def _round(case: Case, history: list[Message], *calls: Call, think: str = "hm, 想", **how: object) -> Heard:
    """One more round of calls; the history grows by it."""
    case.fake.call_tools(*calls, think=think, **how)
    heard = await case.good(*history, tools=(LOOK, PLAIN))
    history.append(heard.message)
    history += [ToolResult(id_, name, "seen") for id_, (name, _) in zip(heard.ids, heard.calls, strict=True)]
    return heard


async def _end(case: Case, history: list[Message]) -> None:
    case.fake.say("done", think="at last")
    heard = await case.good(*history, tools=(LOOK, PLAIN))
    assert heard.text == "done"
    history.append(heard.message)


@scenario("A9", "A10", "A12")
async def thought_before_a_call(case: Case) -> None:
    """What was thought before a call goes back as the server wants it, and the server takes it."""
    history: list[Message] = [User("go")]
    heard = await _round(case, history, Call("look", {"at": "a"}), say="Looking.")
    assert heard.said.reasoning == "hm, 想"
    await _end(case, history)
    history.append(User("and now?"))
    await _end(case, history)


@scenario("A9", "A10", "A12")
async def thoughts_in_several_rounds(case: Case) -> None:
    """Thoughts of several rounds of one turn, with several calls each, all go back."""
    history: list[Message] = [User("go")]
    for n in range(3):
        await _round(case, history, Call("look", {"at": f"{n}"}), Call("now"), think=f"thought {n}")
    await _end(case, history)
    assert len(case.sent.calls) == 6


@scenario("A9", "A10", "A12")
async def a_round_without_a_thought(case: Case) -> None:
    """A round in which nothing was thought may stand among others."""
    history: list[Message] = [User("go")]
    await _round(case, history, Call("look", {"at": "a"}))
    await _round(case, history, Call("now"), think="")
    await _end(case, history)


@scenario("A9", needs=("redacted",))
async def unreadable_thought(case: Case) -> None:
    """A thought that cannot be read goes back as it came."""
    history: list[Message] = [User("go")]
    await _round(case, history, Call("look", {"at": "a"}), redacted="secret plan")
    await _end(case, history)
    assert "redacted_thinking" in str(case.sent.body)


@scenario("A12", needs=("signatures",))
async def signature_for_each_call(case: Case) -> None:
    """Each call's own signature goes back with that call."""
    case.fake.insist(signatures="each")
    history: list[Message] = [User("go")]
    await _round(case, history, Call("look", {"at": "a"}), Call("look", {"at": "b"}))
    await _round(case, history, Call("look", {"at": "a"}), Call("now"))
    await _end(case, history)


@scenario("A9", "A10", "A12")
async def calls_of_somebody_else(case: Case) -> None:
    """Calls that another source made, without thoughts or signatures, are taken in mid-turn."""
    call = ToolCall("c1", "look", {"at": "a"})
    foreign = Assistant("", (call,), "what another one thought", origin="another/model")
    await _end(case, [User("go"), foreign, ToolResult("c1", "look", "seen")])


@scenario("A9")
async def thought_that_was_changed(case: Case) -> None:
    """Where the words or calls were changed after the fact, what was signed is left out whole."""
    history: list[Message] = [User("go")]
    heard = await _round(case, history, Call("look", {"at": "a"}), say="my secret is 1234")
    history[1] = replace(heard.message, text="my secret is ****", opaque=None)
    await _end(case, history)
    assert "1234" not in str(case.sent.body)


@scenario("A9")
async def thought_kept_with_other_words(case: Case) -> None:
    """The same when what was signed was kept by mistake: it does not fit, so it is not sent."""
    history: list[Message] = [User("go")]
    heard = await _round(case, history, Call("look", {"at": "a"}), say="my secret is 1234")
    history[1] = replace(heard.message, text="my secret is ****, all of it")
    await _end(case, history)
    assert "1234" not in str(case.sent.body)


@scenario("A9", "A12")
async def thought_of_another_model(case: Case) -> None:
    """What another source of the same wire signed is not sent to this one."""
    history: list[Message] = [User("go")]
    heard = await _round(case, history, Call("look", {"at": "a"}))
    case.fake.ledger.calls.clear()
    case.fake.ledger.signatures.clear()
    history[1] = replace(heard.message, origin="other/model")
    case.fake.say("done")
    assert (await case.good(*history, tools=(LOOK, PLAIN), name="other-one")).text == "done"


@scenario("A11", unless=dict.fromkeys(("anthropic", "gemini", "ollama"), "there is no such contract on this wire"))
async def thoughts_forbidden(case: Case) -> None:
    """Where the server refuses thoughts that come back, a setting withholds them."""
    case.fake.insist(reasoning="forbidden")
    case.fake.call_tools(Call("look", {"at": "a"}), think="hm")
    strip = {"reasoning": "strip", "merge_same_role": True}
    heard = await case.good("go", tools=(LOOK,), options=strip)
    case.fake.say("done")
    history = (User("go"), heard.message, ToolResult(heard.ids[0], "look", "seen"))
    assert (await case.good(*history, tools=(LOOK,), options=strip)).text == "done"
    assert (await case.good(*history, Assistant("a"), User("b"), User("c"), tools=(LOOK,), options=strip)).text


@scenario(
    "A10",
    unless={
        "openai": "OpenAI does not want them back", "anthropic": "thoughts are blocks there",
        "gemini": "thoughts are signatures there", "ollama": "it takes either",
    },
)  # fmt: skip
async def thoughts_withheld_by_mistake(case: Case) -> None:
    """Where the server wants them back, and the setting withholds them, the refusal says what is missing."""
    case.fake.insist(reasoning="required")
    case.fake.call_tools(Call("look", {"at": "a"}), think="hm")
    heard = await case.good("go", tools=(LOOK,))
    history = (User("go"), heard.message, ToolResult(heard.ids[0], "look", "seen"))
    after = await case.ask(*history, tools=(LOOK,), options={"reasoning": "strip"})
    if after.error is not None:
        assert after.failure.kind is ErrorKind.BAD_REQUEST
        assert "reasoning_content" in after.failure.message


@scenario("A10", needs=("reasoning-returned",))
async def thought_goes_back_whole(case: Case) -> None:
    """A long thought with every kind of character goes back to the last byte."""
    think = '想🌍\u2028\\n"quoted"\t' * 200
    history: list[Message] = [User("go")]
    heard = await _round(case, history, Call("look", {"at": "a"}), think=think, chunk=7)
    assert heard.said.reasoning == think
    await _end(case, history)
    assert _held(case.sent.body, think)


def _held(value: object, text: str) -> bool:
    if isinstance(value, dict):
        return any(_held(inner, text) for inner in value.values())
    if isinstance(value, list):
        return any(_held(inner, text) for inner in value)
    return value == text
