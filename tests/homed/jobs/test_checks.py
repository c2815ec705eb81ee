"""Each check of the data folder, green and red."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from homed.config.secrets import Secrets
from homed.jobs import checks
from homed.jobs.checks import State
from homed.paths import Paths
from homed.providers.lua.shelf import Shelf
from homed.redact import Redactor
from homed.store.damage import Damage, keep
from homed.store.filesystem import FileSystem

OK, WARN, BAD = State.OK, State.WARN, State.BAD


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    made = Paths(tmp_path / "data")
    made.create()
    return made


@pytest.mark.parametrize(
    ("python", "sqlite", "state"),
    [((3, 11, 2), "3.50.1", OK), ((3, 10, 9), "3.50.1", BAD), ((3, 12, 0), "3.40.0", BAD)],
)
def test_versions(python: tuple[int, ...], sqlite: str, state: State) -> None:
    found = checks.versions(python, sqlite)
    assert (found.state, sqlite in found.what) == (state, True)
    assert bool(found.hint) is (state is BAD)


def test_the_folder_is_ours_private_and_writable(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    assert checks.folder(paths).state is OK
    paths.data.chmod(0o750)
    assert checks.folder(paths).hint == f"chmod 700 {paths.data}"
    assert checks.folder(paths).state is BAD
    paths.data.chmod(0o700)
    monkeypatch.setattr("os.access", lambda *_: False)
    assert "cannot be written" in checks.folder(paths).what
    monkeypatch.setattr("os.geteuid", lambda: os.getuid() + 1)
    assert "belongs to user" in checks.folder(paths).what


def test_a_folder_that_is_not_there_or_is_none(tmp_path: Path) -> None:
    assert checks.folder(Paths(tmp_path / "none")).state is OK
    (tmp_path / "file").touch()
    assert checks.folder(Paths(tmp_path / "file")).state is BAD


@pytest.mark.parametrize(("free", "state"), [(10**10, OK), (4 * 10**8, WARN), (10**7, BAD)])
def test_space(paths: Paths, free: int, state: State) -> None:
    assert checks.space(paths, lambda _: (0, 0, free)).state is state


def test_space_of_a_disk_that_is_gone(paths: Paths) -> None:
    def gone(_: Path) -> tuple[int, int, int]:
        raise OSError(5, "Input/output error")

    assert checks.space(paths, gone).state is WARN


def test_file_system() -> None:
    assert checks.file_system(FileSystem("ext4", True)).state is OK
    assert "nfs4" in checks.file_system(FileSystem("nfs4", False)).what
    assert checks.file_system(FileSystem("nfs4", False)).state is WARN


@pytest.mark.parametrize("name", checks.PRIVATE_FILES)
def test_files_that_others_may_read(paths: Paths, name: str) -> None:
    (paths.data / name).touch(0o600)
    assert checks.private_files(paths).state is OK
    (paths.data / name).chmod(0o644)
    found = checks.private_files(paths)
    assert (found.state, found.hint) == (BAD, f"cd {paths.data} && chmod 600 {name}")


def test_secrets(paths: Paths) -> None:
    assert checks.secrets_file(paths).state is OK
    Secrets(paths.secrets).set("llm.a.api_key", "value")
    assert checks.secrets_file(paths).what == "1 stored, private"
    paths.secrets.chmod(0o604)
    assert checks.secrets_file(paths).state is BAD
    assert paths.secrets.stat().st_mode & 0o777 == 0o604, "looking changes nothing"
    paths.secrets.chmod(0o600)
    paths.secrets.write_text("{")
    assert checks.secrets_file(paths).state is BAD


def test_configuration(paths: Paths) -> None:
    assert checks.config_file(paths).state is OK
    assert checks.config_file(paths, ["homed.toml line 2: there is no setting 'plugin.x.y'."]).state is WARN
    paths.config.write_text("[core.agent]\nmax_tool_turn = 3\n")
    found = checks.config_file(paths)
    assert found.state is BAD
    assert "line 2" in found.what


def test_adapter_scripts(paths: Paths) -> None:
    assert checks.adapter_scripts(paths).what == "0 scripts, 0 of your own"
    Shelf(paths.data / "adapters").refresh()
    (paths.data / "adapters" / "mine.lua").write_text("")
    assert checks.adapter_scripts(paths).what == "9 scripts, 1 of your own"
    (paths.data / "adapters" / "gemini.lua").write_text("-- mine")
    (paths.data / "adapters" / "gemini.lua.new").write_text("-- newer")
    found = checks.adapter_scripts(paths)
    assert (found.state, found.what.endswith(": gemini"), "gemini.lua.new" in found.hint) == (WARN, True, True)


def test_kept_aside(paths: Paths) -> None:
    assert checks.kept_aside(paths).state is OK
    paths.db.write_bytes(b"x" * 3_000_000)
    assert keep(Damage(paths.db, "x")).kept
    assert checks.kept_aside(paths).what.startswith("1 damaged databases (3 MB)")
    assert checks.kept_aside(paths).state is WARN


@pytest.mark.parametrize("name", ["homed.log", "homed.log.2", "logs/shell.log"])
def test_logs(paths: Paths, name: str) -> None:
    redact: Callable[[str], str] = Redactor(["correct horse battery"]).redact
    log = paths.data / name
    log.parent.mkdir(exist_ok=True)
    log.write_text("2026-01-01 INFO all is well, the key is [secret:key]\n")
    assert checks.logs_clean(paths, redact).state is OK
    for line in ("it said: correct horse battery!\n", "Authorization: Bearer abcdef0123456789abcdef\n"):
        log.write_text(line)
        found = checks.logs_clean(paths, redact)
        assert (found.state, log.name in found.what) == (BAD, True)
        assert "horse" not in found.what
    log.unlink()
    os.mkfifo(log)
    assert checks.logs_clean(paths, redact).state is OK, "a pipe is not waited at"


def test_listening() -> None:
    def look(address: str, password: str) -> State:
        values = {"plugin.webui.listen": address, "core.web.password": password}
        return checks.listening(values.get, lambda text: text.startswith("127.")).state

    assert look("127.0.0.1:80", "") is OK
    assert look("0.0.0.0:80", "scrypt:x") is OK
    assert look("0.0.0.0:80", "") is BAD


def test_plugins() -> None:
    def look(state: str, reason: str) -> State:
        return checks.plugin_states([{"name": "x", "state": state, "reason": reason}]).state

    assert look("ready", "") is OK
    assert look("stopped", "stopped by a person") is OK
    assert look("stopped", "needs attention: 4 crashes") is WARN
    assert look("backoff", "exit code 1") is WARN


def test_without_a_folder_there_is_little_to_look_at(tmp_path: Path) -> None:
    found = checks.of_folder(Paths(tmp_path / "none"), FileSystem("ext4", True), str, "3.50.0")
    assert [check.name for check in found] == ["versions", "data folder"]
