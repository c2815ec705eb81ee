"""A plugin as the wire shows it."""

from __future__ import annotations

import json

from homed.host.states import CrashReport, PluginStatus, State, Trust


def test_a_status_crosses_the_wire_as_documented() -> None:
    crash = CrashReport(1.0, None, 9, "boom", ("tool.invoke a",))
    status = PluginStatus(
        "p", "插件", "1", "Does.", State.BACKOFF, "killed by SIGKILL; starts again in 1 s", 2.0, 7, ("a",),
        Trust.PACKAGED, (crash,), 3.0, ("url", "http://x"),
    )  # fmt: skip
    shown = json.loads(json.dumps(status.wire()))
    assert set(shown) == {
        "name", "name_zh", "version", "description", "state", "reason", "since", "pid", "tools", "trust", "crashes",
        "retry_at", "lazy", "busy",
    }  # fmt: skip
    assert (shown["state"], shown["trust"], shown["name_zh"]) == ("backoff", "packaged", "插件")
    assert shown["crashes"] == [{"at": 1.0, "code": None, "signal": 9, "stderr": "boom", "pending": ["tool.invoke a"]}]
