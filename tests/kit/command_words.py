"""Every text that a command prints, read out of the code, so that none is left without its translation."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.kit import doctor_words

ROOT = Path(__file__).parents[2]
COMMANDS = ROOT / "homed" / "commands"
FILES = frozenset({"plan_picture.py"})
"""What writes files: they are the same for everybody."""

ERRORS = frozenset({
    "ConfigError", "Conflict", "HomedError", "InvalidInput", "NotFound", "StorageError", "Unavailable", "misused",
})  # fmt: skip
"""What a sentence of an error is given to, and what ends with one of usage."""

ANSWERING = (
    "agent/explain", "api/admin", "api/config", "api/models", "config/environment", "config/file", "config/lock",
    "config/secrets", "config/values", "host/grants", "host/packages", "host/shelf", "identity/people",
    "identity/rules",
    "jobs/console/embedding", "jobs/every", "jobs/exporting", "jobs/forget", "jobs/importing", "jobs/keeping",
    "jobs/kept", "jobs/searching", "jobs/staged", "jobs/trial", "jobs/trial_files", "memory/merges", "paths",
    "providers/checking", "providers/local/gguf", "providers/local/weights", "providers/lua/shelf", "providers/options",
    "providers/registry", "settings/commit", "settings/hashing", "settings/history", "settings/registry",
    "spend/prices", "spend/report", "store/backup", "store/connection", "store/files", "store/problems",
    "tracker/records", "wire/archive", "wire/package",
)  # fmt: skip
"""Rooms of the kernel that commands ask, or work in: what they refuse ends a command."""

HELP = frozenset({"Actions", "Parser", "_Start", "add", "add_argument", "add_parser", "add_subparsers"})
"""What builds the command line: ``--help`` has a catalogue and a test of its own."""

PRINTING = frozenset({"append", "as_toml", "getpass", "input", "print", "_line", "_say", "_yes", "write"})
HEADED = frozenset({"table", "_told"})
"""What prints columns under a head, its second argument."""

_BLANK = re.compile(r"\{\w+\}")
_WORDS = re.compile(r"[A-Za-z]{2,},? [a-z“'`]|[a-z]{2,}[.:?!]( |$)|^  +[A-Za-z]{3}")
_WORD = re.compile(r"[A-Za-z]{2,}")


@dataclass(frozen=True, slots=True)
class Text:
    """A text in the code: ``within`` are the calls around it, the innermost last; ``filled``: it is an f-string."""

    file: str
    line: int
    text: str
    within: tuple[str, ...]
    filled: bool = False
    module: bool = False

    @property
    def errs(self) -> bool:
        """Whether it is the sentence of an error."""
        return bool(ERRORS & set(self.within))

    @property
    def spoken(self) -> bool:
        """Whether it goes through ``phrase``."""
        return bool(self.within) and self.within[-1] == "phrase"


def texts() -> Iterator[Text]:
    """All that stand in the commands, but for help and documentation."""
    for file in sorted(set(COMMANDS.glob("*.py")) - {COMMANDS / name for name in FILES}):
        yield from _Reader(file.name).read(ast.parse(file.read_text("utf-8")))


def phrases() -> set[str]:
    """What is looked up by its English template."""
    return {one.text for one in texts() if one.spoken}


def heads() -> set[str]:
    """The heads of all columns."""
    return {one.text for one in texts() if one.within and one.within[-1] == "head" and one.text}


def errors() -> set[str]:
    """Sentences of errors that commands end with; ``7`` where something is filled in."""
    return {_BLANK.sub("7", one.text) for one in texts() if one.errs and not one.spoken and _WORDS.search(one.text)}


def refusals() -> set[str]:
    """What the kernel refuses commands with, and what it says to do; ``7`` where something is filled in."""
    found: set[str] = set()
    for room in ANSWERING:
        found |= doctor_words.refused(ROOT / "homed" / f"{room}.py", ERRORS | {"Denied", "ProtocolError", "TimedOut"})
    return found


def tabled() -> set[str]:
    """Words of a table in the module that a text is taken from by a key, and sentences that are."""
    return {one.text for one in texts() if one.module and not one.errs and _WORDS.search(one.text)}


def unspoken() -> Iterator[Text]:
    """What is printed, or reads like a sentence, and does not go through ``phrase``."""
    for one in texts():
        if one.spoken or one.errs or one.module or "as_json" in one.within or one.within[-1:] == ("head",):
            continue
        printed = one.within and one.within[-1] in PRINTING | {"clean"} and _WORD.search(_BLANK.sub("", one.text))
        words = _BLANK.sub("", one.text)
        if _WORDS.search(words) or printed or (one.filled and re.search("[a-z]{3}", words)):
            yield one


class _Reader:
    def __init__(self, file: str) -> None:
        self._file = file

    def read(self, tree: ast.Module) -> Iterator[Text]:
        yield from self._each(tree.body, (), module=True)

    def _each(self, nodes: list[ast.stmt], within: tuple[str, ...], *, module: bool) -> Iterator[Text]:
        for node in nodes:
            yield from self._node(node, within, module)

    def _node(self, node: ast.AST, within: tuple[str, ...], module: bool) -> Iterator[Text]:
        if isinstance(node, ast.JoinedStr):
            text = "".join(str(one.value) if isinstance(one, ast.Constant) else "{x}" for one in node.values)
            yield Text(self._file, node.lineno, text, within, filled=True, module=module)
            for one in node.values:
                if isinstance(one, ast.FormattedValue):
                    yield from self._node(one.value, within, module)
        elif isinstance(node, ast.Constant):
            if isinstance(node.value, str):
                yield Text(self._file, node.lineno, node.value, within, module=module)
        elif isinstance(node, ast.Call):
            yield from self._call(node, within, module)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            return  # documentation
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield from self._each(node.body, within, module=False)
        elif isinstance(node, ast.ClassDef):
            yield from self._each(node.body, within, module=module)
        elif isinstance(node, ast.Assign) and any(getattr(one, "id", "") == "head" for one in node.targets):
            yield from self._node(node.value, (*within, "head"), module)
        elif isinstance(node, ast.Subscript):
            yield from self._node(node.value, within, module)
        elif isinstance(node, ast.Compare):
            for one in (node.left, *node.comparators):
                if isinstance(one, ast.Call):  # what something is compared with is no text
                    yield from self._node(one, within, module)
        elif isinstance(node, ast.Dict):
            for one in node.values:
                yield from self._node(one, within, module)
        else:
            for child in ast.iter_child_nodes(node):
                yield from self._node(child, within, module)

    def _call(self, node: ast.Call, within: tuple[str, ...], module: bool) -> Iterator[Text]:
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if called in HELP:
            return
        yield from self._node(node.func, within, module)
        for number, one in enumerate(node.args):
            inner = "head" if called in HEADED and number == 1 else "part" if called == "phrase" and number else called
            yield from self._node(one, (*within, inner), module)
        for keyword in node.keywords:
            inner = "part" if called == "phrase" else called
            yield from self._node(keyword.value, (*within, inner), module)
