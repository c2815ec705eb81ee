"""A facility that fails: what needs it says so on the terminal and the page's interface, everything else runs."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from homed.errors import Unavailable
from tests.kit.daemon import until
from tests.kit.fake_openai import fake_openai_thread
from tests.kit.house import House, Plan

pytestmark = pytest.mark.slow

FAILING = """
import sys
from pathlib import Path
from homed.app import Options, serve
from homed.errors import Unavailable
from homed.paths import Paths
from tests.kit.failpoints import RaiseAt
failing = RaiseAt("facility.scheduler", Unavailable("The clock of this machine is not to be trusted."))
def say(line):
    print(line, flush=True)
raise SystemExit(serve(Options(paths=Paths(Path(sys.argv[3])), say=say, listen=sys.argv[5], failpoints=failing)))
"""


def _needing(data: Path, name: str, *needs: str) -> None:
    folder = data / "plugins" / name
    folder.mkdir(parents=True)
    manifest = {"name": name, "version": "1", "entry": "python main.py", "needs": list(needs)}
    (folder / "plugin.json").write_text(json.dumps(manifest), "utf-8")
    program = f"from homed import sdk\n\nif __name__ == '__main__':\n    sdk.run(sdk.Plugin({name!r}))\n"
    (folder / "main.py").write_text(program, "utf-8")


def test_dependants_are_blocked_on_it_with_the_reason_and_the_chat_goes_on(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with fake_openai_thread() as fake:
        home = House(data, fake, Plan(vectors=False))
        _needing(data, "waker", "scheduler", "tools")
        _needing(data, "dreamer", "scenes")
        _needing(data, "free", "tools", "llm")
        home.daemon.program = (sys.executable, "-c", FAILING)
        try:
            home.daemon.start(link=False)
            until(lambda: _reachable(home), what="the terminal socket")
            why = "blocked on scheduler: The clock of this machine is not to be trusted"
            until(lambda: _standing(home, "waker") == ("waiting", why), what="the failure told")
            assert _standing(home, "dreamer") == ("waiting", "blocked on scenes: this homed has none")
            until(lambda: _standing(home, "free") == ("ready", ""), what="what needs neither")
            assert home.says("hello")
            shown = home.daemon.run("plugin", "list").out
            assert why in shown
            refused = home.daemon.run("plugin", "start", "waker")
            assert why in refused.out + refused.err
        finally:
            home.daemon.end()


def _reachable(home: House) -> bool:
    try:
        return bool(home.ask("admin.plugins"))
    except Unavailable:
        return False


def _standing(home: House, name: str) -> tuple[str, str]:
    found: dict[str, Any] = home.plugin(name)
    return found["state"], found["reason"]
