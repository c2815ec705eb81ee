"""``/memory``: what is asked of homed for each of its words, and how the answers are told.  Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime

from .frames import Data, mapping, mappings, number, text
from .words import Words

KINDS = ("summary", "fact", "capsule")
MARKS = ("source", "pointer", "manual", "none")
_GATES = """
shape text long many kind bad_json asked_again secret injected whose unsupported not_said known conflict tainted
untrusted manual forgotten empty evidence quarantine no_quote redacted triple changed budget invalid
"""
NAMED: Mapping[str, tuple[str, ...]] = {
    "record": ("summary", "capsule", "fact", "preference", "decision", "convention", "entity", "todo", "correction"),
    "mark": MARKS, "mode": ("hit", "background", "snapshot"),
    "stands": ("superseded", "archived", "hidden", "quarantined"),
    "gate": tuple(_GATES.split()),
    "goes": ("records", "events", "files", "evidence", "entities", "revisions", "vectors", "agent_turns"),
}  # fmt: skip
LAYERS: Mapping[str, str] = {"summary": "L1", "fact": "L2", "capsule": "L3"}
LISTED = 20
SHORT = 100
"""Characters of a text in a list."""
CHECKS = 20
"""Findings of the health check that are told, the worst first."""

VERBS = (
    "why", "stats", "search", "open", "list", "note", "edit", "hide", "restore", "combine", "reinstate", "forget",
    "injections", "doctor",
)  # fmt: skip
"""What may follow ``/memory``."""

USAGES: Mapping[str, str] = {"edit": "ID TEXT", "combine": "ID ID", "reinstate": "ID"}

Asked = tuple[str, dict[str, object]]
"""A method and its parameters."""


def asked(verb: str, rest: str) -> Asked | None:
    """What is asked of homed; None where words are missing, or too many."""
    one = " " not in rest
    match verb:
        case "stats" if not rest:
            return "memory.stats", {}
        case "search" if rest:
            return "memory.records", {"query": rest, "limit": LISTED}
        case "list" if rest in ("", *KINDS):
            return "memory.records", {"limit": LISTED, **({"record": rest} if rest else {})}
        case "open" if rest and one:
            return "memory.record", {"id": rest}
        case "note" if rest:
            return "memory.note", {"text": rest}
        case "edit" if rest and not one:  # the revision first: whoever changed it meanwhile is not written over
            return "memory.record", {"id": rest.split()[0], "history": False}
        case "hide" | "restore" | "reinstate" if rest and one:
            return f"memory.{verb}", {"id": rest}
        case "combine" if len(rest.split()) == 2:
            keep, gone = rest.split()
            return "memory.combine", {"keep": keep, "gone": gone}
        case "forget" if rest and one:
            return "admin.memory_preview", {"kind": "fact", "target": rest}
        case "injections" if not rest:
            return "memory.injections", {"limit": 10}
        case "doctor" if rest in ("", "deep"):
            return "admin.memory_doctor", {"deep": rest == "deep"}
    return None


def edited(arg: str, result: Data) -> Asked:
    """What is asked then to correct a record: ``arg`` is its id and the new words, ``result`` how it stands."""
    id_, _, said = arg.partition(" ")
    return "memory.edit", {"id": id_, "revision": number(result, "revision"), "text": said.strip()}


def usage(verb: str) -> str:
    """What belongs behind ``/memory``: for a word that takes more than an id, what it takes."""
    return USAGES.get(verb, "")


def lines_of(verb: str, arg: str, result: Data, words: Words) -> list[str]:
    """An answer as lines."""
    return _TOLD[verb](arg, result, words)


def _stats(_: str, result: Data, words: Words) -> list[str]:
    records = mapping(result.get("records"))
    held, evidence = mapping(records.get("record")), mapping(records.get("evidence"))
    counts = {kind: number(held, kind) for kind in KINDS}
    lines = [
        words("remembered.records", **counts),
        words("remembered.evidence", **{mark: number(evidence, mark) for mark in MARKS}),
    ]
    if number(records, "untrusted"):
        lines.append(words("remembered.untrusted", count=number(records, "untrusted")))
    layers = mapping(result.get("layers"))
    said = {name: number(mapping(layers.get(name)), "events") for name in ("context", "cold", "archived")}
    lines.append(words("remembered.layers", **said))
    week, cited = mapping(result.get("injections")), mapping(result.get("citations"))
    lines.append(words("remembered.week", turns=number(week, "turns"), cited=number(cited, "week")))
    passes = mapping(result.get("passes"))
    if number(passes, "waiting"):
        lines.append(words("remembered.waiting", count=number(passes, "waiting")))
    if gates := mapping(passes.get("gates")):
        lines.append(words("remembered.gates", gates=_counted(gates, "gate", words)))
    return [*lines, words("remembered.how")]


def _records(arg: str, result: Data, words: Words) -> list[str]:
    found = mappings(result.get("records"))
    if not found:
        return [words("remembered.no_record", query=arg) if arg else words("remembered.none")]
    lines = [_row(one, words) for one in found]
    left = number(result, "of") - len(found)
    return [*lines, words("remembered.more", count=left) if left > 0 else words("remembered.opens")]


def _title(one: Data) -> str:
    """The title of a record; '' where its words begin with it anyway, as those of a summary do."""
    title = text(one, "title").strip()
    return "" if text(one, "text").strip().casefold().startswith(title.casefold()) else title


def _row(one: Data, words: Words) -> str:
    score = one.get("score")
    first = f"{score:.2f}  " if isinstance(score, int | float) else ""
    title = f"{title}: " if (title := _title(one)) else ""
    return f"{first}{text(one, 'shown')}  [{_marks(one, words)}] {_short(title + text(one, 'text'))}"


def _marks(one: Data, words: Words) -> str:
    kind = text(one, "kind") if one.get("record") == "fact" else text(one, "record")
    parts = [_named(words, "record", kind), _named(words, "mark", text(one, "mark") or "none")]
    parts += [words("remembered.outside")] if one.get("untrusted") else []
    status = text(one, "status")
    parts += [_named(words, "stands", status)] if status not in ("", "active") else []
    return " · ".join(parts)


def _record(_: str, result: Data, words: Words) -> list[str]:
    lines = [f"{text(result, 'shown')}  [{_marks(result, words)}]"]
    lines += [title] if (title := _title(result)) else []
    lines += [f"  {line}" for line in text(result, "text").split("\n")]
    lines.append(words(
        "remembered.state", revision=number(result, "revision"), importance=number(result, "importance"),
        cited=number(result, "cited"), made=_when(result.get("created_at")), changed=_when(result.get("updated_at")),
    ))  # fmt: skip
    for one in mappings(result.get("evidence")):
        lines += _piece(one, words)
    lines += [words("remembered.unavailable")] if result.get("source") else []
    for key, word in _BESIDE.items():
        for one in mappings(result.get(key)):
            said = _short(text(one, "title") or text(one, "text"))
            lines.append(words(word, id=text(one, "shown"), text=said))
    for one in mappings(result.get("injections"))[:3]:
        place = text(one, "title") or text(one, "thread")
        lines.append(words("remembered.told", at=_when(one.get("at")), title=place, score=_score(one)))
    before = mappings(result.get("history"))
    lines += [words("remembered.before")] if before else []
    lines += [f"  {number(one, 'revision')}  {_when(one.get('at'))}  {_short(text(one, 'text'))}" for one in before]
    return lines


_BESIDE = {
    "older": "remembered.older", "newer": "remembered.newer", "members": "remembered.members",
    "capsules": "remembered.capsules",
}  # fmt: skip


def _piece(one: Data, words: Words) -> list[str]:
    checked = "changed" if one.get("hash_ok") is False else "ok" if one.get("hash_ok") else "pointer"
    place = text(one, "title") or text(one, "thread") or text(one, "event")
    doubt = f" · {words('remembered.outside')}" if one.get("untrusted") else ""
    head = f"{_when(one.get('at'))} · {place}{doubt} · {words(f'hash.{checked}')}".removeprefix(" · ")
    said = text(one, "text") if one.get("first") is not None else _short(text(one, "text"))
    return [head, *(f"  │ {line}" for line in said.split("\n"))]


def _written(_: str, result: Data, words: Words) -> list[str]:
    outcome = text(result, "outcome")
    known = outcome if outcome in ("same", "improved") else "new"
    return [words(f"noted.{known}", text=_short(text(result, "text")), id=text(result, "shown"))]


def _hidden(_: str, result: Data, words: Words) -> list[str]:
    return [words("remembered.hid", id=text(result, "shown"))]


def _restored(_: str, result: Data, words: Words) -> list[str]:
    return [words("remembered.restored", id=text(result, "shown"), text=_short(text(result, "text")))]


def _edited(_: str, result: Data, words: Words) -> list[str]:
    return [
        words(
            "remembered.edited", id=text(result, "shown"), text=_short(text(result, "text")),
            revision=number(result, "revision"),
        ),
        *_became(result, words),
    ]  # fmt: skip


def _combined(_: str, result: Data, words: Words) -> list[str]:
    gone = next(iter(_ids(result)), "")
    said = words("remembered.combined", id=text(result, "shown"), text=_short(text(result, "text")), gone=gone)
    return [said] if gone else [said.split("\n")[0]]


def _reinstated(_: str, result: Data, words: Words) -> list[str]:
    said = words("remembered.reinstated", id=text(result, "shown"), text=_short(text(result, "text")))
    return [said, *_became(result, words)]


def _became(result: Data, words: Words) -> list[str]:
    """What became history by it."""
    return [words("remembered.history", id=one) for one in _ids(result)]


def _ids(result: Data) -> list[str]:
    found = result.get("superseded")
    return [one[-8:] for one in found if isinstance(one, str)] if isinstance(found, list) else []


def _preview(arg: str, result: Data, words: Words) -> list[str]:
    lines = [words("remembered.goes", id=arg, counts=_counted(mapping(result.get("counts")), "goes", words))]
    lines += [words("remembered.stays", count=number(result, "stays"))] if number(result, "stays") else []
    return [*lines, words("remembered.sure", again=f"/memory forget {arg} yes", hide=f"/memory hide {arg}")]


def _forgotten(arg: str, result: Data, words: Words) -> list[str]:
    return [words("remembered.gone" if result.get("clean") else "remembered.stands", id=arg)]


def _injections(_: str, result: Data, words: Words) -> list[str]:
    found = mappings(result.get("injections"))
    if not found:
        return [words("remembered.untold")]
    lines: list[str] = []
    for one in found:
        place = text(one, "title") or text(one, "thread")
        mode = _named(words, "mode", text(one, "mode"))
        lines.append(f"{_when(one.get('at'))} · {place} · {mode} · {words('remembered.chars', n=number(one, 'chars'))}")
        lines += [f"  > {_short(text(one, 'query'))}"] if one.get("query") else []
        for line in mappings(one.get("lines")):
            mark = _named(words, "mark", text(line, "evidence") or "none")
            lines.append(f"  {_score(line):4}  {text(line, 'shown')}  [{mark}] {_short(text(line, 'text'))}".rstrip())
    return lines


def told_lines(result: Data, words: Words) -> list[str]:
    """What a turn was told of records: the question, the lines as they were told, each with its id, and how one is
    opened; nothing where nothing is written down."""
    found = mappings(result.get("injections"))[-1:]  # of a turn that had to select anew: what it answered from
    if not found:
        return []
    made = [f"> {_short(text(found[0], 'query'))}"] if found[0].get("query") else []
    for line in mappings(found[0].get("lines")):
        if text(line, "record") == "event":
            continue
        mark = _named(words, "mark", text(line, "evidence") or "none")
        layer = LAYERS.get(text(line, "record"), "")
        made.append(f"{layer} [{mark}] {' '.join(text(line, 'text').split())} (id:{text(line, 'shown')})".strip())
    return [*made, words("recall.open")]


def _doctor(_: str, result: Data, words: Words) -> list[str]:
    checks = mappings(result.get("checks"))
    order = ("fail", "error", "warn")
    wrong = [one for one in checks if one.get("status") != "pass"]
    wrong.sort(key=lambda one: order.index(text(one, "status")) if text(one, "status") in order else 9)
    lines = [words("remembered.checked", n=len(checks), read=number(result, "read"))]
    for one in wrong[:CHECKS]:
        sign = "✗" if text(one, "status") in ("fail", "error") else "!"
        said = words.kernel
        lines.append(f"{sign} {said(text(one, 'name'))}: {said(text(one, 'evidence'))}")
        lines += [f"    → {said(text(one, 'fix'))}"] if one.get("fix") else []
    lines += [words("remembered.wrong", n=len(wrong))] if wrong else [words("remembered.clean")]
    return lines


def _named(words: Words, room: str, name: str) -> str:
    """By its name in the catalogue; a later homed may know more of them."""
    return words(f"{room}.{name}") if name in NAMED[room] else name


def _counted(counts: Data, room: str, words: Words) -> str:
    """What there is any of, each by its name."""
    return ", ".join(f"{_named(words, room, name)} {count}" for name, count in counts.items() if count)


def _short(said: str) -> str:
    plain = " ".join(said.split())
    return plain if len(plain) <= SHORT else f"{plain[: SHORT - 1]}…"


def _score(one: Data) -> str:
    score = one.get("score")
    return f"{score:.2f}" if isinstance(score, int | float) and score > 0 else ""


def _when(at: object) -> str:
    return datetime.fromtimestamp(at).strftime("%Y-%m-%d %H:%M") if isinstance(at, int | float) and at else ""


_TOLD: Mapping[str, Callable[[str, Data, Words], list[str]]] = {
    "stats": _stats, "search": _records, "list": lambda _, result, words: _records("", result, words),
    "open": _record, "note": _written, "hide": _hidden, "restore": _restored, "edited": _edited, "combine": _combined,
    "reinstate": _reinstated, "forget": _preview,
    "forgotten": _forgotten, "injections": _injections, "doctor": _doctor,
}  # fmt: skip
