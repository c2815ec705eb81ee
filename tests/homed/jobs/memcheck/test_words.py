"""Whatever the doctor of memory says is there in Chinese too, and is found there as a whole."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from homed.jobs.memcheck import findings
from homed.jobs.memcheck.check import RowCheck, judged
from homed.jobs.memcheck.doctor import complete
from homed.jobs.memcheck.findings import Finding, Status
from homed.jobs.memcheck.registry import CHECKS
from homed.jobs.memcheck.rows import Found
from plugins.webui.translated import load_translated

ROOT = Path(__file__).parents[4]
ZH = load_translated("zh")
ENGLISH = re.compile(r"[A-Za-z]+ [A-Za-z]+ [a-z]+")


def row_checks() -> list[RowCheck]:
    inner = [getattr(check, "inner", check) for check in CHECKS]
    return [check for check in inner if isinstance(check, RowCheck)]


def translated(text: str) -> bool:
    """All of it but commands, names of settings and paths."""
    found = ZH.text(text)
    return found != text and not ENGLISH.search(re.sub(r"`[^`]*`", "", found))


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: str(check.id))
def test_the_name_of_every_check(check: Finding) -> None:
    assert translated(check.name), check.name


@pytest.mark.parametrize("check", row_checks(), ids=lambda check: str(check.id))
def test_what_it_finds_and_what_to_do(check: RowCheck) -> None:
    for found in (Found(), Found(5, 5), Found(5, 9), Found(5, 5, 2), Found(5, 9, 2)):
        evidence = judged(found, check.what, check.fault, check.fix).evidence
        assert translated(evidence), (evidence, ZH.text(evidence))
    assert translated(check.fix), check.fix


def test_what_is_said_besides() -> None:
    left_out = complete([Finding("a", "A", Status.PASS, "Read.")], ["a", "b"])
    fine = complete([Finding("a", "A", Status.PASS, "Read.")], ["a"])
    assert translated(left_out.evidence)
    assert translated(left_out.fix)
    assert translated(fine.evidence)
    assert translated(findings.said(findings.ERRED, why="full"))
    assert translated(findings.ERRED_FIX)
    assert translated(findings.said(findings.MENDED, n=3))


def test_every_sentence_of_checks_of_their_own() -> None:
    """Words in their modules that begin and end like a sentence, but for what is said of them to developers."""
    for path in (ROOT / "homed" / "jobs" / "memcheck").glob("*.py"):
        tree = ast.parse(path.read_text("utf-8"))
        docs = {
            node.value for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        }
        for node in ast.walk(tree):
            if not isinstance(node, ast.Constant) or node in docs or not isinstance(node.value, str):
                continue
            text = re.sub(r"\{\w+\}", "7", node.value)
            if re.fullmatch(r"[A-Z`][^\n]*[a-z].*[.`]", text) and " " in text and "SELECT" not in text:
                assert translated(text), (path.name, text, ZH.text(text))
