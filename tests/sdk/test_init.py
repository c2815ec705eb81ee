"""``from homed import sdk`` is light, free of effects and of the kernel."""

from __future__ import annotations

import subprocess
import sys

PROBE = "import sys; before = set(sys.modules); import homed.sdk; print(*sorted(set(sys.modules) - before))"


def imported() -> set[str]:
    done = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return set(done.stdout.split())


def test_importing_the_sdk_brings_in_nothing_heavy_and_nothing_of_the_kernel() -> None:
    modules = imported()
    heavy = {
        "pydantic",
        "quart",
        "quart_trio",
        "hypercorn",
        "jsonschema",
        "httpx2",
        "apsw",
        "jinja2",
        "asyncio",
        "trio.testing",
    }
    assert not modules & heavy
    ours = {name.split(".")[1] for name in modules if name.startswith("homed.")}
    assert ours == {"sdk", "wire", "proc", "errors"} | ({"clock", "log"} & ours)


def test_what_a_plugin_needs_is_there() -> None:
    from homed import sdk

    for name in sdk.__all__:
        assert getattr(sdk, name)
