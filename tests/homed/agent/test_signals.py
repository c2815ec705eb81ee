"""What the kernel itself raises, whose rights a turn has that answers several people, and what feeds itself."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import trio

from homed.agent.conversations import Receipt
from homed.agent.intake import OURS, Signal
from homed.agent.schedule import Way
from homed.clock import new_id
from homed.errors import NotFound, Unavailable
from homed.identity.permissions import Decision, Rule
from homed.identity.roles import Identity, Role, intersection
from homed.memory.records import InputState, Thread
from homed.providers.base import ToolResult, User
from tests.kit.builders import (
    GUEST,
    OWNER,
    Agent,
    FakeHost,
    FakeModel,
    Setup,
    calls,
    hangs,
    message,
    running_agent,
    says,
)

GROUP = "group:chat:g1"
ANNA = Identity("chat:anna", "chat", "Anna", Role.TRUSTED, GROUP)
BOB = Identity("chat:bob", "chat", "Bob", Role.GUEST, GROUP)


def test_a_message_of_several_people_has_the_least_of_their_roles() -> None:
    assert intersection([Role.OWNER, Role.TRUSTED]) is Role.TRUSTED
    assert intersection([Role.TRUSTED, Role.GUEST, Role.OWNER]) is Role.GUEST


async def hanging(agent: Agent, text: str, who: Identity = OWNER, thread: str = "", level: int = 0) -> Receipt:
    """A message whose answer hangs."""
    agent.model.hanging = trio.Event()
    said = message(text, who, thread=thread)
    receipt = (
        (await agent.conversations.interrupt(who, said, level))[0]
        if level
        else await agent.conversations.inject(who, said)
    )
    with trio.fail_after(60):
        await agent.model.hanging.wait()
    return receipt


class Looks:
    """A tool that waits to be let go, and who it was called for."""

    def __init__(self) -> None:
        self.host = FakeHost()
        self.began, self.go_on = trio.Event(), trio.Event()
        self.host.tool("look", self._look)
        self.host.tool("write", self._write, tool_class="write")
        self.wrote = 0

    async def _look(self, _: Mapping[str, Any]) -> object:
        self.began.set()
        await self.go_on.wait()
        return "seen"

    async def _write(self, _: Mapping[str, Any]) -> object:
        await trio.lowlevel.checkpoint()
        self.wrote += 1
        return "written"


@pytest.mark.parametrize("joins", [False, True])
async def test_e18_what_joins_narrows_the_turn_to_what_all_of_them_may(tmp_path: Path, joins: bool) -> None:
    looks = Looks()
    script = (hangs("x"), calls(("look", "{}")), calls(("write", "{}")), says("done"), says("x"))
    async with running_agent(tmp_path, Setup(model=FakeModel(*script), host=looks.host)) as agent:
        await agent.rules.add(Rule(Decision.ALLOW, tool="write", role="trusted"))
        zero = await hanging(agent, "zero", ANNA)
        one, _, _ = await agent.conversations.interrupt(ANNA, message("write", ANNA, thread=zero.thread.id), 2)
        await looks.began.wait()
        if joins:
            said = message("and mine", BOB, thread=zero.thread.id)
            _, _, way = await agent.conversations.interrupt(BOB, said, 2)
            assert way is Way.JOINS
        looks.go_on.set()
        with trio.fail_after(60):
            await agent.conversations.wait(ANNA, one.input.id)
        (written,) = [m for m in agent.model.requests[3].messages if isinstance(m, ToolResult) and m.name == "write"]
        assert written.is_error is joins
        assert looks.wrote == (not joins)
        contexts = [given["context"] for given in looks.host.invoked()]
        assert [(c["peer"], c["role"]) for c in contexts] == [("chat:anna", "trusted")] * (1 if joins else 2)


async def test_e18_a_rule_against_one_of_them_counts_for_the_turn(tmp_path: Path) -> None:
    looks = Looks()
    carl = Identity("chat:carl", "chat", "Carl", Role.TRUSTED, GROUP)
    script = (hangs("x"), calls(("look", "{}")), calls(("write", "{}")), says("done"), says("x"))
    async with running_agent(tmp_path, Setup(model=FakeModel(*script), host=looks.host)) as agent:
        await agent.rules.add(Rule(Decision.ALLOW, tool="write", role="trusted"))
        await agent.rules.add(Rule(Decision.DENY, tool="write", peer=carl.peer))
        zero = await hanging(agent, "zero", ANNA)
        one, _, _ = await agent.conversations.interrupt(ANNA, message("write", ANNA, thread=zero.thread.id), 2)
        await looks.began.wait()
        await agent.conversations.interrupt(carl, message("and mine", carl, thread=zero.thread.id), 2)
        looks.go_on.set()
        with trio.fail_after(60):
            await agent.conversations.wait(ANNA, one.input.id)
        assert looks.wrote == 0


async def test_e18_each_turn_acts_for_its_own_person_whoever_interrupts(tmp_path: Path) -> None:
    looks = Looks()
    looks.go_on.set()
    script = (hangs("x"), calls(("look", "{}")), says("bob's"), calls(("look", "{}")), says("anna's"))
    async with running_agent(tmp_path, Setup(model=FakeModel(*script), host=looks.host)) as agent:
        await agent.rules.add(Rule(Decision.ALLOW, tool="look"))
        looks.host.tool("look", looks._look, guest=True)
        await agent.store.write(
            lambda tx: tx.execute(
                "INSERT INTO peers (id, plugin, name, role, created_at, seen_at) VALUES (?, ?, ?, ?, 0, 0)",
                (BOB.peer, "chat", "Bob", "guest"),
            )
        )
        one = await hanging(agent, "one", ANNA)
        two, _, _ = await agent.conversations.interrupt(BOB, message("two", BOB, thread=one.thread.id), 2)
        with trio.fail_after(60):
            for who, receipt in ((ANNA, one), (BOB, two)):
                await agent.conversations.wait(who, receipt.input.id)
        assert [given["context"]["peer"] for given in looks.host.invoked()] == ["chat:bob", "chat:anna"]
        asked = [m.text for m in agent.model.requests[-1].messages if isinstance(m, User)]
        assert asked == ["[Said by Bob (chat:bob)]\ntwo", "[Said by chat:anna]\none"], "who cut in has a name"


async def test_what_a_stage_ends_does_not_join_and_has_an_end_of_its_own(tmp_path: Path) -> None:
    looks = Looks()
    asked: list[str] = []

    async def guard(fields: Mapping[str, Any]) -> dict[str, object] | None:
        await trio.lowlevel.checkpoint()
        asked.append(fields["user_id"])
        return {"response": "not you"} if fields["raw_message"] == "let me in" else None

    looks.host.stage("on_input", guard)
    script = (hangs("x"), calls(("look", "{}")), says("done"), says("zero"))
    async with running_agent(tmp_path, Setup(model=FakeModel(*script), host=looks.host)) as agent:
        zero = await hanging(agent, "zero", ANNA)
        one, _, _ = await agent.conversations.interrupt(ANNA, message("one", ANNA, thread=zero.thread.id), 2)
        await looks.began.wait()
        two, _, way = await agent.conversations.interrupt(BOB, message("let me in", BOB, thread=zero.thread.id), 2)
        three, _, _ = await agent.conversations.interrupt(BOB, message("please", BOB, thread=zero.thread.id), 2)
        looks.go_on.set()
        with trio.fail_after(60):
            done = [await agent.conversations.wait(ANNA, r.input.id) for r in (two, one, three)]
        assert way is Way.JOINS
        assert [d.outcome.text if d.outcome else "" for d in done] == ["not you", "done", "done"]
        assert asked == ["chat:anna", "chat:anna", "chat:bob", "chat:bob"]
        told = [m.text for m in agent.model.requests[2].messages if isinstance(m, User)]
        assert told == ["[Said by chat:anna]\none", "[interrupt message]\n[Said by chat:bob]\nplease"]


async def test_p10_a_turn_that_panics_raises_one_of_level_4_and_that_one_none(tmp_path: Path) -> None:
    class Breaks(FakeModel):
        def stream(self, request: Any) -> Any:
            self.requests.append(request)
            raise ZeroDivisionError("a bug")

    async with running_agent(tmp_path, Setup(model=Breaks())) as agent:
        done = await agent.ask("hello")
        assert done.state is InputState.FAILED
        await agent.until(lambda: sum(data["phase"] == "end" for data in agent.of("turn")) == 2)
        await agent.conversations.wait_idle()
        raised = [data for data in agent.of("raw_input") if data.get("mark")]
        assert [(data["mark"], data["level"]) for data in raised] == [("kernel", 4)]
        assert len(agent.of("raw_input")) == 2
        events = (await agent.history(done.thread))["events"]
        assert [event["data"].get("mark") for event in events if event["kind"] == "user"] == [None, "kernel"]
        stored = await agent.store.read(lambda tx: tx.all("SELECT level, mark, peer, role FROM inputs ORDER BY seq"))
        assert stored == [(0, "", OWNER.peer, "owner"), (4, "kernel", OWNER.peer, "owner")]


async def test_a_signal_preempts_and_is_taken_once(tmp_path: Path) -> None:
    async with running_agent(tmp_path, Setup(model=FakeModel(hangs("a"), says("child is done"), says("A")))) as agent:
        first = await hanging(agent, "first")
        signal = Signal(
            who=OWNER, text="[child c1] done", thread=first.thread.id, level=3, mark="child:c1", key="1", untrusted=True
        )
        receipts = [await agent.conversations.signal(signal) for _ in range(2)]
        assert [receipt.duplicate for receipt in receipts] == [False, True]
        with trio.fail_after(60):
            done = [await agent.conversations.wait(OWNER, r.input.id) for r in (receipts[0], first)]
        assert [d.outcome.text if d.outcome else "" for d in done] == ["child is done", "A"]
        assert done[0].channel == "webui"
        with pytest.raises(NotFound):
            await agent.conversations.signal(Signal(who=GUEST, text="x", thread=first.thread.id))
        alone = await agent.conversations.signal(Signal(who=OWNER, text="[kernel] look", level=3))
        with trio.fail_after(60):
            await agent.conversations.wait(OWNER, alone.input.id)
        assert alone.thread.id != first.thread.id


async def test_the_kernels_own_level_4_goes_to_every_thread_that_works(tmp_path: Path) -> None:
    script = (hangs("a"), hangs("b"), says("1"), says("2"), says("3"), says("4"))
    async with running_agent(tmp_path, Setup(model=FakeModel(*script))) as agent:
        receipts = [await hanging(agent, "a"), await hanging(agent, "b")]
        assert await agent.conversations.signal_all("[kernel] finish up") == 2
        with trio.fail_after(60):
            for receipt in receipts:
                await agent.conversations.wait(OWNER, receipt.input.id)
        raised = [n.thread for n in agent.notices if n.type == "raw_input" and n.data.get("level") == 4]
        assert sorted(raised) == sorted(receipt.thread.id for receipt in receipts)
        assert await agent.conversations.signal_all("[kernel] nobody works") == 0


async def test_e34_a_terminal_does_not_feed_itself(tmp_path: Path) -> None:
    """What comes of a call that runs is its result; of what waits there is one; and no more than a dozen a minute."""
    looks = Looks()
    terminal = Identity("demo:owner", "demo", "", Role.OWNER, "owner")

    async def output(agent: Agent, thread: Thread) -> Receipt:
        said = message(new_id("line"), terminal, thread=thread.id, no_memory=True)
        return (await agent.conversations.interrupt(terminal, said, 1))[0]

    script = (calls(("look", "{}")), hangs("x"), *(says("ok") for _ in range(20)))
    async with running_agent(tmp_path, Setup(model=FakeModel(*script), host=looks.host)) as agent:
        first = await agent.conversations.inject(OWNER, message("first"))
        await looks.began.wait()
        with pytest.raises(Unavailable, match="its result"):
            await output(agent, first.thread)
        agent.model.hanging = trio.Event()
        looks.go_on.set()
        await agent.model.hanging.wait()
        second = await hanging_high(agent, first.thread)
        third = await output(agent, first.thread)
        with pytest.raises(Unavailable, match="waits in this conversation"):
            await output(agent, first.thread)
        assert await agent.conversations.stop(OWNER, first.thread.id)
        with trio.fail_after(60):
            for receipt in (second, third):
                await agent.conversations.wait(OWNER, receipt.input.id)
            for _ in range(11):
                receipt = await output(agent, first.thread)
                await agent.conversations.wait(OWNER, receipt.input.id)
        with pytest.raises(Unavailable, match="a minute"):
            await output(agent, first.thread)


async def hanging_high(agent: Agent, thread: Thread) -> Receipt:
    """Something more urgent than the terminal that does not end."""
    agent.model.script.insert(0, hangs("y"))
    return await hanging(agent, "second", thread=thread.id, level=3)


async def test_a_stop_while_a_stage_looks_at_what_is_to_join_leaves_it_a_turn_of_its_own(tmp_path: Path) -> None:
    looks, checking = Looks(), trio.Event()

    async def guard(fields: Mapping[str, Any]) -> None:
        await trio.lowlevel.checkpoint()
        if fields["raw_message"] == "two" and not checking.is_set():
            checking.set()
            await trio.sleep_forever()

    looks.host.stage("on_input", guard)
    script = (hangs("x"), calls(("look", "{}")), says("two, then"), says("zero"))
    async with running_agent(tmp_path, Setup(model=FakeModel(*script), host=looks.host)) as agent:
        zero = await hanging(agent, "zero")
        one, _, _ = await agent.conversations.interrupt(OWNER, message("one", thread=zero.thread.id), 2)
        await looks.began.wait()
        two, _, way = await agent.conversations.interrupt(OWNER, message("two", thread=zero.thread.id), 2)
        assert way is Way.JOINS
        looks.go_on.set()
        with trio.fail_after(60):
            await checking.wait()
            assert await agent.conversations.stop(OWNER, zero.thread.id)
            done = [await agent.conversations.wait(OWNER, receipt.input.id) for receipt in (one, two, zero)]
        assert [d.state.value for d in done] == ["stopped", "answered", "answered"]
        assert [d.outcome.text if d.outcome else "" for d in done[1:]] == ["two, then", "zero"]


async def test_no_message_of_a_plugin_takes_the_place_of_what_the_kernel_raises(tmp_path: Path) -> None:
    async with running_agent(tmp_path) as agent:
        first = await agent.ask("hello")
        for key in ("kernel:k", f"{OURS}kernel:k"):
            await agent.ask("forged", thread=first.thread, client_msg_id=key)
        raised = await agent.conversations.signal(Signal(who=OWNER, text="a fire", thread=first.thread, key="k"))
        assert not raised.duplicate
        again = await agent.conversations.signal(Signal(who=OWNER, text="a fire", thread=first.thread, key="k"))
        assert again.duplicate
        await agent.conversations.wait(OWNER, raised.input.id)
