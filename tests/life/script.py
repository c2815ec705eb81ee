"""The life in ``life.txt`` read: turns, what a model makes of each, true and made up, and what must come of it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent

KINDS = ("preference", "decision", "convention", "entity", "todo", "correction", "fact")

LONG = "word " * 200
"""A text that is longer than any that is taken."""

MOST = 8
"""Facts of an answer that are looked at."""


@dataclass(frozen=True)
class Item:
    """One statement of the model's.  ``key``: of a true one; ``gate``: where a made up one is to be stopped, ``also``:
    where it is counted besides; ``said``: as in the answer, ``after``: the key of what it takes the place of."""

    key: str
    gate: str
    text: str
    said: dict[str, Any]
    also: tuple[str, ...] = ()
    after: str = ""


@dataclass
class Turn:
    """What is said, shown and answered, and what the model reads in it."""

    day: int
    thread: str
    who: str
    project: str = ""
    say: str = ""
    answer: str = ""
    page: tuple[str, str] | None = None
    file: tuple[str, str] | None = None
    facts: list[Item] = field(default_factory=list)
    capsules: list[Item] = field(default_factory=list)
    summary: dict[str, Any] | None = None
    counted: Counter[str] = field(default_factory=Counter)
    """At gates, beside the items' own."""
    how: str = ""
    ruled: tuple[str, ...] = ()
    hides: tuple[str, ...] = ()
    writes: tuple[tuple[str, str], ...] = ()

    @property
    def told(self) -> bool:
        """Whether the model's items count: it answers JSON at last."""
        return self.how in ("", "once")

    @property
    def true(self) -> list[Item]:
        """The statements that must arrive."""
        return [item for item in self.facts if item.key] if self.told else []

    def planted(self) -> Counter[str]:
        """How much must be stopped, and counted, at which gate."""
        found: Counter[str] = Counter()
        if self.how:
            found["asked_again"] += self.how != "fails"
            found["bad_json"] += self.how == "twice"
            found["quarantine"] += self.how == "fails"
        if self.told:
            for item in (*self.facts, *self.capsules):
                found[item.gate] += bool(item.gate)
                found.update(item.also)
            found += self.counted
        return +found

    def answered(self, known: dict[str, str]) -> str:
        """The model's answer; ``known``: the ids of true statements by their keys."""
        facts: list[Any] = []
        for item in self.facts:
            more = {"supersedes": known[item.after]} if item.after in known else {}
            facts.append("no object" if item.gate == "shape" else item.said | more)
        # so many that the last are too many stand behind so many without a text
        most = [one for one in self.facts if one.gate == "many"]
        facts[len(facts) - len(most) : len(facts) - len(most)] = [{"text": ""}] * self.counted["text"]
        summary = self.summary or {"request": self.say[:200], "actions": "-", "outcome": self.answer[:200]}
        return json.dumps({"l1": summary, "l2": facts, "l3": [item.said for item in self.capsules]}, ensure_ascii=False)


def read(path: Path = HERE / "life.txt") -> list[Turn]:
    """The turns, in order."""
    turns: list[Turn] = []
    for line in path.read_text("utf-8").splitlines():
        mark, _, rest = line.partition(" ")
        if line and mark != "#":
            _line(turns, mark, rest.strip())
    for turn in turns:
        if many := sum(item.gate == "many" for item in turn.facts):
            turn.counted["text"] += MOST - (len(turn.facts) - many)
    return turns


def _line(turns: list[Turn], mark: str, rest: str) -> None:
    if mark in ("@", "@@"):
        turns.append(_turn(turns, mark, rest))
        return
    turn = turns[-1]
    fields = [part.strip() for part in rest.split("|")]
    name, _, text = rest.partition(" ")
    match mark:
        case ">":
            turn.say = rest
        case "<":
            turn.answer = rest
        case "!":
            turn.page = (name, text)
        case "F":
            turn.file = (name, text)
        case "+" | "-":
            turn.facts.append(_item(turn, fields, true=mark == "+"))
        case "C" | "c":
            turn.capsules.append(_capsule(fields, true=mark == "C"))
        case "S":
            turn.summary = dict(zip(("request", "actions", "outcome"), fields, strict=False)) | {"importance": 4}
            turn.counted.update(option.strip("*!") for option in fields[3:])
        case "~":
            turn.how = rest
        case "=":
            turn.ruled += () if rest == "nothing" else (rest,)
        case "H":
            turn.hides += (rest,)
        case "M":
            turn.writes += ((fields[0], fields[1]),)
        case _:
            raise ValueError(f"{mark} {rest}")


def _turn(turns: Sequence[Turn], mark: str, rest: str) -> Turn:
    if mark == "@":
        day, thread, who, project = (*rest.split(), "")[:4]
        return Turn(int(day), thread, who, project)
    last = turns[-1]
    return Turn(last.day, last.thread, rest or last.who, last.project)


def _item(turn: Turn, fields: Sequence[str], *, true: bool) -> Item:
    name, text, quote, options = (*fields, "", "", "")[:4]
    quote = "" if quote == "-" else quote or (turn.say if true else "")
    gate = "" if true else name
    said: dict[str, Any] = {"kind": "fact", "confidence": 0.9, "importance": 5, "scope": "user"}
    said |= {"text": LONG if gate == "long" else text, "quote": quote}
    also, after = [], ""
    for option in filter(None, map(str.strip, options.split(";"))):
        if option.startswith("*"):
            also.append(option[1:])
        elif option.startswith("^"):
            after = option[1:]
        elif "/" in option:
            said |= dict(zip(("subject", "relation", "object"), option.split("/"), strict=True))
        elif option == "project":
            said["scope"] = "project"
        elif option.startswith("about="):
            said["about"] = option[6:]
        elif option in KINDS:
            said["kind"] = option
        else:
            said["importance"] = int(option)
    return Item("" if gate else name, gate, text, said, tuple(also), after)


def _capsule(fields: Sequence[str], *, true: bool) -> Item:
    name, kind, title, text = fields
    return Item(name if true else "", "" if true else name, text, {"kind": kind, "title": title, "text": text})


@dataclass(frozen=True)
class Asked:
    """A question with the key of what answers it."""

    key: str
    text: str


def answerable() -> list[Asked]:
    """The questions that this life can answer."""
    return [Asked(key, text) for key, text in _pairs(HERE / "answerable.txt")]


def unrelated() -> list[str]:
    """Questions that have nothing to do with it."""
    return [line for line in (HERE / "unrelated.txt").read_text("utf-8").splitlines() if line and line[0] != "#"]


def _pairs(path: Path) -> Iterator[tuple[str, str]]:
    for line in path.read_text("utf-8").splitlines():
        if line and line[0] != "#":
            key, *texts = line.split(" | ")
            for text in texts:
                yield key.strip(), text.strip()
