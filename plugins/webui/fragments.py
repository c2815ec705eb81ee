"""The pieces of page that history and live stream share, made by one set of Jinja macros (``templates/items.html``).

Every value goes through autoescape; only what `markdown` made goes in as markup, by the caller, block by block.
"""

from __future__ import annotations

import json
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from .reading import mappings
from .recordview import folder as folder_of
from .recordview import heading
from .usage import compact, money
from .words import Words

SHOWN = 20_000
"""Characters of a tool's arguments or result that the page shows; the rest is in the event."""

LABELS = {"timer:": "item.reminder", "kernel:": "item.kernel", "child:": "item.child", "parent:": "item.parent"}
"""How the peer of a message begins that no person sent, and what stands over it."""
DOTS = {
    "accepted": "running", "running": "running", "suspended": "waiting", "answered": "ok", "stopped": "interrupted",
}  # fmt: skip
"""How an agent's state looks; of every other, as a failure."""
IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""Media types that are shown as pictures; anything else is a file to download."""
MODELS = "Models page"
"""What the kernel's hints call the page where sources are set up; such a hint gets a link to it."""

Data = Mapping[str, object]


RECORDS = ("summary", "fact", "capsule")
"""Kinds of record, as L1, L2 and L3."""


@dataclass(frozen=True, slots=True)
class Recalled:
    """What came back: how many events of other conversations and of cold memory, the ids of records, how many there are
    of each kind, and the characters that all of it takes."""

    shown: int
    cold: int
    records: tuple[str, ...]
    chars: int
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Made:
    """What lasting memory has of a turn: ids by kind of record.  ``state``: as `io.history` says it."""

    state: str
    records: Mapping[str, Sequence[str]]

    @property
    def count(self) -> int:
        """All of them."""
        return sum(map(len, self.records.values()))


def counted(ids: Sequence[str]) -> dict[str, int]:
    """How many records of each kind these are: an id says of which kind it is."""
    return {kind: count for kind in RECORDS if (count := sum(one.startswith(f"{kind}_") for one in ids))}


def environment(folder: Path) -> Environment:
    """The Jinja environment of all templates: autoescape on, an unknown name is an error."""
    made = Environment(
        loader=FileSystemLoader(folder),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["when"] = when
    made.filters["shown"] = shown
    made.filters["told"] = told
    made.filters["size"] = size
    made.filters["signal"] = signal_name
    made.filters["number"] = number
    made.filters["short"] = short
    made.filters["span"] = span
    made.filters["bound"] = bound
    made.filters["compact"] = compact
    made.filters["money"] = money
    made.filters["heading"] = heading
    made.filters["folder"] = folder_of
    return made


def number(value: float) -> str:
    """As people write it: 10, not 10.0, and 31536000, not 3.1536e+07."""
    return str(int(value)) if float(value).is_integer() else f"{value:g}"


def span(seconds: object) -> str:
    """A duration as people write it, and as a setting takes it: 90 is 1m30s, 0.25 is 250ms."""
    if not isinstance(seconds, int | float) or seconds < 0:
        return str(seconds)
    if 0 < seconds < 1:
        return f"{number(round(seconds * 1000, 3))}ms"
    left, parts = float(seconds), []
    for unit, of in (("d", 86_400), ("h", 3600), ("m", 60)):
        if count := int(left // of):
            parts.append(f"{count}{unit}")
            left -= count * of
    return "".join([*parts, f"{number(round(left, 3))}s"] if left or not parts else parts)


def bound(value: float, type_: str) -> str:
    """The least or the most that a setting takes: a duration as such, a large number in groups."""
    return span(value) if type_ == "duration" else f"{value:,.10g}" if abs(value) >= 10_000 else number(value)


def short(value: object) -> str:
    """The value of a setting in few characters; – for an empty one."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if text in ("", "[]"):
        return "–"
    return text if len(text) <= 40 else f"{text[:39]}…"


def signal_name(number: object) -> str:
    """What a signal is called; empty for a number that is none."""
    try:
        return signal.Signals(number).name  # type: ignore[arg-type]
    except ValueError:
        return ""


def size(count: object) -> str:
    """A number of bytes, in the unit that a person would use."""
    left = float(count) if isinstance(count, int | float) else 0.0
    for unit in ("B", "kB", "MB"):
        if left < 1024:
            return f"{left:.0f} {unit}" if unit == "B" or left >= 10 else f"{left:.1f} {unit}"
        left /= 1024
    return f"{left:.1f} GB"


def when(at: object) -> str:
    """UTC seconds as ISO 8601, for a ``<time>`` that the page's script writes in the person's own zone."""
    seconds = at if isinstance(at, int | float) else 0
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def shown(value: object) -> str:
    """A tool's arguments or result for reading: text as it is, anything else as indented JSON, cut with a mark."""
    if value is None or value == {} or value == "":
        return ""
    text = _whole_characters(value if isinstance(value, str) else _json(value))
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}\n… (+{len(text) - SHOWN})"


def _json(value: object) -> str:
    """Indented JSON; nested too deep for that, it says so: no tool's result may keep a page from being shown."""
    try:
        return json.dumps(value, ensure_ascii=False, indent=2)
    except RecursionError:
        return "{…}"


def _whole_characters(text: str) -> str:
    """Without half surrogate pairs, which JSON inside a text can hold and no answer can carry."""
    return text if text.isascii() else text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def told(value: object) -> str:
    """A tool's result for reading: of a JSON object each field by its name, texts with their line breaks."""
    if isinstance(value, str) and value.startswith("{"):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):  # no JSON, or nested without end: as it stands
            return shown(value)
    if not isinstance(value, dict):
        return shown(value)
    texts = {key: field for key, field in value.items() if isinstance(field, str) and "\n" in field}
    short = {key: field for key, field in value.items() if key not in texts and field not in ("", None)}
    lines = [f"{key}: {shown(field)}" for key, field in short.items()]
    return shown(
        "\n\n".join(["\n".join(lines), *(f"{key}:\n{field.rstrip()}" for key, field in texts.items())]).strip()
    )


