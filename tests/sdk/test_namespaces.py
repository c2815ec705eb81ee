"""The groups of methods as an author calls them: the right method and parameters, the token where it belongs."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import trio

from homed.errors import Denied, HomedError, Stopped
from homed.sdk.client import Context, Invocation, Kernel
from homed.sdk.namespaces import Completion, ToolAnswer
from homed.wire.methods import ON_BEHALF, TO_KERNEL

PERSON = {"id": "p:1", "name": "Ada", "role": "guest"}
COMPLETED = {"text": "yes", "reason": "stop", "source": "s", "model": "m", "usage": {"prompt": 1}}
USER = [{"role": "user", "content": "hi"}]


class Link:
    """Records calls, answers from a table."""

    def __init__(self, *answers: Any) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self._answers = list(answers)

    async def request(
        self, method: str, params: Mapping[str, object] | None = None, *, timeout: float | None = None
    ) -> Any:
        await trio.lowlevel.checkpoint()
        self.calls.append((method, dict(params or {})))
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def kernel(link: Link) -> Kernel:
    return Kernel(link, settings={}, data_dir=Path("/nowhere"))


def context(link: Link) -> Context:
    return Context(kernel(link), Invocation("tok"))


Case = tuple[Callable[[Any], Awaitable[object]], str, dict[str, object], Any, object]

CASES: list[Case] = [
    (lambda k: k.memory.search("cat", limit=2), "memory.search", {"query": "cat", "limit": 2, "layer": "all"},
     {"found": [1]}, [1]),
    (lambda k: k.memory.explain(), "memory.explain", {"turn": "last"}, {"turn": "t"}, {"turn": "t"}),
    (lambda k: k.memory.stats(), "memory.stats", {}, {"scopes": []}, {"scopes": []}),
    (lambda k: k.memory.records("cat", kind="fact"), "memory.records", {"query": "cat", "kind": "fact"}, {}, {}),
    (lambda k: k.memory.record("f"), "memory.record", {"id": "f", "history": True}, {}, {}),
    (lambda k: k.memory.injections(turn="t"), "memory.injections", {"turn": "t"}, {}, {}),
    (lambda k: k.memory.graph("Anna", depth=2), "memory.graph", {"center": "Anna", "depth": 2, "limit": 60}, {}, {}),
    (lambda k: k.memory.cold(), "memory.cold", {"query": "", "before": "", "limit": 30}, {}, {}),
    (lambda k: k.memory.thresholds(), "memory.thresholds", {}, {"thresholds": []}, []),
    (lambda k: k.memory.note("x", tags=["a"]), "memory.note", {"text": "x", "tags": ["a"]}, {}, {}),
    (lambda k: k.memory.edit("f", 2, text="y"), "memory.edit", {"id": "f", "revision": 2, "text": "y"}, {}, {}),
    (lambda k: k.memory.hide("f"), "memory.hide", {"id": "f"}, {}, {}),
    (lambda k: k.memory.restore("f"), "memory.restore", {"id": "f"}, {}, {}),
    (lambda k: k.memory.reinstate("f"), "memory.reinstate", {"id": "f"}, {}, {}),
    (lambda k: k.memory.combine("f", "g"), "memory.combine", {"keep": "f", "gone": "g"}, {}, {}),
    (lambda k: k.memory.bring_back("e"), "memory.bring_back", {"event": "e"}, {"events": ["e"]}, ["e"]),
    (lambda k: k.cold.query("cat"), "cold.query", {"query": "cat", "top_k": 3}, {"found": []}, {"found": []}),
    (lambda k: k.llm.list(), "llm.list", {}, {"sources": []}, []),
    (lambda k: k.llm.current(), "llm.current", {}, {"source": None}, None),
    (lambda k: k.llm.set("s", peer="p:1"), "llm.set", {"peer": "p:1", "name": "s"}, {}, None),
    (lambda k: k.llm.complete("hi", max_tokens=9), "llm.complete",
     {"messages": USER, "max_tokens": 9, "timeout": 60.0}, COMPLETED,
     Completion("yes", "stop", "s", "m", {"prompt": 1})),
    (lambda k: k.llm.complete(USER, temperature=0.5, source="s"), "llm.complete",
     {"messages": USER, "max_tokens": 512, "timeout": 60.0, "temperature": 0.5, "source": "s"}, COMPLETED,
     Completion("yes", "stop", "s", "m", {"prompt": 1})),
    (lambda k: k.social.person(), "social.get_person", {"person": ""}, {"person": PERSON}, PERSON),
    (lambda k: k.social.persons("a", after="p:0"), "social.list_persons", {"query": "a", "limit": 50, "after": "p:0"},
     {"persons": [PERSON], "more": True}, ([PERSON], True)),
    (lambda k: k.social.trait("age", person="p:1"), "social.get_trait", {"person": "p:1", "trait": "age"}, {}, {}),
    (lambda k: k.social.relations("p:1"), "social.get_relations", {"person": "p:1"}, {}, {}),
    (lambda k: k.social.network(depth=2), "social.get_network", {"person": "", "depth": 2}, {}, {}),
    (lambda k: k.social.set_role("p:2", "trusted", peer="p:1"), "social.set_role",
     {"peer": "p:1", "person": "p:2", "role": "trusted"}, {"person": PERSON}, PERSON),
    (lambda k: k.social.set_name("p:2", "Bo"), "social.set_name", {"person": "p:2", "name": "Bo"}, {"person": PERSON},
     PERSON),
    (lambda k: k.tools.list(), "tools.list", {}, {"tools": []}, []),
    (lambda k: k.tools.call("cmd_run", command="ls", tool=1), "tools.call",
     {"tool": "cmd_run", "args": {"command": "ls", "tool": 1}},
     {"content": "a", "status": "ok", "is_error": False, "untrusted": True}, ToolAnswer("a", "ok", False, True)),
    (lambda k: k.all_settings.get("core.x"), "settings.get", {"key": "core.x"}, {"key": "core.x"}, {"key": "core.x"}),
    (lambda k: k.all_settings.list("core."), "settings.list", {"prefix": "core."}, {"settings": []}, []),
    (lambda k: k.all_settings.set("core.x", None), "settings.set", {"key": "core.x", "value": None}, {}, {}),
    (lambda k: k.all_settings.change({"core.x": 1}), "settings.change", {"changes": {"core.x": 1}}, {}, {}),
    (lambda k: k.knowledge.search("cat"), "knowledge.search", {"query": "cat", "limit": 5}, {"found": []}, []),
    (lambda k: k.knowledge.list(), "knowledge.list", {"limit": 50, "after": ""}, {"documents": []}, []),
    (lambda k: k.knowledge.read("d"), "knowledge.read", {"document": "d"}, {}, {}),
    (lambda k: k.knowledge.add("d", "t"), "knowledge.add", {"name": "d", "text": "t"}, {}, {}),
    (lambda k: k.knowledge.remove("d"), "knowledge.remove", {"document": "d"}, {}, None),
    (lambda k: k.publish("skill_detected", skill="cook"), "events.publish",
     {"notice": {"type": "skill_detected", "skill": "cook"}}, {"seq": 7}, 7),
    (lambda k: k.interrupt("p:1", "now", level=3), "io.interrupt", {"peer": "p:1", "text": "now", "level": 3}, {}, {}),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[1])
async def test_each_call_is_the_method_with_its_parameters(case: Case) -> None:
    do, method, params, answer, result = case
    plain, within = Link(answer), Link(answer)
    assert await do(kernel(plain)) == result
    assert plain.calls == [(method, params)]
    assert await do(context(within)) == result
    assert within.calls == [(method, {**params, "call": "tok"})]
    assert method in ON_BEHALF


async def test_what_is_the_plugins_own_carries_no_token() -> None:
    link = Link({"plugin": "p"}, {"ok": True})
    assert await context(link).meta() == {"plugin": "p"}
    await context(link).call("admin.status", {"peer": "p:1"})
    assert link.calls == [("core.meta", {}), ("admin.status", {"peer": "p:1"})]


async def test_the_namespaces_reach_every_method_of_their_groups() -> None:
    rooms = {"memory", "cold", "knowledge", "textlog", "llm", "social", "tools", "settings"}
    wanted = {name for name in TO_KERNEL if name.partition(".")[0] in rooms}
    assert wanted - {case[1] for case in CASES} == {"textlog.read"}


async def test_a_day_is_read_to_its_end() -> None:
    link = Link(
        {"lines": ['{"seq":1}', '{"seq":2}'], "more": True, "next": 2},
        {"lines": ['{"seq":3}'], "more": False, "next": 3},
    )
    lines = [line async for line in kernel(link).textlog.day("2026-01-31", peer="p:1")]
    assert lines == [{"seq": 1}, {"seq": 2}, {"seq": 3}]
    assert [params["after"] for _, params in link.calls] == [0, 2]


async def test_to_ask_is_to_wait_for_the_answer_or_for_what_went_wrong() -> None:
    def outcome(state: str, text: str = "", error: str = "") -> dict[str, object]:
        return {"outcome": {"state": state, "text": text, "error": error, "hint": "h"}}

    link = Link(outcome("answered", "42"), outcome("stopped"), outcome("failed", error="no"), Denied("never"))
    asked = kernel(link)
    assert await asked.ask("p:1", "why", thread="t") == "42"
    assert link.calls[0] == ("io.inject", {"peer": "p:1", "text": "why", "thread": "t", "wait": True})
    with pytest.raises(Stopped):
        await asked.ask("p:1", "why")
    with pytest.raises(HomedError, match="no"):
        await asked.ask("p:1", "why")
    with pytest.raises(Denied):
        await asked.ask("p:1", "why")


def test_they_cost_a_plugins_start_nothing_heavy() -> None:
    code = "import sys, homed.sdk; print([m for m in ('pydantic', 'apsw', 'jsonschema', 'httpx2') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=True)
    assert done.stdout.strip() == "[]"
