"""The tools ``seq_create``, ``seq_list``, ``seq_run``, ``seq_call``, ``seq_when_call`` and ``seq_delete``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import trio

from homed import sdk
from homed.errors import Unavailable

from . import conditions, grammar, shelf, targets
from .conditions import BadCondition
from .grammar import BadSequence, Sequence
from .patience import Patience
from .refs import ARGS
from .running import OK, Answer, BadArguments, Report, Runner
from .shelf import Kept, Shelf
from .targets import Target, Tool

MAX_SEQUENCES = 100
"""Sequences of one scope."""

MAX_BYTES = 64 * 1024
"""Of one sequence as JSON."""

_RUN_LIMIT = 3600.0
"""Seconds: the groups have limits of their own, and a person may be asked at every step."""

_STEP = {
    "type": "object",
    "properties": {
        "tool": {"type": "string", "description": "The tool to call, or seq_run, seq_call, seq_when_call."},
        "args": {"type": "object", "description": "Its arguments, references allowed."},
        "as": {"type": "string", "description": "The name of its result."},
    },
}
_GROUP = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "description": {"type": "string"},
        "in": {"type": "object", "description": "key: type (string, integer, number, boolean, array, object, any)"},
        "out": {"type": "object", "description": "key: type; each key is the `as` of a tool of this group"},
        "when": {"type": "string", "description": "Run the group only if this holds."},
        "parallel": {"type": "boolean", "default": True},
        "timeout": {
            "type": "number",
            "default": 30,
            "description": "Seconds, waiting for a yes not counted.",
        },
        "on_error": {"type": "string", "description": "abort (default), continue, or retry"},
        "retries": {"type": "integer", "default": 0},
        "tools": {"type": "array", "items": _STEP},
    },
}
Groups = Annotated[list[dict[str, Any]], {"items": _GROUP}]
Args = Annotated[dict[str, Any], "What the sequence takes, by key."]


class Tools:
    """The tools over one shelf, which exists once ``start`` has read the file."""

    def __init__(self) -> None:
        self._shelf: Shelf | None = None
        self._path = Path()
        self._writing = trio.Lock()
        self._patience = Patience()

    async def start(self, kernel: sdk.Kernel) -> None:
        """Read the sequences and listen for questions to people.  Raises ConfigError for a file that cannot be read."""
        self._path = Path(kernel.data_dir) / "sequences.json"
        try:
            self._shelf = await trio.to_thread.run_sync(shelf.load, self._path)
        except shelf.BadShelf as error:
            raise sdk.ConfigError(f"{error}.", hint="Move the file away to start without sequences.") from None
        await kernel.subscribe({"approval"}, content=False)

    async def on_event(self, notice: sdk.Notice) -> None:
        """A question to a person was asked, or is open no more.  On Trio, for it moves deadlines."""
        approval = str(notice.data.get("approval", ""))
        if notice.type == "approval":
            told = self._patience.asked if notice.data.get("status") == "asked" else self._patience.answered
            told(notice.turn, approval)

    async def on_lost(self, _count: int) -> None:
        """Some notices are missing."""
        self._patience.unsure()

    async def seq_create(
        self, ctx: sdk.Context, name: str, groups: Groups, description: str = "", replace: bool = False,
        guests: bool = False,
    ) -> dict[str, Any]:  # fmt: skip
        """Store a sequence (see tools/seq_create.md)."""
        if guests and (ctx.role != "owner" or ctx.scope != shelf.OWNER):
            raise sdk.ToolError("Only the owner can offer a sequence to guests.")
        value = {"name": name, "description": description, "groups": groups}
        if len(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")) > MAX_BYTES:
            raise sdk.ToolError(f"The sequence is larger than {MAX_BYTES} bytes.", hint="Make several of it.")
        sequence = _read(value)
        tools = await offered(ctx)
        async with self._writing:
            kept = self._ready()
            own = kept.own(ctx.scope)
            if name in own and not replace:
                raise sdk.ToolError(f"There is a sequence {name} already.", hint="Set replace, or take another name.")
            if name not in own and len(own) >= MAX_SEQUENCES:
                raise sdk.ToolError(f"There are {MAX_SEQUENCES} sequences already.", hint="Delete some first.")
            _leave_to_author(kept, ctx, name)
            _refuse(name, targets.problems(sequence, tools, kept.seen_from(ctx.scope)))
            _refuse(name, broken_by(sequence, tools, own))
            await self._keep(kept.with_(Kept(sequence, ctx.scope, guests, ctx.role)))
        return {"created": name, "takes": sequence.takes(), "gives": _gives(sequence)}

    async def seq_list(self, ctx: sdk.Context, name: str = "") -> dict[str, Any]:
        """List sequences, or show one (see tools/seq_list.md)."""
        seen = self._ready().seen_from(ctx.scope)
        if name:
            if name not in seen:
                raise sdk.ToolError(f"There is no sequence {name!r}.", hint="seq_list without a name shows them.")
            return grammar.as_json(seen[name])
        return {"sequences": [_line(sequence) for _, sequence in sorted(seen.items())]}

    async def seq_run(self, ctx: sdk.Context, name: str, args: Args | None = None) -> dict[str, Any]:
        """Run a sequence (see tools/seq_run.md)."""
        return await self._run(ctx, Target(name), args)

    async def seq_call(self, ctx: sdk.Context, name: str, group: str, args: Args | None = None) -> dict[str, Any]:
        """Run one group (see tools/seq_call.md)."""
        return await self._run(ctx, Target(name, group), args)

    async def seq_when_call(
        self, ctx: sdk.Context, when: str, name: str, group: str = "", args: Args | None = None
    ) -> dict[str, Any]:
        """Run a sequence or one group if a condition holds (see tools/seq_when_call.md)."""
        try:
            condition = conditions.parse(when)
            strange = sorted({str(ref) for ref in conditions.references(condition) if ref.name != ARGS})
            if strange:
                raise BadCondition(f"{', '.join(strange)}: only $args.KEY is there before anything ran")
            if not conditions.holds(condition, {ARGS: args or {}}):
                return {"sequence": str(Target(name, group)), "status": "skipped", "why": f"not {when}"}
        except BadCondition as error:
            raise sdk.ToolError(f"when: {error}.", hint="Write a condition like $args.n > 3.") from None
        return await self._run(ctx, Target(name, group), args)

    async def seq_delete(self, ctx: sdk.Context, name: str) -> dict[str, Any]:
        """Delete a sequence (see tools/seq_delete.md)."""
        async with self._writing:
            kept = self._ready()
            own = kept.own(ctx.scope)
            if name not in own:
                raise sdk.ToolError(f"There is no sequence {name!r} of yours.", hint="seq_list shows them.")
            _leave_to_author(kept, ctx, name)
            users = sorted(other.name for other in own.values() if other.name != name and name in targets.calls(other))
            if users:
                raise sdk.ToolError(f"{name} is called by {', '.join(users)}.", hint="Change or delete those first.")
            await self._keep(kept.without(ctx.scope, name))
        return {"deleted": name}

    async def _run(self, ctx: sdk.Context, aim: Target, args: Mapping[str, Any] | None) -> dict[str, Any]:
        kept = self._ready().kept_for(ctx.scope)
        known = {name: one.sequence for name, one in kept.items()}
        if aim.name in known:
            _trust_author(ctx, aim, kept)
            tools = await offered(ctx)
            others = {name: one for name, one in known.items() if name != aim.name}
            _refuse(aim.name, targets.problems(known[aim.name], tools, others, running=True))
        runner = Runner(known, partial(_call, ctx), partial(self._patience.limit, ctx.turn))
        try:
            report = await runner.run(aim, dict(args or {}))
        except BadArguments as error:
            raise sdk.ToolError(str(error)) from None
        return _told(report)

    async def _keep(self, changed: Shelf) -> None:
        # once it is on its way to the disk it is the truth: a cancellation must not part the two
        await trio.to_thread.run_sync(shelf.save, self._path, changed)
        self._shelf = changed

    def _ready(self) -> Shelf:
        if self._shelf is None:
            raise Unavailable("The sequences are not read yet.")
        return self._shelf


def _leave_to_author(kept: Shelf, ctx: sdk.Context, name: str) -> None:
    """Nobody changes what somebody with more rights wrote."""
    there = kept.kept_for(ctx.scope).get(name)
    if there is not None and there.scope == ctx.scope and there.above(ctx.role):
        raise sdk.ToolError(f"The sequence {name} was made by somebody who is {there.role}.", hint="Take another name.")


def _trust_author(ctx: sdk.Context, aim: Target, kept: Mapping[str, Kept]) -> None:
    """Steps run with the rights of whoever runs them: nobody's are lent to a person who has fewer."""
    reached = targets.reach(aim.name, {name: one.sequence for name, one in kept.items()})
    strange = sorted(name for name in reached if kept[name].below(ctx.role))
    if strange:
        raise sdk.ToolError(
            f"{', '.join(strange)}: made by somebody with fewer rights than you, whom yours would serve.",
            hint="Look at it with seq_list and its name; if it is what you want, create it again with replace.",
        )


