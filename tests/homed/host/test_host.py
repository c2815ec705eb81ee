"""Real children on the real clock: launch, calls, crashes, the ladder, and nothing left behind."""

from __future__ import annotations

import itertools
import os
import re
import signal
import sys
import tracemalloc
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from homed.errors import Denied, InvalidInput, NotFound, PluginFailed, TimedOut, Unavailable
from homed.events import Bus
from homed.host import host as host_module
from homed.host import launch
from homed.host.host import SHUTDOWN, Host
from homed.host.life import Ending, Life
from homed.host.limits import HostLimits
from homed.host.policy import Policy
from homed.host.session import Session
from homed.host.states import State
from homed.proc.ladder import stop_ladder
from homed.store.db import open_store
from homed.wire import version
from tests.kit.hosting import RecordingDispatcher, hosting, install, invoke, manifest
from tests.kit.processes import alive, open_fds, until, until_gone, with_mark, zombies

QUICK = Policy(delays=(0.01, 0.02, 0.03))


@pytest.fixture
def quick_ladder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "stop_ladder", partial(stop_ladder, grace=0.3, term=0.3))


async def reach(host: Host, name: str, state: State) -> None:
    with trio.fail_after(60):
        await host._roster.supervisor(name).wait_until(frozenset({state}))


def pid_of(host: Host, name: str) -> int:
    pid = host.status(name).pid
    assert pid is not None
    return pid


async def test_a_plugin_comes_up_answers_and_leaves_cleanly(tmp_path: Path) -> None:
    async with hosting(tmp_path, manifest("good")) as host:
        await host.wait_ready("good")
        pid = pid_of(host, "good")
        assert set(host.registry.tools()) == {"echo_good"}
        assert await invoke(host, "good", text="héllo 你好") == {"text": "héllo 你好"}
        stopped = await host.stop("good")
        assert (stopped.state, stopped.pid, stopped.crashes) == (State.STOPPED, None, ())
        assert not alive(pid)
        assert host.registry.tools() == {}
        with pytest.raises(Unavailable, match="The plugin good is not running: stopped") as caught:
            await invoke(host, "good")
        assert "homed plugin start good" in caught.value.hint
        assert (await host.start("good")).state is State.READY


async def test_the_child_gets_only_the_environment_that_is_injected_and_a_folder_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-for-plugins")
    async with hosting(tmp_path, manifest("good")) as host:
        await host.wait_ready("good")
        env = await invoke(host, "good", do="env")
        cwd, _ = await invoke(host, "good", do="cwd")
    own = {k: v for k, v in env.items() if k not in ("PATH", "HOME", "LC_CTYPE")}
    assert own.pop("HOMED_MARK").startswith(f"{host._family}:good:")
    assert {name: value for name, value in own.items() if not name.startswith("HOMED_FD_")} == {"HOMED_PLUGIN": "good"}
    assert cwd == str(tmp_path / "data" / "plugin-data" / "good")


@pytest.mark.parametrize("mode", ["exit1", "segfault-start", "exit1-ready"])
async def test_c1_a_plugin_that_crashes_at_start_stops_needing_attention_and_nothing_else_notices(
    tmp_path: Path, mode: str
) -> None:
    async with hosting(tmp_path, manifest("good"), manifest("bad", mode), policy=QUICK) as host:
        await host.wait_ready("good")
        await reach(host, "bad", State.STOPPED)
        status = host.status("bad")
        assert "needs attention: 4 crashes" in status.reason
        assert len(status.crashes) == 4
        expected = (None, signal.SIGSEGV) if mode == "segfault-start" else (1, None)
        assert {(c.code, c.signal) for c in status.crashes} == {expected}
        assert await invoke(host, "good", a=1) == {"a": 1}
    async with hosting(tmp_path, policy=QUICK) as host:
        assert host.status("bad").state is State.STOPPED
        assert len(host.status("bad").crashes) == 4


