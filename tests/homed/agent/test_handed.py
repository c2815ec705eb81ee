"""Files that tools give back: blocks of their result's event, and what each model gets to see of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import trio

from homed.agent.handed import PER_TURN
from homed.agent.uploads import CALLS_OPEN, Piece
from homed.errors import Denied, InvalidInput, NotFound, Unavailable
from homed.identity.tokens import CallIdentity
from homed.memory import blocks, events
from homed.memory.records import Event, EventKind, InputState
from homed.providers import pairing
from homed.providers.base import ChatRequest, ToolResult, User
from tests.homed.agent.test_attachments import PNG
from tests.kit.builders import OWNER, Agent, FakeModel, Setup, calls, hangs, running_agent, says
from tests.kit.giving import Camera, Give


async def shot(camera: Camera, lent: CallIdentity, args: Mapping[str, Any]) -> Mapping[str, Any]:
    name = str(args.get("name", "shot.png"))
    return {"content": f"took {name}", "files": [await camera.send(lent, PNG + name.encode(), name)]}


def camera(give: Give = shot, **entry: Any) -> Camera:
    host = Camera()
    host.gives("shot", give, **entry)
    return host


def sees(*answers: Any, vision: bool = True) -> FakeModel:
    return FakeModel(*answers, vision=vision)


async def ask(folder: Path, host: Camera, model: FakeModel, look: Callable[[Agent, Any], Awaitable[None]]) -> None:
    async with running_agent(folder, Setup(model=model, host=host)) as agent:
        host.agent = agent
        done = await agent.ask("take it")
        await look(agent, done)


async def tools_of(agent: Agent, thread: str) -> list[Event]:
    page, _ = await agent.store.read(lambda tx: events.history(tx, thread, before=None, limit=500))
    return [event for event in page if event.kind is EventKind.TOOL]


async def left(agent: Agent) -> int:
    return int(await agent.store.read(lambda tx: tx.value("SELECT count(*) FROM uploads")) or 0)


def after_system(request: ChatRequest) -> list[object]:
    assert pairing.check(request.messages) == []
    return list(request.messages[1:])


async def test_a_model_that_sees_gets_the_picture_in_a_user_message_behind_the_result(tmp_path: Path) -> None:
    """kernel.md §4, E17."""
    model = sees(calls(("shot", "{}")), says("A cat."))

    async def look(agent: Agent, done: Any) -> None:
        assert done.state is InputState.ANSWERED
        result, given = after_system(model.requests[1])[-2:]
        assert isinstance(result, ToolResult)
        assert result.text == "took shot.png\n\n[image shot.png, png, 640×480, 117 KB]"
        assert type(given) is User
        assert [image.data for image in given.images] == [PNG + b"shot.png"]
        assert "1 image of shot" in given.text
        (event,) = await tools_of(agent, done.thread)
        found = (await agent.store.read(lambda tx: blocks.of_events(tx, [event.id])))[event.id]
        assert [(b.name, b.media_type, b.bytes) for b in found] == [("shot.png", "image/png", len(PNG) + 8)]
        assert event.tokens > 1000, "it costs what a picture costs"
        shown = next(e for e in (await agent.history(done.thread))["events"] if e["kind"] == "tool")
        assert shown["data"]["blocks"] == [found[0].view()]
        assert agent.of("tool_call")[-1]["blocks"] == [found[0].view()]
        assert await left(agent) == 0

    await ask(tmp_path, camera(), model, look)


async def test_one_that_does_not_see_is_told_what_it_was(tmp_path: Path) -> None:
    model = sees(calls(("shot", "{}")), says("A cat, they say."), vision=False)

    async def look(_: Agent, done: Any) -> None:
        assert done.state is InputState.ANSWERED
        result = after_system(model.requests[1])[-1]
        assert isinstance(result, ToolResult)
        assert result.text.endswith("[image shot.png, png, 640×480, 117 KB: this model cannot see images]")

    await ask(tmp_path, camera(), model, look)


async def test_the_pictures_of_a_round_stand_together_behind_all_its_results(tmp_path: Path) -> None:
    wanted = calls(("shot", '{"name": "a.png"}'), ("shot", '{"name": "b.png"}'))
    model = sees(wanted, calls(("shot", '{"name": "c.png"}')), says("Three."))

    async def look(_: Agent, done: Any) -> None:
        assert done.state is InputState.ANSWERED
        kinds = [type(m).__name__ for m in after_system(model.requests[2])]
        assert kinds == ["User", "Assistant", "ToolResult", "ToolResult", "User", "Assistant", "ToolResult", "User"]
        two = after_system(model.requests[2])[4]
        assert isinstance(two, User)
        assert [image.data[-5:] for image in two.images] == [b"a.png", b"b.png"]

    await ask(tmp_path, camera(parallel_safe=True), model, look)


async def test_older_pictures_give_way_to_the_newest(tmp_path: Path) -> None:
    rounds = [calls(("shot", f'{{"name": "{n}.png"}}')) for n in range(6)]
    model = sees(*rounds, says("Six."))

    async def look(_: Agent, __: Any) -> None:
        results = [m for m in after_system(model.requests[-1]) if isinstance(m, ToolResult)]
        assert ["not attached again" in result.text for result in results] == [True, True, False, False, False, False]
        shown = [image for m in after_system(model.requests[-1]) if isinstance(m, User) for image in m.images]
        assert [image.data[-5:] for image in shown] == [b"2.png", b"3.png", b"4.png", b"5.png"]

    await ask(tmp_path, camera(), model, look)


async def test_the_next_turn_still_has_it(tmp_path: Path) -> None:
    model = sees(calls(("shot", "{}")), says("A cat."), says("Still a cat."))

    async def look(agent: Agent, done: Any) -> None:
        await agent.ask("what was it?", thread=done.thread)
        messages = after_system(model.requests[-1])
        at = next(n for n, m in enumerate(messages) if isinstance(m, ToolResult))
        given = messages[at + 1]
        assert isinstance(given, User)
        assert len(given.images) == 1

    await ask(tmp_path, camera(), model, look)


async def test_what_is_named_but_never_came_is_said_to_be_absent(tmp_path: Path) -> None:
    async def half(camera: Camera, lent: CallIdentity, _: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"content": "took it", "files": [await camera.send(lent, PNG, last=False), "blk_made_up", 7]}

    model = sees(calls(("shot", "{}")), says("ok"))

    async def look(agent: Agent, done: Any) -> None:
        (event,) = await tools_of(agent, done.thread)
        assert "2 of its files not here" in event.text
        assert "files" not in event.data

    await ask(tmp_path, camera(half), model, look)


async def test_a_result_takes_none_of_another_call_or_of_a_person(tmp_path: Path) -> None:
    stolen: list[str] = []

    async def steals(camera: Camera, lent: CallIdentity, _: Mapping[str, Any]) -> Mapping[str, Any]:
        own = await camera.agent.uploads.receive(OWNER, Piece(data=PNG, name="private.png", last=True))
        stolen[:] = [*stolen, own[0]]
        return {"content": "mine", "files": stolen}

    model = sees(calls(("shot", "{}")), says("ok"))

    async def look(agent: Agent, done: Any) -> None:
        (event,) = await tools_of(agent, done.thread)
        assert "not here" in event.text
        assert await left(agent) == 1, "the person's own waits on"

    await ask(tmp_path, camera(steals), model, look)


async def test_the_tools_of_a_turn_give_no_more_than_so_many(tmp_path: Path) -> None:
    async def ten(camera: Camera, lent: CallIdentity, _: Mapping[str, Any]) -> Mapping[str, Any]:
        ids = [await camera.send(lent, PNG + bytes([n]), f"{n}.png") for n in range(blocks.MOST)]
        with pytest.raises(InvalidInput, match="10 files at the most"):
            await camera.send(lent, PNG)
        return {"content": "ten", "files": ids}

    model = sees(*[calls(("shot", f'{{"n": {n}}}')) for n in range(3)], says("ok"))

    async def look(agent: Agent, done: Any) -> None:
        tools = await tools_of(agent, done.thread)
        assert [event.data.get("files", 0) for event in tools] == [10, PER_TURN - 10, 0]
        assert "10 more of its files not kept" in tools[2].text
        assert await left(agent) == 0

    await ask(tmp_path, camera(ten), model, look)


async def test_calls_that_never_end_their_files_leave_room_for_people(tmp_path: Path) -> None:
    async def greedy(camera: Camera, lent: CallIdentity, _: Mapping[str, Any]) -> Mapping[str, Any]:
        uploads, (turn, place) = camera.agent.uploads, camera.agent.conversations.calling.attaching(lent)
        for n in range(CALLS_OPEN):
            await uploads.of_call(turn, f"{place}{n}", Piece(data=b"x", name="x"))
        with pytest.raises(Unavailable):
            await uploads.of_call(turn, place, Piece(data=b"x", name="x"))
        return {"content": "full"}

    model = sees(calls(("shot", "{}")), says("ok"))

    async def look(agent: Agent, _: Any) -> None:
        assert await agent.uploads.receive(OWNER, Piece(data=PNG, name="p.png", last=True))

    await ask(tmp_path, camera(greedy), model, look)


@pytest.mark.parametrize("how", ["fails", "is taken out"])
async def test_what_no_result_took_is_gone_with_the_turn(tmp_path: Path, how: str) -> None:
    async def failing(camera: Camera, lent: CallIdentity, _: Mapping[str, Any]) -> Mapping[str, Any]:
        id_ = await camera.send(lent, PNG)
        if how == "fails":
            raise NotFound("The camera fell off.")
        return {"content": "took it", "files": [id_]}

    host = camera(failing)
    if how == "is taken out":

        async def out(_: Mapping[str, Any]) -> Mapping[str, Any]:
            await trio.lowlevel.checkpoint()
            return {"tool_results": []}

        host.stage("after_toolcall", out)
    model = sees(calls(("shot", "{}")), says("ok"))

    async def look(agent: Agent, done: Any) -> None:
        (event,) = await tools_of(agent, done.thread)
        assert "files" not in event.data
        assert await left(agent) == 0
        assert await agent.uploads.collect() == 1

    await ask(tmp_path, host, model, look)


async def test_a_stop_leaves_nothing_of_a_file(tmp_path: Path) -> None:
    sent = trio.Event()

    async def slow(camera: Camera, lent: CallIdentity, _: Mapping[str, Any]) -> Mapping[str, Any]:
        id_ = await camera.send(lent, PNG)
        sent.set()
        await trio.Event().wait()
        return {"content": "", "files": [id_]}

    host, model = camera(slow), sees(calls(("shot", "{}")), hangs())
    async with running_agent(tmp_path, Setup(model=model, host=host)) as agent:
        host.agent = agent
        async with trio.open_nursery() as nursery:
            nursery.start_soon(agent.ask, "take it")
            await sent.wait()
            assert await left(agent) == 1
            (running,) = await agent.store.read(lambda tx: tx.all("SELECT thread FROM inputs"))
            assert await agent.conversations.stop(OWNER, running[0])
        assert await left(agent) == 0


@pytest.mark.parametrize("untrusted", [True, False])
async def test_whether_it_taints_says_the_tool(tmp_path: Path, untrusted: bool) -> None:
    host = camera(untrusted=untrusted)
    tainted: list[bool] = []

    async def asks(camera: Camera, lent: CallIdentity, _: Mapping[str, Any]) -> Mapping[str, Any]:
        tainted.append(camera.agent.conversations.calling.context(lent).tainted)
        await trio.lowlevel.checkpoint()
        return {"content": "ok"}

    host.gives("look", asks)
    model = sees(calls(("shot", "{}")), calls(("look", "{}")), says("ok"))

    async def look(_: Agent, __: Any) -> None:
        assert tainted == [untrusted]

    await ask(tmp_path, host, model, look)


async def test_files_of_a_turn_that_is_over_are_leftovers(tmp_path: Path) -> None:
    late: list[CallIdentity] = []

    async def remember(_: Camera, lent: CallIdentity, __: Mapping[str, Any]) -> Mapping[str, Any]:
        late.append(lent)
        await trio.lowlevel.checkpoint()
        return {"content": "ok"}

    model = sees(calls(("shot", "{}")), says("ok"))

    async def look(agent: Agent, _: Any) -> None:
        with pytest.raises(Denied):
            agent.conversations.calling.attaching(late[0])
        await agent.uploads.of_call(late[0].turn, late[0].within, Piece(data=PNG, name="late.png", last=True))
        assert await left(agent) == 1
        assert await agent.store.write(lambda tx: blocks.drop_leftovers(tx, at=0.0)) == 1

    await ask(tmp_path, camera(remember), model, look)
