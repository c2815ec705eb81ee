"""Tools: one call, several at once, broken ones, and what is offered."""

from __future__ import annotations

import json

import pytest

from homed.providers.base import Assistant, ErrorKind, System, ToolCall, ToolResult, ToolSpec, User
from tests.kit.fake_script import Call
from tests.providers.scenario import Book
from tests.providers.stage import LOOK, PLAIN, Case, Heard

BOOK = Book("Tools")
scenario = BOOK.scenario


async def _answered(case: Case, heard: Heard, *results: ToolResult, say: str = "I see") -> Heard:
    """The results go back, and the server takes them."""
    case.fake.say(say)
    return await case.good(User("go"), heard.message, *results, tools=(LOOK, PLAIN))


@scenario()
async def one_call(case: Case) -> None:
    """A tool is called, its result goes back, and the model answers."""
    case.fake.call_tool("look", {"at": "北京 🌍", "deep": {"n": [1, 2.5, None, True]}})
    heard = await case.good("go", tools=(LOOK,))
    assert heard.calls == [("look", {"at": "北京 🌍", "deep": {"n": [1, 2.5, None, True]}})]
    assert heard.said.reason == "tool_calls"
    after = await _answered(case, heard, ToolResult(heard.ids[0], "look", "sunny ☀"))
    assert after.text == "I see"
    assert case.sent.calls == [("look", {"at": "北京 🌍", "deep": {"n": [1, 2.5, None, True]}})]
    assert case.sent.results == ["sunny ☀"]


@scenario()
async def one_call_in_a_whole_answer(case: Case) -> None:
    """The same when nothing is streamed."""
    case.fake.call_tool("look", {"at": "北"}, say="Looking.")
    heard = await case.good("go", tools=(LOOK,), options={"stream": False})
    assert heard.calls == [("look", {"at": "北"})]
    assert heard.text == "Looking."
    assert heard.said.reason == "tool_calls"


@scenario("E15")
async def call_without_arguments(case: Case) -> None:
    """A call of a tool that takes no arguments means an empty object."""
    case.fake.call_tools(Call("now"))
    heard = await case.good("go", tools=(PLAIN,))
    assert heard.calls == [("now", {})]
    await _answered(case, heard, ToolResult(heard.ids[0], "now", "noon"))
    assert case.sent.calls == [("now", {})]


@scenario("A6", "E14")
async def parallel_calls(case: Case) -> None:
    """Calls made at once stay apart and in order, whatever pieces they come in; all results go back, each its own."""
    case.fake.call_tools(Call("look", {"at": "北京" * 9}), Call("now"), Call("look", {"at": "b"}), chunk=3)
    heard = await case.good("go", tools=(LOOK, PLAIN))
    assert heard.calls == [("look", {"at": "北京" * 9}), ("now", {}), ("look", {"at": "b"})]
    assert len(set(heard.ids)) == 3
    results = [
        ToolResult(id_, name, f"r{n}") for n, (id_, (name, _)) in enumerate(zip(heard.ids, heard.calls, strict=True))
    ]
    await _answered(case, heard, *results)
    assert case.sent.results == ["r0", "r1", "r2"]


@scenario("A14")
async def calls_without_ids(case: Case) -> None:
    """Two calls of one tool without ids get ids of their own."""
    case.fake.call_tools(Call("look", {"at": "a"}), Call("look", {"at": "b"}), ids="missing")
    heard = await case.good("go", tools=(LOOK,))
    assert heard.calls == [("look", {"at": "a"}), ("look", {"at": "b"})]
    assert all(heard.ids)
    assert len(set(heard.ids)) == 2
    await _answered(case, heard, *(ToolResult(id_, "look", id_) for id_ in heard.ids))
    assert len(case.sent.results) == 2


@scenario("A14")
async def calls_with_bad_ids(case: Case) -> None:
    """Empty ids, or the same for two calls, are replaced by ids of their own."""
    for ids in ("empty", "same"):
        case.fake.call_tools(Call("look", {"at": "a"}), Call("look", {"at": "b"}), ids=ids)
        heard = await case.good("go", tools=(LOOK,))
        assert heard.calls == [("look", {"at": "a"}), ("look", {"at": "b"})], ids
        assert all(heard.ids)
        assert len(set(heard.ids)) == 2
        await _answered(case, heard, *(ToolResult(id_, "look", id_) for id_ in heard.ids))


