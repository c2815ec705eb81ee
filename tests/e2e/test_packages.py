"""A plugin's whole life while homed runs: packed, reviewed, installed, used, changed, replaced, removed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.homed.wire.zips import manifest, packed
from tests.kit.daemon import run_homed, until
from tests.kit.house import House, Plan, house
from tests.sdk.web import Web, serving

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    with serving(tmp_path_factory.mktemp("web")) as found:
        yield found


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, web: Web) -> Iterator[House]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSL_CERT_FILE", str(web.certificate))
        with house(tmp_path_factory.mktemp("packages") / "data", Plan(only=("pluginmgr",), vectors=False)) as built:
            yield built


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `homed plugin new` writes."""
    folder = tmp_path_factory.mktemp("source")
    assert run_homed("plugin", "new", "hello", "--dir", str(folder)).code == 0
    return folder / "hello"


def pack(folder: Path, out: Path) -> str:
    """Pack it; the sha256 that is said."""
    ran = run_homed("plugin", "pack", str(folder), "--out", str(out))
    assert ran.code == 0, ran
    found = re.search(r"hello [\d.]+, (\d+) files, (\d+) bytes\nsha256 ([0-9a-f]{64})", ran.out)
    assert found is not None, ran.out
    assert int(found[2]) == out.stat().st_size
    return found[3]


def greeted(home: House, who: str) -> dict[str, Any]:
    """What the plugin's tool answers when the model calls it."""
    home.fake.call_tool("hello_greet", {"who": who}, then="done")
    answered = home.chat(f"greet {who}")
    assert answered["state"] == "answered", answered
    (result,) = [event for event in home.history(answered["thread"]) if event["kind"] == "tool"]
    return result


def offered(home: House) -> list[str]:
    """The tools that the model is told of in a turn."""
    home.fake.say("well")
    home.says("what can you do?")
    body = home.fake.chats[-1].body
    return [tool["function"]["name"] for tool in body.get("tools", [])]


def test_a_plugin_lives_and_goes_while_homed_runs(home: House, source: Path, web: Web, tmp_path: Path) -> None:
    run = home.daemon.run
    pid = home.daemon.pid
    sha = pack(source, tmp_path / "hello.hmap")
    assert pack(source, tmp_path / "again.hmap") == sha

    asked = run("plugin", "install", str(tmp_path / "hello.hmap"))
    assert (asked.code, "Say --yes" in asked.err) == (1, True)
    assert sha in asked.out
    assert "hello" not in [p["name"] for p in home.ask("admin.plugins")["plugins"]]

    done = run("plugin", "install", str(tmp_path / "hello.hmap"), "--yes")
    assert done.code == 0, done
    assert "hello 0.1.0 runs. What it offers can be used from now on." in done.out
    assert "Hello, 猫!" in json.dumps(greeted(home, "猫"), ensure_ascii=False)
    info = run("plugin", "info", "hello").out
    assert sha in info
    assert "from hello.hmap" in info

    assert "stays so until it is enabled" in run("plugin", "disable", "hello").out
    assert "hello_greet" not in offered(home)
    assert greeted(home, "dog")["data"]["status"] == "error"
    assert "runs" in run("plugin", "enable", "hello").out
    assert "hello_greet" in offered(home)

    code = home.data / "plugins" / "hello" / "hello_plugin.py"
    code.write_text(code.read_text().replace("{who.strip()}!", "{who}, after a reload!"))
    assert "runs" in run("plugin", "reload", "hello").out
    assert "after a reload!" in json.dumps(greeted(home, "cat"))

    run("config", "set", "plugin.hello.greeting", "Salve")
    about = json.loads((source / "plugin.json").read_text())
    (source / "plugin.json").write_text(json.dumps({**about, "version": "0.2.0", "capabilities": ["io", "admin"]}))
    pack(source, tmp_path / "2.hmap")
    url = web.file("/hello.hmap", (tmp_path / "2.hmap").read_bytes())
    refused = run("plugin", "install", url, "--yes", "--grant", "io,admin")
    assert refused.code == 1
    assert "admin" in refused.err
    assert home.plugin("hello")["version"] == "0.1.0"
    web.redirect("/latest", url)
    done = run("plugin", "install", web.url("/latest?token=secret"), "--yes", "--grant", "io")
    assert done.code == 0, done
    assert "replaces    0.1.0 (newer)" in done.out
    assert "It asks for admin, which only plugins that come with homed can have" in done.out
    assert "Salve, cat!" in json.dumps(greeted(home, "cat"))
    found = home.ask("plugin_mgr.info", name="hello")
    assert found["package"]["source"] == url
    assert {one["name"]: one["granted"] for one in found["capabilities"]} == {"io": True, "admin": False}

    listed = home.daemon.json("plugin", "list", "--tools")
    assert listed["plugins"]["hello"] == ["hello_greet"]
    assert listed["count"] == sum(map(len, listed["plugins"].values()))
    assert "coldcontext_query" in listed["kernel"]

    gone = run("plugin", "remove", "hello", "--yes", "--delete-data")
    assert gone.code == 0, gone
    assert "hello_greet" not in offered(home)
    assert not (home.data / "plugins" / "hello").exists()
    assert run("config", "get", "plugin.hello.greeting").code == 1
    assert "Traceback" not in home.daemon.said
    assert home.daemon.pid == pid


