"""What a sequence calls: do the tools exist, may they run side by side, do the sequences it calls end?  Pure."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from collections.abc import Sequence as Many
from dataclasses import dataclass, field
from typing import Any

from .grammar import Errors, Group, Sequence, Step

RUN, CALL, WHEN = "seq_run", "seq_call", "seq_when_call"
NESTED = (RUN, CALL, WHEN)
"""Tools of this plugin that a step may call: they run another sequence, or one group of one."""

OWN = (*NESTED, "seq_create", "seq_list", "seq_delete")
MAX_DEPTH = 4
"""Sequences inside each other, the outermost counted."""

_PARAMETERS = {
    RUN: ({"name"}, {"args"}),
    CALL: ({"name", "group"}, {"args"}),
    WHEN: ({"name", "when"}, {"group", "args"}),
}


@dataclass(frozen=True, slots=True)
class Tool:
    """What is known of a tool before it is called; ``parameters`` is its JSON Schema."""

    name: str
    parallel_safe: bool = False
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Target:
    """A sequence, or with ``group`` one group of it."""

    name: str
    group: str = ""

    def __str__(self) -> str:
        return f"{self.name}.{self.group}" if self.group else self.name


def target(step: Step) -> Target | None:
    """What a step of this plugin's own tools runs; None if it does not say so in plain words."""
    name, group = step.args.get("name"), step.args.get("group", "")
    if isinstance(name, str) and isinstance(group, str) and "$" not in name + group:
        return Target(name, group if step.tool != RUN else "")
    return None


def problems(
    sequence: Sequence, tools: Mapping[str, Tool], others: Mapping[str, Sequence], *, running: bool = False
) -> list[str]:
    """Everything wrong with what it calls, each with its place and what to do.

    ``others``: the sequences there are, by name; one of the same name is replaced by this one.  ``running``: tools that
    are not among ``tools`` are left to the kernel, which knows why they are not.
    """
    errors = Errors()
    known = {**others, sequence.name: sequence}
    for number, group in enumerate(sequence.groups):
        for index, step in enumerate(group.tools):
            at = f"groups[{number}].tools[{index}]"
            if step.tool in OWN:
                _check_own(step, at, known, errors)
            elif step.tool in tools or not running:
                _check_tool(step, at, tools, errors)
            _check_parallel(group, step, f"{at}.tool", tools, errors)
    if not errors.found:
        _check_ends(sequence, known, errors)
    return errors.found


def _check_tool(step: Step, at: str, tools: Mapping[str, Tool], errors: Errors) -> None:
    tool = tools.get(step.tool)
    if tool is None:
        near = difflib.get_close_matches(step.tool, tools, n=3)
        do = f"Did you mean {' or '.join(near)}?" if near else "Take one that you are offered."
        errors.add(f"{at}.tool", f"you are offered no tool {step.tool!r}", do)
        return
    properties = tool.parameters.get("properties")
    names = set(properties) if isinstance(properties, Mapping) else set()
    required = tool.parameters.get("required")
    for name in sorted(set(required if isinstance(required, list) else ()) - set(step.args)):
        errors.add(f"{at}.args", f"{step.tool} needs {name}", "Give it a value or a reference.")
    if tool.parameters.get("additionalProperties") is False:
        for name in sorted(set(step.args) - names):
            do = f"Its parameters are {', '.join(sorted(names)) or 'none'}."
            errors.add(f"{at}.args.{name}", f"{step.tool} has no such parameter", do)


def _check_parallel(group: Group, step: Step, at: str, tools: Mapping[str, Tool], errors: Errors) -> None:
    if not group.parallel or len(group.tools) < 2:
        return
    tool = tools.get(step.tool)
    if step.tool in NESTED or (tool is not None and not tool.parallel_safe):
        do = 'Set "parallel": false, or give it a group of its own.'
        errors.add(at, f"{step.tool} may not run beside others, and the group is parallel", do)


