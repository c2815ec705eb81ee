"""The committed start order is what the modules say today, and names only what is there."""

from __future__ import annotations

import json
import sys
from importlib.util import find_spec
from pathlib import Path

from homed.facilities import COMMITTED, ROOT, arrange, collect, render
from homed.failpoints import NAMES
from homed.order import ORDER
from homed.wire.facilities import FACILITIES
from tests.kit.daemon import run_command


def test_the_committed_order_is_not_stale() -> None:
    assert COMMITTED.read_text("utf-8") == render(arrange(collect(ROOT))), "run: python -m homed.facilities"


def test_the_modules_exist_and_their_facilities_are_words_that_a_manifest_may_use() -> None:
    assert all(find_spec(provider.module) is not None for provider in ORDER)
    assert {provider.facility for provider in ORDER} <= FACILITIES


def test_each_stands_after_what_it_needs() -> None:
    for place, provider in enumerate(ORDER):
        assert set(provider.needs) <= {before.facility for before in ORDER[:place]}


def test_each_has_its_failpoint() -> None:
    points = {name.removeprefix("facility.") for name in NAMES if name.startswith("facility.")}
    assert points >= {provider.facility for provider in ORDER}
    assert points <= FACILITIES


STARTED = """
import json, os, signal, sys
from pathlib import Path
from homed.app import Options, serve
from homed.paths import Paths
from tests.kit.failpoints import Recorder
from homed.order import ORDER
wanted = {f"facility.{provider.facility}" for provider in ORDER} | {"said"}
class Watched(Recorder):
    def reach(self, name):
        super().reach(name)
        stop_when_all()
recorder, said = Watched(), []
def stop_when_all():
    if wanted <= {*recorder.reached, *said}:
        wanted.add("once")  # a second signal would not wait
        os.kill(os.getpid(), signal.SIGTERM)
def say(line):
    if line.startswith("homed is up"):
        said.append("said")
        stop_when_all()
serve(Options(paths=Paths(Path(sys.argv[1])), say=say, safe=True, failpoints=recorder))
print(json.dumps(recorder.reached))
"""


def test_a_real_start_brings_them_up_in_this_order_and_slow_ones_beside_it(tmp_path: Path) -> None:
    source = '{ name = "fake", base_url = "http://127.0.0.1:9/v1", model = "m" }'
    (tmp_path / "homed.toml").write_text(f"[core.llm]\nsources = [{source}]\n", "utf-8")
    ran = run_command([sys.executable, "-c", STARTED, str(tmp_path)])
    assert ran.code == 0, ran.err
    points = [name for name in json.loads(ran.out.splitlines()[-1]) if name.startswith("facility.")]
    reached = [name.removeprefix("facility.") for name in points]
    slow = {provider.facility for provider in ORDER if provider.slow}
    assert [name for name in reached if name not in slow] == [p.facility for p in ORDER if not p.slow]
    assert slow <= set(reached)
