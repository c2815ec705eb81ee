"""Calls within calls: the way of a model's own, with that turn's rights, and over with the call they are made in."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import trio

from homed.agent.calling import WAITING
from homed.agent.dispatch import DEPTH, Result
from homed.agent.levels import clamped
from homed.agent.turn import Turn
from homed.builtin.coldcontext import ColdQuery
from homed.errors import Denied, Stopped, Unavailable
from homed.host.states import Trust
from homed.identity.permissions import Decision, Rule
from homed.identity.tokens import CallIdentity
from homed.memory import events
from homed.memory.records import Event, EventKind, Input, InputState
from homed.providers.base import ChatRequest, ToolResult
from homed.spend.records import Cost, Price, Tokens
from tests.kit.builders import GUEST, OWNER, Agent, FakeHost, FakeModel, Setup, calls, message, running_agent, says

CALLS, GUEST_CALLS = 64, 8
"""What one message may lead to, as it is set."""

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}


class Steps:
    """A plugin ``seq`` whose tool does what the test says, with the token it was called with."""

    def __init__(self, do: Callable[[Agent, CallIdentity], Awaitable[object]], **entry: Any) -> None:
        self.host = FakeHost()
        self.agent: Agent | None = None
        self._do = do
        self.host.tool("steps", self._run, plugin="seq", **entry)
        self.host.tool("look", _give, plugin="eyes", parameters=SCHEMA)

    async def _run(self, _: Mapping[str, Any]) -> object:
        assert self.agent is not None
        return await self._do(self.agent, lent(self.agent, "seq"))

    async def ask(self, folder: Path, model: FakeModel | None = None, who: Any = OWNER, **more: Any) -> Outcome:
        model = model or FakeModel(calls(("steps", "{}")), says("Done."))
        async with running_agent(folder, Setup(model=model, host=self.host)) as agent:
            self.agent = agent
            done = await agent.ask("go", who=who, **more)
            page, _ = await agent.store.read(lambda tx: events.history(tx, done.thread, before=None, limit=500))
            assert len(agent.tokens) == 0
            return Outcome(agent, model, [e for e in page if e.kind is EventKind.TOOL], done.state)


class Outcome:
    """What a test looks at afterwards."""

    def __init__(self, agent: Agent, model: FakeModel, tools: list[Event], state: InputState) -> None:
        self.agent, self.model, self.tools, self.state = agent, model, tools, state

    @property
    def inner(self) -> list[Event]:
        return [event for event in self.tools if event.data.get("within")]


def lent(agent: Agent, plugin: str) -> CallIdentity:
    """What the newest token of a plugin stands for."""
    token = next(params["call"] for name, _, params in reversed(agent.host.calls) if name == plugin)
    return agent.tokens.resolve(plugin, str(token))


def results(request: ChatRequest) -> list[ToolResult]:
    return [m for m in request.messages if isinstance(m, ToolResult)]


async def _give(args: Mapping[str, Any]) -> object:
    await trio.lowlevel.checkpoint()
    return f"saw {args['n']}"


async def test_a_call_within_a_call_is_stored_with_its_turn_shown_and_not_sent_to_the_model(tmp_path: Path) -> None:
    async def do(agent: Agent, token: CallIdentity) -> object:
        result = await agent.conversations.calling.call(token, "look", {"n": "7"})
        assert result == Result("ok", "saw 7")
        return f"inside: {result.text}"

    done = await Steps(do).ask(tmp_path)
    assert [(e.data["name"], e.data["status"], e.text) for e in done.tools] == [
        ("look", "ok", "saw 7"), ("steps", "ok", "inside: saw 7"),
    ]  # fmt: skip
    (inner,) = done.inner
    assert (inner.data["within"], inner.data["by"], inner.data["args"]) == ("c0", "seq", {"n": 7})
    assert inner.turn == done.tools[1].turn
    assert results(done.model.requests[1]) == [ToolResult("c0", "steps", "inside: saw 7")]
    cards = [(c["tool"], c["status"], c.get("within")) for c in done.agent.of("tool_call")]
    assert cards == [
        ("steps", "running", None), ("look", "running", "c0"), ("look", "ok", "c0"), ("steps", "ok", None),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("tool", "args", "status", "says_so"),
    [
        ("look", {}, "error", "required"),
        ("look", {"n": 1, "m": 2}, "error", "additionalProperties"),
        ("nosuch", {}, "error", "unknown_tool"),
        ("steps", {}, "denied", "came through already"),
        ("other_of_seq", {}, "denied", "came through already"),
        ("wipe", {}, "denied", "Nobody can be asked"),
        ("forbidden", {}, "denied", "rule of the owner's"),
    ],
)
async def test_what_is_refused_to_a_model_is_refused_within_a_call(
    tmp_path: Path, tool: str, args: dict[str, object], status: str, says_so: str
) -> None:
    found: list[Result] = []

    async def do(agent: Agent, token: CallIdentity) -> object:
        await agent.rules.add(Rule(Decision.DENY, tool="forbidden"))
        found.append(await agent.conversations.calling.call(token, tool, args))
        return "x"

    ran: list[object] = []

    async def note(given: Mapping[str, Any]) -> object:
        ran.append(given)
        return await _give({"n": 0})

    steps = Steps(do)
    steps.host.tool("other_of_seq", note, plugin="seq")
    steps.host.tool("wipe", note, plugin="shell", tool_class="dangerous")
    steps.host.tool("forbidden", note, plugin="shell")
    done = await steps.ask(tmp_path)
    assert found[0].status == status
    assert says_so in found[0].text
    assert [e.data["status"] for e in done.inner] == [status]
    assert ran == []
    assert done.state is InputState.ANSWERED


async def test_a_denial_within_a_call_is_no_denial_of_the_call(tmp_path: Path) -> None:
    async def do(agent: Agent, token: CallIdentity) -> object:
        return (await agent.conversations.calling.call(token, "wipe", {})).text

    steps = Steps(do)
    steps.host.tool("wipe", _give, plugin="shell", tool_class="dangerous")
    model = FakeModel(calls(("steps", "{}")), says("Done."))
    done = await steps.ask(tmp_path, model)
    assert model.requests[1].tools  # not the request of "all were denied", which offers none
    assert done.tools[-1].data["status"] == "ok"


async def test_a_question_says_who_asks_and_the_yes_of_a_person_lets_it_run(tmp_path: Path) -> None:
    asked: list[dict[str, object]] = []

    async def do(agent: Agent, token: CallIdentity) -> object:
        async with trio.open_nursery() as nursery:

            async def answer() -> None:
                await agent.until(lambda: agent.conversations.approvals(OWNER))
                asked.extend(agent.conversations.approvals(OWNER))
                await agent.conversations.approve(OWNER, str(asked[0]["approval"]), allow=True)

            nursery.start_soon(answer)
            result = await agent.conversations.calling.call(token, "wipe", {"n": 3})
        return result.text

    steps = Steps(do)
    steps.host.tool("wipe", _give, plugin="shell", tool_class="dangerous")
    done = await steps.ask(tmp_path, can_ask=True)
    assert "seq asks for it, in steps" in str(asked[0]["reason"])
    assert (asked[0]["tool"], asked[0]["args"]) == ("wipe", {"n": 3})
    assert done.tools[-1].text == "saw 3"


async def test_the_stages_see_deny_and_rewrite_it(tmp_path: Path) -> None:
    seen: list[str] = []

    async def before(fields: Mapping[str, Any]) -> Mapping[str, Any] | None:
        await trio.lowlevel.checkpoint()
        (call,) = fields["tool_calls"]
        seen.append(call["name"])
        return {"tool_calls": [{**call, "arguments": {"n": 9}}]} if call["name"] == "look" else None

    async def after(fields: Mapping[str, Any]) -> Mapping[str, Any]:
        await trio.lowlevel.checkpoint()
        return {"tool_results": [{**r, "text": r["text"].replace("saw", "SAW")} for r in fields["tool_results"]]}

    async def do(agent: Agent, token: CallIdentity) -> object:
        return (await agent.conversations.calling.call(token, "look", {"n": 1})).text

    steps = Steps(do)
    steps.host.stage("before_toolcall", before)
    steps.host.stage("after_toolcall", after)
    done = await steps.ask(tmp_path)
    assert seen == ["steps", "look"]
    assert [e.text for e in done.tools] == ["SAW 9", "SAW 9"]


async def test_a_guests_turn_stays_a_guests(tmp_path: Path) -> None:
    found: list[Result] = []

    async def do(agent: Agent, token: CallIdentity) -> object:
        for name in ("look", "open", *["open"] * GUEST_CALLS):
            found.append(await agent.conversations.calling.call(token, name, {"n": 1}))
        return "x"

    steps = Steps(do, guest=True)
    steps.host.tool("open", _give, plugin="eyes", guest=True)
    await steps.ask(tmp_path, who=GUEST)
    assert (found[0].status, found[0].text) == ("denied", "denied: Guests may not use look.")
    assert found[1].status == "ok"
    ran = [result for result in found if result.status == "ok"]
    assert len(ran) == GUEST_CALLS - 2  # the outer call and the refused one count too
    assert "limit" in found[-1].text


@pytest.mark.parametrize("tool", ["look", "nothing"])
async def test_a_plugin_that_goes_on_calling_past_the_limit_fills_no_store(tmp_path: Path, tool: str) -> None:
    refused: list[str] = []

    async def do(agent: Agent, token: CallIdentity) -> object:
        for _ in range(CALLS * 4):
            try:
                await agent.conversations.calling.call(token, tool, {"n": 1})
            except Denied as error:
                refused.append(error.message)
        return "x"

    done = await Steps(do).ask(tmp_path)
    assert len(done.inner) < CALLS * 2
    assert len(refused) > CALLS
    assert "limit" in refused[0]


async def test_strangers_words_within_a_call_taint_its_result_and_the_turn(tmp_path: Path) -> None:
    found: list[Result] = []

    async def do(agent: Agent, token: CallIdentity) -> object:
        found.append(await agent.conversations.calling.call(token, "web", {"n": 1}))
        found.append(await agent.conversations.calling.call(token, "note", {"n": 1}))
        return "copied"

    steps = Steps(do)
    steps.host.tool("web", _give, plugin="web", untrusted=True, no_memory=True)
    steps.host.tool("note", _give, plugin="notes", tool_class="write")

    done = await steps.ask(tmp_path)
    assert (found[0].untrusted, found[0].no_memory) == (True, True)
    assert found[1].status == "denied"
    outer = done.tools[-1]
    assert outer.data["untrusted"] is True
    assert outer.no_memory


@pytest.mark.parametrize("beside", [False, True])
async def test_calls_within_one_call_run_beside_each_other_only_if_they_bear_it(tmp_path: Path, beside: bool) -> None:
    counted = Counted()
    refused: list[str] = []

    async def do(agent: Agent, token: CallIdentity) -> object:
        async def one() -> None:
            try:
                await agent.conversations.calling.call(token, "count", {})
            except Unavailable as error:
                refused.append(error.message)

        async with trio.open_nursery() as nursery:
            for _ in range(WAITING + 2):
                nursery.start_soon(one)
        return "x"

    steps = Steps(do)
    steps.host.tool("count", counted, plugin="eyes", parallel_safe=beside)
    done = await steps.ask(tmp_path)
    assert (counted.most > 1) is beside
    assert len(refused) == 2
    assert len(done.inner) == WAITING


class Counted:
    """A tool that knows how often it ran at once."""

    def __init__(self) -> None:
        self.running = self.most = 0

    async def __call__(self, _: Mapping[str, Any]) -> object:
        self.running += 1
        self.most = max(self.most, self.running)
        for _i in range(5):
            await trio.lowlevel.checkpoint()
        self.running -= 1
        return "x"


async def test_calls_within_two_calls_side_by_side_run_one_after_another_too(tmp_path: Path) -> None:
    counted = Counted()
    both = trio.Event()
    inside = 0

    async def do(agent: Agent, token: CallIdentity) -> object:
        nonlocal inside
        inside += 1
        if inside == 2:
            both.set()
        await both.wait()
        return (await agent.conversations.calling.call(token, "count", {})).text

    steps = Steps(do, parallel_safe=True)
    steps.host.tool("count", counted, plugin="eyes")
    model = FakeModel(calls(("steps", "{}"), ("steps", "{}")), says("Done."))
    done = await steps.ask(tmp_path, model)
    assert counted.most == 1
    assert [e.data["status"] for e in done.inner] == ["ok", "ok"]
    assert {e.data["within"] for e in done.inner} == {"c0", "c1"}


async def test_calls_within_calls_have_an_end(tmp_path: Path) -> None:
    agent_: list[Agent] = []
    ended: list[Result] = []

    def level(at: int) -> Callable[[Mapping[str, Any]], Awaitable[object]]:
        async def run(_: Mapping[str, Any]) -> object:
            token = lent(agent_[0], f"p{at}")
            result = await agent_[0].conversations.calling.call(token, f"t{at + 1}", {})
            ended.append(result)
            return result.text

        return run

    async def do(agent: Agent, token: CallIdentity) -> object:
        agent_.append(agent)
        return (await agent.conversations.calling.call(token, "t1", {})).text

    steps = Steps(do)
    for at in range(1, DEPTH + 2):
        steps.host.tool(f"t{at}", level(at), plugin=f"p{at}")
    done = await steps.ask(tmp_path)
    assert [e.data["name"] for e in done.tools] == ["t4", "t3", "t2", "t1", "steps"]
    assert (ended[0].status, f"{DEPTH} tool calls one within the other" in ended[0].text) == ("denied", True)


async def test_a_stop_ends_what_runs_within_and_stores_that_it_was_cut_short(tmp_path: Path) -> None:
    begun = trio.Event()

    async def hang(_: Mapping[str, Any]) -> object:
        begun.set()
        await trio.sleep_forever()
        raise AssertionError

    async def do(agent: Agent, token: CallIdentity) -> object:
        await agent.conversations.calling.call(token, "hang", {})
        raise AssertionError

    steps = Steps(do)
    steps.host.tool("hang", hang, plugin="eyes")
    model = FakeModel(calls(("steps", "{}")))
    async with running_agent(tmp_path, Setup(model=model, host=steps.host)) as agent:
        steps.agent = agent
        receipt = await agent.conversations.inject(OWNER, message("go"))
        await begun.wait()
        with trio.fail_after(60):
            assert await agent.conversations.stop(OWNER, receipt.thread.id)
            done = await agent.conversations.wait(OWNER, receipt.input.id)
        assert done.state is InputState.STOPPED
        page, _ = await agent.store.read(lambda tx: events.history(tx, done.thread, before=None, limit=50))
        stored = {e.data["name"]: (e.data["status"], e.text) for e in page if e.kind is EventKind.TOOL}
        assert stored["hang"][0] == stored["steps"][0] == "interrupted"
        assert "the person stopped this" in stored["hang"][1]


async def test_a_caller_that_goes_away_ends_its_call_and_nothing_else(tmp_path: Path) -> None:
    begun = trio.Event()

    async def hang(_: Mapping[str, Any]) -> object:
        begun.set()
        await trio.sleep_forever()
        raise AssertionError

    async def do(agent: Agent, token: CallIdentity) -> object:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(agent.conversations.calling.call, token, "hang", {})
            await begun.wait()
            nursery.cancel_scope.cancel()
        return (await agent.conversations.calling.call(token, "look", {"n": 2})).text

    steps = Steps(do)
    steps.host.tool("hang", hang, plugin="ears")
    done = await steps.ask(tmp_path)
    assert [(e.data["name"], e.data["status"]) for e in done.tools] == [
        ("hang", "interrupted"), ("look", "ok"), ("steps", "ok"),
    ]  # fmt: skip
    assert "the call it was made within ended first" in done.tools[0].text


async def test_a_call_that_answers_before_its_own_calls_do_cuts_them_short(tmp_path: Path) -> None:
    caught: list[Exception] = []

    async def hang(_: Mapping[str, Any]) -> object:
        await trio.sleep_forever()
        raise AssertionError

    async def do(agent: Agent, token: CallIdentity) -> object:
        async def left_behind() -> None:
            try:
                await agent.conversations.calling.call(token, "hang", {})
            except Stopped as error:
                caught.append(error)

        agent.nursery.start_soon(left_behind)
        await agent.until(lambda: any(c["tool"] == "hang" for c in agent.of("tool_call")))
        return "early"

    steps = Steps(do)
    steps.host.tool("hang", hang, plugin="ears")
    done = await steps.ask(tmp_path)
    assert [(e.data["name"], e.data["status"]) for e in done.tools] == [("hang", "interrupted"), ("steps", "ok")]
    assert len(caught) == 1


async def test_the_token_of_a_stage_calls_no_tool_and_one_whose_turn_is_over_none_either(tmp_path: Path) -> None:
    caught: list[str] = []
    kept: list[CallIdentity] = []
    steps = Steps(lambda agent, token: _keep(kept, token))

    async def stage(_: Mapping[str, Any]) -> None:
        assert steps.agent is not None
        token = lent(steps.agent, "hooks")
        with pytest.raises(Denied) as error:
            await steps.agent.conversations.calling.call(token, "look", {"n": 1})
        caught.append(error.value.message)

    steps.host.stage("pre_action", stage)
    done = await steps.ask(tmp_path)
    assert "within a tool call only" in caught[0]
    with pytest.raises(Denied, match="over"):
        await done.agent.conversations.calling.call(kept[0], "look", {"n": 1})
    assert done.inner == []


async def test_a_token_knows_the_tools_on_offer_and_what_is_spent_counts_as_the_turns(tmp_path: Path) -> None:
    offered: list[str] = []

    async def do(agent: Agent, token: CallIdentity) -> object:
        offered.extend(entry.name for entry in await agent.conversations.calling.offered(token))
        agent.conversations.calling.spent(token, Tokens(100, 20), Cost(Price.FREE))
        assert agent.conversations.calling.context(token).turn == token.turn
        return "x"

    steps = Steps(do)
    steps.host.tool("external", _give, plugin="ext", trust=Trust.EXTERNAL)
    done = await steps.ask(tmp_path)
    assert offered == ["external", "look", "steps"]
    ends = [t for t in done.agent.of("turn") if t["phase"] == "end"]
    assert ends[0]["usage"]["prompt"] >= 100


async def test_what_ran_within_counts_after_a_restart(tmp_path: Path) -> None:
    """A turn that is taken up again knows its inner results apart from those its prompt shows."""

    def tool(name: str, **data: object) -> Event:
        full = {"call_id": "x", "name": name, "status": "ok", "args": {}, **data}
        return Event("ev", 1, "owner", "th", "turn", "webui", "", EventKind.TOOL, "t", 0.0, full)

    given = Input(
        "in", "th", "owner", "webui", "webui:owner", "owner", "hi", "", False, False, InputState.RUNNING, 1, "turn", 0.0
    )
    turn = Turn("turn", given, OWNER, events=[tool("web", within="c0", untrusted=True), tool("steps")])
    turn.resume()
    assert [e.data["name"] for e in turn.events] == ["steps"]
    assert [e.data["name"] for e in turn.inner] == ["web"]
    assert turn.counters.calls == 2
    assert turn.tainted


async def _keep(kept: list[CallIdentity], token: CallIdentity) -> object:
    await trio.lowlevel.checkpoint()
    kept.append(token)
    return "x"


async def test_strangers_words_that_a_plugin_read_taint_its_result_and_what_comes_after(tmp_path: Path) -> None:
    async def do(agent: Agent, token: CallIdentity) -> object:
        await agent.rules.add(Rule(Decision.ALLOW, tool="note"))
        agent.conversations.calling.took_in(token, untrusted=True)
        return "as if my own"

    steps = Steps(do)
    steps.host.tool("note", _give, plugin="notes", tool_class="write")
    model = FakeModel(calls(("steps", "{}")), calls(("note", '{"n": 1}')), says("Done."))
    done = await steps.ask(tmp_path, model)
    assert [(e.data["name"], e.data["status"], e.data["untrusted"]) for e in done.tools] == [
        ("steps", "ok", True), ("note", "denied", False),
    ]  # fmt: skip
    assert "Text from outside is in view" in done.tools[1].text


async def test_what_a_plugin_looked_at_in_cold_memory_comes_back_once_the_turn_is_answered(tmp_path: Path) -> None:
    async def do(agent: Agent, token: CallIdentity) -> object:
        query = ColdQuery(agent.store)
        answer, outside = await query.ask(agent.conversations.calling.context(token), "marmot Waldemar", 3)
        assert not outside
        assert await layers(agent) == {"cold"}  # looking moves nothing
        return answer

    async def layers(agent: Agent) -> set[str]:
        rows = await agent.store.read(lambda tx: tx.all("SELECT layer FROM events WHERE text LIKE '%Waldemar%'"))
        return {layer for (layer,) in rows}

    steps = Steps(do)
    model = FakeModel(says("Noted."), calls(("steps", "{}")), says("It is called that."))
    async with running_agent(tmp_path, Setup(model=model, host=steps.host)) as agent:
        steps.agent = agent
        await agent.ask("My marmot is called Waldemar")
        await agent.store.write(lambda tx: tx.execute("UPDATE events SET layer = 'cold'"))
        done = await agent.ask("What is the name of my animal")
        assert done.outcome is not None
        assert "Waldemar" in str(results(model.requests[-1])[0].text)
        rows = await agent.store.read(
            lambda tx: tx.all("SELECT layer, source FROM events WHERE kind = 'user' AND text LIKE '%Waldemar%'")
        )
        assert rows == [("context", "cold_storage")]


@pytest.mark.parametrize(("asked", "counts"), [(-9, 1), (1, 1), (2, 2), (3, 3), (4, 3), (99, 3)])
def test_the_level_of_what_comes_from_a_plugin(asked: int, counts: int) -> None:
    assert clamped(asked) == counts
