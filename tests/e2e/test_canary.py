"""Secrets planted in a message, a tool's output, a plugin's words, keys, headers and the environment: found nowhere.

Nowhere is: every file of the data folder but the one for secrets, what the daemon printed, every answer of the REST
interface and of the commands, every notice, and the environments and command lines of all its processes.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from homed.wire import rpc
from plugins.webui.route import PREFIX
from plugins.webui.routes import ROUTES
from tests.e2e.test_rest import enter
from tests.kit.contents import contents
from tests.kit.daemon import until
from tests.kit.house import House, Plan, house

pytestmark = pytest.mark.slow


def secret(place: str) -> str:
    """A key as people have them, that tells where it was planted."""
    return "sk-" + f"Canary{place}".ljust(14, "0") + "q7Zr2LmX9vBtKc4WnJdY8sHf"


CANARIES = {
    place: secret(place)
    for place in ("Message", "Thread", "Output", "Error", "Argument", "Password", "Source", "Header", "Stderr", "Log",
                  "Environ", "Given", "Answer")
}  # fmt: skip
KEPT = "secrets.json"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    folder = tmp_path_factory.mktemp("canary")
    (folder / "files").mkdir()
    (folder / "files" / "notes.txt").write_text(f"the key is {CANARIES['Output']}\n")
    plan = Plan(only=("webui", "files"), allow=("files_read", "files_ls"), probes={"parrot": ()})
    with house(folder / "data", plan) as built:
        built.daemon.stop()
        (built.data / "homed.toml").unlink()
        built.daemon.env = {
            **built.daemon.env, "MY_TOKEN": CANARIES["Environ"],
            "HOMED_SECRET__LLM__GIVEN__API_KEY": CANARIES["Given"],
        }  # fmt: skip
        built.start()
        plant(built, folder)
        yield built


def plant(home: House, folder: Path) -> None:
    """All of them, by the ways that they would really come."""
    url = home.fake.url
    home.ask("admin.config_set", key="plugin.files.roots", value=[str(folder / "files")])
    home.ask("admin.config_set", key="core.models.record", value="canary")
    home.ask("admin.config_set", key="core.web.password", value=CANARIES["Password"])
    place: dict[str, Any] = {"base_url": url, "model": home.fake.model}
    home.ask("admin.models_add", name="second", api_key=CANARIES["Source"], **place)
    home.ask(
        "admin.models_add", name="fake", **place,
        options={"headers": {"X-Extra-Key": CANARIES["Header"]}},
    )  # fmt: skip
    home.ask("admin.models_use", name="fake")
    read = {"calls": [{"name": "files_read", "args": {"path": "notes.txt"}}]}
    wrong = {"calls": [{"name": "files_read", "args": {"path": f"{CANARIES['Argument']}.txt"}}]}
    home.fake.when("read it", read, wrong, {"say": f"It says {CANARIES['Answer']}."})
    thread = str(home.chat(f"remember {CANARIES['Thread']} for me")["thread"])
    home.chat(f"my key is {CANARIES['Message']}, read it", thread=thread)
    home.fake.misbehave(status=401, message=f"bad key {CANARIES['Error']}")
    home.chat("and now fail", thread=thread)
    parrot = home.probes["parrot"]
    parrot.do("say", text=f"my key is {CANARIES['Stderr']}")
    parrot.call("core.log", level="error", message=f"my key is {CANARIES['Log']}")


def found_in(text: str) -> list[str]:
    """Which of them stand there."""
    return [place for place, value in CANARIES.items() if value in text or value[3:] in text]


def files(folder: Path) -> Iterator[tuple[Path, bytes]]:
    return ((path, data) for path, data in contents(folder) if path.name != KEPT)


def search(pieces: Mapping[str, str]) -> None:
    """Nothing of it anywhere; where there is, it says which and where."""
    assert pieces
    assert {where: found for where, text in pieces.items() if (found := found_in(text))} == {}


def test_control_they_went_in(home: House) -> None:
    """The model was asked with the keys, and the canaries would be seen where they stood."""
    assert found_in(json.dumps({"x": CANARIES["Output"]})) == ["Output"]
    kept = home.data / KEPT
    assert set(found_in(kept.read_text())) >= {"Source", "Header"}
    assert kept.stat().st_mode & 0o777 == 0o600
    texts = json.dumps([event for thread in home.ask("threads")["threads"] for event in home.history(thread["id"])])
    assert texts.count("[secret:") >= 4


def test_no_file_of_the_folder_and_nothing_that_was_printed(home: House) -> None:
    pieces = {str(path.relative_to(home.data)): data.decode("latin-1") for path, data in files(home.data)}
    assert {"homed.db", "homed.log"} <= pieces.keys()
    assert any(name.startswith("cassettes/") for name in pieces), sorted(pieces)
    search({**pieces, "stdout": home.daemon.said})


def test_no_answer_of_the_rest_interface(home: House) -> None:
    visitor = enter(home.daemon)
    threads = [thread["id"] for thread in home.ask("threads")["threads"]]
    events = [event for thread in threads for event in home.history(thread)]
    names: Mapping[str, list[str]] = {
        "thread": threads, "event": [event["id"] for event in events], "turn": sorted({e["turn"] for e in events}),
        "name": ["parrot", "files", "webui", "cli"], "block": [], "change": [], "model": [],
        "record": [one["id"] for one in home.ask("memory.records", status="any")["records"]],
    }  # fmt: skip
    pieces: dict[str, str] = {}
    for route in ROUTES:
        if route.method != "GET" or route.path in ("/chat/events", "/socket"):
            continue
        for path in filled(route.path, names):
            query = f"?thread={threads[0]}" if route.path == "/chat/history" else ""
            pieces[path] = visitor.ask("GET", PREFIX + path + query)[1]
    assert len(pieces) > 25
    memory = ("/memory", "/memory/records?status=any", "/memory/cold", "/memory/merges")
    looks = (*memory, *(f"/memory/records/{record}" for record in names["record"]), "/holo/state", "/holo/embedding")
    for page in (
        "/", f"/t/{threads[0]}", "/plugins", "/plugins/parrot", "/models", "/settings", "/usage", "/health", *looks,
    ):  # fmt: skip
        pieces[f"page {page}"] = visitor.ask("GET", page)[1]
    search(pieces)


def filled(path: str, names: Mapping[str, list[str]]) -> list[str]:
    """A route's path with each thing there is."""
    for name, values in names.items():
        if f"{{{name}}}" in path:
            return [path.replace(f"{{{name}}}", value) for value in values]
    return [] if "{" in path else [path]


