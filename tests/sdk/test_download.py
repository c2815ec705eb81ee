"""``fetch``: one JSON object on stdout, whatever happens."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from homed.sdk.download import download
from tests.sdk.web import serving


async def test_what_came_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(tmp_path) as web:
        monkeypatch.setenv("SSL_CERT_FILE", str(web.certificate))
        url = web.file("/a.hmap", b"bytes")
        assert await download(url + "?key=secret", tmp_path / "a") == 0
        sha256 = hashlib.sha256(b"bytes").hexdigest()
        assert json.loads(capsys.readouterr().out) == {"size": 5, "sha256": sha256, "url": url}


async def test_what_went_wrong_is_told_the_same_way(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert await download("http://localhost/a", tmp_path / "a") == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["code"], "no https address" in told["message"]) == ("invalid", True)
