"""What a sequence calls: tools that are there, side by side only what may, and an end to it."""

from __future__ import annotations

from typing import Any

import pytest

from plugins.seq import grammar, targets
from plugins.seq.grammar import Sequence
from plugins.seq.targets import Target, Tool

SCHEMA = {"properties": {"path": {}, "limit": {}}, "required": ["path"], "additionalProperties": False}
TOOLS = {
    "files_read": Tool("files_read", True, SCHEMA),
    "files_write": Tool("files_write", False),
}


def sequence(name: str, *steps: dict[str, Any], **group: Any) -> Sequence:
    return grammar.parse({"name": name, "groups": [{"name": f"{name}_g", "tools": list(steps), **group}]})


def run(name: str, **args: Any) -> dict[str, Any]:
    return {"tool": "seq_run", "args": {"name": name, **({"args": args} if args else {})}}


def problems(one: Sequence, *others: Sequence) -> list[str]:
    return targets.problems(one, TOOLS, {other.name: other for other in others})


READ = {"tool": "files_read", "args": {"path": "a"}}
WRITE = {"tool": "files_write"}


def test_what_may_run_is_let_pass() -> None:
    assert not problems(sequence("a", READ, READ))
    assert not problems(sequence("a", WRITE))
    assert not problems(sequence("a", READ, WRITE, parallel=False))


@pytest.mark.parametrize(
    ("step", "error"),
    [
        (
            {"tool": "file_read"},
            "groups[0].tools[0].tool: you are offered no tool 'file_read'. Did you mean files_read",
        ),
        ({"tool": "zzz"}, "groups[0].tools[0].tool: you are offered no tool 'zzz'. Take one that"),
        ({"tool": "files_read"}, "groups[0].tools[0].args: files_read needs path."),
        ({"tool": "files_read", "args": {"path": 1, "x": 1}}, "groups[0].tools[0].args.x: files_read has no such"),
        ({"tool": "seq_create", "args": {}}, "groups[0].tools[0].tool: a sequence cannot call seq_create."),
        ({"tool": "seq_run"}, "groups[0].tools[0].args: seq_run needs name."),
        (run("nope"), "groups[0].tools[0].args.name: there is no sequence 'nope'. Create it first. There are a, b."),
        (
            {"tool": "seq_run", "args": {"name": "b", "gruop": "x"}},
            "groups[0].tools[0].args.gruop: seq_run has no such",
        ),
        (
            {"tool": "seq_call", "args": {"name": "b", "group": "x"}},
            "groups[0].tools[0].args.group: b has no group 'x'.",
        ),
        ({"tool": "seq_call", "args": {"name": "b", "group": ""}}, "groups[0].tools[0].args.group: b has no group ''."),
        (run("$args.x"), "groups[0].tools[0].args: what it runs must be known beforehand."),
        (run("b", y=1), "groups[0].tools[0].args.args: b takes x."),
        (run("b", x=1, y=1), "groups[0].tools[0].args.args.y: b does not take it. It takes x."),
        ({"tool": "seq_run", "args": {"name": "b", "args": 3}}, "groups[0].tools[0].args.args: is no object."),
        ({"tool": "seq_when_call", "args": {"name": "b"}}, "groups[0].tools[0].args: seq_when_call needs when."),
        ({"tool": "seq_when_call", "args": {"name": "b", "when": 1}}, "groups[0].tools[0].args.when: is no text."),
    ],
)
def test_what_cannot_be_called_is_named_with_its_place(step: dict[str, Any], error: str) -> None:
    b = sequence("b", {"tool": "files_read", "args": {"path": "$args.x"}}, **{"in": {"x": "string"}})
    one = sequence("a", step, **{"in": {"x": "string"}})
    assert any(line.startswith(error) for line in problems(one, b)), problems(one, b)


def test_when_it_runs_the_kernel_says_what_is_not_there_but_side_by_side_stays_checked() -> None:
    one = sequence("a", {"tool": "zzz"}, WRITE)
    assert [line.split(": ")[1].split(" may")[0] for line in targets.problems(one, TOOLS, {}, running=True)] == [
        "files_write"
    ]


def test_side_by_side_only_what_may() -> None:
    one = sequence("a", READ, WRITE, run("b"))
    assert [line.split(":")[0] for line in problems(one, sequence("b", READ))] == [
        "groups[0].tools[1].tool", "groups[0].tools[2].tool",
    ]  # fmt: skip
    assert 'Set "parallel": false' in problems(one, sequence("b", READ))[0]


def test_a_circle_is_named_whole() -> None:
    b, c = sequence("b", run("c")), sequence("c", run("a"))
    (error,) = problems(sequence("a", run("b")), b, c)[:1]
    assert "a.a_g → b.b_g → c.c_g → a.a_g" in error
    (error,) = problems(sequence("a", run("a")))
    assert "would never end: a.a_g → a.a_g" in error


def test_a_sequence_may_call_another_group_of_its_own() -> None:
    step = {"tool": "seq_call", "args": {"name": "a", "group": "second"}}
    groups = [{"name": "first", "tools": [step]}, {"name": "second", "tools": [READ]}]
    assert not problems(grammar.parse({"name": "a", "groups": groups}))


def test_depth_is_bounded_also_for_those_that_call_it() -> None:
    chain = [sequence("d", READ), sequence("c", run("d")), sequence("b", run("c"))]
    assert not problems(sequence("a", run("b")), *chain)
    (error,) = problems(sequence("z", run("a")), sequence("a", run("b")), *chain)
    assert "z.z_g → a.a_g → b.b_g → c.c_g → d.d_g" in error
    assert (
        problems(sequence("d", run("e")), sequence("e", READ), sequence("b", run("c")), sequence("c", run("d"))) == []
    )
    above = [sequence("c", run("d")), sequence("b", run("c")), sequence("a", run("b"))]
    (error,) = problems(sequence("d", run("e")), sequence("e", READ), *above)
    assert "a.a_g → b.b_g → c.c_g → d.d_g → e.e_g" in error


def test_many_ways_to_one_place_are_looked_at_once() -> None:
    def wide(name: str, to: str) -> Sequence:
        step = {"tool": "seq_run", "args": {"name": to}}
        groups = [{"name": f"{name}{n}", "tools": [step] * 16, "parallel": False} for n in range(16)]
        return grammar.parse({"name": name, "groups": groups})

    known = [wide("b", "c"), wide("c", "d"), sequence("d", READ)]
    assert problems(wide("a", "b"), *known) == []


def test_targets() -> None:
    assert targets.target(grammar.Step("seq_run", {"name": "a", "group": "g"})) == Target("a")
    assert targets.calls(sequence("a", run("b"), READ, parallel=False)) == {"b"}
