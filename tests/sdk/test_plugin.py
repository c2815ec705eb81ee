"""Declaring: mistakes show at the author's desk, and arguments are bound with a word the model can use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import trio

from homed import sdk
from homed.sdk.plugin import Tool
from homed.sdk.testing import harness


def tool_of(function: Callable[..., Any]) -> Tool:
    return Tool("t", function, {})


def sample(ctx: sdk.Context, path: str, limit: int = 10, ratio: float = 1.0) -> str:
    return ""


def test_the_folder_is_where_the_plugin_is_made() -> None:
    assert sdk.Plugin("a").folder == Path(__file__).parent
    assert sdk.Plugin("a", folder=Path("/x")).folder == Path("/x")


def test_declarations_are_kept_by_name_and_functions_stay_what_they_are() -> None:
    plugin = sdk.Plugin("a")

    @plugin.tool(cls="read", name="other")
    def one(ctx: sdk.Context) -> str:
        return "1"

    @plugin.stage("on_input", order=-3, on_failure="closed")
    async def two(ctx: sdk.Context, fields: Mapping[str, Any]) -> None:
        return None

    @plugin.output("a", caps=("text", "image"))
    async def three(ctx: sdk.Context, content: object) -> str:
        return "ok"

    plugin.input("a")
    assert plugin.tools["other"].function is one
    assert (plugin.stages["on_input"].spec.order, plugin.stages["on_input"].spec.on_failure) == (-3, "closed")
    assert plugin.outputs["a"].spec.caps == ("text", "image")
    assert plugin.inputs == ["a"]


@pytest.mark.parametrize("name", ["", "A", "1a", "a-b", "a" * 40, "../a"])
def test_a_name_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="name matches"):
        sdk.Plugin(name)


def test_the_same_name_twice_is_refused() -> None:
    plugin = sdk.Plugin("a")
    plugin.tool()(sample)
    plugin.input("a")
    with pytest.raises(ValueError, match="'sample' is declared twice"):
        plugin.tool()(sample)
    with pytest.raises(ValueError, match="declared twice"):
        plugin.input("a")


def test_unknown_words_are_refused_with_the_known_ones() -> None:
    plugin = sdk.Plugin("a")
    with pytest.raises(ValueError, match="read, write, dangerous"):
        plugin.tool(cls="harmless")
    with pytest.raises(ValueError, match="before_output"):
        plugin.stage("on_output")
    with pytest.raises(ValueError, match="own-tools"):
        plugin.stage("on_input", scope="mine")
    with pytest.raises(ValueError, match="open, closed"):
        plugin.stage("on_input", on_failure="shut")
    with pytest.raises(ValueError, match="event, lost, passed, settings"):
        plugin.on("notice")


def no_context() -> None: ...


def stars(ctx: sdk.Context, *rest: str) -> None: ...


def double_stars(ctx: sdk.Context, **rest: str) -> None: ...


@pytest.mark.parametrize("function", [no_context, stars, double_stars])
def test_a_signature_that_no_model_can_fill_is_refused(function: Callable[..., Any]) -> None:
    with pytest.raises(TypeError, match="first parameter is the context"):
        sdk.Plugin("a").tool()(function)


def test_arguments_are_bound_as_they_come() -> None:
    assert tool_of(sample).bind({"path": "a", "limit": 3}) == {"path": "a", "limit": 3}


def test_a_whole_number_written_as_a_float_becomes_one_only_where_that_is_wanted() -> None:
    bound = tool_of(sample).bind({"path": "a", "limit": 3.0, "ratio": 2.0})
    assert bound == {"path": "a", "limit": 3, "ratio": 2.0}
    assert (type(bound["limit"]), type(bound["ratio"])) == (int, float)
    assert tool_of(sample).bind({"path": "a", "limit": 3.5})["limit"] == 3.5


def test_missing_and_unknown_arguments_are_named() -> None:
    with pytest.raises(sdk.ToolError, match="t needs the argument path"):
        tool_of(sample).bind({})
    with pytest.raises(sdk.ToolError, match=r"no argument pth\. Its arguments are: path, limit, ratio"):
        tool_of(sample).bind({"pth": "a"})


async def test_an_input_is_declared_bare_or_around_the_function_that_listens() -> None:
    plugin = sdk.Plugin("chat")
    plugin.input("one")
    ran = trio.Event()

    @plugin.input("two")
    async def listen(kernel: sdk.Kernel) -> None:
        ran.set()
        await trio.sleep_forever()

    assert plugin.inputs == ["one", "two"]
    async with harness(plugin) as kernel:
        assert kernel.registered["inputs"] == ["one", "two"]
        with trio.fail_after(60):
            await ran.wait()
    with pytest.raises(ValueError, match="declared twice"):
        plugin.input("two")