@scenario("E14", needs=("call-indexes",))
async def calls_with_bad_indexes(case: Case) -> None:
    """Calls whose place is missing, or the same for all, are told apart all the same."""
    for indexes in ("missing", "zero"):
        case.fake.call_tools(Call("look", {"at": "a"}), Call("look", {"at": "b"}), indexes=indexes)
        heard = await case.good("go", tools=(LOOK,))
        assert heard.calls == [("look", {"at": "a"}), ("look", {"at": "b"})], indexes


@scenario("A13", needs=("whole-calls",))
async def arguments_of_the_other_kind(case: Case) -> None:
    """Arguments as an object where the wire has text, or as text where it has an object, are read."""
    other = "string" if case.wire in ("ollama", "gemini") else "object"
    case.fake.call_tools(Call("look", {"at": "北"}), arguments_as=other)
    heard = await case.good("go", tools=(LOOK,))
    assert heard.calls == [("look", {"at": "北"})]
    await _answered(case, heard, ToolResult(heard.ids[0], "look", "seen"))


@scenario("A15", unless={"gemini": "the server reads the arguments itself, and tells when it cannot"})
async def broken_arguments(case: Case) -> None:
    """Arguments that are no JSON are never half run, and the history with them is taken."""
    case.fake.call_tools(Call("look", raw='{"at":1'))
    heard = await case.good("go", tools=(LOOK,))
    assert heard.calls == [("look", None)]
    assert heard.said.calls[0].raw == '{"at":1'
    await _answered(case, heard, ToolResult(heard.ids[0], "look", "Your arguments are no JSON.", is_error=True))
    assert case.sent.results == ["Your arguments are no JSON."]


@scenario("A15", unless=dict.fromkeys(("openai", "anthropic", "ollama", "deepseek"), "only Gemini ends an answer so"))
async def malformed_call(case: Case) -> None:
    """A call that the server could not read itself is the model's slip: told as such, nothing is run."""
    case.fake.call_tools(Call("look", raw='{"at":1'))
    heard = await case.ask("go", tools=(LOOK,))
    assert heard.failure.kind is ErrorKind.BAD_REQUEST
    assert "error parsing tool call" in heard.failure.message
    assert heard.calls == []


@scenario("A7")
async def failing_call(case: Case) -> None:
    """Of three calls the middle one fails without a word: two good results and one with words go back."""
    case.fake.call_tools(*(Call("look", {"at": str(n)}) for n in range(3)))
    heard = await case.good("go", tools=(LOOK,))
    good = [ToolResult(heard.ids[n], "look", f"seen {n}") for n in (0, 2)]
    bad = ToolResult(heard.ids[1], "look", "", is_error=True)
    await _answered(case, heard, good[0], bad, good[1])
    first, middle, last = case.sent.results
    assert (first, last) == ("seen 0", "seen 2")
    assert middle.strip()


@scenario()
async def empty_result(case: Case) -> None:
    """A result without text goes back as one that says so."""
    case.fake.call_tool("look", {"at": "a"})
    heard = await case.good("go", tools=(LOOK,))
    await _answered(case, heard, ToolResult(heard.ids[0], "look", ""))
    assert case.sent.results[0].strip()


@scenario()
async def several_rounds(case: Case) -> None:
    """Rounds of calls in one turn go back in order."""
    history: list[User | Assistant | ToolResult] = [User("go")]
    for n in range(4):
        case.fake.call_tool("look", {"at": str(n)}, say=f"step {n}")
        heard = await case.good(*history, tools=(LOOK,))
        history += [heard.message, ToolResult(heard.ids[0], "look", f"seen {n}")]
    case.fake.say("done")
    assert (await case.good(*history, tools=(LOOK,))).text == "done"
    assert case.sent.results == [f"seen {n}" for n in range(4)]
    assert [text for role, text in case.sent.said if role == "assistant"] == [f"step {n}" for n in range(4)]


@scenario()
async def no_tools_any_more(case: Case) -> None:
    """A history with calls is taken when no tools are on offer any more."""
    case.fake.call_tool("look", {"at": "a"})
    heard = await case.good("go", tools=(LOOK,))
    case.fake.say("in words")
    history = (User("go"), heard.message, ToolResult(heard.ids[0], "look", "seen"), System("Answer in text now."))
    assert (await case.good(*history)).text == "in words"


