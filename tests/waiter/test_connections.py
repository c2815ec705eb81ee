"""waiter.yaml, and which homed is meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from homed.errors import ConfigError, InvalidInput
from waiter.connections import Directory, NeedsKey, config_path, load
from waiter.endpoint import Places
from waiter.messages import Dial


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / ".config/homed").mkdir(parents=True)
    return tmp_path


def written(home: Path, text: str, mode: int = 0o600) -> Path:
    path = config_path({"HOME": str(home)})
    path.write_text(text, "utf-8")
    path.chmod(mode)
    return path


GOOD = """
home: {url: "https://home.example:8443", api_key: hk_one, ca: /ca.pem}
work: {socket: /run/homed/cli.sock}
box: {data: ~/homed}
lan: {url: http://10.0.0.2:8080, api_key: hk_two, insecure: true}
"""


def test_connections_are_read(home: Path) -> None:
    found = load(written(home, GOOD))
    assert list(found) == ["home", "work", "box", "lan"]
    assert (found["home"].url, found["home"].key, found["home"].ca) == (
        "https://home.example:8443",
        "hk_one",
        "/ca.pem",
    )
    assert found["work"].places == Places((Path("/run/homed/cli.sock"),), named=True)
    assert found["lan"].insecure
    assert "hk_one" not in repr(found)


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604])
def test_keys_that_others_may_read_are_refused_with_advice(home: Path, mode: int) -> None:
    path = written(home, GOOD, mode)
    with pytest.raises(ConfigError) as caught:
        load(path)
    assert caught.value.hint == f"chmod 600 {path}"
    assert list(load(written(home, "work: {socket: /s}", mode))) == ["work"]  # nothing in it to read


@pytest.mark.parametrize(
    "text",
    ["[]", "a: 1", "a: {}", "a: {url: x, socket: y}", "a: {url: x, api_kee: hk_s}", "a: {url: [", "\x00", "a: b: hk_s"],
)
def test_what_is_wrong_is_told_without_what_is_secret(home: Path, text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(written(home, text))
    assert "hk_s" not in str(caught.value)


def test_no_file_is_no_connections(tmp_path: Path) -> None:
    assert load(tmp_path / "none.yaml") == {}
    assert config_path({"HOME": "/h", "XDG_CONFIG_HOME": "/x"}) == Path("/x/homed/waiter.yaml")


def test_which_homed_is_meant(home: Path) -> None:
    written(home, GOOD)
    directory = Directory({"HOME": str(home)}, socket="/s.sock")
    assert directory.names() == ("home", "work", "box", "lan")
    assert directory.find(Dial()).places == Places((Path("/s.sock"),), named=True)
    assert directory.find(Dial(name="home")).key == "hk_one"
    assert directory.find(Dial(url="https://home.example:8443/")).key == "hk_one"
    assert directory.find(Dial(url="https://home.example:8443/")).name == "home"
    assert directory.find(Dial(url="https://other", key="hk_x")).name == "other"
    with pytest.raises(InvalidInput, match="no connection 'nope'"):
        directory.find(Dial(name="nope"))
    with pytest.raises(NeedsKey) as caught:
        directory.find(Dial(url="https://other"))
    assert caught.value.url == "https://other"


def test_whose_key_wins(home: Path) -> None:
    written(home, GOOD)
    directory = Directory({"HOME": str(home), "HOMED_API_KEY": "hk_env"})
    assert directory.find(Dial(name="home")).key == "hk_one"
    assert directory.find(Dial(url="https://home.example:8443")).key == "hk_env"
    assert directory.find(Dial(url="https://home.example:8443", key="hk_typed")).key == "hk_typed"


def test_the_key_of_the_environment_is_shown_to_one_homed_only(home: Path) -> None:
    """It came with the command line for one: another that is dialled later must not learn it."""
    written(home, GOOD)
    directory = Directory({"HOME": str(home), "HOMED_API_KEY": "hk_env"})
    assert directory.find(Dial(url="https://first")).key == "hk_env"
    with pytest.raises(NeedsKey):
        directory.find(Dial(url="https://other"))
    assert directory.find(Dial(url="https://home.example:8443")).key == "hk_one"
    assert directory.find(Dial(url="https://first/")).key == "hk_env"
