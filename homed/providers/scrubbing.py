"""A recorded answer without its secrets, also those that came in pieces.  Sans-io and pure.

A model streams what it says a few characters at a time, so a key stands in no frame of an answer and is read by whoever
joins them.  What belongs to one field is therefore joined over all frames before secrets are looked for; what is found
goes out of the pieces, and its marker stands in the first of them.  Frames stay frames; a piece may become empty.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from homed.providers.answers import Joiner
from homed.redact import DEEPEST, MARKER, redact_with

Clean = Callable[[str], str]
Span = tuple[int, int, str]
"""From, to, and what stands there instead."""

ROUNDS = 4
"""Times that what was cleaned is looked at again."""

SHORT = 256
"""Characters of a text that is looked through once and then known: names and ids stand in every frame."""

_LINE = re.compile(r"([^\r\n]*)(\r\n|\r|\n|\Z)")
_DATA_LINE = re.compile(r"(?:\A|[\r\n])data(?:[:\r\n]|\Z)")
_FIELDS = frozenset({"", "event", "id", "retry"})
"""Names of lines of an event beside its data; what stands before any other colon is no name of homed's."""

_JSON_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_HALF = re.compile(r"\\u[dD][89a-fA-F]")
_CUT_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?\Z")
_THOUGHT = "thought"
_AGAIN = "logprobs"
"""The member of an answer that says its text once more, by tokens and by numbers; no adapter reads it."""

_OBJECTS = frozenset({"args", "arguments", "input"})
"""Below these are the arguments of calls as objects: they come whole, each a text of its own."""


def scrub(body: str, clean: Clean) -> str:
    """The body of an answer in which ``clean`` finds nothing, neither in a frame nor in what frames say together.

    Events, lines of JSON and one JSON value are told apart as the decoders do; what is none of them is cleaned as the
    text it is.  The very text that was given if nothing is to be taken out.  ``clean`` puts markers of `homed.redact`
    in the place of what it takes out, and changes no text twice.
    """
    clean = _remembering(clean)
    pieces = _cut(body)
    frames = [piece for piece in pieces if isinstance(piece, _Frame)]
    if not frames:
        return clean(body)
    leaves = [leaf for frame in frames for leaf in frame.leaves() if not _OBJECTS.intersection(leaf.keys[:-1])]
    if _HALF.search(body):
        _pair(leaves)
        for frame in frames:
            frame.settle()
    leaves = _texts(leaves, clean)
    for _ in range(ROUNDS):
        if not _take_out(leaves, clean):
            break
    for frame in frames:
        frame.box[0] = redact_with(frame.box[0], clean)
    if not any(frame.changed for frame in frames):
        return body
    return "".join(piece if isinstance(piece, str) else piece.shown() for piece in pieces)


def _remembering(clean: Clean) -> Clean:
    known = lru_cache(4096)(clean)
    return lambda text: known(text) if len(text) <= SHORT else clean(text)


@dataclass(eq=False, slots=True)
class _Leaf:
    """A text within a frame: the ``keys`` that lead to it, and what tells the objects on that way from others."""

    holder: Any
    at: Any
    keys: tuple[str, ...]
    place: tuple[object, ...] = ()
    ids: tuple[str, ...] = ()

    @property
    def thought(self) -> bool:
        """It is thinking, by a mark beside it: what is said stands under the same names, and by turns with it."""
        return _THOUGHT in self.place

    @property
    def text(self) -> str:
        return str(self.holder[self.at])

    @text.setter
    def text(self, text: str) -> None:
        self.holder[self.at] = text