@pytest.mark.parametrize(("how", "code", "sig"), [("exit", 3, None), ("segfault", None, signal.SIGSEGV)])
async def test_c1_a_crash_during_a_call_fails_that_call_and_is_reported_with_it(
    tmp_path: Path, how: str, code: int | None, sig: int | None
) -> None:
    async with hosting(tmp_path, manifest("bad"), policy=QUICK) as host:
        await host.wait_ready("bad")
        await invoke(host, "bad", do="stderr", text="last words\n")
        with pytest.raises(Unavailable, match="The plugin bad ended during"):
            await invoke(host, "bad", do=how)
        await host.wait_ready("bad")
        (report,) = host.status("bad").crashes
        assert (report.code, report.signal, report.pending) == (code, sig, ("tool.invoke echo_bad",))
        assert "last words" in report.stderr
        assert await invoke(host, "bad", again=True) == {"again": True}


async def test_killed_with_9_it_comes_back(tmp_path: Path) -> None:
    async with hosting(tmp_path, manifest("good"), policy=QUICK) as host:
        await host.wait_ready("good")
        first = pid_of(host, "good")
        os.kill(first, signal.SIGKILL)
        await until(lambda: host.status("good").state is State.READY and host.status("good").pid != first)
        assert host.status("good").crashes[0].signal == signal.SIGKILL


@pytest.mark.parametrize("mode", ["banner", "no-newline", "bad-utf8", "unknown-id"])
async def test_c2_stray_output_is_logged_and_ignored(
    tmp_path: Path, mode: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with hosting(tmp_path, manifest("noisy", mode)) as host:
        await host.wait_ready("noisy")
        assert await invoke(host, "noisy", a=1) == {"a": 1}
    assert "plugin noisy: unreadable output" in caplog.text


@pytest.mark.parametrize(
    ("mode", "reason"), [("flood-lines", "unreadable lines"), ("flood-calls", "floods homed"),
                         ("flood-cancellations", "floods homed with notif"),
                         ("flood-blank", "(floods homed with|unreadable) lines"),
                         ("1gib", "A line of over 64 MiB"), ("close-stdout", "closed its stdout")],
)  # fmt: skip
async def test_c2_a_flood_ends_the_plugin_with_few_log_lines_and_little_memory(
    tmp_path: Path, mode: str, reason: str, caplog: pytest.LogCaptureFixture, quick_ladder: None
) -> None:
    async with hosting(tmp_path, manifest("good"), manifest("bad", mode), policy=Policy(delays=())) as host:
        tracemalloc.start()
        try:
            await reach(host, "bad", State.STOPPED)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert re.search(reason, host.status("bad").reason)
        assert await invoke(host, "good", a=1) == {"a": 1}
    assert peak < 16_000_000
    assert len(caplog.records) < 20


async def test_nothing_more_of_a_flood_is_looked_at_once_it_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quick_ladder: None
) -> None:
    heard: list[float] = []
    hear = Session.notification

    def counted(self: Session, method: str, params: Mapping[str, Any]) -> None:
        heard.append(trio.current_time())
        hear(self, method, params)

    monkeypatch.setattr(Session, "notification", counted)
    async with hosting(tmp_path, manifest("bad", "flood-calls"), policy=Policy(delays=())) as host:
        await reach(host, "bad", State.STOPPED)
    line = len(b'{"jsonrpc":"2.0","method":"nonsense","params":{}}\n')
    allowed = 4000 + 1000 * (heard[-1] - heard[0])  # what may be said at once, and what was earned meanwhile
    assert 4000 <= len(heard) <= allowed + 2 * 65536 // line


