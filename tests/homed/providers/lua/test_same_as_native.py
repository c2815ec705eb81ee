"""The bundled scripts say the same as the native adapters, for every history and every answer that can be made up."""

from __future__ import annotations

import json
import re
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from homed.providers import pairing
from homed.providers.adapter import Native
from homed.providers.adapters import native
from homed.providers.base import (
    Assistant,
    Audio,
    ChatRequest,
    Image,
    Message,
    Opaque,
    Source,
    System,
    ToolCall,
    ToolResult,
    ToolSpec,
    User,
)
from homed.providers.presets import PRESETS
from homed.providers.shaping import said_by
from tests.homed.providers.lua.local import InProcess, bundled
from tests.homed.providers.test_schema import within_itself

SOURCES = {preset.source.name: preset.source for preset in PRESETS}

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.sampled_from(
    ["", " ", "你好🌍", "a\x7f\x00"]
)
ids = st.sampled_from(["call_1", "call 2", "x" * 60, "toolu_01", "abcdefghi", "呼"])
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | texts | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
tables = st.dictionaries(texts, values, max_size=3)
names = st.sampled_from(["look", "a.b", "", "工具", "n" * 80])


@st.composite
def calls(draw: st.DrawFn) -> list[ToolCall]:
    made = draw(st.lists(st.tuples(ids, names, st.none() | tables), max_size=3, unique_by=lambda one: one[0]))
    return [ToolCall(id_, name, arguments) for id_, name, arguments in made]


def opaques(text: str, made: list[ToolCall]) -> st.SearchStrategy[Opaque | None]:
    cut = len(text) // 2
    thought = {"type": "thinking", "thinking": "hm", "signature": "c2ln", "more": None}
    anthropic = [thought, {"t": cut}, {"type": "redacted_thinking", "data": "x"}, {"t": len(text) - cut}]
    gemini: list[dict[str, object]] = [{"t": cut, "s": "abc"}, {"t": len(text) - cut}]
    for n, call in enumerate(made):
        anthropic.append({"c": call.id})
        gemini.append({"c": call.id, "s": f"s{n}"} | ({"i": True} if n else {}))
    good = [Opaque("anthropic", json.dumps(anthropic)), Opaque("gemini", json.dumps(gemini))]
    bad = [Opaque("anthropic", "["), Opaque("gemini", '[{"t":9999}]'), Opaque("anthropic", '[{"t":1,"x":2}]')]
    return st.none() | st.sampled_from(good) | st.sampled_from(bad)


@st.composite
def histories(draw: st.DrawFn, source: Source) -> tuple[Message, ...]:
    out: list[Message] = [System(draw(texts))] if draw(st.booleans()) else []
    for _ in range(draw(st.integers(0, 4))):
        if draw(st.booleans()):
            images = (Image("image/png", b"png"),) * draw(st.integers(0, 2))
            audio = (Audio("audio/mpeg", b"mp3"),) * draw(st.integers(0, 1)) if source.audio else ()
            out.append(User(draw(texts), images, audio))
        else:
            text, made = draw(texts), draw(calls())
            origin = draw(st.sampled_from(["", "else/m", said_by(source)]))
            opaque = draw(opaques(text, made))
            out.append(Assistant(text, tuple(made), draw(texts), opaque, origin))
            out += [ToolResult(call.id, call.name, "r " + draw(texts), draw(st.booleans())) for call in made]
    return pairing.repair(tuple(out)).messages


schemas = st.recursive(
    st.fixed_dictionaries(
        {"type": st.sampled_from(["string", "integer", "boolean", "object", ["string", "null"], "null"])},
        optional={
            "enum": st.lists(texts | st.integers(0, 9) | st.none() | st.booleans(), max_size=3), "const": texts,
            "description": texts, "format": st.sampled_from(["date-time", "uri", "int32"]),
            "minimum": st.integers(0, 3),
            "$ref": st.sampled_from(["#/$defs/a", "#/$defs/none"]), "default": st.none() | texts,
        },
    ),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "properties": st.dictionaries(st.sampled_from(["p", "q", "路"]), inner, max_size=2),
            "required": st.lists(st.sampled_from(["p", "q", "z"]), max_size=3), "items": inner,
            "anyOf": st.lists(inner, max_size=2), "oneOf": st.lists(inner, max_size=2),
            "allOf": st.lists(inner, max_size=2), "type": st.sampled_from(["object", "array"]),
            "$defs": st.dictionaries(st.just("a"), inner, max_size=1), "nullable": st.booleans(),
        },
    ),
    max_leaves=6,
)  # fmt: skip
tools = st.lists(
    st.builds(ToolSpec, st.sampled_from(["look", "now"]), texts, schemas), max_size=2, unique_by=lambda tool: tool.name
)