class _Frame:
    """One piece of a body: a JSON value, also one that was cut, or a text that is none.

    ``raw``: as it came, with ``head`` before each of its lines and ``end`` behind them; ``name``: which texts go on in
    one another.
    """

    def __init__(self, raw: str, text: str, *, head: str = "", end: str = "", name: str = "") -> None:
        self._raw, self._head, self._end, self._name = raw, head, end, name
        self._json = self._unseen = self._moved = False
        self.closers = ""
        self.box: list[Any] = [text]
        for said, closers in ((text, ""), *_mended(text)):
            self._unseen = False
            try:
                self.box = [json.loads(said + closers, object_pairs_hook=self._object)]
            except (ValueError, RecursionError):
                continue
            self._json, self.closers = True, closers
            break
        self._unseen = self._unseen and self._json
        self._was = self._written()

    @property
    def whole(self) -> bool:
        """Whether it is JSON from its beginning to its end."""
        return self._json and not self.closers

    @property
    def changed(self) -> bool:
        """Whether something was taken out of it."""
        return self._unseen or self._written() != self._was

    def settle(self) -> None:
        """What was changed so far takes nothing out: it is written only if another frame is."""
        now = self._written()
        self._moved, self._was = now != self._was, now

    def shown(self) -> str:
        """As it is written; byte for byte as it came if it is the same."""
        if not (self._moved or self.changed):
            return self._raw
        lines = self._written().removesuffix(self.closers).split("\n")
        return (self._end or "\n").join(self._head + line for line in lines) + self._end

    def leaves(self) -> Iterator[_Leaf]:
        """Every text in it, in its order."""
        todo = [_Leaf(self.box, 0, (self._name,))]
        while todo:
            leaf = todo.pop()
            value = leaf.holder[leaf.at]
            if isinstance(value, str):
                yield leaf
            elif len(leaf.keys) > DEEPEST:
                continue  # left out as a whole
            elif isinstance(value, list):
                todo += [_Leaf(value, at, leaf.keys, leaf.place, leaf.ids) for at in reversed(range(len(value)))]
            elif isinstance(value, dict):
                place, ids = leaf.place + _place(value), leaf.ids + _id(value)
                todo += [_Leaf(value, key, (*leaf.keys, key), place, ids) for key in reversed(value)]

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        """A JSON object without what no decoder sees: all but the last member of a name, and `_AGAIN`."""
        found = {key: None if key == _AGAIN else value for key, value in pairs}
        self._unseen |= len(found) < len(pairs) or any(key == _AGAIN and value for key, value in pairs)
        return found

    def _written(self) -> str:
        value = self.box[0]
        if not self._json:
            return str(value)
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        try:
            text.encode()
        except UnicodeEncodeError:  # half a character, which the next piece completes
            return json.dumps(value, separators=(",", ":"))
        return text


def _place(value: dict[str, Any]) -> tuple[object, ...]:
    index = value.get("index")
    numbered = () if not isinstance(index, int) else (index,)
    return (*numbered, _THOUGHT) if value.get(_THOUGHT) else numbered


def _id(value: dict[str, Any]) -> tuple[str, ...]:
    return (value["id"],) if isinstance(value.get("id"), str) else ()


_SAME: tuple[Callable[[_Leaf], Hashable], ...] = (
    lambda leaf: (leaf.keys, leaf.place),
    lambda leaf: (leaf.keys, leaf.ids, leaf.thought),
    lambda leaf: (leaf.keys[-1], leaf.place),
    lambda leaf: (leaf.keys[-1], leaf.thought),
)
"""What leaves of one field have in common.  A field begins under one name and goes on under another, and sources leave
out what tells two from one another: so each of these is tried, and what any of them finds goes."""


def _groups(leaves: Sequence[_Leaf]) -> Iterator[list[_Leaf]]:
    """Leaves that may be one field, in their order; no group twice."""
    seen: set[tuple[int, ...]] = set()
    for same in _SAME:
        groups: dict[Hashable, list[_Leaf]] = {}
        for leaf in leaves:
            groups.setdefault(same(leaf), []).append(leaf)
        for group in groups.values():
            name = tuple(map(id, group))
            if name not in seen:
                seen.add(name)
                yield group


def _fields(leaves: Sequence[_Leaf]) -> list[list[_Leaf]]:
    """What is one field for certain."""
    fields: dict[Hashable, list[_Leaf]] = {}
    for leaf in leaves:
        fields.setdefault(_SAME[0](leaf), []).append(leaf)
    return list(fields.values())


def _pair(leaves: Sequence[_Leaf]) -> None:
    """Join characters whose halves are in two pieces: half of one is in no secret that is known."""
    for field in _fields(leaves):
        joiner = Joiner()
        for leaf in field:
            leaf.text = joiner.take(leaf.text)


def _take_out(leaves: Sequence[_Leaf], clean: Clean) -> bool:
    """Take out what any group of leaves says together; True if there was something."""
    found: dict[_Leaf, list[Span]] = {}
    for group in _groups(leaves):
        whole = "".join(leaf.text for leaf in group)
        cleaned = clean(whole)
        if cleaned != whole:
            for leaf, span in _shares(group, _differences(whole, cleaned)):
                found.setdefault(leaf, []).append(span)
    for leaf, spans in found.items():
        leaf.text = _without(leaf.text, spans)
    return bool(found)


def _differences(text: str, cleaned: str) -> list[Span]:
    """Where ``cleaned`` has a marker for something; all of it where that cannot be told.

    Whatever is found, the text with these changes is the clean one: it is the places that may be others.
    """
    first, *rest = MARKER.split(cleaned)
    markers, between = rest[::2], rest[1::2]
    everything = [(0, len(text), cleaned)]
    if not markers or not text.startswith(first):
        return everything
    spans, place = [], len(first)
    for marker, kept in zip(markers[:-1], between[:-1], strict=True):
        at = text.find(kept, place + 1)
        if at < 0:
            return everything
        spans.append((place, at, marker))
        place = at + len(kept)
    end = len(text) - len(between[-1])
    if end <= place or not text.endswith(between[-1]):
        return everything
    spans.append((place, end, markers[-1]))
    return [(start, end, put) for start, end, put in spans if text[start:end] != put]


