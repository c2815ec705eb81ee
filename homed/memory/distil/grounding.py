"""Whether what a model states was said: each statement against people's own words.  Pure.

A model is never believed.  What stands only in what was recalled, in what the model or a program said, or in what
strangers wrote is no statement of a person's.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, tzinfo
from itertools import chain
from typing import Protocol

from homed.memory import dedupe
from homed.memory.blocked import secret_in
from homed.memory.distil import asserted
from homed.memory.distil.basis import Basis, one_script
from homed.memory.distil.contract import Answer, Stated
from homed.memory.entities import is_self, valid
from homed.memory.evidence import Evidence, Pointer, Span
from homed.memory.lawwords import FUNCTION_WORDS
from homed.memory.newfact import NewFact
from homed.memory.normal import UNSPACED, bag, normal
from homed.memory.relations import DISLIKES, LIKES, canonical

SUPPORT = 0.5
"""Share of a statement's words that must stand in one thing a person said, when its quote stands nowhere."""

UNQUOTED = 0.35
"""Confidence, at the most, of a statement whose quote stands nowhere: low."""

CARRIED = 0.3
"""Share of what a statement says, at the least, that stands in the message its quote is of: a true quote bears out no
more than it says."""

ECHO = 0.75
"""Share of a statement's words that others said, from which on it is theirs if people said less than half of them."""

BEFORE, NEAR = 60, 1000
"""Characters before a quote in which a word may deny it, and around it in which the rest of what a statement says may
stand."""

QUOTED = 2
"""Letters of a quote at the least: an "I" stands in every message."""

MARK = "\0"
"""Where a quote begins in the text around it."""

RELATION, VALUE = 60, 200
"""Characters of a relation and of its object at the most."""

_LETTER = re.compile(r"[^\W_]")
_NAMING = re.compile(
    r"\bname|\bcall|\bknown as\b|\bi['’]?m\b|\b(?:i am|is)\b|名|叫|姓|称|是|зовут|звать|им[яе]|фамили|\b(?:я|это)\b|—",
    re.IGNORECASE,
)
_BEFORE = re.compile(f"[{UNSPACED}]{{1,4}}$|(?:[^\\s{UNSPACED}]+\\s+){{0,3}}[^\\s{UNSPACED}]*$")
_THIRD = re.compile(r"\b(?:he|she|they|it|он|она|они)\b|[他她它]", re.IGNORECASE)
_CAPITAL = re.compile(r"\b[A-ZА-ЯЁ]\w+")
_CLAUSE = re.compile(r"[,.;:!?，。；：！？、\n]+|\b(?:and|but|because|и|но|а)\b|但是?|而且|因为|所以")


class Quote(Protocol):
    """Where a quote stands: in a person's own words (``span``), or only in others' (``whose``, else '')."""

    @property
    def span(self) -> Span | None:
        """The place in an event that may feed memory."""
        ...

    @property
    def whose(self) -> str:
        """assistant, program, or ''."""
        ...


class Script(Protocol):
    """What was read: finds quotes in it."""

    @property
    def others(self) -> Sequence[str]:
        """What the model and programs said in it."""
        ...

    def find(self, quote: str) -> Quote:
        """Where a quote stands."""
        ...


@dataclass(frozen=True, slots=True)
class Ground:
    """Where an answer's statements are from.  ``said``: (event id, text) of everything in it that people said
    themselves; ``tainted``: words of strangers were in view, so that only what stands there verbatim is believed;
    ``recalled``: what was told from memory before these turns; ``called``: by event what its speaker may be called;
    ``at``: when each was said, UTC seconds, in whose ``zone`` a day is a day; ``known``: what memory holds of it,
    whose names may be put for whom they are of."""

    scope: str
    said: Sequence[tuple[str, str]]
    peer: str = ""
    project: str = ""
    tainted: bool = False
    recalled: Sequence[str] = ()
    called: Mapping[str, Collection[str]] = field(default_factory=dict)
    at: Mapping[str, float] = field(default_factory=dict)
    zone: tzinfo = UTC
    known: Sequence[str] = ()

    def basis(self) -> Basis:
        """What people said, as that on which numbers, dates and names must stand."""
        names = chain(self.known, self.recalled, *self.called.values())
        return Basis([(text, self.at.get(event)) for event, text in self.said], self.zone, names)