def _check_own(step: Step, at: str, known: Mapping[str, Sequence], errors: Errors) -> None:
    if step.tool not in NESTED:
        errors.add(f"{at}.tool", f"a sequence cannot call {step.tool}", f"It can call {', '.join(NESTED)}.")
        return
    needed, more = _PARAMETERS[step.tool]
    for name in sorted(needed - set(step.args)):
        errors.add(f"{at}.args", f"{step.tool} needs {name}", "Give it.")
    for name in sorted(set(step.args) - needed - more):
        do = f"Its parameters are {', '.join(sorted(needed | more))}."
        errors.add(f"{at}.args.{name}", f"{step.tool} has no such parameter", do)
    for name in ("when",) if step.tool == WHEN and "when" in step.args else ():
        if not isinstance(step.args[name], str):
            errors.add(f"{at}.args.when", "is no text", "Write a condition like $args.n > 3.")
    if not needed - {"when"} <= set(step.args):
        return
    aim = target(step)
    if aim is None:
        do = "Write the name of a sequence and a group themselves, without references."
        errors.add(f"{at}.args", "what it runs must be known beforehand", do)
        return
    _check_target(aim, step, at, known, errors)


def _check_target(aim: Target, step: Step, at: str, known: Mapping[str, Sequence], errors: Errors) -> None:
    found = known.get(aim.name)
    if found is None:
        there = ", ".join(sorted(known))
        errors.add(f"{at}.args.name", f"there is no sequence {aim.name!r}", f"Create it first. There are {there}.")
        return
    group = found.group(aim.group) if aim.group else None
    if (aim.group or step.tool == CALL) and group is None:
        there = ", ".join(group.name for group in found.groups)
        errors.add(f"{at}.args.group", f"{aim.name} has no group {aim.group!r}", f"Its groups are {there}.")
        return
    takes = group.takes if group else found.takes()
    args = step.args.get("args", {})
    if isinstance(args, dict):
        for key in sorted(set(takes) - set(args)):
            errors.add(f"{at}.args.args", f"{aim} takes {key}", "Give it a value or a reference.")
        for key in sorted(set(args) - set(takes)):
            errors.add(f"{at}.args.args.{key}", f"{aim} does not take it", f"It takes {', '.join(takes) or 'nothing'}.")
    elif not isinstance(args, str):
        errors.add(f"{at}.args.args", "is no object", 'Write {"key": value, …}.')


def _check_ends(sequence: Sequence, known: Mapping[str, Sequence], errors: Errors) -> None:
    """Does it ever call itself, and how deep does it go?  Also below those that call it."""
    chains: dict[Target, tuple[Target, ...]] = {}
    for start in [sequence, *known.values()]:
        for group in start.groups:
            try:
                chain = _longest(Target(start.name, group.name), known, (), chains)
            except _Circle as circle:
                errors.add("groups", f"it would never end: {circle}", "Break the circle.")
                return
            if len(chain) > MAX_DEPTH and any(aim.name == sequence.name for aim in chain):
                do = f"At most {MAX_DEPTH} sequences may stand inside each other."
                errors.add("groups", f"it goes too deep: {' → '.join(map(str, chain))}", do)
                return


class _Circle(Exception):
    """A way that comes back to where it was, as text."""


def _longest(
    at: Target, known: Mapping[str, Sequence], path: tuple[Target, ...], chains: dict[Target, tuple[Target, ...]]
) -> tuple[Target, ...]:
    """The deepest way from here, each place looked at once however many lead to it.  Raises `_Circle`."""
    if at in path:
        raise _Circle(" → ".join(map(str, (*path[path.index(at) :], at))))
    if at not in chains:
        below = [_longest(aim, known, (*path, at), chains) for aim in edges(at, known)]
        chains[at] = (at, *max(below, key=len, default=()))
    return chains[at]


def edges(at: Target, known: Mapping[str, Sequence]) -> Iterator[Target]:
    """The single groups that a group runs through its steps."""
    sequence = known.get(at.name)
    group = sequence.group(at.group) if sequence else None
    for step in group.tools if group else ():
        aim = target(step) if step.tool in NESTED else None
        if aim is None or aim.name not in known:
            continue
        names = [aim.group] if aim.group else [one.name for one in known[aim.name].groups]
        yield from (Target(aim.name, name) for name in names)


def calls(sequence: Sequence) -> set[str]:
    """The names of the sequences that it runs."""
    steps: Many[Step] = [step for group in sequence.groups for step in group.tools if step.tool in NESTED]
    return {aim.name for step in steps if (aim := target(step))}


def reach(name: str, known: Mapping[str, Sequence]) -> set[str]:
    """The names of a known sequence and of all the known ones that run within it."""
    found, ahead = {name}, [name]
    while ahead:
        new = (calls(known[ahead.pop()]) & set(known)) - found
        found |= new
        ahead += new
    return found
