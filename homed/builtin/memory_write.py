"""``memory_commit`` and ``memory_edit``: a model wants something remembered, or put right.

What it says is held against whose words it is made of (``grounds``), and stored by the one law of facts: what is known
already is not stored twice, a secret is refused, and what nobody said displaces nothing that somebody did.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from homed.agent import notes
from homed.agent.ports import BuiltinTool, CallContext
from homed.builtin.entries import entry, shape, string
from homed.builtin.grounds import Grounds
from homed.builtin.ports import MemoryPorts
from homed.errors import InvalidInput, NotFound
from homed.identity.permissions import WRITE
from homed.memory import entities, facts, stable
from homed.memory.normal import normal
from homed.memory.relations import canonical
from homed.memory.stable import Record
from homed.retrieval import index
from homed.store.rows import Tx

MOST = 16
"""Statements of one call."""

SCENE = "scene:"
"""What the tag of a fact begins with that is pinned to a scene."""


@dataclass(frozen=True, slots=True)
class Triple:
    """One statement as a model gave it; ``sentence`` '' is made of the others."""

    subject: str
    relation: str
    object: str
    sentence: str = ""
    confidence: float | None = None
    subject_type: str = ""
    object_type: str = ""

    @property
    def text(self) -> str:
        """It as a sentence."""
        parts = [self.subject, self.relation.replace("_", " "), self.object]
        unspaced = not any(part.isascii() for part in parts)
        return self.sentence.strip() or ("" if unspaced else " ").join(part.strip() for part in parts)


def memory_commit(ports: MemoryPorts) -> BuiltinTool:
    """The tool."""

    async def run(context: CallContext, args: Mapping[str, object]) -> object:
        triples, scene = _triples(args.get("triples")), _text(args.get("scene"))

        def write(tx: Tx) -> list[dict[str, object]]:
            grounds, at = Grounds(tx, context), ports.wall()
            made = [_put(tx, context, grounds, _tagged(one, scene), at) for one in triples]
            index.catch_up(tx)
            return made

        made = await ports.store.write(write)
        ports.stored()
        return {"stored": made}

    one = {
        "subject": string('Whom it is about; "I" is the person.'),
        "relation": string("Like: home, works_at, likes, friend."),
        "object": string(),
        "sentence": string("The whole statement, in the third person."),
        "confidence": {"type": "number"},
        "subject_type": string(f"One of {', '.join(entities.TYPES)}."),
        "object_type": string("Only if it is something that has a name."),
    }
    properties = {
        "triples": {
            "type": "array", "maxItems": MOST,
            "items": shape(one, ("subject", "relation", "object")),
        },
        "scene": string("Key of the situation it belongs to."),
    }  # fmt: skip
    return BuiltinTool(entry("memory_commit", properties, ("triples",), guest=False, tool_class=WRITE), run)


def memory_edit(ports: MemoryPorts) -> BuiltinTool:
    """The tool."""

    async def run(context: CallContext, args: Mapping[str, object]) -> object:
        old = Triple(_text(args["subject"]), _text(args["relation"]), _text(args["object"]))
        new = replace(
            old,
            relation=_text(args.get("new_relation")) or old.relation,
            object=_text(args.get("new_object")) or old.object,
            sentence=_text(args.get("sentence")),
        )
        if (new.relation, new.object, new.sentence) == (old.relation, old.object, ""):
            raise InvalidInput("Nothing is to be changed.", hint="Give new_object, new_relation or sentence.")

        def write(tx: Tx) -> dict[str, object]:
            known = exactly(tx, context, old)
            made = _put(tx, context, Grounds(tx, context), _like(known, new), ports.wall())
            index.catch_up(tx)
            return made

        made = await ports.store.write(write)
        ports.stored()
        return made

    properties = {
        "subject": string(),
        "relation": string(),
        "object": string("As it is stored."),
        "new_object": string(),
        "new_relation": string(),
        "sentence": string("The new statement, in the third person."),
    }
    required = ("subject", "relation", "object")
    return BuiltinTool(entry("memory_edit", properties, required, guest=False, tool_class=WRITE), run)


def exactly(tx: Tx, context: CallContext, wanted: Triple) -> Record:
    """The active fact of this very triple.  NotFound, with what else is known of the subject."""
    subject = entities.must(tx, context.scope, wanted.subject, peer=context.peer)
    about = stable.select(
        tx, "subject = ? AND status = 'active' AND scope = ? AND record = 'fact' ORDER BY seq DESC",
        (subject.id, context.scope),
    )  # fmt: skip
    relation, object_ = canonical(wanted.relation), normal(wanted.object)
    found = [one for one in about if one.relation == relation and normal(one.object) == object_]
    if not found:
        # an error says what it says as the kernel's own, so no words of strangers go along
        sure = [one for one in about if not one.untrusted]
        near = [one for one in sure if one.relation == relation] or sure
        known = "; ".join(f"{one.relation}: {notes.neutral(one.object)}" for one in near[:5])
        raise NotFound(f"There is no such fact of {subject.name}.", hint=f"Known: {known}." if known else "")
    return found[0]


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A statement, and what of an older one it keeps or replaces."""

    triple: Triple
    tags: tuple[str, ...] = ()
    kind: str = "fact"
    importance: int = 5
    replaces: str = ""
    observed: str | None = None