@pytest.mark.slow
async def test_c3_failed_handshakes_leave_at_most_one_child_and_no_zombie(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quick_ladder: None
) -> None:
    monkeypatch.setattr(launch, "_UNTALKABLE_GRACE", 0.1)
    policy = Policy(delays=(0.01,) * 9)
    pids: set[int] = set()
    ports = {"limits": lambda: HostLimits(handshake=0.3)}
    async with hosting(tmp_path, manifest("slow", "slow-handshake"), policy=policy, ports=ports) as host:
        with trio.fail_after(60):
            for looks in itertools.count():
                if (status := host.status("slow")).state is State.STOPPED:
                    break
                if (new := status.pid is not None and status.pid not in pids) or looks % 5 == 0:
                    # Through all of /proc: as a new one is there, and every tenth of a second.
                    assert len(with_mark(host._family, group=True)) <= 1
                if new and status.pid:
                    pids.add(status.pid)
                await trio.sleep(0.02)
        assert "it did not answer the handshake within 0.3 s" in host.status("slow").reason
    assert len(pids) == 10
    assert not any(alive(pid) for pid in pids)
    assert not set(zombies()) & pids


async def test_another_protocol_is_refused_with_both_versions_and_not_retried(tmp_path: Path) -> None:
    async with hosting(tmp_path, manifest("old", "bad-protocol")) as host:
        await reach(host, "old", State.STOPPED)
        assert "speaks protocol 99, homed 0.1.0 speaks 1" in host.status("old").reason
        assert "Install a version" in host.status("old").reason
        assert host.status("old").crashes == ()
        with pytest.raises(Unavailable, match="speaks protocol 99"):
            await host.wait_ready("old")