OPTIONS: dict[str, st.SearchStrategy[Any]] = {
    "reasoning": st.sampled_from(["auto", "echo", "strip"]), "stream": st.booleans(), "stream_usage": st.booleans(),
    "max_tokens": st.integers(0, 50) | st.integers(2000, 4000), "temperature": st.sampled_from(["send", "omit"]),
    "max_tokens_field": st.sampled_from(["max_tokens", "max_completion_tokens"]),
    "reasoning_effort": st.sampled_from(["", "low"]), "system_role": st.sampled_from(["system", "developer", "user"]),
    "merge_same_role": st.booleans(), "user_after_tool": st.booleans(),
    "empty_content": st.sampled_from(["null", "empty", "omit"]), "result_names": st.booleans(),
    "cache": st.sampled_from(["off", "5m", "1h"]), "thinking": st.sampled_from(["off", "adaptive", 2048]),
    "effort": st.sampled_from(["", "high"]), "foreign_signature": st.sampled_from(["", "other"]),
    "keep_alive": st.sampled_from(["", "30m", "-1"]), "num_ctx": st.integers(0, 9),
    "think": st.sampled_from(["auto", "on", "off", "low"]), "betas": st.sampled_from(["", "x"]),
    "extra": st.dictionaries(st.sampled_from(["top_p", "model"]), values, max_size=2),
}  # fmt: skip
options = st.fixed_dictionaries({}, optional=OPTIONS)


@pytest.fixture(scope="module", params=sorted(SOURCES))
def pair(request: pytest.FixtureRequest) -> tuple[Source, InProcess]:
    source = SOURCES[request.param]
    return source, bundled(source.name)


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_every_request_is_the_same(pair: tuple[Source, InProcess], data: st.DataObject) -> None:
    preset, script = pair
    chosen = data.draw(options)
    source = Source(
        **{**{f: getattr(preset, f) for f in preset.__dataclass_fields__}, "options": {**preset.options, **chosen}}
    )
    asked = ChatRequest(
        data.draw(histories(source)), tuple(data.draw(tools)),
        data.draw(st.none() | st.integers(1, 99) | st.integers(2000, 4000)),
        data.draw(st.none() | st.sampled_from([0.0, 0.7, 1.5])),
    )  # fmt: skip
    adapter = native(source.adapter)
    assert isinstance(adapter, Native)
    out = script.request(source, asked)
    assert out.url == adapter.pure.url(source)
    mine, theirs = json.loads(out.body), json.loads(adapter.pure.body(source, asked))
    assert _plain(mine) == _plain(theirs)


@pytest.mark.parametrize("key", ["properties", "anyOf", "allOf"])
@pytest.mark.parametrize("places", [1, 2, 3, 5, 9, 60])
def test_a_schema_that_is_within_itself_is_cut_alike(places: int, key: str) -> None:
    source = SOURCES["gemini"]
    asked = ChatRequest((User("hi"),), (ToolSpec("look", "Looks.", within_itself(places, key)),))
    adapter = native(source.adapter)
    assert isinstance(adapter, Native)
    mine, theirs = bundled(source.name).request(source, asked).body, adapter.pure.body(source, asked)
    assert _plain(json.loads(mine)) == _plain(json.loads(theirs))


@pytest.mark.parametrize("name", ["openai", "mistral", "anthropic"])
def test_a_long_history_whose_ids_begin_anew_with_each_answer_costs_no_more_for_each(name: str) -> None:
    """A script is allowed so many instructions: with ids that were looked for from the first of them each time, some
    hundred calls were too many, and the conversation was over."""
    source, said = SOURCES[name], list[Message]()
    for n in range(1500):
        said += [User(f"{n}"), Assistant("", (ToolCall("call_0", "look", {}),)), ToolResult("call_0", "look", "seen")]
    asked = ChatRequest((*said, User("and now?")))
    adapter = native(source.adapter)
    assert isinstance(adapter, Native)
    begun = time.process_time()
    mine, theirs = bundled(name).request(source, asked).body, adapter.pure.body(source, asked)
    assert time.process_time() - begun < 5
    for body in (mine, theirs):
        assert len(set(re.findall(rb'"tool_(?:call|use)_id": ?"([^"]+)"', body))) == 1500


def _plain(body: Any) -> Any:
    """With argument texts read, and made-up call ids told by their order: only those are made in different ways."""
    text = json.dumps(body, sort_keys=True)
    known: dict[str, str] = {}

    def walk(value: Any) -> Any:
        if isinstance(value, list):
            return [walk(one) for one in value]
        if not isinstance(value, dict):
            return value
        out = {key: walk(one) for key, one in value.items()}
        if isinstance(value.get("arguments"), str):
            out["arguments"] = json.loads(value["arguments"])
        for key in ("id", "tool_call_id", "tool_use_id"):
            if isinstance(value.get(key), str):
                out[key] = known.setdefault(value[key], f"id {len(known)}")
        return out

    return walk(json.loads(text))
