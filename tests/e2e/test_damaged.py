"""C12: a damaged database and a real daemon: it starts, shows what can be read, refuses what is new, and is mended."""

from __future__ import annotations

import json
import re
import sys
import urllib.request
from collections.abc import Iterator
from http.cookiejar import CookieJar
from pathlib import Path

import pytest

from homed.errors import StorageError
from tests.kit.daemon import Daemon, run_command, until
from tests.kit.house import House, house

pytestmark = pytest.mark.slow
PAGE = 4096


@pytest.fixture
def home(tmp_path: Path) -> Iterator[House]:
    with house(tmp_path / "data") as built:
        yield built


def zero(data: Path, number: int = 3) -> None:
    """Overwrite a page with zeros."""
    with (data / "homed.db").open("r+b") as file:
        file.seek((number - 1) * PAGE)
        file.write(bytes(PAGE))


def test_it_runs_read_only_says_so_everywhere_and_is_mended_with_nothing_lost(home: House) -> None:
    assert home.says("remember the plum tree") == "You said: remember the plum tree"
    threads = home.ask("threads")["threads"]
    counts = home.ask("admin.status")["counts"]
    assert home.daemon.stop() == 0
    zero(home.data)
    home.start()
    until(lambda: "damaged" in home.daemon.said)
    storage = home.ask("admin.status")["storage"]
    assert storage["state"] == "read_only"
    assert Path(storage["kept"]).is_dir()
    assert [thread["title"] for thread in home.ask("threads")["threads"]] == [thread["title"] for thread in threads]
    texts = [event["text"] for event in home.history(threads[0]["id"])]
    assert "remember the plum tree" in texts[0]
    with pytest.raises(StorageError, match="read-only") as refused:
        home.chat("something new")
    assert storage["kept"] in refused.value.hint
    assert all(plugin["state"] == "ready" for plugin in home.ask("admin.plugins")["plugins"] if plugin["name"] == "cli")
    waiter = home.waiter("-chat", "something new")
    assert waiter.code == 1
    assert "read-only" in waiter.err
    told = home.daemon.run("status")
    assert "read-only" in told.out
    doctor = home.daemon.run("doctor")
    assert doctor.code == 1
    assert "doctor --repair" in doctor.out
    refused_repair = home.daemon.run("doctor", "--repair")
    assert refused_repair.code == 1
    assert "Stop it first" in refused_repair.err
    assert home.daemon.said.count("ERROR") == 1, "one clear message"
    assert "Traceback" not in home.daemon.said
    assert home.daemon.stop() == 0

    mended = home.daemon.run("doctor", "--repair")
    assert mended.code == 0, mended
    assert "rebuilt" in mended.out
    assert "events" in mended.out
    home.start()
    assert home.ask("admin.status")["storage"]["state"] == "ok"
    assert home.ask("admin.status")["counts"] == counts
    assert home.says("and now") == "You said: and now"
    checks = {c["name"]: c["state"] for c in json.loads(home.daemon.run("doctor", "--json").out)["checks"]}
    assert checks["database"] == "ok"
    assert checks["kept aside"] == "warn"
    assert home.daemon.stop() == 0


def test_the_page_lets_one_in_and_shows_what_is_wrong(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with Daemon(data) as daemon:
        assert daemon.stop() == 0
    zero(data)
    with Daemon(data) as daemon:
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
        secret = re.sub(r".*#", "", daemon.link)
        headers = {"Content-Type": "application/json", "Origin": daemon.url}
        body = json.dumps({"secret": secret}).encode()
        login = urllib.request.Request(f"{daemon.url}/api/v1/login", data=body, headers=headers)
        with opener.open(login, timeout=30) as answer:
            assert answer.status == 200
        with opener.open(f"{daemon.url}/api/v1/status", timeout=30) as answer:
            status = json.load(answer)
        assert status["storage"]["state"] == "read_only"
        with opener.open(f"{daemon.url}/", timeout=30) as answer:
            assert answer.status == 200
        assert "Traceback" not in daemon.said


def test_a_log_cut_short_is_no_damage_and_a_lost_first_page_is_refused_with_the_way_out(home: House) -> None:
    home.says("before")
    home.daemon.kill()
    log = home.data / "homed.db-wal"
    log.write_bytes(log.read_bytes()[: log.stat().st_size * 2 // 3 + 7])
    home.start()
    assert home.ask("admin.status")["storage"]["state"] == "ok"
    assert home.says("after") == "You said: after"
    assert home.daemon.stop() == 0
    db = home.data / "homed.db"
    db.write_bytes(bytes(PAGE) + db.read_bytes()[PAGE:])
    ran = run_command([sys.executable, "-m", "homed", "run", "--safe", "--data", str(home.data)])
    assert ran.code == 1
    assert "is not a database" in ran.err
    mended = home.daemon.run("doctor", "--repair")
    assert mended.code == 1, "nobody can tell whether all was saved"
    assert "rebuilt" in mended.out, mended
    home.start()
    assert home.says("again") == "You said: again"
    assert home.ask("admin.status")["counts"]["events"] >= 4