def _shares(group: Sequence[_Leaf], spans: Sequence[Span]) -> Iterator[tuple[_Leaf, Span]]:
    """What of spans in the joined text lies in each leaf; the marker goes to the first."""
    todo, place = list(reversed(spans)), 0
    for leaf in group:
        end = place + len(leaf.text)
        while todo and todo[-1][0] < end:
            start, stop, put = todo.pop()
            yield leaf, (start - place, min(stop, end) - place, put)
            if stop > end:
                todo.append((end, stop, ""))
                break
        place = end


def _without(text: str, spans: Sequence[Span]) -> str:
    """The text with every span taken out; where they meet, one marker stands."""
    kept: list[str] = []
    place, marked = 0, -1
    for start, end, put in sorted(spans, key=lambda span: (span[0], not span[2], span[1])):
        if start > place or not kept:
            kept.append(text[place:start])
            marked = -1
        if put and marked < 0:
            kept.append(put)
            marked = start
        place = max(place, end)
    return "".join([*kept, text[place:]])


def _texts(leaves: Sequence[_Leaf], clean: Clean) -> list[_Leaf]:
    """Clean what is JSON once it is joined, and return what is none.

    Arguments of calls are: a name in them says that a value is secret, and what is looked through as text may lose the
    mark that ends a value along with it.
    """
    rest: set[_Leaf] = set(leaves)
    for group in _fields(leaves):
        whole = "".join(leaf.text for leaf in group)
        if whole.lstrip()[:1] not in ("{", "["):
            continue
        try:
            value = json.loads(whole)
            cleaned = redact_with(value, clean)
        except (ValueError, RecursionError):
            continue
        rest.difference_update(group)
        if cleaned != value or clean(whole) != whole:
            group[0].text = json.dumps(cleaned, ensure_ascii=False)
            for leaf in group[1:]:
                leaf.text = ""
    return [leaf for leaf in leaves if leaf in rest]


def _cut(body: str) -> list[str | _Frame]:
    """The body in its order: frames, and what stands between them.  No frame: it is a text."""
    pieces = _pieces(text := body.removeprefix("\ufeff"))
    return ["\ufeff", *pieces] if pieces and text != body else pieces


def _pieces(body: str) -> list[str | _Frame]:
    events = bool(_DATA_LINE.search(body))  # no line of JSON begins so
    if not body.lstrip().startswith(("{", "[")) or events:
        return _events(body) if events else []
    whole = _Frame(body, body)
    first, *_ = _JSON_LINE.findall(body.lstrip())
    if whole.whole or not _Frame(first, first).whole:
        return [whole]
    return [_Frame(line, line.rstrip("\n"), end="\n" * line.endswith("\n")) for line in _JSON_LINE.findall(body)]


def _events(body: str) -> list[str | _Frame]:
    """Those of a stream of events: their data, each other line as a frame of its own, and what is no event as text."""
    found: list[str | _Frame] = []
    data: list[tuple[str, str]] = []
    text, at = "", 0
    for line, end in _LINE.findall(body):
        name, colon, value = line.partition(":")
        bare, raw = value.removeprefix(" "), line + end
        if name != "data" and not (colon and name in _FIELDS) and (line or text):
            text += raw
        elif text:
            found += _loose(text)
            text = ""
        if name == "data":
            if not data:
                at = len(found)
                found.append("")
            data.append((raw, bare))
            last = end
        elif not text:
            found.append(_Frame(raw, bare, head=line.removesuffix(bare), end=end, name=name + colon) if bare else raw)
        if data and (not line or not end):
            whole, said = "".join(one for one, _ in data), "\n".join(value for _, value in data)
            found[at] = _Frame(whole, said, head="data: ", end=last)
            data = []
    return found + _loose(text)


def _loose(text: str) -> list[str | _Frame]:
    bare = text.rstrip("\r\n")
    return [_Frame(bare, bare, name="\n"), text[len(bare) :]] if text else []


def _mended(text: str) -> Iterator[tuple[str, str]]:
    """A JSON text that was cut, with what would close it: as far as it goes, and without its last member."""
    inside, comma, closers = _open(text if text.lstrip()[:1] in ("{", "[") else "")
    if closers:
        missing = '"' * inside + closers
        yield text, missing
        yield _CUT_ESCAPE.sub("", text), missing
        if comma >= 0:
            yield text[:comma], _open(text[:comma])[2]


def _open(text: str) -> tuple[bool, int, str]:
    """Whether a JSON text ends within a string, where its last comma is (-1: nowhere), and what would close it."""
    closers, comma = list[str](), -1
    inside = escaped = False
    for at, character in enumerate(text):
        if inside:
            inside = escaped or character != '"'
            escaped = not escaped and character == "\\"
        elif character == '"':
            inside = True
        elif character in "{[":
            closers.append("}" if character == "{" else "]")
        elif character in "}]" and closers:
            closers.pop()
        elif character == ",":
            comma = at
    return inside, comma, "".join(reversed(closers))
