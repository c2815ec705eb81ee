"""The REST interface of a real daemon: fuzzed, and searched for every secret that was ever given to it."""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from plugins.webui.route import PREFIX
from plugins.webui.routes import ROUTES
from tests.kit.contents import contents
from tests.kit.daemon import Daemon, until
from tests.plugins.webui.fuzzing import SCOPES, fuzz

pytestmark = pytest.mark.slow

MODEL_KEY = "sk-" + "q7Zr2LmX9vBtKc4WnJdY8sHf"
PASSWORD = "correct horse battery staple 42"
HARMLESS = [
    "--exclude-operation-id", "plugin_do", "--exclude-operation-id", "setting_set", "--exclude-operation-id", "logout",
    "--exclude-operation-id", "key_remove", "--exclude-operation-id", "events", "--exclude-operation-id", "login",
    "--exclude-operation-id", "model_add", "--exclude-operation-id", "model_do", "--exclude-operation-id", "v1_chat",
]  # fmt: skip
"""Not on a real daemon: what would stop it or shut the fuzzer out, what goes out into the network, and what
waits for a model where there is none."""
CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"


class Visitor:
    """Somebody with a cookie or a key."""

    def __init__(self, url: str, **headers: str) -> None:
        self.url, self.headers = url, headers

    def ask(self, method: str, path: str, body: object = None) -> tuple[int, str, Any]:
        """Status, body and headers."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json", "Origin": self.url, **self.headers}
        request = urllib.request.Request(self.url + path, data=data, method=method, headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, answer.read().decode("utf-8", "replace"), answer.headers
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode("utf-8", "replace"), error.headers

    def change(self, path: str, body: object) -> Any:
        """A change that has to work."""
        status, said, _ = self.ask("POST", PREFIX + path, body)
        assert status < 300, said
        return json.loads(said)


def enter(daemon: Daemon) -> Visitor:
    """Log in by the link that the daemon printed or gives out."""
    url, _, secret = daemon.new_link().partition("/login#")
    status, _, headers = Visitor(url).ask("POST", f"{PREFIX}/login", {"secret": secret})
    assert status == 200
    return Visitor(url, Cookie=headers["Set-Cookie"].split(";")[0])


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with Daemon(tmp_path_factory.mktemp("home") / "data") as running:
        yield running


def test_a_real_daemon_answers_as_the_document_says(daemon: Daemon) -> None:
    key = enter(daemon).change("/keys", {"name": "fuzz", "scopes": SCOPES})["key"]
    done = fuzz(daemon.url, key, "--phases", "fuzzing", "-n", "3", "--checks", CHECKS, *HARMLESS)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    tested = re.search(r"(\d+) generated, (\d+) passed", done.stdout)
    assert tested is not None
    assert int(tested[1]) == int(tested[2]) > 30


def test_no_secret_is_in_any_answer_url_or_log(daemon: Daemon) -> None:
    """D5, D6: keys of models, our own keys, passwords, sessions and links, after a run that used them all."""
    visitor = enter(daemon)
    source = {"name": "hidden", "base_url": "http://127.0.0.1:9", "model": "m", "api_key": MODEL_KEY}
    visitor.change("/models", source)
    visitor.change("/settings", {"key": "core.web.password", "value": PASSWORD})
    by_password = Visitor(visitor.url)
    status, _, headers = by_password.ask("POST", f"{PREFIX}/login", {"password": PASSWORD})
    assert status == 200
    key = visitor.change("/keys", {"name": "phone", "scopes": ["chat"]})["key"]
    assert Visitor(visitor.url, Authorization=f"Bearer {key}").ask("GET", f"{PREFIX}/threads")[0] == 200
    assert Visitor(visitor.url).ask("POST", f"{PREFIX}/login", {"password": "wrong " + PASSWORD})[0] == 401
    thread = visitor.change("/chat", {"text": f"my key is {MODEL_KEY}", "client_msg_id": "m1"})["thread"]
    history = f"{PREFIX}/chat/history?thread={thread}"
    until(lambda: json.loads(visitor.ask("GET", history)[1])["ended"], what="the end of the turn")
    sessions = [visitor.headers["Cookie"].split("=", 1)[1], headers["Set-Cookie"].split(";")[0].split("=", 1)[1]]
    secrets = [MODEL_KEY, PASSWORD, key, *sessions]

    for route in ROUTES:
        if route.method == "GET" and route.name not in ("events", "socket"):
            path = PREFIX + re.sub(r"{\w+}", "hidden", route.path)
            status, body, told = visitor.ask("GET", path)
            for secret in secrets:
                assert secret not in body, route.path
                assert secret not in str(told), route.path
    for path in ("/", "/models", "/settings", "/plugins", "/health"):
        assert not [secret for secret in secrets if secret in visitor.ask("GET", path)[1]], path

    assert until(lambda: "homed is up" in daemon.said)
    for file, found in [*contents(daemon.data), (daemon.log, daemon.log.read_bytes())]:
        if file != daemon.data / "secrets.json":
            for secret in secrets:
                assert secret.encode() not in found, f"{file}: …{secret[:4]}"