async def test_a_protocol_that_the_sdk_refuses_is_not_retried_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The plugin notices here: a real child on the SDK, which speaks 1 and is told 99."""
    monkeypatch.setattr(version, "PROTOCOL", 99)
    program = tmp_path / "late.py"
    program.write_text("from homed import sdk\nsdk.run(sdk.Plugin('late'))\n")
    async with hosting(tmp_path, manifest("late", entry=f"python {program}", tools=[])) as host:
        await reach(host, "late", State.STOPPED)
        reason = host.status("late").reason
        assert reason.startswith("needs attention: homed 0.1.0 speaks plugin protocol 99")
        assert "the SDK 0.1.0 of plugin late speaks 1. Install" in reason
        assert host.status("late").crashes == ()


@pytest.mark.parametrize(
    ("mode", "says"),
    [("config", "The port 8080 is in use."), ("no-tool", "tools: echo_odd stands in plugin.json but is not registered"),
     ("other-tool", "tools: other is registered but does not stand in plugin.json")],
)  # fmt: skip
async def test_what_a_restart_cannot_mend_needs_attention_at_once(tmp_path: Path, mode: str, says: str) -> None:
    async with hosting(tmp_path, manifest("odd", mode)) as host:
        await reach(host, "odd", State.STOPPED)
        assert host.status("odd").reason.startswith("needs attention: ")
        assert says in host.status("odd").reason
        assert host.status("odd").crashes == ()


@pytest.mark.parametrize(
    ("more", "says"),
    [({"platforms": ["beos"]}, "The plugin odd runs on beos, and this is "),
     ({"min_version": "99.1"}, "The plugin odd needs homed 99.1 or later, and this is ")],
)  # fmt: skip
async def test_a_plugin_for_another_platform_or_a_later_homed_is_never_started(
    tmp_path: Path, more: dict[str, Any], says: str
) -> None:
    async with hosting(tmp_path, manifest("odd", "exit1", **more)) as host:
        await reach(host, "odd", State.STOPPED)
        assert host.status("odd").reason.startswith(f"needs attention: {says}")
        assert host.status("odd").crashes == ()
        assert says in (await host.start("odd")).reason


async def test_one_that_suits_this_machine_and_needs_what_is_up_is_started(tmp_path: Path) -> None:
    odd = manifest("odd", needs=["store"], platforms=[sys.platform], min_version="0.1")
    async with hosting(tmp_path, odd) as host:
        with trio.fail_after(60):
            await host.wait_ready("odd")
        assert await invoke(host, "odd", a=1) == {"a": 1}


async def test_a_program_that_is_not_there_needs_attention(tmp_path: Path) -> None:
    async with hosting(tmp_path, manifest("gone", entry="no-such-program-here")) as host:
        await reach(host, "gone", State.STOPPED)
        assert "There is no program no-such-program-here" in host.status("gone").reason


async def test_a_data_folder_that_cannot_be_made_is_the_reason_that_is_shown(tmp_path: Path) -> None:
    (tmp_path / "data" / "plugin-data").mkdir(parents=True)
    (tmp_path / "data" / "plugin-data" / "good").write_text("in the way")
    async with hosting(tmp_path, manifest("good"), policy=QUICK) as host:
        await reach(host, "good", State.STOPPED)
        reason = host.status("good").reason
        assert f"The folder {tmp_path / 'data/plugin-data/good'} cannot be made: File exists." in reason


async def test_e33_a_timeout_says_that_the_work_was_stopped_when_it_was(tmp_path: Path) -> None:
    async with hosting(tmp_path, manifest("good")) as host:
        await host.wait_ready("good")
        with pytest.raises(TimedOut, match=r"took longer than 0.2 s and was stopped") as caught:
            await invoke(host, "good", timeout=0.2, do="sleep")
        assert caught.value.detail["ended"] is True
        assert await invoke(host, "good", a=1) == {"a": 1}
        assert host.status("good").crashes == ()


async def test_c13_a_call_that_does_not_stop_puts_its_plugin_on_the_ladder_and_the_text_says_so(tmp_path: Path) -> None:
    async with hosting(tmp_path, manifest("deaf", "ignore-cancel"), policy=QUICK) as host:
        await host.wait_ready("deaf")
        pid = pid_of(host, "deaf")
        with pytest.raises(TimedOut, match="may still be running") as caught:
            await invoke(host, "deaf", timeout=0.2, do="sleep")
        assert caught.value.detail["ended"] is False
        await until_gone([pid], within=60)
        await host.wait_ready("deaf")
        assert await invoke(host, "deaf", a=1) == {"a": 1}


async def test_c13_cancelling_a_call_waits_for_its_end_and_a_deaf_plugin_comes_back(tmp_path: Path) -> None:
    async with hosting(tmp_path, manifest("good"), manifest("deaf", "ignore-cancel"), policy=QUICK) as host:
        for name in ("good", "deaf"):
            await host.wait_ready(name)
            pid = pid_of(host, name)
            with trio.fail_after(60), trio.move_on_after(0.1) as scope:
                await invoke(host, name, timeout=600, do="sleep")
            assert scope.cancelled_caught
            if name == "deaf":
                await until_gone([pid], within=60)
            await host.wait_ready(name)
            assert await invoke(host, name, a=1) == {"a": 1}
        assert [c.pending for c in host.status("good").crashes] == []


@pytest.mark.parametrize(
    ("code", "kind"), [("invalid", InvalidInput), ("internal", PluginFailed), ("denied", Denied), ("odd", PluginFailed)]
)
async def test_an_error_of_the_plugins_keeps_its_kind(tmp_path: Path, code: str, kind: type[Exception]) -> None:
    async with hosting(tmp_path, manifest("good")) as host:
        await host.wait_ready("good")
        with pytest.raises(kind, match="it went wrong"):
            await invoke(host, "good", do="fail", code=code)


async def test_calls_beyond_the_in_flight_limit_wait_and_then_say_that_they_were_not_started(tmp_path: Path) -> None:
    async with hosting(tmp_path, manifest("narrow", in_flight=1)) as host, trio.open_nursery() as nursery:
        await host.wait_ready("narrow")
        nursery.start_soon(partial(invoke, host, "narrow", do="sleep"))
        await trio.testing.wait_all_tasks_blocked(0.05)
        with pytest.raises(TimedOut, match="this one was not started"):
            await invoke(host, "narrow", timeout=0.2, a=1)
        nursery.cancel_scope.cancel()


async def test_c15_three_broken_manifests_of_ten_stop_only_themselves(tmp_path: Path) -> None:
    place = tmp_path / "packaged"
    install(place, *(manifest(f"p{n}") for n in range(7)))
    for name, text in {"b0": "{", "b1": '{"name": 5}', "b2": "[]"}.items():
        (place / name).mkdir()
        (place / name / "plugin.json").write_text(text)
    async with hosting(tmp_path) as host:
        for n in range(7):
            await host.wait_ready(f"p{n}")
        broken = [s for s in host.statuses() if s.name.startswith("b")]
        assert [(s.state, s.reason.startswith("needs attention: ")) for s in broken] == [(State.STOPPED, True)] * 3
        assert "line 1, column 2" in broken[0].reason
        with pytest.raises(Unavailable, match="cannot be used"):
            await host.start("b1")
        with pytest.raises(NotFound, match="'nobody'"):
            await host.start("nobody")


async def test_c15_a_host_without_plugins_runs_and_stops(tmp_path: Path) -> None:
    async with hosting(tmp_path, found=[]) as host:
        await trio.testing.wait_all_tasks_blocked(0.05)
        assert host.statuses() == []


async def test_e22_after_the_stop_there_is_no_child_grandchild_zombie_or_open_fd(tmp_path: Path) -> None:
    async with hosting(tmp_path / "warm", manifest("good")) as host:
        await host.wait_ready("good")
    before = open_fds()
    names = {"good": "good", "tree": "grandchildren", "slow": "slow-handshake"}
    async with hosting(tmp_path, *(manifest(n, mode) for n, mode in names.items())) as host:
        family = host._family
        await host.wait_ready("good")
        await host.wait_ready("tree")
        await until(lambda: host.status("slow").pid is not None)
        await until(lambda: len(with_mark(family, group=True)) == 7)  # one that is just beginning shows no mark yet
        pids = with_mark(family, group=True)
    assert with_mark(family, group=True) == []
    assert not set(zombies()) & set(pids)
    assert open_fds() == before


async def test_a_dead_plugins_strays_are_killed_and_a_living_ones_are_its_own(tmp_path: Path) -> None:
    async with hosting(tmp_path, manifest("a"), manifest("b"), policy=QUICK) as host:
        for name in ("a", "b"):
            await host.wait_ready(name)
            await invoke(host, name, do="grandchildren")
            await until(lambda: len(with_mark(f"{host._family}:{name}", group=True)) == 5)  # noqa: B023
        b_tree = with_mark(f"{host._family}:b", group=True)
        a_tree = with_mark(f"{host._family}:a", group=True)
        os.kill(pid_of(host, "a"), signal.SIGKILL)
        await until_gone(a_tree, within=60)
        assert all(alive(pid) for pid in b_tree)


async def test_c5_stopping_one_daemon_leaves_the_other_ones_plugins_alone(tmp_path: Path) -> None:
    async with hosting(tmp_path / "one", manifest("good")) as one:
        await one.wait_ready("good")
        async with hosting(tmp_path / "two", manifest("good")) as two:
            await two.wait_ready("good")
            await invoke(two, "good", do="grandchildren")
        assert await invoke(one, "good", a=1) == {"a": 1}
        assert one.status("good").crashes == ()


@pytest.mark.slow
async def test_e22_all_ladders_run_in_parallel_within_eight_seconds(tmp_path: Path) -> None:
    modes = {"h1": "hang-on-stop", "h2": "hang-on-stop", "t1": "ignore-term", "t2": "ignore-term"}
    async with hosting(tmp_path, *(manifest(name, mode) for name, mode in modes.items())) as host:
        for name in modes:
            await host.wait_ready(name)
        family, begun = host._family, trio.current_time()
    assert 6.5 < trio.current_time() - begun < 2 * SHUTDOWN  # one after another: 24 s
    assert with_mark(family, group=True) == []


async def test_a_second_signal_kills_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "stop_ladder", partial(stop_ladder, grace=300))
    monkeypatch.setattr(host_module, "SHUTDOWN", 300)
    async with hosting(tmp_path, manifest("deaf", "ignore-term")) as host:
        await host.wait_ready("deaf")
        family, begun = host._family, trio.current_time()
        host.kill_now()
    assert trio.current_time() - begun < 60
    assert with_mark(family, group=True) == []


async def test_a_call_outside_a_plugins_capabilities_is_refused_on_the_wire_with_what_is_missing(
    tmp_path: Path,
) -> None:
    dispatcher = RecordingDispatcher()
    async with hosting(tmp_path, manifest("good", capabilities=["io"]), dispatcher=dispatcher) as host:
        await host.wait_ready("good")
        assert await invoke(host, "good", do="call", method="io.inject") == {"result": {}}
        refused = (await invoke(host, "good", do="call", method="admin.status"))["error"]
        assert "good may not call admin.status: it lacks the capability admin (it has core, io)" in refused["message"]
        assert refused["data"]["code"] == "denied"
        unknown = (await invoke(host, "good", do="call", method="os.system"))["error"]
        assert (unknown["code"], unknown["data"]["code"]) == (-32601, "not_found")
        lines = host.logs("good", 10)
        assert [line for line in lines if line.startswith("refused admin.status: The plugin good may not call")]
        assert not [line for line in lines if "os.system" in line]
    assert [call[:2] for call in dispatcher.calls] == [("good", "io.inject")]


async def test_an_external_plugin_has_what_was_granted_and_never_what_only_packaged_ones_may_have(
    tmp_path: Path,
) -> None:
    external = tmp_path / "data" / "plugins"
    install(external, manifest("guest", capabilities=["io", "events.notices", "admin", "events.content"]))
    async with open_store(tmp_path / "data" / "homed.db") as store:
        for capability in ("io", "admin"):
            row = ("guest", capability, 0.0)
            await store.write(lambda tx, row=row: tx.execute("INSERT INTO grants VALUES (?, ?, ?)", row))  # type: ignore[misc]
    async with hosting(tmp_path) as host:
        await host.wait_ready("guest")
        assert await invoke(host, "guest", do="call", method="io.inject") == {"result": {}}
        for method in ("admin.status", "events.subscribe"):
            answer = await invoke(host, "guest", do="call", method=method)
            assert answer["error"]["data"]["code"] == "denied"
        cwd, _ = await invoke(host, "guest", do="cwd")
        assert cwd == str(external / "guest")


def logged(host: Host, name: str, word: str) -> list[str]:
    return [line for line in host.logs(name, 1000) if word in line]


async def test_a_subscriber_hears_notices_without_content_unless_it_may_read_it(tmp_path: Path) -> None:
    bus = Bus()
    plain = manifest("plain", capabilities=["events.notices"])
    full = manifest("full", capabilities=["events.notices", "events.content"])
    async with hosting(tmp_path, plain, full, bus=bus) as host:
        await host.wait_ready("plain")
        await host.wait_ready("full")
        for name in ("plain", "full"):
            content = name == "full"
            answer = await invoke(host, name, do="call", method="events.subscribe", params={"content": content})
            assert answer["result"]["seq"] == bus.seq
        denied = await invoke(host, "plain", do="call", method="events.subscribe", params={"content": True})
        assert denied["error"]["data"]["code"] == "denied"
        bus.post("raw_input", thread="t1", data={"text": "a private word", "input": "i1"})
        await until(lambda: bool(logged(host, "plain", "raw_input") and logged(host, "full", "raw_input")))
        assert "a private word" in logged(host, "full", "raw_input")[0]
        (line,) = logged(host, "plain", "raw_input")
        assert "private" not in line
        assert '"input": "i1"' in line


async def test_settings_and_addresses_reach_each_other(tmp_path: Path) -> None:
    async with hosting(tmp_path, manifest("good")) as host:
        await host.wait_ready("good")
        host.settings_changed("good", "colour", "blue")
        host.settings_changed("nobody", "colour", "blue")
        await until(lambda: bool(logged(host, "good", '"value": "blue"')))
        params: dict[str, Any] = {"kind": "url", "address": "http://127.0.0.1:1"}
        await invoke(host, "good", do="call", method="core.announce", params=params)
        assert host.addresses == {"good": ("url", "http://127.0.0.1:1")}
        await host.stop("good")
        assert host.addresses == {}


async def test_stderr_is_redacted_in_the_log_and_in_the_crash_report(tmp_path: Path) -> None:
    def redact(text: str) -> str:
        return text.replace("hunter2", "[secret]")

    async with hosting(tmp_path, manifest("good"), redact=redact, policy=QUICK) as host:
        await host.wait_ready("good")
        await invoke(host, "good", do="stderr", text="the password is hunter2\n")
        with pytest.raises(Unavailable):
            await invoke(host, "good", do="exit")
        await host.wait_ready("good")
        assert "the password is [secret]" in host.status("good").crashes[0].stderr
        assert logged(host, "good", "the password is [secret]")
    everything = b"".join(path.read_bytes() for path in (tmp_path / "data").rglob("*") if path.is_file())
    assert b"hunter2" not in everything
    assert b"the password is" in everything


async def test_a_flood_on_stderr_is_kept_in_bounds_and_harms_nobody(tmp_path: Path) -> None:
    async with hosting(tmp_path, manifest("loud", "flood-stderr")) as host:
        await host.wait_ready("loud")
        assert await invoke(host, "loud", timeout=30, a=1) == {"a": 1}
    size = sum(path.stat().st_size for path in (tmp_path / "data" / "logs").iterdir())
    assert 0 < size < 2_500_000


async def test_a_new_daemon_ends_what_one_killed_with_9_left_on_its_folder(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with hosting(tmp_path, manifest("good")) as host:
        family = host._family
    env = {"PATH": os.environ["PATH"], "HOMED_MARK": f"{family}:good:dead"}
    stray = await trio.lowlevel.open_process(["sleep", "600"], env=env, start_new_session=True)
    async with hosting(tmp_path) as host:
        await host.wait_ready("good")
        assert await stray.wait() == -signal.SIGKILL
    assert "ended 1 processes that an earlier homed" in caplog.text


async def test_each_plugin_is_launched_at_once_whoever_else_hangs_and_homed_turns_to_the_rest_after_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_module, "HEAD_START", 0.2)
    begun: set[str] = set()

    async def hang(life: Life) -> Ending:
        begun.add(life.plan.name)
        await life.doomed()
        return Ending(0, None, "", asked_for=True)

    async with hosting(tmp_path, manifest("atool"), manifest("chat", inputs=["chat"]), launcher=hang) as host:
        await wait_all_tasks_blocked()
        assert begun == {"atool", "chat"}
        with trio.fail_after(60):
            await host.wait_started()


async def test_a_stop_in_the_middle_of_the_start_does_not_wait_for_what_hangs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_module, "HEAD_START", 300)
    monkeypatch.setattr(host_module, "SHUTDOWN", 300)

    async def hang(life: Life) -> Ending:
        await life.doomed()
        return Ending(0, None, "", asked_for=True)

    page, talk = manifest("page", inputs=["page"], capabilities=["auth"]), manifest("chat", inputs=["chat"])
    async with hosting(tmp_path, manifest("atool"), talk, page, launcher=hang) as host:
        await reach(host, "page", State.STARTING)
        begun = trio.current_time()
    assert trio.current_time() - begun < 60