def grounded(answer: Answer, script: Script, ground: Ground) -> tuple[list[tuple[NewFact, Evidence]], Counter[str]]:
    """Each statement that people's own words bear out, with where they do; and how many are lost at which gate.

    The first that applies, in this order.  ``secret``: it holds one; ``injected``: its quote, or next to all of its
    words, stand only in what was told from memory (so a memory told back is no news, whatever it is said to be quoted
    from); ``not_said``: the same of what the model or a program said; ``unsupported``: its quote stands nowhere, and no
    message has half of its words, or it holds a number, a date or a name that nobody said, says the contrary of its
    quote, or says much that does not stand around it; ``supposed``: it was asked, supposed or wished, and is told as if
    it were so; ``tainted``: no quote, or one with less than half of its words, while words of strangers were in view;
    ``whose``: of whom it is does not fit what it says.  Kept, and counted all the same: ``translated``: its quote is in
    another script, so that nothing shows that it says this: it has a pointer only and is not sure; ``no_quote``: the
    same, since no message says it word for word; ``triple``: without subject, relation and object, which do not fit
    together.
    """
    kept: list[tuple[NewFact, Evidence]] = []
    gates: Counter[str] = Counter()
    heard = _Heard(script, ground)
    for stated in answer.facts:
        gate, proof = heard.judge(stated)
        if proof is not None and not gate and not heard.fits(stated, proof.event):
            gate = "whose"
        if gate or proof is None:
            gates[gate] += 1
            continue
        sure = isinstance(proof, Span)
        gates["translated" if heard.translated(stated) else "no_quote"] += not sure
        confidence = stated.confidence if sure else min(stated.confidence, UNQUOTED)
        kept.append((_new(stated, ground, confidence, gates), proof))
    return kept, +gates


class _Heard:
    """Who said which words in what was read."""

    def __init__(self, script: Script, ground: Ground) -> None:
        self._script = script
        self._ground = ground
        self._own = _words(text for _, text in ground.said)
        self._others, self._recalled = _words(script.others), _words(ground.recalled)
        self._basis = ground.basis()
        self._texts = dict(ground.said)

    def judge(self, stated: Stated) -> tuple[str, Evidence | None]:
        """The gate at which a statement stays, or what bears it out."""
        if any(map(secret_in, (stated.text, stated.object, stated.subject, stated.relation))):
            return "secret", None
        quote = self._quote(stated)
        span, said = quote.span if quote else None, _share(stated.text, self._own)
        if self._echoes(stated, said, self._recalled) or (span is None and self._told(stated.quote)):
            return "injected", None
        if self._echoes(stated, said, self._others) or (quote is not None and quote.whose and span is None):
            return "not_said", None
        whole = stated if span is None else replace(stated, quote=self._around(span))
        if self._basis.lacks(stated.text) or _contrary(stated) or _contrary(whole):
            return "unsupported", None
        event = span.event if span else _bearer(stated.text, self._ground.said)
        if event is not None and stated.kind != "todo" and not self._so(stated, event, span):
            return "supposed", None
        if self._ground.tainted and (span is None or _share(stated.text, bag(stated.quote)) < SUPPORT):
            return "tainted", None
        if span is not None:
            if not one_script(stated.text, stated.quote):
                return "", Pointer(span.event)
            if self._carries(span, stated.text):
                return "", Pointer(span.event) if _denied(stated) or _denied(whole) else span
            return "unsupported", None
        return ("unsupported", None) if event is None else ("", Pointer(event))

    def translated(self, stated: Stated) -> bool:
        """Whether its quote stands in what a person said, in another script."""
        quote = self._quote(stated)
        return quote is not None and quote.span is not None and not one_script(stated.text, stated.quote)

    def _quote(self, stated: Stated) -> Quote | None:
        return self._script.find(stated.quote) if len(_LETTER.findall(stated.quote)) >= QUOTED else None

    def _so(self, stated: Stated, event: str, span: Span | None) -> bool:
        """Whether it was said to be so, there or in another message."""
        place = (span.first, span.last) if span else None
        if asserted.says_so(stated.text, self._texts[event], place):
            return True
        others = (text for id_, text in self._ground.said if id_ != event)
        return any(asserted.says_whole(stated.text, text) for text in others)

    def _around(self, span: Span) -> str:
        """A quote with what stands right before it in its clause: what begins behind a "not" says the contrary."""
        text = self._texts[span.event]
        near = text[max(0, span.first - BEFORE) : span.first] + MARK + text[span.first : span.last]
        before, _, quote = asserted.joined(near).partition(MARK)
        before_ = _BEFORE.search(_CLAUSE.split(before)[-1])
        return (before_.group() if before_ else "") + quote if quote else before

    def _carries(self, span: Span, text: str) -> bool:
        """Whether enough of a statement stands in the message that its quote is of, and in what is said around it."""
        said = self._texts[span.event]
        words = self._basis.words(text)
        return dedupe.carried(words, said[max(0, span.first - NEAR) : span.last + NEAR]) >= CARRIED

    def fits(self, stated: Stated, event: str) -> bool:
        """Whether what it says of "the user" is of whoever spoke."""
        about = stated.about.strip()
        if (
            not about
            or is_self(about)
            or normal(about) in {normal(name) for name in self._ground.called.get(event, ())}
        ):
            return True
        return not is_self(stated.subject or _said_subject(stated.text) or about)

    def _echoes(self, stated: Stated, said: float, words: Collection[str]) -> bool:
        share = _share(stated.text, words) if words else 0.0
        return share >= ECHO and said < share / 2

    def _told(self, quote: str) -> bool:
        """Whether a quote stands in what was told from memory."""
        words = " ".join(quote.split())
        return len(_LETTER.findall(quote)) >= QUOTED and any(
            words in " ".join(t.split()) for t in self._ground.recalled
        )


