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


@pytest.fixture(scope="module")
def trees() -> dict[Path, ast.Module]:
    """Every module of the product, read once."""
    paths = sorted(p for room in ("homed", "waiter", "plugins") for p in (ROOT / room).rglob("*.py"))
    return {path: ast.parse(path.read_text("utf-8")) for path in paths}


def environment_readers(tree: ast.AST) -> bool:
    """Whether a module touches ``os.environ`` or ``os.getenv``."""
    return any(
        isinstance(node, ast.Attribute) and node.attr in {"environ", "getenv", "environb"} for node in ast.walk(tree)
    )


def rebound(tree: ast.Module) -> list[str]:
    """Names that a function rebinds at module level."""
    return [name for node in ast.walk(tree) if isinstance(node, ast.Global) for name in node.names]


def may_read_the_environment(inside: Path) -> bool:
    # zygote_child replaces its whole, which is what a fresh process would be given
    return inside.parts[0] in {"config", "paths.py", "sdk"} or inside.name == "zygote_child.py"


def test_only_config_and_paths_read_the_environment(trees: dict[Path, ast.Module]) -> None:
    """One test over all modules, as in the next one: a test for each would cost more than what it looks at."""
    home = ROOT / "homed"
    others = {
        p: tree for p, tree in trees.items() if home in p.parents and not may_read_the_environment(p.relative_to(home))
    }
    assert len(others) > 300, "it really looked"
    found = [str(path.relative_to(ROOT)) for path, tree in others.items() if environment_readers(tree)]
    assert found == [], "hand the environment in from homed.config"


def mutable_state(tree: ast.Module) -> list[str]:
    """Names bound at module level to a mutable literal, unless they are spelled as a constant."""
    found = []
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, (ast.List, ast.Dict, ast.Set)):
            found += [t.id for t in node.targets if isinstance(t, ast.Name) and not t.id.isupper()]
    return [name for name in found if name != "__all__"]


def test_modules_hold_no_state_and_rebind_no_global(trees: dict[Path, ast.Module]) -> None:
    assert len(trees) > 700, "it really looked"
    assert {str(p.relative_to(ROOT)): found for p, tree in trees.items() if (found := mutable_state(tree))} == {}
    assert {str(p.relative_to(ROOT)): found for p, tree in trees.items() if (found := rebound(tree))} == {}


def test_the_mutable_state_check_can_fail() -> None:
    assert mutable_state(ast.parse("cache = {}")) == ["cache"]
    assert environment_readers(ast.parse("import os\nx = os.environ['A']"))
    assert rebound(ast.parse("def f():\n    global x\n    x = 1")) == ["x"]
