"""Runs sequences.  Every step is a call of the kernel's, with the rights, limits and checks of a direct one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

import trio

from homed.errors import HomedError

from . import conditions, refs
from .conditions import BadCondition
from .grammar import Group, Sequence, Step, has_type
from .refs import ARGS, NOTHING, BadReference
from .targets import MAX_DEPTH, NESTED, WHEN, Target, target

OK, ERROR, DENIED, TIMEOUT, SKIPPED, NOT_RUN = "ok", "error", "denied", "timeout", "skipped", "not_run"
SHOWN = 2000
"""Characters of one step's result in the report; what a group gives is there in full."""

MAX_STEPS = 256
"""Steps of one run, those inside it and further tries counted: four times what a turn may call."""

_PAUSE = 0.5
"""Seconds before the first further try; twice as long before each one after."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a tool said, and the kernel of it: ``status`` is ok, error or denied."""

    content: object
    is_error: bool = False
    status: str = OK


CallTool = Callable[[str, Mapping[str, object]], Awaitable[Answer]]
Limit = Callable[[float], AbstractContextManager[trio.CancelScope]]


class BadArguments(ValueError):
    """What a run was given is not what it takes."""


@dataclass(slots=True)
class StepReport:
    """How one step went; ``inside`` is the report of the sequence it ran."""

    tool: str
    as_: str = ""
    status: str = NOT_RUN
    tries: int = 0
    said: object = None
    inside: Report | None = None

    def view(self) -> dict[str, Any]:
        """As the model sees it."""
        shown: dict[str, Any] = {"tool": self.tool, "status": self.status}
        if self.as_:
            shown["as"] = self.as_
        if self.tries > 1:
            shown["tries"] = self.tries
        if self.said not in (None, ""):
            shown["result" if self.status == OK else "error"] = _short(self.said)
        return shown if self.inside is None else {**shown, "inside": self.inside.view()}


@dataclass(slots=True)
class GroupReport:
    """How one group went."""

    group: str
    status: str = NOT_RUN
    why: str = ""
    steps: list[StepReport] = field(default_factory=list)

    def view(self) -> dict[str, Any]:
        """As the model sees it."""
        why = {"why": self.why} if self.why else {}
        return {"group": self.group, "status": self.status, **why, "steps": [step.view() for step in self.steps]}


@dataclass(slots=True)
class Report:
    """How a run went.  ``out`` is what its groups gave."""

    target: str
    status: str = OK
    why: str = ""
    groups: list[GroupReport] = field(default_factory=list)
    out: dict[str, object] = field(default_factory=dict)

    def view(self) -> dict[str, Any]:
        """As the model sees it."""
        why = {"why": self.why} if self.why else {}
        groups = [group.view() for group in self.groups]
        return {"sequence": self.target, "status": self.status, **why, "out": self.out, "groups": groups}


def _short(said: object) -> object:
    text = refs.as_text(said)
    return said if len(text) <= SHOWN else f"{text[:SHOWN]}… ({len(text)} characters in all)"


