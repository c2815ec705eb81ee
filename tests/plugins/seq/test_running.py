"""Runs: order, side by side, time, failures, conditions, values; the report says what happened and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from homed.errors import Denied, Unavailable
from plugins.seq import grammar
from plugins.seq.grammar import Sequence
from plugins.seq.patience import Patience
from plugins.seq.running import SHOWN, Answer, BadArguments, Report, Runner
from plugins.seq.targets import Target


@pytest.fixture
def autojump_clock() -> MockClock:
    return MockClock(autojump_threshold=0)


class Tools:
    """A kernel that answers as told and writes down what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Mapping[str, object]]] = []
        self.log: list[str] = []
        self.failing = 0

    async def __call__(self, tool: str, args: Mapping[str, object]) -> Answer:
        self.asked.append((tool, dict(args)))
        self.log.append(f"{tool}+")
        try:
            await trio.sleep(float(str(args.get("seconds", 0))))
        except trio.Cancelled:
            self.log.append(f"{tool}!")
            raise
        self.log.append(f"{tool}-")
        match tool:
            case "fail":
                return Answer("it broke", True, "error")
            case "deny":
                return Answer("denied: no", True, "denied")
            case "refuse":
                raise Denied("Guests may not.")
            case "gone":
                raise Unavailable("It went away.")
            case "shaky":
                self.failing -= 1
                return Answer("no", True, "error") if self.failing >= 0 else Answer("yes")
            case "long":
                return Answer("x" * 5000)
        return Answer(args.get("says", f"{tool} done"))


def seq(name: str, *groups: dict[str, Any]) -> Sequence:
    return grammar.parse({"name": name, "groups": [{"name": f"g{n}", **group} for n, group in enumerate(groups)]})


def step(tool: str, as_: str = "", **args: Any) -> dict[str, Any]:
    return {"tool": tool, "args": args, **({"as": as_} if as_ else {})}


def serial(*steps: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"parallel": False, "tools": list(steps), **more}


async def run(tools: Tools, *known: Sequence, aim: str = "", **args: Any) -> Report:
    patience = Patience()
    runner = Runner({one.name: one for one in known}, tools, lambda seconds: patience.limit("t", seconds))
    name, _, group = (aim or known[0].name).partition(".")
    return await runner.run(Target(name, group), args)


def told(report: Report) -> list[list[str]]:
    return [[group.status, *(line.status for line in group.steps)] for group in report.groups]


async def test_groups_in_order_tools_side_by_side_or_one_after_the_other(autojump_clock: MockClock) -> None:
    tools = Tools()
    one = {"tools": [step("a", seconds=3), step("b", seconds=2)]}
    report = await run(tools, seq("s", one, serial(step("c", seconds=1), step("d"))))
    assert sorted(tools.log[:2]) == ["a+", "b+"]
    assert tools.log[2:] == ["b-", "a-", "c+", "c-", "d+", "d-"]
    assert told(report) == [["ok", "ok", "ok"], ["ok", "ok", "ok"]]


async def test_values_go_from_step_to_step_with_their_types() -> None:
    tools = Tools()
    s = seq(
        "s",
        {"in": {"n": "integer"}, "out": {"x": "object", "y": "integer"},
         "tools": [step("a", "x", says='{"list": [1, null]}'), step("b", "y", says="42")]},
        serial(
            step("c", "z", says={"deep": True}),
            step("d", n="$args.n", one="$x.list.0", none="$x.list.1", t="n=${args.n}"),
            step("e", z="$z.deep", x="$g0.x", o="$args.x"),
            **{"in": {"n": "integer", "x": "object"}},
        ),
    )  # fmt: skip
    report = await run(tools, s, n=3)
    assert tools.asked[3:] == [
        ("d", {"n": 3, "one": 1, "none": None, "t": "n=3"}),
        ("e", {"z": True, "x": {"list": [1, None]}, "o": {"list": [1, None]}}),
    ]
    assert report.out == {"x": {"list": [1, None]}, "y": 42}
    assert report.view()["groups"][0]["steps"][1] == {"tool": "b", "status": "ok", "as": "y", "result": "42"}


@pytest.mark.parametrize(
    ("tool", "status"), [("fail", "error"), ("deny", "denied"), ("refuse", "denied"), ("gone", "error")]
)
async def test_a_failure_ends_the_run_and_the_rest_is_not_run(tool: str, status: str) -> None:
    tools = Tools()
    report = await run(tools, seq("s", serial(step("a"), step(tool), step("b")), {"tools": [step("c")]}))
    assert told(report) == [[status, "ok", status, "not_run"], ["not_run", "not_run"]]
    assert report.status == status
    assert report.why.startswith(f"g0: {tool}: ")
    assert [tool for tool, _ in tools.asked] == ["a", tool]


