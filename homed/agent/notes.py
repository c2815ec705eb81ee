"""What is recalled, as text for the model: marked with where it comes from, fenced, within its share.  Pure.

Stored events stay verbatim, since they are evidence; whatever could be taken for one of our own fences is neutralised
here, each time such a text is shown as a note.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from types import MappingProxyType

from homed.memory.records import Event, EventKind
from homed.memory.seen import seen
from homed.memory.shorten import WIDEST, in_tokens
from homed.memory.speakers import is_group
from homed.memory.tokens import estimate_tokens
from homed.prompts.loader import fill
from homed.retrieval.passage import piece

NOTE_TOKENS = 600
"""Tokens of one note at the most: a note is a reminder, ``coldcontext_query`` gives the whole."""

EARLIER_TOKENS = 60
"""Tokens of a note of an earlier turn, whose answer stands behind it."""

SHORT = 80
"""Tokens below which a text is shown by its beginning alone: the marks of head and tail would take half of them."""

SMALL_TOKENS = 120
"""Tokens of all notes together for a model that is offered no tools: it reads slowly, and its window is small."""

CUT_TOKENS = 30
"""What the marks of what is left out of a text cost."""

SAMPLE = 2_000
"""Characters of a text that tell how wide its tokens are."""

TRIES = 4
"""Pieces of a text that are tried until one fits."""

MARK_TOKENS = 24
"""What the mark of an event of another conversation costs."""

_NOBODY: Mapping[str, str] = MappingProxyType({})

TITLE = 40
"""Characters of a conversation's title in a mark."""