def _contrary(stated: Stated) -> bool:
    """Whether a statement likes what its quote dislikes, or in the same words denies what it says, or the other way
    round."""
    clause = _clause(stated)
    if dedupe.stance(stated.text) * dedupe.stance(clause) == -1:
        return True
    # "For Clara's visit: she eats no pork": whom a clause is of may stand in the one before it
    if not _denied(stated):
        return False
    if asserted.ends(clause, stated.text) or asserted.formerly(clause):
        return not asserted.past(stated.text) and dedupe.carried(stated.text, clause) >= SUPPORT
    return any(dedupe.covers(stated.text, _with_names(said, stated.text)) for said in (clause, stated.quote))


def _with_names(said: str, text: str) -> str:
    """What was said of him or her may be of whoever the statement names."""
    return f"{said} {' '.join(_CAPITAL.findall(text))}" if _THIRD.search(said) else said


def _denied(stated: Stated) -> bool:
    """Whether one of the two denies what the other does not, each part of the statement held against what is nearest to
    it in the quote."""
    clause = _clause(stated)
    if not clause.strip() or dedupe.stance(stated.text) == dedupe.stance(clause) != 0:
        return False
    if asserted.formerly(clause) and not asserted.formerly(stated.text) and not asserted.past(stated.text):
        return not asserted.denies(stated.text)
    if asserted.denies(stated.text) == asserted.denies(clause, stated.text):
        return False
    parts = [part for part in _CLAUSE.split(stated.text) if bag(part) & bag(stated.quote)]
    return len(parts) < 2 or any(
        asserted.denies(part) != asserted.denies(_nearest(part, stated.quote), part) for part in parts
    )


def _clause(stated: Stated) -> str:
    """That of the quote which is nearest to the statement."""
    return _nearest(stated.text, stated.quote)


def clauses(text: str) -> list[str]:
    """The parts of a text, of which each says something by itself."""
    return [part for part in _CLAUSE.split(text) if part.strip()]


def _nearest(text: str, quote: str) -> str:
    words = bag(text)
    return max(_CLAUSE.split(asserted.joined(quote)), key=lambda part: len(words & bag(part)))


def _words(texts: Iterable[str]) -> frozenset[str]:
    return frozenset(chain.from_iterable(map(bag, texts)))


def _share(text: str, said: Collection[str]) -> float:
    """Share of the words of a statement that were said, 0..1; 1 of one that has none."""
    words = bag(text) - FUNCTION_WORDS
    return len(words & frozenset(said)) / len(words) if words else 1.0


def _bearer(text: str, said: Sequence[tuple[str, str]]) -> str | None:
    """The event with the largest share of a statement's words, if that is large enough."""
    words = bag(text) - FUNCTION_WORDS
    shares = [(len(words & bag(other)) / len(words), event) for event, other in said] if words else []
    share, event = max(shares, key=lambda one: one[0], default=(0.0, ""))
    return event if share >= SUPPORT else None


def _new(stated: Stated, ground: Ground, confidence: float, gates: Counter[str]) -> NewFact:
    subject, relation, value = _triple(stated, ground)
    if (stated.subject or stated.relation or stated.object) and not relation:
        gates["triple"] += 1
    return NewFact(
        scope=ground.scope, text=stated.text, kind=stated.kind, tags=stated.tags, importance=stated.importance,
        confidence=confidence, reach=stated.reach if ground.project else "user",
        project=ground.project if stated.reach == "project" else "", subject=subject, relation=relation, object=value,
        subject_type="person" if is_self(subject) else "", peer=ground.peer, replaces=stated.replaces,
        observed=ground.peer if ground.scope.startswith("group:") else "",
    )  # fmt: skip


def _triple(stated: Stated, ground: Ground) -> tuple[str, str, str]:
    """Subject, relation, object, when the three make sense and the value is one that is spoken of; a missing subject is
    whom it is about, else the user when the sentence begins with them."""
    if not 0 < len(stated.relation) <= RELATION or not 0 < len(stated.object) <= VALUE:
        return "", "", ""
    spoken = _words((stated.text, *(text for _, text in ground.said)))
    if one_script(stated.object, stated.text) and _share(stated.object, spoken) < SUPPORT:
        return "", "", ""
    if not _says(stated.text, f"{stated.text}\n{stated.quote}", canonical(stated.relation)):
        return "", "", ""
    about = "" if is_self(stated.about) else stated.about
    subject = stated.subject or about or _said_subject(stated.text)
    return (subject, stated.relation, stated.object) if is_self(subject) or valid(subject) else ("", "", "")


def _says(text: str, all_: str, relation: str) -> bool:
    """False where the words plainly say another relation: of a name, which is what everything is found by, nobody was
    called anything; or what is liked is disliked."""
    if relation == "name":
        return _NAMING.search(all_) is not None
    return {LIKES: 1, DISLIKES: -1}.get(relation, 0) * dedupe.stance(text) != -1


def _said_subject(text: str) -> str:
    begins = re.match(
        r"(?:the )?user\b|i\b|i'm\b|my\b|用户|我|пользовател|я\b|мне\b|меня\b|мой\b|моя\b", text, re.IGNORECASE
    )
    return "user" if begins else ""
