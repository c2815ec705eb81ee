"""Lanes with turns that are scripts, on a clock of their own: whatever comes, each turn does what it would alone."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace

import trio
import trio.testing
from hypothesis import given
from hypothesis import strategies as st

from homed.agent.lane import Lane
from homed.agent.lanes import Lanes
from homed.agent.schedule import DEEPEST
from homed.agent.turn import Ending, Turn
from homed.identity.roles import Identity, Role
from homed.memory.records import Input, InputState

WHO = Identity("webui:owner", "webui", "", Role.OWNER, "owner")
THREADS = ("a", "b")


@dataclass(frozen=True)
class Said:
    """An input, when it comes, and what its turn does: model steps ("m"), tools ("t"), and questions to a person ("q"),
    each so many seconds."""

    at: float
    thread: str
    level: int
    steps: tuple[tuple[str, float], ...]
    private: bool = False
    stopped_at: float | None = None


@dataclass
class World:
    """Runs turns by their scripts and writes down what each did."""

    said: dict[str, Said]
    did: list[tuple[str, str]] = field(default_factory=list)
    ended: Counter[str] = field(default_factory=Counter)
    joined: dict[str, str] = field(default_factory=dict)
    acting: dict[str, str] = field(default_factory=dict)
    sent: Counter[tuple[str, int]] = field(default_factory=Counter)

    async def run(self, turn: Turn) -> None:
        """A turn's life."""
        mine = turn.input.id
        with turn.scope:
            for number, (kind, seconds) in enumerate(self.said[mine].steps):
                if kind == "t":
                    await self._act(turn, seconds)
                    self.did.append((mine, f"t{number}"))
                elif kind == "q":
                    await self._ask(turn, number, seconds)
                    self.did.append((mine, f"q{number}"))
                else:
                    await self._model(turn, number, seconds)
                    self.did.append((mine, f"m{number}"))
        turn.over = True
        for id_ in (mine, *(joined.id for joined in turn.joined)):
            self.ended[id_] += 1

    async def _model(self, turn: Turn, number: int, seconds: float) -> None:
        while True:
            while (look := turn.place.look()).suspended:
                await turn.place.resumed()
            for input_ in look.inserted:
                await trio.sleep(0.25)  # a stage looks at it; a stop may come meanwhile
                self.joined[input_.id] = turn.input.id
                turn.join(input_)
            with turn.place.model():
                self.sent[turn.input.id, number] += 1
                await self._act(turn, seconds)
                return

    async def _ask(self, turn: Turn, number: int, seconds: float) -> None:
        while True:
            with turn.place.asking():
                self.sent[turn.input.id, number] += 1
                await self._act(turn, seconds)
                return
            while turn.place.look(joins=False).suspended:
                await turn.place.resumed()

    async def _act(self, turn: Turn, seconds: float) -> None:
        thread = turn.input.thread
        assert thread not in self.acting, "one turn of a thread acts at a time"
        self.acting[thread] = turn.input.id
        try:
            await trio.sleep(seconds)
        finally:
            del self.acting[thread]

    async def dropped(self, input_: Input) -> None:
        """None is: there are too few."""
        await trio.lowlevel.checkpoint()
        raise AssertionError(input_.id)


def input_of(id_: str, said: Said) -> Input:
    return Input(
        id_, said.thread, "owner", "webui", WHO.peer, "owner", id_, "", said.private, False, InputState.ACCEPTED, 0,
        "", 1.0, level=said.level,
    )  # fmt: skip


