"""One registry: every name has one owner, and what is listed can be called.  Faults E 21, E 31."""

from __future__ import annotations

import pytest

from homed.errors import Conflict
from homed.host.registry import CleanerEntry, Registry, Reserved
from homed.host.states import Trust
from homed.wire.manifest import Manifest, OutputSpec, StageSpec, ToolSpec


def tool(name: str) -> ToolSpec:
    return ToolSpec(name, f"What {name} does.", {"type": "object"}, "read", guest=True, timeout=5.0, untrusted=True)


def plugin(name: str, *tools: str, stages: tuple[StageSpec, ...] = (), outputs: tuple[str, ...] = ()) -> Manifest:
    return Manifest(
        name, "1", "x", tools=tuple(map(tool, tools)), stages=stages, outputs=tuple(OutputSpec(o) for o in outputs)
    )


def test_tools_and_outputs_are_there_only_while_their_plugin_is_ready() -> None:
    registry = Registry()
    registry.claim(plugin("p", "a", "b", outputs=("o",)), Trust.EXTERNAL)
    assert (registry.tools(), registry.outputs()) == ({}, {})
    registry.set_ready("p", True)
    assert set(registry.tools()) == {"a", "b"}
    entry = registry.tools()["a"]
    assert (entry.plugin, entry.trust, entry.tool_class, entry.guest) == ("p", Trust.EXTERNAL, "read", True)
    assert (entry.timeout, entry.untrusted, entry.confirm) == (5.0, True, False)
    assert registry.outputs()["o"].plugin == "p"
    registry.set_ready("p", False)
    assert (registry.tools(), registry.outputs()) == ({}, {})


def test_a_name_does_not_hint_at_its_owner() -> None:
    registry = Registry()
    for manifest in (plugin("ocr", "x_image"), plugin("image", "ocr_image")):
        registry.claim(manifest, Trust.PACKAGED)
        registry.set_ready(manifest.name, True)
    assert {name: entry.plugin for name, entry in registry.tools().items()} == {"x_image": "ocr", "ocr_image": "image"}


def test_a_name_taken_twice_names_both_plugins_and_the_first_keeps_it() -> None:
    registry = Registry()
    registry.claim(plugin("first", "a", outputs=("o",)), Trust.PACKAGED)
    for second in (plugin("second", "b", "a"), plugin("second", outputs=("o",))):
        with pytest.raises(Conflict, match="of the plugin second is taken by the plugin first") as caught:
            registry.claim(second, Trust.PACKAGED)
        assert caught.value.detail["plugins"] == ["first", "second"]
    registry.set_ready("first", True)
    registry.set_ready("second", True)
    assert set(registry.tools()) == {"a"}


def test_a_tool_and_an_output_may_share_a_name_and_a_plugin_may_claim_again() -> None:
    registry = Registry()
    registry.claim(plugin("p", "same"), Trust.PACKAGED)
    registry.claim(plugin("p", "same"), Trust.PACKAGED)
    registry.claim(plugin("q", outputs=("same",)), Trust.PACKAGED)


@pytest.mark.parametrize("name", ["look", "send__", "send__chat"])
def test_a_name_of_the_kernels_own_is_no_plugins(name: str) -> None:
    registry = Registry(Reserved(frozenset({"look"}), ("send__",)))
    with pytest.raises(Conflict, match=f"The tool {name} of the plugin p is taken by the kernel"):
        registry.claim(plugin("p", "look_at", name), Trust.PACKAGED)
    registry.set_ready("p", True)
    assert registry.tools() == {}
    registry.claim(plugin("q", "look_at", "lookup", outputs=("look",)), Trust.PACKAGED)


def test_a_released_name_is_free() -> None:
    registry = Registry()
    registry.claim(plugin("p", "a"), Trust.PACKAGED)
    registry.release("p")
    registry.release("p")
    registry.claim(plugin("q", "a"), Trust.PACKAGED)