async def _call(ctx: sdk.Context, tool: str, args: Mapping[str, object]) -> Answer:
    """One step: the kernel does with it what it does with a direct call."""
    answer = await ctx.call("tools.call", {"tool": tool, "args": args})
    return Answer(answer["content"], bool(answer["is_error"]), str(answer["status"]))


async def offered(ctx: sdk.Context) -> dict[str, Tool]:
    """The tools that the person of this call is offered."""
    listed = (await ctx.call("tools.list"))["tools"]
    return {
        one["name"]: Tool(one["name"], bool(one.get("parallel_safe")), one.get("parameters") or {}) for one in listed
    }


def broken_by(sequence: Sequence, tools: Mapping[str, Tool], own: Mapping[str, Sequence]) -> list[str]:
    """What would be wrong with the sequences that call the one that is replaced."""
    known = {**own, sequence.name: sequence}
    users = (other for other in own.values() if other.name != sequence.name and sequence.name in targets.calls(other))
    return [f"{user.name}, which calls it: {error}" for user in users for error in targets.problems(user, tools, known)]


def _read(value: Mapping[str, Any]) -> Sequence:
    try:
        return grammar.parse(dict(value))
    except BadSequence as error:
        _refuse(str(value.get("name"))[:64], error.errors)
        raise