async def test_the_others_of_a_parallel_group_come_to_their_end(autojump_clock: MockClock) -> None:
    tools = Tools()
    report = await run(tools, seq("s", {"tools": [step("fail"), step("a", "x", seconds=5)], "out": {"x": "any"}}))
    assert "a-" in tools.log
    assert told(report) == [["error", "error", "ok"]]
    assert report.out == {"x": "a done"}


async def test_on_error_continue_goes_on_without_the_value() -> None:
    tools = Tools()
    bad = serial(step("fail", "x"), step("a", v="$x"), step("b"), on_error="continue")
    report = await run(tools, seq("s", bad, {"tools": [step("c")], "when": "$x == null"}))
    assert told(report) == [["error", "error", "error", "ok"], ["ok", "ok"]]
    assert report.groups[0].steps[1].said == "$x has no value: x did not run or failed"
    assert report.status == "ok"


@pytest.mark.parametrize(("failing", "tries", "status"), [(0, 1, "ok"), (2, 3, "ok"), (9, 3, "error")])
async def test_on_error_retry_tries_again(failing: int, tries: int, status: str, autojump_clock: MockClock) -> None:
    tools = Tools()
    tools.failing = failing
    report = await run(tools, seq("s", serial(step("shaky"), on_error="retry", retries=2)))
    assert (report.groups[0].steps[0].tries, report.status) == (tries, status)


async def test_a_denial_is_not_tried_again() -> None:
    tools = Tools()
    await run(tools, seq("s", serial(step("deny"), on_error="retry", retries=5)))
    assert len(tools.asked) == 1


async def test_time_is_bounded_and_what_ran_is_stopped(autojump_clock: MockClock) -> None:
    tools = Tools()
    s = seq("s", {"tools": [step("slow", seconds=100), step("a")], "timeout": 2}, {"tools": [step("b")]})
    report = await run(tools, s)
    assert "slow!" in tools.log
    assert told(report) == [["timeout", "timeout", "ok"], ["not_run", "not_run"]]
    assert report.status == "timeout"
    assert "longer than 2 s" in report.why


async def test_cancelling_stops_every_step(autojump_clock: MockClock) -> None:
    tools = Tools()
    with trio.move_on_after(1) as scope:
        await run(tools, seq("s", {"tools": [step("a", seconds=9), step("b", seconds=9)]}))
    assert scope.cancelled_caught
    assert sorted(tools.log) == ["a!", "a+", "b!", "b+"]


async def test_a_condition_skips_a_group_and_its_values_are_not_there() -> None:
    tools = Tools()
    first = {"in": {"n": "integer"}, "when": "$args.n > 5", "tools": [step("a", "x")], "out": {"x": "any"}}
    report = await run(
        tools, seq("s", first, {"tools": [step("b")], "when": "$x == null"}, serial(step("c", v="$x"))), n=3
    )
    assert told(report) == [["skipped", "not_run"], ["ok", "ok"], ["error", "error"]]
    assert report.groups[0].why == "not $args.n > 5"
    assert [tool for tool, _ in tools.asked] == ["b"]


async def test_a_condition_that_cannot_be_decided_is_an_error() -> None:
    report = await run(Tools(), seq("s", {"in": {"n": "any"}, "when": "$args.n > 5", "tools": [step("a")]}), n="x")
    assert report.status == "error"
    assert "no order" in report.why


@pytest.mark.parametrize(
    ("args", "why"),
    [({}, "n is missing"), ({"n": "3"}, "n is string, not integer"), ({"n": True}, "boolean, not integer"),
     ({"n": 1, "m": 2}, "m is not taken")],
)  # fmt: skip
async def test_wrong_arguments_are_refused_before_anything_runs(args: dict[str, Any], why: str) -> None:
    tools = Tools()
    with pytest.raises(BadArguments, match=why):
        await run(tools, seq("s", {"in": {"n": "integer"}, "tools": [step("a")]}), **args)
    assert not tools.asked