def test_a_channels_texts_are_for_the_cleaner_of_its_own_plugin_alone() -> None:
    registry = Registry()
    thief = Manifest("thief", "1", "x", inputs=("webui", "thief"), cleaners=("webui",))
    for manifest in (thief, Manifest("webui", "1", "x", inputs=("webui",)), plugin("other")):
        registry.claim(manifest, Trust.EXTERNAL)
        registry.set_ready(manifest.name, True)
    assert registry.cleaner("webui") is None
    assert registry.cleaner("nobody") is None
    assert registry.cleaner("thief") == CleanerEntry("thief", "webui", True)
    registry.set_ready("thief", False)
    assert registry.cleaner("thief") == CleanerEntry("thief", "webui", False)
    registry.claim(Manifest("thief", "2", "x", inputs=("a", "thief"), cleaners=("a", "thief")), Trust.EXTERNAL)
    assert registry.cleaner("thief") == CleanerEntry("thief", "thief", False)
    registry.release("thief")
    assert registry.cleaner("thief") is None


def test_stages_run_in_order_and_then_by_name() -> None:
    registry = Registry()
    for name, order in (("b", 5), ("c", -1), ("a", 5)):
        registry.claim(plugin(name, stages=(StageSpec("on_input", order=order),)), Trust.PACKAGED)
        registry.set_ready(name, True)
    assert [s.plugin for s in registry.stages("on_input")] == ["c", "a", "b"]
    assert registry.stages("on_tool") == []


def test_fail_closed_stages_stand_while_their_plugin_is_down_also_after_a_conflict() -> None:
    registry = Registry()
    closed = (StageSpec("on_input", on_failure="closed"), StageSpec("on_tool", on_failure="open"))
    registry.claim(plugin("first", "a"), Trust.PACKAGED)
    with pytest.raises(Conflict):
        registry.claim(plugin("guard", "a", stages=closed), Trust.PACKAGED)
    assert [(s.plugin, s.ready) for s in registry.stages("on_input")] == [("guard", False)]
    assert registry.stages("on_tool") == []
    registry.release("guard")
    assert registry.stages("on_input") == []


def test_what_a_lazy_plugin_that_takes_calls_offers_is_listed_with_the_stages_of_its_own_tools() -> None:
    registry = Registry()
    handlers = (StageSpec("before_toolcall", "own-tools"),)
    lazy = Manifest("mole", "1", "x", activation="lazy", tools=(ToolSpec("dig", "Digs.", {}),), stages=handlers)
    registry.claim(lazy, Trust.PACKAGED)
    assert (registry.tools(), registry.stages("before_toolcall")) == ({}, [])
    registry.set_ready("mole", True)
    registry.claim(lazy, Trust.PACKAGED)  # a person starts it: it is listed all the while
    assert (list(registry.tools()), registry.ready("mole")) == (["dig"], True)
    assert [(s.plugin, s.scope, s.ready) for s in registry.stages("before_toolcall")] == [("mole", "own-tools", True)]


def test_tools_that_are_listed_while_it_runs_replace_the_others_or_nothing() -> None:
    registry = Registry(Reserved(frozenset({"kernel_tool"})))
    for name in ("mole", "vole"):
        registry.claim(Manifest(name, "1", "x", tools=(ToolSpec(f"{name}_a", "A.", {}),)), Trust.PACKAGED)
        registry.set_ready(name, True)
    registry.set_tools("mole", [ToolSpec("mole_b", "B.", {})])
    assert set(registry.tools()) == {"mole_b", "vole_a"}
    for taken in ("vole_a", "kernel_tool"):
        with pytest.raises(Conflict, match=f"The tool {taken} of the plugin mole is taken by"):
            registry.set_tools("mole", [ToolSpec(taken, "Mine.", {})])
    registry.set_tools("nobody", [ToolSpec("x", "X.", {})])
    assert set(registry.tools()) == {"mole_b", "vole_a"}
    assert not registry.ready("nobody")