def test_what_cannot_be_installed_says_why_and_changes_nothing(home: House, web: Web, tmp_path: Path) -> None:
    before = {p["name"]: p["state"] for p in home.ask("admin.plugins")["plugins"]}
    bad = tmp_path / "bad.hmap"
    bad.write_bytes(b"PK\x05\x06")
    packed(tmp_path / "name.hmap", {"plugin.json": manifest(name="timer")})
    packed(tmp_path / "new.hmap", {"plugin.json": manifest(min_version="99.0")})
    for words, why in (
        ([str(bad)], "is no package"),
        ([str(tmp_path / "none.hmap")], "cannot be read"),
        ([str(tmp_path / "name.hmap")], "comes with homed"),
        ([str(tmp_path / "new.hmap")], "needs homed 99.0 or later"),
        (["http://localhost/x.hmap"], "no https address"),
        ([web.url("/nothing")], "404"),
    ):
        ran = home.daemon.run("plugin", "install", *words, "--yes")
        assert (ran.code, why in ran.err) == (1, True), ran
        assert "Traceback" not in ran.err
    assert {p["name"]: p["state"] for p in home.ask("admin.plugins")["plugins"]} == before
    assert home.daemon.run("plugin", "remove", "timer", "--yes").code == 1


def test_what_a_package_says_cannot_steer_the_terminal(home: House, tmp_path: Path) -> None:
    evil = "\x1b[2J\x1b]0;owned\x07\r\nInstall? yes"
    path = packed(tmp_path / "x.hmap", {"plugin.json": manifest(description=evil, author=evil, version=f"1{evil}")})
    ran = home.daemon.run("plugin", "install", str(path))
    assert "\x1b" not in ran.out + ran.err
    assert "\r" not in ran.out + ran.err
    assert "owned" in ran.out


def test_the_models_own_install_waits_for_the_owner_who_sees_what_it_may_do(
    home: House, source: Path, tmp_path: Path
) -> None:
    path = tmp_path / "hello.hmap"
    about = json.loads((source / "plugin.json").read_text())
    (source / "plugin.json").write_text(json.dumps({**about, "version": "0.3.0", "capabilities": ["io"]}))
    pack(source, path)

    def install(decision: str, **args: object) -> str:
        home.fake.call_tool("plugin_install", {"source": str(path), **args}, then="done")
        begun = home.ask("chat", text="install it", can_ask=True)
        (asked,) = until(lambda: home.ask("approvals")["approvals"], what="an approval")
        assert asked["args"]["capabilities"] == args["capabilities"]
        home.ask("approve", approval=asked["approval"], decision=decision)
        home.ask("wait", input=begun["input"])
        (result,) = [event for event in home.history(begun["thread"]) if event["kind"] == "tool"]
        return str(result["text"])

    def there() -> bool:
        return "hello" in [p["name"] for p in home.ask("admin.plugins")["plugins"]]

    assert "denied" in install("deny", capabilities=["io"])
    assert not there()
    assert "It asks for io, and the person has not seen that" in install("allow", capabilities=[])
    assert not there()
    assert "hello 0.3.0 runs" in install("allow", capabilities=["io"])
    assert home.ask("plugin_mgr.info", name="hello")["capabilities"][0]["granted"] is True
    home.daemon.run("plugin", "remove", "hello", "--yes")
