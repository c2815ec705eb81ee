"""A browser's page as the tests see it: frames of the live stream go in, what is shown comes out.

It follows ``static/js/talk.js`` step by step, so that what is proved of it holds for the page.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from plugins.webui.pieces import Section

Shown = dict[tuple[str, str], str]


@dataclass
class Part:
    order: str
    blocks: list[str] = field(default_factory=list)
    html: str = ""
    more: str = ""


@dataclass
class Page:
    """Sections of parts, as the script keeps them."""

    parts: dict[str, dict[str, Part]] = field(default_factory=dict)
    inputs: dict[str, str] = field(default_factory=dict)
    live: set[str] = field(default_factory=set)
    cursor: str = ""
    other: list[str] = field(default_factory=list)

    def load(self, sections: Sequence[Section], cursor: str) -> None:
        """A fresh page, as the server renders it."""
        self.parts, self.live, self.cursor = {}, set(), cursor
        for section in sections:
            for item in section.ordered():
                home = self._section({"turn": section.turn, "input": section.input})
                home[item.key] = Part(item.order, list(item.blocks or ()), item.html)
            if section.live:
                self.live.add(section.turn)

    def _section(self, op: dict[str, Any]) -> dict[str, Part]:
        turn, waiting = op["turn"], f"input:{op['input']}"
        if op["input"] and waiting in self.parts and turn:
            self.parts[turn] = {**self.parts.pop(waiting), **self.parts.get(turn, {})}
        return self.parts.setdefault(turn or waiting, {})

    def read(self, data: bytes) -> None:
        """Take the bytes of the stream."""
        for text in data.decode().split("\n\n"):
            found = dict(line.split(": ", 1) for line in text.split("\n") if line and not line.startswith(":"))
            if "event" in found:
                self.cursor = found.get("id", self.cursor)
                self.apply(found["event"], json.loads(found["data"]))

    def apply(self, name: str, op: dict[str, Any]) -> None:
        """One operation."""
        if name == "item":
            self._section(op).setdefault(op["key"], Part(op["order"])).html = op["html"]
            self._section(op)[op["key"]].more = ""
        elif name == "text":
            part = self._section(op).setdefault(op["key"], Part(op["order"]))
            assert op["keep"] <= len(part.blocks), "told to keep blocks that were never shown"
            part.blocks[op["keep"] :] = op["blocks"]
        elif name == "reason":
            self.parts[op["turn"]][op["key"]].more += op["more"]
        elif name == "turn":
            home = self._section(op)
            (self.live.add if op["phase"] in ("start", "resumed") else self.live.discard)(op["turn"])
            if op["phase"] != "suspended":
                home.pop("paused", None)
        elif name == "drop":
            self._section(op).pop(op["key"], None)
        elif name == "joined":
            said = self.parts.pop(f"input:{op['joined']}")["said"]
            self._section(op)[op["key"]] = Part(op["order"], html=said.html)
        else:
            self.other.append(name)

    def shown(self) -> Shown:
        """The text of every part that has one, in order, tags taken out."""
        found = {}
        for turn, parts in self.parts.items():
            for key, part in sorted(parts.items(), key=lambda one: one[1].order):
                inside = part.html.replace("</div>", f"{part.more}</div>") if part.more else part.html
                found[turn, key] = plain("".join(part.blocks) or inside)
        return found


def plain(html: str) -> str:
    """The words of some markup, without the time and buttons that stand by what was said."""
    html = re.sub(r"<(button|time)\b[^>]*\b(data-(copies|edit|why)|datetime)\b[^>]*>.*?</\1>", " ", html)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", html)).strip()
