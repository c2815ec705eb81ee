"""Histories and questions as lines of JSON, and what is written of the answers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from homed.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Said:
    """One event of a history.  ``at`` in UTC seconds; a time without a zone counts as UTC."""

    id: str
    history: str
    session: str
    at: float
    text: str


@dataclass(frozen=True, slots=True)
class Sought:
    """One question to a history."""

    id: str
    history: str
    text: str


def events(path: Path) -> list[Said]:
    """Every event of a file, in its order.  Raises InvalidInput with the line that is wrong."""
    return [
        Said(
            _text(line, "id", where), _text(line, "history", where), _text(line, "session", where),
            _at(line, where), _said(line, where),
        )
        for where, line in _lines(path)
    ]  # fmt: skip


def queries(path: Path) -> list[Sought]:
    """Every question of a file: nothing else of it is looked at.  Raises InvalidInput with the line that is wrong."""
    return [
        Sought(_text(line, "id", where), _text(line, "history", where), _text(line, "text", where))
        for where, line in _lines(path)
    ]


def gold(path: Path) -> dict[str, frozenset[str]]:
    """The evidence of each question: what answers are measured by, never what they are found by."""
    return {_text(line, "id", where): _gold(line, where) for where, line in _lines(path)}


def write_hits(path: Path, hits: Mapping[str, list[str]]) -> None:
    """One line a question: its id, and the ids found, best first."""
    lines = [json.dumps({"query": id_, "hits": found}, ensure_ascii=False) + "\n" for id_, found in hits.items()]
    path.write_text("".join(lines), "utf-8")


def _lines(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path} cannot be read: {error}.") from error
    for number, row in enumerate(text.split("\n"), 1):  # not by every line border of Unicode: texts may hold one
        if not row.strip():
            continue
        where = f"{path}, line {number}"
        try:
            line = json.loads(row)
            json.dumps(line, ensure_ascii=False).encode()  # half a character that JSON escapes is none
        except (ValueError, RecursionError) as error:
            raise InvalidInput(f"{where} is no JSON: {error}.") from error
        if not isinstance(line, dict):
            raise InvalidInput(f"{where} is no JSON object.")
        yield where, line


def _text(line: Mapping[str, Any], key: str, where: str) -> str:
    value = line.get(key)
    if isinstance(value, int):
        return str(value)
    if not isinstance(value, str):
        raise InvalidInput(f"{where} has no {key}.")
    return value


def _gold(line: Mapping[str, Any], where: str) -> frozenset[str]:
    ids = line.get("gold") or []
    if not isinstance(ids, list) or not all(isinstance(one, str | int) for one in ids):
        raise InvalidInput(f"{where} has a gold that is no list of ids.")
    return frozenset(str(one) for one in ids)


def _said(line: Mapping[str, Any], where: str) -> str:
    speaker = line.get("speaker")
    text = _text(line, "text", where)
    return f"{speaker}: {text}" if speaker else text


def _at(line: Mapping[str, Any], where: str) -> float:
    try:
        at = datetime.fromisoformat(_text(line, "time", where))
    except ValueError as error:
        raise InvalidInput(f"{where} has no time like 2026-01-31T12:00:00.") from error
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
