"""The head of a ``SKILL.md``: what a skill says of itself.  Read as from a stranger.  Pure.

YAML is read as texts, lists and tables only: no tags, no anchors, no aliases, little depth and few bytes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import yaml

from .clean import one_line, visible

MAX_FRONT = 16_384
MAX_TEXT = 262_144
"""Bytes of a SKILL.md."""
MAX_DESCRIPTION = 1024
NAME = re.compile(r"[a-z0-9](?:[a-z0-9_-]{0,62}[a-z0-9])?")
_DEPTH = 8
_ITEMS = 64
_ALIASES = ("openclaw", "clawdbot", "clawdis")
"""Keys of ``metadata`` that hold what OpenClaw reads."""


class BadSkill(Exception):
    """It is no skill; ``str()`` says why."""


@dataclass(frozen=True, slots=True)
class Requires:
    """What a skill needs: programs (all, any), variables, settings of OpenClaw, and systems it works on."""

    bins: tuple[str, ...] = ()
    any_bins: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    config: tuple[str, ...] = ()
    os: tuple[str, ...] = ()
    always: bool = False


@dataclass(frozen=True, slots=True)
class Front:
    """What the head says.  ``invocable``: the model may be offered it; ``warnings`` are for the person."""

    name: str
    description: str
    license: str = ""
    version: str = ""
    compatibility: str = ""
    homepage: str = ""
    allowed_tools: tuple[str, ...] = ()
    invocable: bool = True
    requires: Requires = field(default_factory=Requires)
    warnings: tuple[str, ...] = ()


def parse(data: bytes) -> tuple[Front, str]:
    """The head and the text below it, as they may be shown.  Raises `BadSkill`."""
    if len(data) > MAX_TEXT:
        raise BadSkill(f"SKILL.md is over {MAX_TEXT} bytes")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadSkill(f"SKILL.md is no UTF-8 at byte {error.start}") from error
    text, hidden = visible(text)
    head, body = _split(text)
    front = _front(_read(head))
    if hidden:
        front = _warned(front, f"{hidden} hidden characters are left out")
    return front, body.strip() + "\n"


def write(name: str, description: str, body: str) -> str:
    """A SKILL.md.  Raises `BadSkill` for a name or description that cannot be."""
    front, _ = parse(_document(name, description, body).encode("utf-8", "replace"))
    return _document(front.name, front.description, visible(body)[0])


def _document(name: str, description: str, body: str) -> str:
    said = json.dumps(description, ensure_ascii=False)  # a JSON text is a YAML one
    return f"---\nname: {json.dumps(name)}\ndescription: {said}\n---\n\n{body.strip()}\n"


def _split(text: str) -> tuple[str, str]:
    lines = text.split("\n")
    if lines[0].rstrip() != "---":
        raise BadSkill("SKILL.md does not begin with --- and its name and description")
    for number, line in enumerate(lines[1:], 1):
        if line.rstrip() in ("---", "..."):
            head = "\n".join(lines[1:number])
            if len(head.encode()) > MAX_FRONT:
                raise BadSkill(f"the head of SKILL.md is over {MAX_FRONT} bytes")
            return head, "\n".join(lines[number + 1 :])
    raise BadSkill("the head of SKILL.md does not end with ---")


class _Loader(yaml.BaseLoader):
    """Every scalar is a text; what can blow up or name a type is refused."""

    depth = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        event = self.peek_event()  # type: ignore[no-untyped-call]  # as typeshed has it
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
            raise BadSkill("the head of SKILL.md uses anchors or aliases")
        if getattr(event, "tag", None) is not None:
            raise BadSkill("the head of SKILL.md uses tags")
        self.depth += 1
        if self.depth > _DEPTH:
            raise BadSkill(f"the head of SKILL.md is nested more than {_DEPTH} deep")
        try:
            return super().compose_node(parent, index)
        finally:
            self.depth -= 1


def _read(head: str) -> Mapping[str, Any]:
    try:
        # a loader of texts, lists and tables alone
        value = yaml.load(head, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        line = f", line {error.problem_mark.line + 2}" if error.problem_mark else ""
        raise BadSkill(f"the head of SKILL.md is no YAML: {error.problem}{line}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise BadSkill("the head of SKILL.md is no YAML") from error
    if not isinstance(value, dict):
        raise BadSkill("the head of SKILL.md is no table of names and values")
    return value


def _front(value: Mapping[str, Any]) -> Front:
    name, description = value.get("name"), value.get("description")
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise BadSkill("name: small letters, digits, - and _, at most 64")
    if not isinstance(description, str) or not one_line(description, MAX_DESCRIPTION):
        raise BadSkill("description is missing")
    warnings = []
    if len(description) > MAX_DESCRIPTION:
        warnings.append(f"the description is cut at {MAX_DESCRIPTION} characters")
    metadata = _table(value.get("metadata"))
    return Front(
        name, one_line(description, MAX_DESCRIPTION),
        license=_text(value, "license"), version=_text(value, "version") or _text(metadata, "version"),
        compatibility=_text(value, "compatibility"), homepage=_text(value, "homepage"),
        allowed_tools=_names(value.get("allowed-tools")),
        invocable=_text(value, "disable-model-invocation").lower() != "true",
        requires=_requires(next((_table(metadata[key]) for key in _ALIASES if key in metadata), {})),
        warnings=tuple(warnings),
    )  # fmt: skip


def _requires(openclaw: Mapping[str, Any]) -> Requires:
    needs = _table(openclaw.get("requires"))
    return Requires(
        _names(needs.get("bins")), _names(needs.get("anyBins")), _names(needs.get("env")), _names(needs.get("config")),
        _names(openclaw.get("os")), _text(openclaw, "always").lower() == "true",
    )  # fmt: skip


def _table(value: object) -> Mapping[str, Any]:
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return {}
    return {str(key): item for key, item in value.items()} if isinstance(value, dict) else {}


def _text(value: Mapping[str, Any], key: str) -> str:
    found = value.get(key)
    return one_line(str(found), 500) if isinstance(found, (str, int, float)) else ""


def _names(value: object) -> tuple[str, ...]:
    items = re.split(r"[\s,]+", value) if isinstance(value, str) else value if isinstance(value, list) else []
    return tuple(one_line(item, 100) for item in items[:_ITEMS] if isinstance(item, str) and item)


def _warned(front: Front, warning: str) -> Front:
    return replace(front, warnings=(*front.warnings, warning))