async def play(world: World) -> None:
    """Everything comes in at its time; over when nothing runs any more."""

    def make(given: Input, gate: trio.Lock) -> Turn:
        return Turn(f"turn-{given.id}", given, WHO, gate=gate)

    async def parted(turn: Turn, _: Ending) -> None:
        raise AssertionError(f"{turn.id} was parted from what joined it")

    lanes = Lanes(make, world.run, world.dropped, parted)
    deepest = 0

    async def arrive(id_: str, said: Said) -> None:
        nonlocal deepest
        await trio.sleep(said.at)
        lanes.put(input_of(id_, said))
        if (lane := lanes.get(said.thread)) is not None:
            deepest = max(deepest, len(lane.schedule.stack))
            check(lane)
        if said.stopped_at is not None:
            await trio.sleep(said.stopped_at)
            lane = lanes.get(said.thread)
            if lane is not None and (turn := lane.turns.get(id_)) is not None:
                turn.stop()

    async with trio.open_nursery() as nursery:
        lanes.open(nursery)
        async with trio.open_nursery() as arrivals:
            for id_, said in world.said.items():
                arrivals.start_soon(arrive, id_, said)
        await lanes.wait_idle()
    assert lanes.counts == (0, 0, 0)
    assert lanes.all() == []
    assert deepest <= DEEPEST


def check(lane: Lane) -> None:
    levels = [turn.input.level for turn in lane.suspended]
    assert levels == sorted(set(levels)), "levels rise along the stack"


steps = st.lists(
    st.tuples(st.sampled_from("mtq"), st.sampled_from((0.5, 1.0, 3.0))), min_size=1, max_size=4
).map(tuple)  # fmt: skip
inputs = st.builds(
    Said,
    at=st.sampled_from([n / 4 for n in range(40)]),
    thread=st.sampled_from(THREADS),
    level=st.integers(0, 4),
    steps=steps,
    private=st.booleans(),
    stopped_at=st.one_of(st.none(), st.sampled_from((0.25, 1.25, 2.75))),
)


def run(said: list[Said]) -> World:
    world = World({f"i{at}": one for at, one in enumerate(said)})
    trio.run(play, world, clock=trio.testing.MockClock(autojump_threshold=0))
    return world


@given(st.lists(inputs, min_size=1, max_size=10))
def test_each_ends_once_and_does_its_steps_in_order_and_none_twice(said: list[Said]) -> None:
    world = run(said)
    assert world.ended == Counter(dict.fromkeys(world.said, 1))
    for id_, one in world.said.items():
        did = [step for who, step in world.did if who == id_]
        whole = [f"{kind}{number}" for number, (kind, _) in enumerate(one.steps)]
        if id_ in world.joined:
            into = world.said[world.joined[id_]]
            assert not did
            assert into.level == one.level > 0
            assert not one.private
        elif one.stopped_at is None:
            assert did == whole
        else:
            assert did == whole[: len(did)]


@given(st.lists(inputs, min_size=1, max_size=6), inputs)
def test_r3_what_a_turn_does_is_the_same_with_and_without_another(said: list[Said], extra: Said) -> None:
    """Apart from those that would have been stopped: when that hits them depends on what runs."""
    plain = [replace(one, stopped_at=None, private=True) for one in said]
    without, with_ = run(plain), run([*plain, replace(extra, stopped_at=None, private=True)])
    for id_ in without.said:
        assert [s for who, s in without.did if who == id_] == [s for who, s in with_.did if who == id_]


def test_r5_a_cancelled_model_step_is_sent_once_more() -> None:
    world = run([Said(0, "a", 0, (("m", 3.0), ("t", 1.0))), Said(1, "a", 2, (("m", 1.0),))])
    assert dict(world.sent) == {("i0", 0): 2, ("i1", 0): 1}
    assert world.did == [("i1", "m0"), ("i0", "m0"), ("i0", "t1")]


def test_a_question_that_was_withdrawn_is_asked_once_more() -> None:
    world = run([Said(0, "a", 0, (("q", 3.0), ("t", 1.0))), Said(1, "a", 3, (("m", 1.0),))])
    assert dict(world.sent) == {("i0", 0): 2, ("i1", 0): 1}
    assert world.did == [("i1", "m0"), ("i0", "q0"), ("i0", "t1")]
