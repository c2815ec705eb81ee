"""Every text that the doctors can say, read out of their code, so that none is left without its translation."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from homed.jobs.memcheck import doctor, findings, storing
from homed.jobs.memcheck.check import RowCheck
from homed.jobs.memcheck.registry import CHECKS
from homed.settings.thresholds import PREVENTS

ROOT = Path(__file__).parents[2]
VERDICTS = ("ok", "warn", "bad")
MADE_OF = ("EMPTY", "PASSED", "PASSED_SOME", "WRONG", "WRONG_SOME")
"""Templates of ``findings`` with what a check is about and what is wrong with it filled in."""

_BLANK = re.compile(r"\{\w+\}")
_COMMAND = re.compile(r"^(chmod|chown|cd|homed) ")


def of_installation() -> set[str]:
    """What ``homed doctor`` says behind the name of a check, and what it says to do; ``7`` where something stands."""
    files = [ROOT / "homed" / "jobs" / f"{name}.py" for name in ("checks", "contents", "doctor", "selflook")]
    found: set[str] = set()
    for file in (*files, ROOT / "homed" / "commands" / "stopped.py"):
        tree = ast.parse(file.read_text("utf-8"))
        assigned = _assigned(tree)
        for call in _calls(tree, VERDICTS):
            for argument in call.args[1:]:
                found |= _texts(argument, assigned)
    return {text for text in found if re.search("[a-z]{3}", text) and not _COMMAND.match(text)}


def of_memory() -> set[str]:
    """Names of checks, whole findings and what to do, of ``homed memory doctor``."""
    pieces = of_memory_pieces()
    return pieces["names"] | pieces["fixes"] | {
        _filled(getattr(findings, template), what=what, fault=fault)
        for template in MADE_OF
        for what, fault in pieces["rows"]
    } | pieces["others"]  # fmt: skip


def of_memory_pieces() -> dict[str, set]:  # type: ignore[type-arg]
    """``names``, ``fixes``, ``rows`` as (what, fault), and ``others``: findings that are made of nothing else."""
    rows = {(one.what, one.fault) for one in CHECKS if isinstance(one, RowCheck)}
    fixes = {one.fix for one in CHECKS if isinstance(one, RowCheck)}
    others = {_filled(text) for text in (findings.ERRED, findings.ERRED_FIX, findings.MENDED)}
    others |= {_filled(text) for text in (doctor.ALL_RAN, doctor.LEFT_OUT, doctor.REPORT_IT, storing.WRITTEN)}
    for file in sorted((ROOT / "homed" / "jobs" / "memcheck").glob("*.py")):
        tree = ast.parse(file.read_text("utf-8"))
        assigned = _assigned(tree)
        for call in _calls(tree, ("judged",)):
            texts = [_texts(one, assigned) for one in call.args[1:4]]
            if len(texts) == 3:
                rows |= {(what, fault) for what in texts[0] for fault in texts[1]}
                fixes |= texts[2]
        for call in _calls(tree, ("Look",)):
            for argument in call.args[1:3]:
                others |= _texts(argument, assigned)
        for call in _calls(tree, ("said",)):
            if isinstance(call.args[0], ast.Constant):
                others |= _texts(call.args[0], assigned)
    names = {one.name for one in CHECKS} | {"All checks"}
    return {"names": names, "rows": rows, "fixes": {fix for fix in fixes if fix}, "others": {t for t in others if t}}


def pieces() -> Iterator[str]:
    """All that a catalogue may have to look up for the doctor of memory."""
    found = of_memory_pieces()
    yield from of_memory()
    for what, fault in found["rows"]:
        yield from (what, fault)


def _filled(template: str, **parts: str) -> str:
    return _BLANK.sub("7", template.format_map(_Sevens(parts)))


class _Sevens(dict[str, str]):
    def __missing__(self, key: str) -> str:
        return "7"


def _calls(tree: ast.AST, names: tuple[str, ...]) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if called in names and node.args:
                yield node


def _assigned(tree: ast.AST) -> dict[str, list[ast.expr]]:
    """What each name of the file is given somewhere."""
    found: dict[str, list[ast.expr]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    found.setdefault(target.id, []).append(node.value)
    return found


def _texts(node: ast.expr, assigned: dict[str, list[ast.expr]], depth: int = 3) -> set[str]:
    """The texts that an expression can be, as far as it is written down."""
    if isinstance(node, ast.Constant):
        return {_BLANK.sub("7", node.value)} if isinstance(node.value, str) else set()
    if isinstance(node, ast.JoinedStr):
        parts = [
            sorted(_texts(one, assigned, 0)) if isinstance(one, ast.Constant) else _inside(one, assigned, depth)
            for one in node.values
        ]
        made = [""]
        for part in parts:
            made = [f"{before}{text}" for before in made for text in part]
        return set(made)
    if isinstance(node, ast.IfExp):
        return _texts(node.body, assigned, depth) | _texts(node.orelse, assigned, depth)
    if isinstance(node, ast.BoolOp):
        return {text for one in node.values for text in _texts(one, assigned, depth)}
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "said" and node.args:
        return _texts(node.args[0], assigned, depth)
    if isinstance(node, ast.Name) and depth:
        return {text for one in assigned.get(node.id, []) for text in _texts(one, assigned, depth - 1)}
    return set()


def _inside(node: ast.expr, assigned: dict[str, list[ast.expr]], depth: int) -> list[str]:
    """What stands in a place of a text: words that are written down, else a number."""
    value = node.value if isinstance(node, ast.FormattedValue) else node
    known = {text for text in _texts(value, assigned, depth) if " " in text}
    return sorted(known) or ["7"]


REFUSING = ("memory/mutate", "memory/opened", "memory/rivals", "memory/hiding", "memory/forgets", "settings/thresholds")
"""Where what ``/memory`` and ``/settings`` ask for is refused."""


def refusals() -> set[str]:
    """What those say, and what they say to do."""
    found = set(PREVENTS.values())
    for name in REFUSING:
        found |= refused(ROOT / "homed" / f"{name}.py", ("Conflict", "InvalidInput", "NotFound", "ConfigError"))
    return {text for text in found if re.search("[a-z]{3}", text)}


def refused(file: Path, errors: Iterable[str]) -> set[str]:
    """The sentences of these errors in a file, and their hints."""
    tree, found = ast.parse(file.read_text("utf-8")), set[str]()
    assigned = _assigned(tree)
    for call in _calls(tree, tuple(errors)):
        for argument in (call.args[0], *(one.value for one in call.keywords if one.arg == "hint")):
            found |= _texts(argument, assigned)
    return {text for text in found if re.search("[a-z]{3}", text)}
