"""The pure scheduler, by the acceptance set F.1 and as a state machine."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, rule

from homed.agent.levels import clamped
from homed.agent.schedule import (
    DEEPEST,
    MOST,
    Cancel,
    Command,
    Drop,
    Insert,
    Phase,
    Resume,
    Schedule,
    Start,
    Suspend,
    Task,
    Way,
)

Q, L1, L2, L3, L4 = (Task(f"l{level}", level) for level in range(5))


def running(task: Task, phase: Phase = Phase.MODEL) -> Schedule:
    """A schedule in which this one runs."""
    made = Schedule()
    assert made.arrive(task) == [Start(task)]
    made.enter(task.id, phase)
    return made


def test_p1_a_higher_level_suspends_the_running_model_step() -> None:
    made = running(L2)
    assert made.way(L3) is Way.SUSPENDS
    assert made.arrive(L3) == [Cancel(L2)]
    assert made.safe_point(L2.id) == [Suspend(L2), Start(L3)]
    assert [frame.task for frame in made.stack] == [L2]


@pytest.mark.parametrize("level", [2, 1, 0])
def test_p2_p3_an_equal_or_lower_level_waits(level: int) -> None:
    made, late = running(L2), Task("late", level, joins=False)
    assert made.way(late) is Way.WAITS
    assert made.arrive(late) == made.safe_point(L2.id) == []
    assert list(made.waiting) == [late]
    assert made.end(L2.id) == [Start(late)]


def test_p4_each_level_stands_on_the_one_below_it() -> None:
    made, depths = running(Q), []
    for below, task in ((Q, L1), (L1, L2), (L2, L3), (L3, L4)):
        assert made.arrive(task) == [Cancel(below)]
        assert made.safe_point(below.id) == [Suspend(below), Start(task)]
        made.enter(task.id, Phase.MODEL)
        depths.append(len(made.stack))
    assert depths == [1, 2, 3, 4]
    assert [command for task in (L4, L3, L2, L1) for command in made.end(task.id)] == [
        Resume(L3), Resume(L2), Resume(L1), Resume(Q),
    ]  # fmt: skip


def test_p5_p6_tools_and_commits_are_waited_for_by_level_4_too() -> None:
    made = running(L2, Phase.CRITICAL)
    assert made.arrive(L4) == []
    assert made.counters.deferred == 1
    assert made.safe_point(L2.id) == [Suspend(L2), Start(L4)]
    assert (made.counters.deferred, made.counters.cancelled) == (1, 0)


def test_p5_a_critical_section_within_a_model_step_ends_first() -> None:
    made = running(L2, Phase.CRITICAL)
    assert made.arrive(L4) == []
    assert made.enter(L2.id, Phase.MODEL) == [Cancel(L2)]


def test_p7_p8_background_preempts_a_queued_message_which_preempts_nothing() -> None:
    assert running(Q).arrive(L1) == [Cancel(Q)]
    for task in (Q, L1, L2, L3, L4):
        assert running(task).arrive(Task("q2")) == []


@pytest.mark.parametrize(("critical", "counts"), [(False, 3), (True, 4)])
def test_p9_p11_level_4_needs_a_grant(critical: bool, counts: int) -> None:
    assert clamped(4, critical=critical) == counts


def test_being_preempted_counts_for_two_at_the_most() -> None:
    made = running(L1)
    for at, (level, effective) in enumerate(((2, 2), (3, 3))):
        late = Task(f"late{at}", level)
        made.arrive(late)
        made.safe_point(L1.id)
        assert made.end(late.id) == [Resume(L1)]
        assert made.running is not None
        assert made.running.effective == effective
        made.enter(L1.id, Phase.MODEL)
    assert made.arrive(Task("third", 3)) == [], "it counts as 3 itself by now"
    assert made.arrive(L4) == [Cancel(L1)]
    made.safe_point(L1.id)
    made.end(L4.id)
    assert made.running is not None
    assert made.running.effective == 3, "no more than two above its own"


def test_level_4_is_never_above_level_4() -> None:
    """F.2: neither overflows the stack nor loses a frame."""
    made = running(L4)
    again = Task("again", 4)
    assert made.arrive(again) == []
    assert made.safe_point(L4.id) == [Insert(again, L4)]
    alone = Task("alone", 4, joins=False)
    assert made.arrive(alone) == made.safe_point(L4.id) == []
    assert made.end(L4.id) == [Start(alone)]


def test_one_of_the_same_level_is_put_before_the_next_model_call() -> None:
    made, late = running(L2), Task("late", 2)
    assert made.way(late) is Way.JOINS
    assert made.arrive(late) == []
    assert made.safe_point(L2.id) == [Insert(late, L2)]
    assert list(made.waiting) == []
    assert made.safe_point(L2.id) == []
    assert made.counters.inserted == 1


def test_what_could_not_be_put_in_has_a_turn_of_its_own() -> None:
    made, late = running(L2), Task("late", 2)
    made.arrive(late)
    assert made.end(L2.id) == [Start(late)]


def test_what_waited_before_a_turn_began_is_not_put_into_it() -> None:
    made, second, third = running(L3), Task("second", 2), Task("third", 2)
    made.arrive(second)
    made.arrive(third)
    assert made.end(L3.id) == [Start(second)]
    assert made.safe_point(second.id) == []


def test_queued_messages_are_answered_one_by_one() -> None:
    made = running(Q)
    assert made.arrive(Task("q2")) == made.safe_point(Q.id) == []
    assert [task.id for task in made.waiting] == ["q2"]


def test_q1_the_highest_level_first_then_by_time() -> None:
    made = running(L4)
    late = [Task(f"{level}{at}", level, joins=False) for at in "ab" for level in (0, 3, 1, 4, 2)]
    for task in late:
        made.arrive(task)
    order = []
    id_ = L4.id
    while commands := made.end(id_):
        (command,) = commands
        id_ = command.task.id
        order.append(id_)
    assert order == ["4a", "4b", "3a", "3b", "2a", "2b", "1a", "1b", "0a", "0b"]


def test_q2_a_suspended_one_goes_before_new_queued_ones() -> None:
    made = running(Q)
    made.arrive(Task("q2"))
    made.arrive(L1)
    made.safe_point(Q.id)
    assert made.end(L1.id) == [Resume(Q)]


def test_q3_stack_or_queue_by_level_and_the_stack_where_equal() -> None:
    for level, wins in ((1, Resume(Q)), (2, Start(Task("late", 2, joins=False)))):
        made = running(Q)
        made.arrive(L3)
        made.safe_point(Q.id)  # counts as 1 from here on
        made.arrive(Task("late", level, joins=False))
        assert made.end(L3.id) == [wins]


def test_r4_frames_are_taken_up_last_in_first_out() -> None:
    made = running(Q)
    made.arrive(L2)
    made.safe_point(Q.id)
    made.enter(L2.id, Phase.MODEL)
    made.arrive(L4)
    made.safe_point(L2.id)
    assert made.end(L4.id) == [Resume(L2)]
    assert made.end(L2.id) == [Resume(Q)]
    assert made.end(Q.id) == []
    assert made.idle


def test_r5_a_model_step_is_cancelled_once() -> None:
    made = running(Q)
    assert made.arrive(L1) == [Cancel(Q)]
    assert made.arrive(L2) == made.arrive(L3) == []
    assert made.counters.cancelled == 1
    assert made.safe_point(Q.id) == [Suspend(Q), Start(L3)]


def test_the_oldest_of_the_lowest_level_is_dropped() -> None:
    made = running(L4)
    for at in range(MOST - 1):
        made.arrive(Task(f"two{at}", 2))
    assert made.arrive(Task("one", 1)) == []
    assert made.arrive(Task("zero")) == [], "messages are not counted with them, nor dropped for them"
    assert made.arrive(Task("three", 3)) == [Drop(Task("one", 1))]
    assert made.arrive(Task("low", 1)) == [Drop(Task("low", 1))], "itself, if nothing is lower"
    assert made.arrive(Task("more", 2)) == [Drop(Task("two0", 2))]
    assert made.counters.dropped == 3
    assert made.running is not None
    assert made.running.task == L4


def test_one_that_was_to_be_put_in_and_is_dropped_is_not_put_in() -> None:
    made = Schedule(most=1)
    made.arrive(L2)
    first, second = Task("first", 2), Task("second", 2)
    made.arrive(first)
    assert made.arrive(second) == [Drop(first)]
    assert made.safe_point(L2.id) == [Insert(second, L2)]


def test_a_suspended_one_that_ends_leaves_the_stack() -> None:
    made = running(Q)
    made.arrive(L2)
    made.safe_point(Q.id)
    assert made.end(Q.id) == []
    assert made.end(L2.id) == []
    assert made.idle


def test_held_it_begins_and_preempts_nothing() -> None:
    made = running(Q)
    made.held = True
    assert made.arrive(L3) == made.safe_point(Q.id) == made.end(Q.id) == []
    assert made.way(L4) is Way.WAITS
    assert made.release() == [Start(L3)]


def test_what_is_left_of_an_earlier_run_is_all_kept() -> None:
    made = Schedule(most=2)
    left = [Task(f"t{at}", at % 4) for at in range(20)]
    assert made.restore(left) == [Start(Task("t3", 3))]
    assert len(list(made.waiting)) == 19


def test_what_waits_can_be_withdrawn() -> None:
    made = running(L2)
    made.arrive(Task("late", 2))
    assert made.withdraw("late")
    assert not made.withdraw("late")
    assert made.safe_point(L2.id) == []
    assert made.withdraw(L2.id) is False


class Machine(RuleBasedStateMachine):
    """Whatever comes in whatever order: nothing is lost, nothing runs twice, and levels rise along the stack."""

    frames: Bundle[str] = Bundle("frames")

    def __init__(self) -> None:
        super().__init__()
        self.made = Schedule(most=3)
        self.alive: set[str] = set()
        self.begun: set[str] = set()
        self.count = 0

    def do(self, commands: list[Command]) -> None:
        """What a driver does; commands come in an order that it can follow."""
        for command in commands:
            match command:
                case Start(task):
                    assert task.id in self.alive - self.begun
                    self.begun.add(task.id)
                case Resume(task) | Suspend(task) | Cancel(task):
                    assert task.id in self.begun & self.alive
                case Insert(task, into):
                    assert task.id in self.alive - self.begun
                    assert into.id in self.begun
                    assert task.level == into.level > 0
                    self.alive.discard(task.id)
                case Drop(task):
                    assert task.id in self.alive - self.begun
                    self.alive.discard(task.id)

    @initialize(held=st.booleans())
    def begin(self, held: bool) -> None:
        self.made.held = held

    @rule(target=frames, level=st.integers(0, 4), joins=st.booleans())
    def arrive(self, level: int, joins: bool) -> str:
        self.count += 1
        task = Task(f"t{self.count}", level, joins)
        self.alive.add(task.id)
        before = self.made.running
        self.do(self.made.arrive(task))
        assert before is None or self.made.running is before, "nobody leaves but at a safe point"
        return task.id

    @rule(phase=st.sampled_from(Phase))
    def enter(self, phase: Phase) -> None:
        if self.made.running is not None:
            self.do(self.made.enter(self.made.running.task.id, phase))

    @rule()
    def step(self) -> None:
        frame = self.made.running
        if frame is None:
            return
        was = frame.effective
        commands = self.made.safe_point(frame.task.id)
        self.do(commands)
        now = self.made.running
        assert now is not None
        if now is not frame:
            assert commands[0] == Suspend(frame.task)
            assert now.task.level > was, "a strictly higher level only"

    @rule()
    def end(self) -> None:
        if self.made.running is not None:
            self.over(self.made.running.task.id)

    @rule(id_=consumes(frames))
    def stop(self, id_: str) -> None:
        """A person stops one, running or suspended; or takes back what waits."""
        if id_ in self.begun & self.alive:
            self.over(id_)
        elif id_ in self.alive:
            assert self.made.withdraw(id_)
            self.alive.discard(id_)

    def over(self, id_: str) -> None:
        head = next(self.made.waiting, None)
        top = self.made.stack[-1] if self.made.stack else None
        ran = self.made.running is not None and self.made.running.task.id == id_
        self.alive.discard(id_)
        commands = self.made.end(id_)
        self.do(commands)
        if commands and top is not None and head is not None:
            assert ran
            wanted = Resume(top.task) if top.effective >= head.level else Start(head)
            assert commands == [wanted]

    @rule()
    def release(self) -> None:
        self.do(self.made.release())

    @rule()
    def hold(self) -> None:
        self.made.held = True

    @invariant()
    def nothing_is_lost_or_twice(self) -> None:
        made = self.made
        standing = [frame.task.id for frame in made.stack] + ([made.running.task.id] if made.running else [])
        waiting = [task.id for task in made.waiting]
        assert sorted(standing + waiting) == sorted(self.alive)
        assert set(standing) == self.begun & self.alive

    @invariant()
    def levels_rise(self) -> None:
        made = self.made
        levels = [frame.task.level for frame in made.stack] + ([made.running.task.level] if made.running else [])
        assert levels == sorted(set(levels))
        assert len(made.stack) <= DEEPEST

    @invariant()
    def somebody_works(self) -> None:
        made = self.made
        assert made.running is not None or made.held or not self.alive

    @invariant()
    def no_more_interrupts_wait_than_may(self) -> None:
        assert sum(1 for task in self.made.waiting if task.level) <= 3


TestMachine = Machine.TestCase
