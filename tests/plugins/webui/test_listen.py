"""Where the page listens, and what is refused."""

from __future__ import annotations

import socket
import ssl
from pathlib import Path

import pytest

from homed.errors import ConfigError
from plugins.webui.listen import Address, certificate, check, open_socket, parse

from .certificates import make


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:8080", Address("127.0.0.1", 8080)),
        ("0.0.0.0:80", Address("0.0.0.0", 80)),
        ("[::1]:8080", Address("::1", 8080)),
        (" localhost:0 ", Address("localhost", 0)),
        (":9000", Address("127.0.0.1", 9000)),
        ("9000", Address("127.0.0.1", 9000)),
    ],
)
def test_an_address_as_people_write_it(text: str, address: Address) -> None:
    assert parse(text) == address


@pytest.mark.parametrize("text", ["", "localhost", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:70000", "1.2.3.4:-1"])
def test_what_is_no_address_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(text)
    assert "127.0.0.1:8080" in caught.value.hint


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("127.0.0.1", True),
        ("127.8.8.8", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("192.168.1.5", False),
        ("myhost", False),
    ],
)
def test_only_this_machine_is_loopback(host: str, loopback: bool) -> None:
    assert Address(host, 1).loopback is loopback


def test_a_wider_address_needs_a_password() -> None:
    """D5: refuses to bind wider without a secret."""
    with pytest.raises(ConfigError) as caught:
        check(Address("0.0.0.0", 8080), password_set=False)
    assert "core.web.password" in caught.value.hint
    check(Address("0.0.0.0", 8080), password_set=True)
    check(Address("127.0.0.1", 8080), password_set=False)


def test_a_link_for_a_wildcard_address_is_one_that_works_here() -> None:
    assert Address("0.0.0.0", 8080).url() == "http://127.0.0.1:8080"
    assert Address("::", 8080).url() == "http://[::1]:8080"
    assert Address("192.168.1.5", 8080).url() == "http://192.168.1.5:8080"


def test_port_zero_takes_any_free_port() -> None:
    with open_socket(Address("127.0.0.1", 0)) as made:
        assert made.getsockname()[1] > 0
        assert not made.get_inheritable()


def test_a_port_in_use_says_so_and_what_to_do() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(ConfigError) as caught:
            open_socket(Address("127.0.0.1", port))
    assert f"127.0.0.1:{port}" in caught.value.message
    assert "plugin.webui.listen" in caught.value.hint


@pytest.mark.parametrize("host", ["203.0.113.9", "no such host", "x" * 300])
def test_an_address_that_is_not_this_machines_says_so(host: str) -> None:
    with pytest.raises(ConfigError) as caught:
        open_socket(Address(host, 0))
    assert "no address of this machine" in caught.value.message


def test_without_both_files_there_is_no_tls_and_one_alone_is_a_mistake(tmp_path: Path) -> None:
    assert certificate("", " ") is None
    made = make(tmp_path)
    assert certificate(made.cert, f" {made.key} ") == made
    for cert, key in ((made.cert, ""), ("", made.key)):
        with pytest.raises(ConfigError) as caught:
            certificate(cert, key)
        assert "plugin.webui.tls_cert" in caught.value.hint


def test_files_that_are_no_pair_say_so_and_ask_nobody_for_a_passphrase(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    made, other = make(tmp_path / "a"), make(tmp_path / "b", passphrase="sesame")
    text = tmp_path / "text.pem"
    text.write_text("no PEM")
    for cert, key in ((made.cert, other.key), (other.cert, other.key), (str(text), made.key), (made.cert, "/none")):
        with pytest.raises(ConfigError) as caught:
            certificate(cert, key)
        assert "PEM" in caught.value.hint


def test_openssl_is_never_left_to_ask_for_a_passphrase(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would ask on the terminal of whoever started homed, and wait there."""
    given: list[object] = []
    monkeypatch.setattr(ssl.SSLContext, "load_cert_chain", lambda _, cert, key, password=None: given.append(password))
    certificate("/cert.pem", "/key.pem")
    (password,) = given
    assert callable(password)
    assert password() == ""


def test_a_link_to_an_encrypted_page_says_https() -> None:
    assert Address("127.0.0.1", 8443).url(encrypted=True) == "https://127.0.0.1:8443"