async def test_one_group_alone() -> None:
    tools = Tools()
    s = seq(
        "s",
        {"tools": [step("a", "x")]},
        {"in": {"n": "any"}, "tools": [step("b", v="$args.n")]},
        serial(step("c", v="$x")),
    )
    assert (await run(tools, s, aim="s.g1", n=1)).status == "ok"
    assert tools.asked == [("b", {"v": 1})]
    with pytest.raises(BadArguments, match=r"s\.g2 uses x of earlier groups"):
        await run(tools, s, aim="s.g2")
    with pytest.raises(BadArguments, match=r"no group 'g9'\. Its groups are: g0, g1, g2"):
        await run(tools, s, aim="s.g9")
    with pytest.raises(BadArguments, match=r"no sequence 'nope'\. There are: s\."):
        await run(tools, s, aim="nope")


async def test_an_out_of_the_wrong_type_is_an_error() -> None:
    report = await run(Tools(), seq("s", {"tools": [step("a", "x")], "out": {"x": "integer"}}))
    assert (report.status, report.why) == ("error", "g0: out.x is string, not integer")
    assert report.out == {}


async def test_a_sequence_inside_another() -> None:
    tools = Tools()
    inner = seq(
        "inner", {"in": {"n": "integer"}, "out": {"r": "any"}, "tools": [step("a", "r", says={"got": "$args.n"})]}
    )
    nested = {"tool": "seq_run", "args": {"name": "inner", "args": {"n": "$args.n"}}, "as": "in_"}
    when = {"tool": "seq_when_call", "args": {"name": "inner", "when": "$args.n > 9", "args": {"n": 1}}, "as": "no"}
    outer = seq("outer", serial(nested, step("b", v="$in_.r.got"), when, step("c"), **{"in": {"n": "integer"}}))
    report = await run(tools, outer, inner, n=7)
    assert tools.asked == [("a", {"says": {"got": 7}}), ("b", {"v": 7}), ("c", {})]
    assert told(report) == [["ok", "ok", "ok", "skipped", "ok"]]
    inside = report.view()["groups"][0]["steps"][0]["inside"]
    assert (inside["sequence"], inside["status"]) == ("inner", "ok")


async def test_a_failure_inside_is_a_failure_outside() -> None:
    inner = seq("inner", {"tools": [step("deny")]})
    outer = seq("outer", serial({"tool": "seq_call", "args": {"name": "inner", "group": "g0"}}, step("b")))
    tools = Tools()
    report = await run(tools, outer, inner)
    assert told(report) == [["denied", "denied", "not_run"]]
    assert "denied: no" in report.why


async def test_circles_and_depth_are_bounded_when_it_runs_too() -> None:
    def run_(name: str) -> dict[str, Any]:
        return serial({"tool": "seq_run", "args": {"name": name}})

    report = await run(Tools(), seq("a", run_("b")), seq("b", run_("a")))
    assert "it would never end: a.g0 → b.g0 → a.g0" in report.why
    chain = [seq(f"s{n}", run_(f"s{n + 1}")) for n in range(4)]
    report = await run(Tools(), *chain, seq("s4", {"tools": [step("x")]}))
    assert "more than 4 sequences inside each other: s0.g0 → s1.g0 → s2.g0 → s3.g0 → s4" in report.why


async def test_a_run_has_an_end_however_wide_it_is() -> None:
    def wide(name: str, to: str) -> Sequence:
        steps = [{"tool": "seq_run", "args": {"name": to}}] * 16
        return seq(name, serial(*steps, on_error="continue"))

    tools = Tools()
    report = await run(tools, wide("a", "b"), wide("b", "c"), seq("c", {"tools": [step("x")] * 16}))
    assert len(tools.asked) < 256
    assert "more than 256 steps in one run" in str(report.view())


async def test_a_long_result_is_cut_in_the_report_but_not_in_what_is_given() -> None:
    report = await run(Tools(), seq("s", {"tools": [step("long", "x")], "out": {"x": "string"}}))
    shown = report.view()
    assert len(shown["groups"][0]["steps"][0]["result"]) < SHOWN + 50
    assert "5000 characters in all" in shown["groups"][0]["steps"][0]["result"]
    assert shown["out"] == {"x": "x" * 5000}


async def test_arguments_that_are_nested_too_deeply_are_refused_before_anything_runs() -> None:
    deep: object = 1
    for _ in range(900):
        deep = [deep]
    known = seq("s", {"in": {"x": "any"}, "when": "$args.x == $args.x", "tools": [{"tool": "a"}]})
    tools = Tools()
    runner = Runner({"s": known}, tools, lambda seconds: trio.CancelScope(deadline=trio.current_time() + seconds))
    with pytest.raises(BadArguments, match="x is nested too deeply"):
        await runner.run(Target("s"), {"x": deep})
    assert not tools.asked
