"""``memory_note`` and ``memory_forget``: a model writes one record down, or takes one out of sight.

A note is held against whose words it is made of, by the same law as ``memory_commit``: what the person said is theirs,
written down for them; what they did not say here is the model's own and weak, and displaces nothing that somebody said;
what strangers may have had a say in is stored as untrusted.  Forgetting hides: a person can bring it back, and bytes go
only where a person or the owner says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import trio

from homed.agent import notes
from homed.agent.ports import BuiltinTool, CallContext, FromOutside
from homed.builtin.entries import entry, number, older, string
from homed.builtin.grounds import Ground, Grounds
from homed.builtin.memory_recall import ALIASES, records_of
from homed.builtin.memory_write import told
from homed.builtin.ports import MemoryPorts
from homed.errors import InvalidInput
from homed.identity.permissions import WRITE
from homed.memory import facts, inputs, stable
from homed.memory.blocked import secret_in
from homed.memory.facts import Put
from homed.memory.newfact import NewFact
from homed.memory.stable import KINDS, LONGEST
from homed.retrieval import index
from homed.store.rows import Tx

IMPORTANCE = 6

WRITTEN = ("fact", "capsule")
"""What can be written by hand: a summary is made of a turn."""

REACHES = ("project", "user")


@dataclass(frozen=True, slots=True)
class _Note:
    record: str
    text: str
    title: str
    reach: str
    tags: tuple[str, ...]
    importance: int


def memory_note(ports: MemoryPorts) -> BuiltinTool:
    """The tool."""

    async def run(context: CallContext, args: Mapping[str, object]) -> object:
        wanted = _wanted(args)

        def write(tx: Tx) -> dict[str, object]:
            ground = Grounds(tx, context).note(wanted.text)
            made = _put(tx, context, wanted, ground, ports.wall())
            index.catch_up(tx)
            answer = told(tx, made, untrusted=ground.untrusted)
            stored = stable.get(tx, made.record)
            return answer | ({"record": stored.record, "reach": stored.reach} if stored else {})

        made = await ports.store.write(write)
        ports.stored()
        return made

    properties = {
        "text": string("A whole sentence, in the third person."),
        "record": {"enum": list(WRITTEN)},
        "layer": older({"enum": ALIASES}),
        "reach": {"enum": list(REACHES), "description": "project: this work folder alone."},
        "scope": older({"enum": list(REACHES)}),
        "title": string("Of a capsule."),
        "tags": {"type": "array", "items": {"type": "string"}, "maxItems": stable.TAGS},
        "importance": number(1, 10, f"{IMPORTANCE}."),
    }
    return BuiltinTool(entry("memory_note", properties, ("text",), guest=False, tool_class=WRITE), run)


def memory_forget(ports: MemoryPorts) -> BuiltinTool:
    """The tool."""

    async def run(context: CallContext, args: Mapping[str, object]) -> object:
        from homed.memory import hiding

        def write(tx: Tx) -> tuple[dict[str, object], bool]:
            # its own scope alone: what an agent's maker knows is read, not taken away
            record = stable.find(tx, context.scope, str(args["id"]))
            done = hiding.hide(tx, record, at=ports.wall())
            index.catch_up(tx)
            answer: dict[str, object] = {"hidden": record.shown_id, "text": notes.neutral(record.text)}
            if done.along or done.shortened:
                answer["along"] = [id_[-stable.SHOWN_ID :] for id_ in (*done.along, *done.shortened)]
            return answer, record.untrusted

        answer, outside = await ports.store.write(write)
        await trio.lowlevel.checkpoint()
        return FromOutside(answer) if outside else answer

    properties = {"id": string()}
    return BuiltinTool(entry("memory_forget", properties, ("id",), guest=False, tool_class=WRITE), run)


def _wanted(args: Mapping[str, object]) -> _Note:
    """The note, checked; what is wrong with it says what is."""
    given = args.get("record") or args.get("layer")
    record = next(iter(records_of(args, "record", "layer"))) if given else "fact"
    if record not in WRITTEN:
        raise InvalidInput("A fact or a capsule can be written down; a summary is made of a turn.")
    title, importance, tags = " ".join(str(args.get("title") or "").split()), args.get("importance"), args.get("tags")
    text = str(args["text"]).strip()
    if record == "capsule" and not title:
        raise InvalidInput("A capsule has a title.")
    if not text or len(text) > LONGEST[record]:
        raise InvalidInput(f"A {record} has 1 to {LONGEST[record]} characters.", hint="Say it shorter, or in parts.")
    listed = tuple(" ".join(str(tag).split()) for tag in tags) if isinstance(tags, list) else ()
    if secret := next(filter(None, map(secret_in, (text, title, *listed))), ""):
        raise InvalidInput(f"blocked: {secret}", hint="Secrets are never remembered.")
    reach = str(args.get("reach") or args.get("scope") or "project")
    return _Note(record, text, title, reach, listed, importance if isinstance(importance, int) else IMPORTANCE)


def _put(tx: Tx, context: CallContext, wanted: _Note, ground: Ground, at: float) -> Put:
    project = inputs.project_of(tx, context.turn) if wanted.reach == "project" else ""
    reach = "project" if project else "user"  # outside of any project there is none that it could be kept to
    # a person's own words, written down for them, are by their hand; a model's are not
    by_hand = ground.said and not ground.untrusted
    origin = "manual" if by_hand else "auto"
    if wanted.record == "fact":
        new = NewFact(
            context.scope, wanted.text, title=wanted.title, reach=reach, project=project, tags=wanted.tags,
            importance=wanted.importance, confidence=ground.confidence, untrusted=ground.untrusted, peer=context.peer,
            origin=origin, extractor="manual" if by_hand else "model",
        )  # fmt: skip
        return facts.put(tx, new, ground.evidence, at=at)
    from homed.memory.capsules import NewCapsule, put_capsule

    kind = "project" if project else _kind(wanted.title)
    capsule = NewCapsule(
        context.scope, kind, wanted.title, wanted.text, reach=reach, project=project, importance=wanted.importance,
        tags=wanted.tags, untrusted=ground.untrusted, origin=origin, extractor="manual" if by_hand else "model",
    )  # fmt: skip
    return put_capsule(tx, capsule, ground.evidence, at=at)


def _kind(title: str) -> str:
    """A capsule is named by its kind where its title is one (open loops), else it is of a thread of things."""
    named = title.casefold().replace(" ", "_")
    return named if named in KINDS["capsule"] else "thread"