@scenario()
async def text_and_calls(case: Case) -> None:
    """What is said beside a call is kept, and goes back with it."""
    case.fake.call_tool("look", {"at": "a"}, say="Let me look.", think="hm")
    heard = await case.good("go", tools=(LOOK,))
    assert heard.text == "Let me look."
    await _answered(case, heard, ToolResult(heard.ids[0], "look", "seen"))
    assert ("assistant", "Let me look.") in case.sent.said


@scenario()
async def person_after_result(case: Case) -> None:
    """A person may speak right after a result."""
    case.fake.call_tool("look", {"at": "a"})
    heard = await case.good("go", tools=(LOOK,))
    case.fake.say("you said so")
    history = (User("go"), heard.message, ToolResult(heard.ids[0], "look", "seen"), User("wait, one more thing"))
    assert (await case.good(*history, tools=(LOOK,))).text == "you said so"
    assert ("user", "wait, one more thing") in case.sent.said


SCHEMAS: dict[str, dict[str, object]] = {
    "plain": {"type": "object", "properties": {}},
    "words": {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "additionalProperties": False,
        "required": ["a"],
        "properties": {
            "a": {"type": ["string", "null"], "minLength": 1, "examples": ["x"]},
            "b": {"type": "array", "items": {"$ref": "#/$defs/n"}},
            "c": {"const": "fixed"},
            "d": {"oneOf": [{"type": "integer"}, {"type": "string", "format": "uri"}]},
            "e": {"type": "integer", "enum": [1, 2, 3], "exclusiveMinimum": 0},
            "f": {"type": "array"},
            "g": {"type": "object", "additionalProperties": {"type": "string"}},
            "名": {"type": "string", "description": "名字"},
        },
        "$defs": {"n": {"type": "number", "multipleOf": 0.5}},
    },
    "choice": {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
        "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
    },
}


@scenario()
async def schemas_of_all_kinds(case: Case) -> None:
    """Tools with every kind of schema that plugins have are offered in a form the server takes."""
    tools = tuple(ToolSpec(name, f"Does {name}.", schema) for name, schema in SCHEMAS.items())
    case.fake.say("I have tools")
    await case.good("go", tools=tools)
    assert case.sent.tools == list(SCHEMAS)
    assert "名" in json.dumps(case.sent.body["tools"], ensure_ascii=False)


@scenario()
async def names_that_are_none(case: Case) -> None:
    """A call of what is no tool, by any name, leaves a history that is taken."""
    for name in ("functions.look", "look up", "", "n" * 80, "看", "<|call|>"):
        case.fake.say("I see")
        call = ToolCall("c1", name, {"at": "a"})
        history = (User("go"), Assistant("", (call,)), ToolResult("c1", name, "no such tool", is_error=True))
        assert (await case.good(*history, tools=(LOOK,), options=_unthinking(case))).text == "I see", name
        assert case.sent.results == ["no such tool"]


def _unthinking(case: Case) -> dict[str, object]:
    return {"thinking": "off"} if case.wire == "anthropic" else {}


@scenario()
async def ids_of_any_form(case: Case) -> None:
    """Ids of another source, of any length and letters, are sent in a form the server takes, and stay pairs."""
    for id_ in ("c" * 200, "call:1/2", "呼び出し", "a b", "1"):
        case.fake.say("I see")
        history = (User("go"), Assistant("", (ToolCall(id_, "look", {}),)), ToolResult(id_, "look", "seen"))
        assert (await case.good(*history, tools=(LOOK,))).text == "I see", id_
        assert case.sent.results == ["seen"]


@scenario(unless=dict.fromkeys(("openai", "anthropic", "gemini", "deepseek"), "its models all have tools"))
async def model_without_tools(case: Case) -> None:
    """A model that has no tools refuses them in plain words."""
    case.fake.insist(tools=False)
    heard = await case.ask("go", tools=(LOOK,))
    assert heard.error is None or heard.failure.kind is ErrorKind.BAD_REQUEST
    if heard.error is not None:
        assert "does not support tools" in heard.failure.message


@scenario()
async def many_calls(case: Case) -> None:
    """An answer with more calls than any model makes is given up, not swallowed."""
    case.fake.call_tools(*(Call("look", {"at": str(n)}) for n in range(65)))
    heard = await case.ask("go", tools=(LOOK,))
    with pytest.raises(AssertionError):
        assert heard.error is None
    assert "more than 64 tool calls" in heard.failure.message
