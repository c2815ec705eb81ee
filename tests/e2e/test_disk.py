"""A full disk, a read-only folder: clear words, nothing half-written, and it goes on once that is over."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from homed.errors import HomedError, StorageError, Unavailable
from tests.kit.daemon import PATIENCE, Daemon, Ran, run_command, until
from tests.kit.house import House, house

pytestmark = pytest.mark.slow

NO_SPACE = ("no space left", "free space", "Free some")


@dataclass
class Disk:
    """A data folder whose disk can be filled: a small tmpfs where mounting is allowed, else a limit on file sizes."""

    data: Path
    mounted: bool

    def fill(self, daemon: Daemon) -> None:
        """From now on no file of the daemon's can grow."""
        if not self.mounted:
            resource.prlimit(daemon.pid, resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
            return
        with (self.data / "ballast").open("wb", buffering=0) as ballast, suppress(OSError):
            for size in (65536, 512):
                with suppress(OSError):
                    while ballast.write(bytes(size)):
                        pass

    def free(self, daemon: Daemon) -> None:
        """Room again."""
        (self.data / "ballast").unlink(missing_ok=True)
        resource.prlimit(daemon.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    data = tmp_path / "data"
    data.mkdir(mode=0o700)
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m,mode=700", "none", str(data)]
    try:
        mounted = subprocess.run(mount, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        mounted = False
    yield Disk(data, mounted)
    if mounted:
        subprocess.run(["umount", "-l", str(data)], check=True)


@pytest.fixture
def home(disk: Disk) -> Iterator[House]:
    with house(disk.data) as built:
        yield built


def refusal(act: Callable[[], object]) -> str:
    """What it said; it must refuse."""
    with pytest.raises(HomedError) as refused:
        act()
    return str(refused.value)


def test_a_full_disk_refuses_in_clear_words_keeps_what_was_stored_and_works_again_when_there_is_room(
    home: House, disk: Disk
) -> None:
    home.says("before")
    counts = home.ask("admin.status")["counts"]
    disk.fill(home.daemon)
    long = "x" * 9000
    for _ in range(3):
        said = refusal(lambda: home.chat(long))
        assert any(words in said for words in NO_SPACE), said
        assert str(disk.data) in said
    waiter = home.waiter("-chat", long)
    assert waiter.code == 1
    assert any(words in waiter.err for words in NO_SPACE)
    assert home.daemon.run("config", "set", "core.agent.persona", long).code == 1
    assert home.ask("admin.status")["counts"] == counts, "reading works, and nothing half-written is left"
    assert home.daemon.run("config", "get", "core.agent.persona").out == "\n"
    disk.free(home.daemon)
    assert home.says("after") == "You said: after"
    assert home.ask("admin.status")["counts"]["inputs"] == counts["inputs"] + 1
    assert "Traceback" not in home.daemon.said
    assert home.daemon.stop() == 0


def test_a_disk_that_fills_up_under_a_turn_loses_nothing_and_sending_again_gets_the_answer(
    home: House, disk: Disk
) -> None:
    home.fake.when("under way", {"say": "y" * 20_000, "chunk": 4000, "hang": "until full"})
    home.says("warm")
    sent = home.ask("chat", text="under way", client_msg_id="m1")
    disk.fill(home.daemon)
    home.fake.release("full")
    with pytest.raises(Unavailable, match="before it was answered"):
        home.ask("wait", input=sent["input"])
    with pytest.raises(Unavailable, match="before it was answered"):
        home.ask("wait", input=sent["input"])  # also who comes later, and not for ever
    until(lambda: "could not be stored" in home.daemon.said)
    disk.free(home.daemon)
    again = home.chat("under way", thread=sent["thread"], client_msg_id="m1")
    assert (again["input"], again["state"]) == (sent["input"], "answered")
    texts = [event["text"] for event in home.history(sent["thread"])]
    assert texts == ["under way", "y" * 20_000]
    assert "Traceback" not in home.daemon.said


def test_waiter_outlasts_a_disk_that_is_full_for_a_while(home: House, disk: Disk) -> None:
    home.fake.when("patience", {"say": "y" * 20_000, "chunk": 4000, "hang": "until full"})
    waiter = home.begin_waiter("-chat", "patience")
    try:
        until(lambda: home.fake.chats, what="the model asked")
        disk.fill(home.daemon)
        home.fake.release("full")
        until(lambda: "could not be stored" in home.daemon.said)
        disk.free(home.daemon)
        out, err = waiter.communicate(timeout=PATIENCE)
    finally:
        waiter.kill()
    assert (waiter.returncode, out.decode()) == (0, "y" * 20_000 + "\n"), err.decode()
    assert err.decode().count("Waiting for homed") <= 2


def test_a_full_disk_at_the_start_is_named(tmp_path: Path) -> None:
    script = 'ulimit -f 0; exec "$@"'
    ran = run_command(["bash", "-c", script, "-", *start(tmp_path / "data")])
    assert ran.code == 1
    assert str(tmp_path / "data") in ran.err
    assert "Free some disk space" in ran.err
    assert "Traceback" not in ran.err


# -- read-only -------------------------------------------------------------------------------------------------------


def start(data: Path) -> list[str]:
    return [sys.executable, "-m", "homed", "run", "--safe", "--data", str(data)]


def bound_by_permissions(argv: list[str]) -> Ran:
    """Run it so that the permissions of files count, also for root: without the capability to pass them by."""
    powerless = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.getuid() == 0 else []
    return run_command([*powerless, *argv])


@pytest.fixture
def used(tmp_path: Path) -> Iterator[Path]:
    """A data folder in which homed has run; writable again afterwards."""
    data = tmp_path / "data"
    daemon = Daemon(data, "--safe")
    try:
        daemon.start(link=False)
        assert daemon.stop() == 0
    finally:
        daemon.end()
    yield data
    for path in (data, *data.rglob("*")):
        path.chmod(0o700)


def test_a_read_only_folder_is_named_with_what_to_do(used: Path) -> None:
    for path in (*used.rglob("*"), used):
        path.chmod(0o500 if path.is_dir() else 0o400)
    ran = bound_by_permissions(start(used))
    assert ran.code == 1
    for words in (str(used), "cannot be", "write access", "--data DIR"):
        assert words in ran.err
    assert "Traceback" not in ran.err


@pytest.mark.parametrize("name", ["homed.db", "homed.lock"])
def test_a_read_only_file_is_named_with_what_to_do(used: Path, name: str) -> None:
    (used / name).chmod(0o400)
    content = (used / name).read_bytes()
    ran = bound_by_permissions(start(used))
    assert ran.code == 1
    assert str(used) in ran.err
    assert "ermission" in ran.err or "write access" in ran.err
    assert "Traceback" not in ran.err
    assert (used / name).read_bytes() == content


def test_a_log_that_cannot_be_written_is_a_warning_and_no_end(used: Path) -> None:
    (used / "homed.log").chmod(0o400)
    powerless = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.getuid() == 0 else []
    with subprocess.Popen([*powerless, *start(used)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        assert process.stdout is not None
        said = ""
        for line in process.stdout:
            said += line.decode()
            if "homed is up" in said:
                break
        process.terminate()
        said += process.stdout.read().decode()
        assert process.wait(PATIENCE) == 0
    assert "no log file" in said
    assert "Permission denied" in said


def test_a_storage_error_keeps_its_kind_on_its_way_to_a_client(home: House, disk: Disk) -> None:
    home.says("warm")
    disk.fill(home.daemon)
    with pytest.raises(StorageError) as refused:
        home.chat("x" * 9000)
    assert type(refused.value) is StorageError
    disk.free(home.daemon)