class Runner:
    """One run and those inside it, on behalf of one invocation.

    ``known``: the sequences that may be run.  ``limit(seconds)`` bounds a group.  Cancelled, the steps that run are
    cancelled in the kernel too.
    """

    def __init__(self, known: Mapping[str, Sequence], call: CallTool, limit: Limit) -> None:
        self._known = known
        self._call = call
        self._limit = limit
        self._steps = 0

    async def run(self, aim: Target, args: Mapping[str, object], inside: tuple[Target, ...] = ()) -> Report:
        """Run a sequence or one group.  Raises `BadArguments` before anything ran; failures are in the report."""
        sequence = self._find(aim)
        groups = self._groups(sequence, aim)
        check_args(aim, groups[0].takes if aim.group else sequence.takes(), args)
        report = Report(str(aim))
        for group in groups:
            report.groups.append(GroupReport(group.name, steps=[StepReport(s.tool, s.as_) for s in group.tools]))
        values: dict[str, object] = {}
        pool = dict(args)
        for group, shown in zip(groups, report.groups, strict=True):
            here = (*inside, Target(aim.name, group.name))
            taken = {key: pool[key] for key in group.takes if key in pool}
            await self._group(group, shown, values | {ARGS: taken}, here)
            values |= _results(group, shown)
            given = _gives(group, shown, values)
            values[group.name] = given if shown.status == OK else NOTHING
            pool |= given
            report.out |= given
            if shown.status in (ERROR, DENIED, TIMEOUT) and group.on_error != "continue":
                report.status, report.why = shown.status, f"{group.name}: {shown.why}"
                break
        return report

    def _find(self, aim: Target) -> Sequence:
        sequence = self._known.get(aim.name)
        if sequence is None:
            there = ", ".join(sorted(self._known)) or "none"
            raise BadArguments(f"There is no sequence {aim.name!r}. There are: {there}.")
        return sequence

    @staticmethod
    def _groups(sequence: Sequence, aim: Target) -> tuple[Group, ...]:
        if not aim.group:
            return sequence.groups
        group = sequence.group(aim.group)
        if group is None:
            there = ", ".join(group.name for group in sequence.groups)
            raise BadArguments(f"{aim.name} has no group {aim.group!r}. Its groups are: {there}.")
        if needed := sorted(outside(group)):
            raise BadArguments(f"{aim} uses {', '.join(needed)} of earlier groups: it runs only as part of {aim.name}.")
        return (group,)

    async def _group(
        self, group: Group, shown: GroupReport, values: dict[str, object], here: tuple[Target, ...]
    ) -> None:
        if why := _not_now(group, values):
            shown.status, shown.why = why
            return
        with self._limit(group.timeout) as scope:
            if group.parallel:
                async with trio.open_nursery() as nursery:
                    for step, line in zip(group.tools, shown.steps, strict=True):
                        nursery.start_soon(self._step, group, step, line, values, here)
            else:
                await self._in_order(group, shown, values, here)
        if scope.cancelled_caught:
            shown.status, shown.why = TIMEOUT, f"it took longer than {group.timeout:g} s"
            return
        failed = [line for line in shown.steps if line.status not in (OK, NOT_RUN, SKIPPED)]
        shown.status = failed[0].status if failed else OK
        shown.why = f"{failed[0].tool}: {refs.as_text(failed[0].said)[:200]}" if failed else ""
        if wrong := "" if failed else _wrong_out(group, shown):
            shown.status, shown.why = ERROR, wrong

    async def _in_order(
        self, group: Group, shown: GroupReport, values: dict[str, object], here: tuple[Target, ...]
    ) -> None:
        for step, line in zip(group.tools, shown.steps, strict=True):
            await self._step(group, step, line, values, here)
            if step.as_:
                values[step.as_] = line.said if line.status == OK else NOTHING
            if line.status not in (OK, SKIPPED) and group.on_error != "continue":
                return

    async def _step(
        self, group: Group, step: Step, line: StepReport, values: Mapping[str, object], here: tuple[Target, ...]
    ) -> None:
        """Run a step, again after a failure if the group says so; a denial is no failure that passes."""
        for further in range(group.retries + 1):
            if further:
                await trio.sleep(_PAUSE * 2 ** (further - 1))
            line.tries += 1
            line.status, line.said = (
                TIMEOUT,
                "stopped, the time of its group was over",
            )  # if it comes to that
            await self._once(step, line, values, here)
            if line.status != ERROR:
                return

    async def _once(self, step: Step, line: StepReport, values: Mapping[str, object], here: tuple[Target, ...]) -> None:
        self._steps += 1
        try:
            if self._steps > MAX_STEPS:
                raise BadArguments(f"more than {MAX_STEPS} steps in one run")
            if step.tool in NESTED:
                await self._nested(step, line, values, here)
                return
            args = refs.resolve(step.args, values)
            answer = await self._call(step.tool, args if isinstance(args, dict) else {})
        except (BadReference, BadCondition, BadArguments) as error:
            line.status, line.said = ERROR, str(error)
        except HomedError as error:
            line.status, line.said = DENIED if error.code == "denied" else ERROR, str(error)
        else:
            failed = answer.is_error or answer.status != OK
            line.status = (DENIED if answer.status == DENIED else ERROR) if failed else OK
            line.said = answer.content

    async def _nested(
        self, step: Step, line: StepReport, values: Mapping[str, object], here: tuple[Target, ...]
    ) -> None:
        aim = target(step)
        if aim is None:
            raise BadArguments("what it runs must be known beforehand")
        if step.tool == WHEN and not conditions.holds(conditions.parse(str(step.args.get("when"))), values):
            line.status, line.said = SKIPPED, None
            return
        names = [aim.group] if aim.group else [group.name for group in self._find(aim).groups]
        again = next((name for name in names if Target(aim.name, name) in here), None)
        if again is not None or len(here) >= MAX_DEPTH:
            way = " → ".join(map(str, (*here, Target(aim.name, again) if again else aim)))
            why = "it would never end" if again else f"more than {MAX_DEPTH} sequences inside each other"
            raise BadArguments(f"{why}: {way}")
        args = refs.resolve(step.args.get("args", {}), values)
        if not isinstance(args, dict):
            raise BadArguments(f"args of {aim} is {refs.kind(args)}, no object")
        report = line.inside = await self.run(aim, args, here)
        line.status, line.said = report.status, report.out if report.status == OK else report.why