class Fragments:
    """The macros of ``items.html`` in one language."""

    def __init__(self, templates: Environment, words: Words) -> None:
        self._words = words
        self._module: Any = templates.get_template("items.html").make_module({"t": words})

    def said(self, text: str, at: float = 0.0, peer: str = "", blocks: Sequence[Data] = (), event: str = "") -> str:
        """What a person said, kept as they wrote it, with the files they sent; over a timer's word, or the kernel's,
        stands whose it is.

        ``event`` is the id under which all of it can be read, as ``text`` may be its head and tail.
        """
        pictures, others = _sorted(blocks)
        label = next((name for start, name in LABELS.items() if peer.startswith(start)), "")
        return str(self._module.said(text, at, label, pictures, others, event))

    def paused(self) -> str:
        """That a turn stands still."""
        return str(self._module.paused())

    def recall(self, found: Recalled, late: Sequence[str]) -> str:
        """What came back from memory, and which sources were too late."""
        return str(self._module.recall(found, late))

    def written(self, made: Made) -> str:
        """What was really written of a turn, to open; or that nothing was, or is not yet."""
        return str(self._module.written(made))

    def progress(self, what: str, share: float) -> str:
        """How far a model on this machine is, as a sentence; ``share`` is of 1, and 0 while it is not known."""
        said = self._words.get(f"progress.{what}", what)
        return f"{said} {share:.0%}" if share else said

    def sentence(self, text: str) -> str:
        """A sentence of the kernel's in the page's language."""
        return self._words.kernel.text(text)

    def reasoning(self, text: str) -> str:
        """A model's reasoning, folded."""
        return str(self._module.reasoning(text))

    def note(self, text: str) -> str:
        """Something the kernel noted in the conversation."""
        return str(self._module.note(text))

    def tool(self, call: Data) -> str:
        """A tool's card, and the files it gave back below it.  Keys as in the notice ``tool_call``; what is missing is
        left out."""
        known = _with(call, call="", tool="", plugin="", status="unknown", args={}, result="", ms=None)
        return str(self._module.tool(known, *_sorted(mappings(known.get("blocks")))))

    def agent(self, shown: Data) -> str:
        """The card of an agent that the turn made, or gave something to do.

        ``{name, thread, state, error, count, tools}``; ``tools``: name and status of each call.
        """
        state = str(shown["state"]) or "running"
        return str(self._module.agent({**shown, "state": state, "dot": DOTS.get(state, "error")}))

    def approval(self, asked: Data) -> str:
        """A question to the person, or how it was answered.  Keys as in the notice ``approval``."""
        defaults: dict[str, object] = {"plugin": "", "class": "", "args": {}, "reason": "", "expires_at": 0}
        defaults |= {"approval": "", "tool": "", "status": "asked", "yes": "thread"}
        return str(self._module.approval({**defaults, **asked}))

    def end(self, data: Data) -> str:
        """How a turn ended: usage, or why it did not answer.  Keys as in the notice ``turn``."""
        known = _with(data, turn="", state="answered", error="", hint="", usage={}, ms=None)
        return str(self._module.end(known, MODELS in str(known["hint"])))


def _sorted(blocks: Sequence[Data]) -> tuple[list[Data], list[Data]]:
    """Files to show as pictures, and others."""
    files: list[Data] = [{"id": "", "name": "", "media_type": "", "bytes": 0, **block} for block in blocks]
    return [f for f in files if f["media_type"] in IMAGES], [f for f in files if f["media_type"] not in IMAGES]


def _with(data: Data, **defaults: object) -> dict[str, object]:
    return {**defaults, **{key: value for key, value in data.items() if value is not None}}