def test_no_answer_of_the_wire_nor_a_notice(home: House) -> None:
    pieces: dict[str, str] = {}
    asked: Mapping[str, Mapping[str, Any]] = {
        "admin.status": {}, "admin.threads": {}, "admin.plugins": {}, "admin.models_list": {}, "admin.usage": {},
        "admin.models_presets": {}, "admin.models_adapters": {}, "admin.config_list": {"hidden": True},
        "admin.config_snapshots": {}, "admin.rules_list": {}, "admin.peers_list": {}, "admin.keys_list": {},
        "admin.jobs_list": {}, "admin.doctor": {}, "admin.plugin_logs": {"name": "parrot"}, "threads": {},
    }  # fmt: skip
    for method, params in asked.items():
        pieces[method] = json.dumps(home.ask(method, **params), ensure_ascii=False)
    with home.link() as link:
        link.call("subscribe", {})
        link.send("chat", {"text": f"read it, {CANARIES['Message']}"})
        heard: list[str] = []
        while '"phase": "end"' not in "".join(heard):
            for one in link.receive():
                if isinstance(one, rpc.Notification):
                    heard.append(json.dumps(one.params, ensure_ascii=False))
        pieces |= {f"notice {n}": text for n, text in enumerate(heard)}
    assert len(heard) > 5
    search(pieces)


def test_no_command_export_or_backup(home: House, tmp_path: Path) -> None:
    pieces: dict[str, str] = {}
    for words in (("config", "dump"), ("config", "list"), ("models", "list"), ("status",), ("doctor",), ("usage",),
                  ("plugin", "logs", "parrot"), ("plugin", "info", "parrot")):  # fmt: skip
        ran = home.daemon.run(*words)
        pieces[" ".join(words)] = ran.out + ran.err
    home.ask("admin.memory_export", path=str(tmp_path / "memory.jsonl"), format="jsonl")
    home.ask("admin.backup", path=str(tmp_path / "backup"))
    pieces |= {str(path): data.decode("latin-1") for path, data in files(tmp_path)}
    assert len(pieces) > 9
    search(pieces)


def test_no_child_was_given_one(home: House) -> None:
    """Neither the plugins, nor what they run; the daemon's own environment is how two of them came."""
    pieces: dict[str, str] = {}
    children = until(lambda: [pid for pid in home.daemon.descendants() if pid != home.daemon.pid], what="children")
    for pid in children:
        for what in ("environ", "cmdline"):
            with suppress(OSError):  # one that has ended meanwhile
                pieces[f"{what} of {pid}"] = Path(f"/proc/{pid}/{what}").read_bytes().decode("latin-1")
    assert any(text for text in pieces.values())
    search(pieces)


def test_no_crash_report(home: House) -> None:
    parrot = home.probes["parrot"]
    parrot.do("say", text=f"Traceback: my key is {CANARIES['Stderr']}")
    pid = home.plugin("parrot")["pid"]
    os.kill(pid, signal.SIGSEGV)
    until(lambda: home.plugin("parrot")["crashes"], what="a crash report")
    search({"crash": json.dumps(home.plugin("parrot")), "log": home.data.joinpath("homed.log").read_text()})
