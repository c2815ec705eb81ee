"""`homed keys`: made on the folder when nobody runs on it, told once, listed without the key."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from homed.__main__ import main


def homed(folder: Path, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main([*words, "--data", str(folder)])
    said = capsys.readouterr()
    return code, said.out, said.err


def test_a_key_is_made_listed_and_removed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = tmp_path / "data"
    assert homed(data, capsys, "keys", "list") == (0, "No API key yet.\n  Make one: homed keys add NAME\n", "")
    code, out, _ = homed(data, capsys, "keys", "add", "laptop", "--scope", "admin", "--scope", "chat")
    assert code == 0
    key = out.strip()
    assert re.fullmatch(r"hk_[A-Za-z0-9_-]{43}", key)
    code, out, _ = homed(data, capsys, "keys", "list")
    assert code == 0
    assert re.search(r"laptop\s+webui:owner\s+chat, admin\s+\d{4}-.*never", out)
    assert key not in out
    (listed,) = json.loads(homed(data, capsys, "keys", "list", "--json")[1])
    assert (listed["name"], listed["scopes"], listed["used_at"]) == ("laptop", ["chat", "admin"], None)
    code, _, err = homed(data, capsys, "keys", "add", "laptop")
    assert code == 1
    assert "already" in err
    made = json.loads(homed(data, capsys, "keys", "add", "phone", "--json")[1])
    code, _, _ = homed(data, capsys, "keys", "add", "lounge", "--peer", "lounge")
    assert code == 0
    peers = {one["name"]: one["peer"] for one in json.loads(homed(data, capsys, "keys", "list", "--json")[1])}
    assert peers == {"laptop": "webui:owner", "phone": "webui:owner", "lounge": "webui:lounge"}
    assert homed(data, capsys, "keys", "add", "other", "--peer", "cli:owner")[0] == 1, "of the page alone"
    assert made["scopes"] == ["chat"]
    code, out, err = homed(data, capsys, "keys", "remove", "laptop")
    assert (code, out) == (0, "laptop is gone.\n")
    assert str(data) in err
    code, _, err = homed(data, capsys, "keys", "remove", "laptop")
    assert code == 1
    assert "homed keys list" in err
    for file in data.rglob("*"):
        if file.is_file():
            assert key[3:].encode() not in file.read_bytes(), file


def test_a_scope_that_is_none_is_a_usage_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        homed(tmp_path, capsys, "keys", "add", "x", "--scope", "everything")
    assert caught.value.code == 2