def _tagged(triple: Triple, scene: str) -> _Wanted:
    return _Wanted(triple, (f"{SCENE}{' '.join(scene.casefold().split())}",) if scene else ())


def _like(known: Record, new: Triple) -> _Wanted:
    """What takes the place of ``known`` keeps its pins, and is of whom that is."""
    return _Wanted(new, known.tags, known.kind, known.importance, known.id, known.observed)


def _put(tx: Tx, context: CallContext, grounds: Grounds, wanted: _Wanted, at: float) -> dict[str, object]:
    triple = wanted.triple
    if not (triple.subject and triple.relation and triple.object):
        return {"outcome": "refused", "why": _REFUSED["invalid"]}
    ground = grounds.of(triple.subject, triple.object)
    if not ground.said and (known := _known(tx, context, triple)):
        # told in notes and said again: an echo makes nothing surer (B1)
        return {"id": known.shown_id, "outcome": "same"}
    most, observed = ground.confidence, wanted.observed
    if observed is None:
        observed = entities.observed(tx, context.scope, triple.subject, context.peer)
    new = facts.NewFact(
        context.scope, triple.text, kind=wanted.kind, subject=triple.subject, subject_type=triple.subject_type,
        relation=triple.relation, object=triple.object, object_type=triple.object_type, tags=wanted.tags,
        importance=wanted.importance, confidence=most if triple.confidence is None else min(most, triple.confidence),
        untrusted=ground.untrusted, peer=context.peer, replaces=wanted.replaces,
        exactly=bool(wanted.replaces),
        observed=observed,
    )  # fmt: skip
    made = facts.put(tx, new, ground.evidence, at=at)
    return told(tx, made, untrusted=ground.untrusted)


def told(tx: Tx, made: facts.Put, *, untrusted: bool) -> dict[str, object]:
    """What became of it, for the model."""
    if made.outcome == "refused":
        why = made.why.replace("secret:", "blocked: ") if made.why.startswith("secret:") else made.why
        return {"outcome": "refused", "why": _REFUSED.get(why, why)}
    stored = stable.get(tx, made.record)
    answer: dict[str, object] = {"id": stored.shown_id if stored else made.record, "outcome": made.outcome}
    if made.why:
        answer["why"] = _CONFLICT.get(made.why, made.why)
    if untrusted:
        answer["untrusted"] = True
    return answer


_REFUSED = {
    "evidence": "nothing of this message is to be remembered",
    "forgotten": "this was wanted forgotten",
    "invalid": "not a statement that can be kept",
}
_CONFLICT = {
    "older": "a newer value is known; kept as history",
    "untrusted": "another value is known from the person; it waits for them to decide",
    "unsupported": "the person did not say so here, and another value is known; it waits for them to decide",
}


def _known(tx: Tx, context: CallContext, triple: Triple) -> Record | None:
    try:
        return exactly(tx, context, triple)
    except NotFound:
        return None


def _triples(given: object) -> list[Triple]:
    listed: Sequence[Any] = given if isinstance(given, list) else []
    return [
        Triple(
            _text(one["subject"]), _text(one["relation"]), _text(one["object"]), _text(one.get("sentence")),
            one.get("confidence"), _text(one.get("subject_type")), _text(one.get("object_type")),
        )
        for one in listed
    ]  # fmt: skip


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""