def check_args(aim: Target, takes: Mapping[str, str], args: Mapping[str, object]) -> None:
    """Hold arguments against what is taken.  Raises `BadArguments` with everything that is wrong."""
    wrong = [f"{key} is missing ({type_})" for key, type_ in takes.items() if key not in args]
    wrong += [f"{key} is not taken" for key in args if key not in takes]
    wrong += [
        f"{key} is {refs.kind(args[key])}, not {type_}"
        for key, type_ in takes.items()
        if key in args and not has_type(args[key], type_)
    ]
    wrong += [f"{key} is nested too deeply" for key in args if refs.too_deep(args[key], refs.MAX_VALUE_DEPTH)]
    if wrong:
        listed = ", ".join(f"{key}: {type_}" for key, type_ in takes.items()) or "nothing"
        raise BadArguments(f"{aim} takes {listed}; {'; '.join(wrong)}.")


def outside(group: Group) -> set[str]:
    """The names of earlier groups and their results that a group refers to."""
    own = {step.as_ for step in group.tools} | {ARGS}
    found = [ref for step in group.tools for _, text in refs.texts(step.args, "") for ref in refs.used(text)]
    found += conditions.references(group.when) if group.when is not None else []
    for step in group.tools:
        if step.tool == WHEN:
            found += conditions.references(conditions.parse(str(step.args.get("when"))))
    return {ref.name for ref in found} - own


def _not_now(group: Group, values: Mapping[str, object]) -> tuple[str, str] | None:
    """Why the group does not run, as its status and the reason; None when it does."""
    try:
        if group.when is None or conditions.holds(group.when, values):
            missing = [key for key in group.takes if key not in _args(values)]
            return (ERROR, f"{', '.join(missing)} was not given by an earlier group") if missing else None
    except BadCondition as error:
        return ERROR, str(error)
    return SKIPPED, f"not {conditions.shown(group.when)}"


def _args(values: Mapping[str, object]) -> Mapping[str, object]:
    args = values[ARGS]
    return args if isinstance(args, Mapping) else {}


def _results(group: Group, shown: GroupReport) -> dict[str, object]:
    pairs = zip(group.tools, shown.steps, strict=True)
    return {step.as_: line.said if line.status == OK else NOTHING for step, line in pairs if step.as_}


def _typed(value: object, type_: str) -> object:
    """A result as the type that was declared: JSON in a text is read, a text asked for stays one."""
    return value if type_ in ("string", "any") else _scalar(refs.structure(value), type_)


def _scalar(value: object, type_: str) -> object:
    if isinstance(value, str) and type_ in ("integer", "number", "boolean"):
        try:
            read = refs.read_json(value)
        except ValueError:
            return value
        return read if has_type(read, type_) else value
    return value


def _wrong_out(group: Group, shown: GroupReport) -> str:
    results = _results(group, shown)
    wrong = []
    for key, type_ in group.gives.items():
        value = results.get(key, NOTHING)
        if value is not NOTHING and not has_type(_typed(value, type_), type_):
            wrong.append(f"out.{key} is {refs.kind(value)}, not {type_}")
    return "; ".join(wrong)


def _gives(group: Group, shown: GroupReport, values: Mapping[str, object]) -> dict[str, object]:
    """What the group gives, of the steps that went well."""
    if shown.status in (SKIPPED, NOT_RUN) or (shown.status == ERROR and _wrong_out(group, shown)):
        return {}
    found = {key: values.get(key, NOTHING) for key in group.gives}
    return {key: _typed(value, group.gives[key]) for key, value in found.items() if value is not NOTHING}