_FENCE = re.compile(r"[<＜﹤](?=\s*+/?\s*+data)|<(?=\|)", re.IGNORECASE)  # possessive: blanks are passed once
_MARK = re.compile(r"[\[［【](?=\s*+(?:another\s++conversation|said\s++by)\b)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Place:
    """The conversation an event belongs to."""

    title: str
    channel: str

    def __str__(self) -> str:
        title = " ".join(neutral(self.title).translate(_QUOTES).split())
        title = title if len(title) <= TITLE else title[: TITLE - 1].rstrip() + "…"
        return f'"{title}", {self.channel}' if title else f"without a title, {self.channel}"


SPEAKER_TOKENS = 20
"""What the mark of who speaks in a group costs."""


_QUOTES = str.maketrans({'"': "'", "[": "(", "]": ")"})


_PLAIN = str.maketrans(dict.fromkeys('()[]<>（）［］【】〈〉":：', " "))


def speaker(peer: str, names: Mapping[str, str]) -> str:
    """A member of a group as the model is told: the name and, since two may have the same one, the id.

    A name is a stranger's words: it can look like no id, no mark and no other line.
    """
    id_ = " ".join(neutral(peer).split())
    name = " ".join(neutral(names.get(peer, "")).translate(_PLAIN).split())
    name = name if len(name) <= TITLE else name[: TITLE - 1].rstrip() + "…"
    return f"{name} ({id_})" if name else id_


def marked(event: Event) -> bool:
    """Whether it has the mark of ``said_by``: what people say in groups."""
    return event.kind is EventKind.USER and is_group(event.scope)


def said_by(event: Event, names: Mapping[str, str]) -> Event:
    """A message as a group's prompt shows it: who says it, in a mark that nothing in it can forge.

    As it is outside groups, and of what no person said.
    """
    if not marked(event):
        return event
    who_ = "a plugin, from outside, not checked" if event.data.get("untrusted") else speaker(event.peer, names)
    return replace(event, text=f"[Said by {who_}]\n{neutral(event.text)}", tokens=0)


def neutral(text: str) -> str:
    """``text`` without characters nobody sees, and with nothing in it that could end our fence or start another."""
    return _MARK.sub("(", _FENCE.sub("‹", seen(text)))


def fenced(name: str, text: str) -> str:
    """Text from outside, marked as data; a fence inside it can not close ours."""
    return f'<data source="{name}">\n{neutral(text)}\n</data>'


def mark(event: Event, place: Place) -> str:
    """What stands before an event of another conversation."""
    return f"[Another conversation: {place}, {day(event.created_at)}]"


def day(at: float) -> str:
    """Local date of UTC seconds."""
    return datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d")


def note(event: Event, place: Place, *, peer: str, limit: int, names: Mapping[str, str] = _NOBODY) -> str:
    """One recalled event in about ``limit`` tokens: its id, date, conversation and who said it, then its text."""
    at = datetime.fromtimestamp(event.created_at).astimezone().strftime("%Y-%m-%d %H:%M")
    head = f"- {event.id}, {at}, conversation {place}, {who(event, peer, names)}: "
    room, text = max(limit - estimate_tokens(head), limit // 3), event.text.strip()
    # cut first: of a text of any length no more is looked at than a note may show
    return head + (
        neutral(in_tokens(text, room, event.id, estimate_tokens)) if room > SHORT else _beginning(text, room)
    )


def about(event: Event, terms: Collection[str], tokens: int) -> Event:
    """The event with no more of a long text than the piece that says most of ``terms``, in about ``tokens``.

    As it is where all of it fits, or none of the terms stands in it.  Some 10 ms for a long one.
    """
    text = event.text.strip()
    if len(text) <= tokens * WIDEST and estimate_tokens(text) <= tokens:
        return event
    most, sample = tokens - CUT_TOKENS, text[:SAMPLE]
    room = most * len(sample) // max(1, estimate_tokens(sample))
    for _ in range(TRIES):
        span = piece(text, terms, room)
        if span is None:
            return event
        first, last = span
        shown = text[first:last].strip()
        if (real := estimate_tokens(shown)) <= most:
            before = f"[… {first} characters] " if first else ""
            behind = f" [… {len(text) - last} characters; stored whole in {event.id}]" if last < len(text) else ""
            return replace(event, text=f"{before}{shown}{behind}")
        room = min(room * 4 // 5, room * most // real)
    return event


def small_note(event: Event, *, peer: str, limit: int, names: Mapping[str, str] = _NOBODY) -> str:
    """The same for a small model: the date, who, and what."""
    head = f"- {day(event.created_at)}, {who(event, peer, names)}: "
    text = _beginning(event.text, limit - estimate_tokens(head), " ")
    return head + text if text else ""


def _beginning(whole: str, room: int, between: str = "") -> str:
    """What of a text fits ``room`` tokens, from its beginning; with ``between``, in one line."""
    most = max(0, room) * WIDEST
    text = neutral(whole[:most]).strip()
    text = between.join(text.split()) if between else text
    shown, keep = text if len(whole) <= most or not text else f"{text}…", len(text)
    while shown and estimate_tokens(shown) > room:
        keep = min(keep - 1, max(0, keep * room // estimate_tokens(shown)))
        shown = f"{text[:keep]}…" if keep > 0 else ""
    return shown


def who(event: Event, peer: str, names: Mapping[str, str] = _NOBODY) -> str:
    """Whose words they are, as the model is told; ``peer`` is whoever it talks to now, ``names`` of a group's members.

    Outside groups a scope has one person, whichever door they came through; in a group everybody has a name.
    """
    if event.kind is EventKind.ASSISTANT:
        return "you said"
    if event.kind is EventKind.TOOL:
        outside = " (from outside, not checked)" if event.data.get("untrusted") else ""
        return f"the tool {event.data.get('name')} gave{outside}"
    if event.data.get("untrusted"):
        return "a plugin said (from outside, not checked)"
    return (
        "the person said"
        if event.peer in ("", peer) or not is_group(event.scope)
        else f"{speaker(event.peer, names)} said"
    )


def snapshot(template: str, notes: Sequence[str]) -> str:
    """The message that carries the notes; ``template`` has the blank ``notes``."""
    return fill(template, notes="\n".join(['<data source="memory">', *notes, "</data>"]))


def is_cut(note: str) -> bool:
    """Whether something of its event's text is left out of a note."""
    return "[… " in note or note.endswith("…")


def write(
    events: Sequence[Event], places: Mapping[str, Place], *, peer: str, tokens: int, each: int = NOTE_TOKENS,
    names: Mapping[str, str] = _NOBODY,
) -> list[tuple[str, str]]:  # fmt: skip
    """``(event id, note)`` of these events, the most relevant first, in no more than ``tokens`` together."""
    written: list[tuple[str, str]] = []
    left = tokens
    for at, event in enumerate(events):
        share = min(each, left // (len(events) - at))
        if share < EARLIER_TOKENS // 2:
            break
        place = places.get(event.thread, Place("", event.channel))
        text = note(event, place, peer=peer, limit=share, names=names)
        if (more := estimate_tokens(text) - left) > 0:  # a head takes what it takes: the text gives way, or all of it
            text = note(event, place, peer=peer, limit=share - more, names=names)
        if (cost := estimate_tokens(text)) > left:
            break
        left -= cost
        written.append((event.id, text))
    return written


def write_small(
    events: Sequence[Event], *, peer: str, tokens: int = SMALL_TOKENS, names: Mapping[str, str] = _NOBODY
) -> list[tuple[str, str]]:
    """The same for a small model."""
    written: list[tuple[str, str]] = []
    left = tokens
    for at, event in enumerate(events):
        share = max(left // (len(events) - at), min(left, tokens // 2))
        text = small_note(event, peer=peer, limit=share, names=names)
        if not text or estimate_tokens(text) > left:
            break
        left -= estimate_tokens(text)
        written.append((event.id, text))
    return written