def _refuse(name: str, errors: list[str]) -> None:
    if errors:
        count = "1 error" if len(errors) == 1 else f"{len(errors)} errors"
        raise sdk.ToolError(f"The sequence {name} has {count}:\n" + "\n".join(f"- {error}" for error in errors))


def _told(report: Report) -> dict[str, Any]:
    """The report; of a run that failed as an error that says at once what failed."""
    if report.status == OK:
        return report.view()
    shown = json.dumps(report.view(), ensure_ascii=False)
    raise sdk.ToolError(f"{report.target} did not get to its end: {report.why}\n{shown}")


def _gives(sequence: Sequence) -> dict[str, str]:
    return {key: type_ for group in sequence.groups for key, type_ in group.gives.items()}


def _line(sequence: Sequence) -> dict[str, Any]:
    groups = [group.name for group in sequence.groups]
    about = {"name": sequence.name, "description": sequence.description}
    return {**about, "takes": sequence.takes(), "gives": _gives(sequence), "groups": groups}


def build() -> sdk.Plugin:
    """The plugin, with a state of its own."""
    made = sdk.Plugin("seq")
    tools = Tools()
    made.on_start(tools.start)
    made.on("event")(tools.on_event)
    made.on("lost")(tools.on_lost)
    made.tool(cls="write")(tools.seq_create)
    made.tool(cls="read", guest=True, parallel_safe=True)(tools.seq_list)
    for run in (tools.seq_run, tools.seq_call, tools.seq_when_call):
        made.tool(cls="read", guest=True, timeout=_RUN_LIMIT)(run)
    made.tool(cls="write")(tools.seq_delete)
    return made


plugin = build()
