"""Where the page listens: the address as a person writes it, and the socket for it, opened before all else."""

from __future__ import annotations

import errno
import ipaddress
import socket
import ssl
from dataclasses import dataclass

from homed.errors import ConfigError

EXAMPLE = "127.0.0.1:8080"
SETTING = "plugin.webui.listen"
STUCK_MS = 20_000
"""Milliseconds after which a connection whose other end takes nothing is given up; it would hold a shutdown."""


@dataclass(frozen=True, slots=True)
class Address:
    """A host and a port to listen on; port 0 means any free one."""

    host: str
    port: int

    @property
    def loopback(self) -> bool:
        """True if only this machine can reach it."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def url(self, *, encrypted: bool = False) -> str:
        """The address as a link for a person on this machine; a wildcard becomes loopback."""
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)
        scheme = "https" if encrypted else "http"
        return f"{scheme}://[{host}]:{self.port}" if ":" in host else f"{scheme}://{host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Certificate:
    """Files of a certificate (with its chain) and its key, both PEM."""

    cert: str
    key: str


def parse(text: str) -> Address:
    """``HOST:PORT``, ``[IPV6]:PORT``, or just a port, as an address.  Raises ConfigError."""
    host, _, port = text.strip().rpartition(":")
    host = host.removeprefix("[").removesuffix("]") or "127.0.0.1"
    if not port.isdecimal() or int(port) > 65535:
        raise ConfigError(f"{text!r} is no address to listen on.", hint=f"Set {SETTING} to HOST:PORT, like {EXAMPLE}.")
    return Address(host, int(port))


def check(address: Address, *, password_set: bool) -> None:
    """Refuse an address that others can reach while there is no password.  Raises ConfigError."""
    if not address.loopback and not password_set:
        raise ConfigError(
            f"The page would be open to others on {address.host}:{address.port}, and there is no password.",
            hint=f"Set one (homed config set core.web.password), or set {SETTING} to {EXAMPLE}.",
        )


def certificate(cert: str, key: str) -> Certificate | None:
    """The certificate to serve with; None for plain HTTP.  Reads both files.  Raises ConfigError with what to do."""
    cert, key = cert.strip(), key.strip()
    if not cert and not key:
        return None
    if not cert or not key:
        raise ConfigError(
            "TLS needs a certificate and its key.",
            hint="Set plugin.webui.tls_cert and plugin.webui.tls_key, or neither.",
        )
    try:
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(
            cert, key, lambda: ""
        )  # or OpenSSL would ask a terminal
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        why = getattr(error, "strerror", None) or getattr(error, "reason", None) or type(error).__name__
        raise ConfigError(
            f"The certificate {cert} cannot be used with the key {key}: {why}.",
            hint="Both must be PEM files that homed may read, belong together, and need no passphrase.",
        ) from error
    return Certificate(cert, key)


def open_socket(address: Address) -> socket.socket:
    """A bound, listening, non-inheritable TCP socket.  Raises ConfigError saying what to do."""
    try:
        found = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        raise ConfigError(
            f"{address.host!r} is no address of this machine.", hint=f"Set {SETTING} to HOST:PORT, like {EXAMPLE}."
        ) from error
    family, kind, protocol, _, where = found[0]
    made = socket.socket(family, kind, protocol)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, STUCK_MS)
        made.bind(where)
        made.listen(100)
    except OSError as error:
        made.close()
        raise _unusable(address, error) from error
    return made


def _unusable(address: Address, error: OSError) -> ConfigError:
    place = f"{address.host}:{address.port}"
    change = f"Set {SETTING} to another address (homed --listen HOST:PORT does it for one run)"
    match error.errno:
        case errno.EADDRINUSE:
            return ConfigError(
                f"Another program already listens on {place}.",
                hint=f"Stop it (`ss -ltnp 'sport = :{address.port}'` names it), or {change[0].lower()}{change[1:]}.",
            )
        case errno.EACCES:
            return ConfigError(f"Listening on {place} is not permitted.", hint=f"{change}, above port 1023.")
        case errno.EADDRNOTAVAIL:
            return ConfigError(f"{address.host!r} is no address of this machine.", hint=f"{change}.")
    return ConfigError(f"Listening on {place} failed: {error.strerror}.", hint=f"{change}.")
