"""The house keeps its floors: the import contracts of DESIGN §1, read from pyproject.toml by import-linter."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LINT_IMPORTS = Path(sys.executable).parent / "lint-imports"


def test_every_import_contract_is_kept() -> None:
    run = subprocess.run(
        [LINT_IMPORTS, "--no-cache"], cwd=ROOT, capture_output=True, text=True, timeout=300, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr


def environment_readers(tree: ast.AST) -> bool:
    """Whether a module touches ``os.environ`` or ``os.getenv``."""
    return any(
        isinstance(node, ast.Attribute) and node.attr in {"environ", "getenv", "environb"} for node in ast.walk(tree)
    )


@pytest.mark.parametrize("path", sorted((ROOT / "homed").rglob("*.py")), ids=lambda p: str(p.relative_to(ROOT)))
def test_only_config_and_paths_read_the_environment(path: Path) -> None:
    inside = path.relative_to(ROOT / "homed")
    if inside.parts[0] in {"config", "paths.py", "sdk"}:
        return
    if inside.name == "zygote_child.py":  # replaces its whole, which is what a fresh process would be given
        return
    assert not environment_readers(ast.parse(path.read_text("utf-8"))), "hand the environment in from homed.config"


def mutable_state(tree: ast.Module) -> list[str]:
    """Names bound at module level to a mutable literal, unless they are spelled as a constant."""
    found = []
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, (ast.List, ast.Dict, ast.Set)):
            found += [t.id for t in node.targets if isinstance(t, ast.Name) and not t.id.isupper()]
    return [name for name in found if name != "__all__"]


@pytest.mark.parametrize(
    "path",
    sorted(p for room in ("homed", "waiter", "plugins") for p in (ROOT / room).rglob("*.py")),
    ids=lambda p: str(p.relative_to(ROOT)),
)
def test_modules_hold_no_state_and_rebind_no_global(path: Path) -> None:
    tree = ast.parse(path.read_text("utf-8"))
    assert not mutable_state(tree)
    assert not [node.names for node in ast.walk(tree) if isinstance(node, ast.Global)]


def test_the_mutable_state_check_can_fail() -> None:
    assert mutable_state(ast.parse("cache = {}")) == ["cache"]
    assert environment_readers(ast.parse("import os\nx = os.environ['A']"))
