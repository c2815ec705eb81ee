"""Password hashes: scrypt, salted, with its parameters in the text.  Slow on purpose: call from a thread."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets

PREFIX = "scrypt$"
N, R, P = 1 << 15, 8, 1
"""32 MiB and about 0.1 s a try."""
MIN_LENGTH = 8

_MAX_MEMORY = 256 * 1024 * 1024


def hash_password(password: str) -> str:
    """``scrypt$N$R$P$SALT$KEY`` for storage."""
    salt = secrets.token_bytes(16)
    key = _derive(password, salt, N, R, P)
    return f"{PREFIX}{N}${R}${P}${_encode(salt)}${_encode(key)}"


def is_hash(text: str) -> bool:
    """True for what ``hash_password`` makes."""
    return text.startswith(PREFIX) and text.count("$") == 5


def verify_password(password: str, stored: str) -> bool:
    """Compare in constant time; a stored text that is no hash matches nothing."""
    try:
        _, n, r, p, salt, key = stored.split("$")
        derived = _derive(password, _decode(salt), int(n), int(r), int(p))
        return hmac.compare_digest(derived, _decode(key))
    except ValueError:
        return False


def _derive(password: str, salt: bytes, n: int, r: int, p: int) -> bytes:
    return hashlib.scrypt(password.encode(), salt=salt, n=n, r=r, p=p, maxmem=_MAX_MEMORY, dklen=32)


def _encode(raw: bytes) -> str:
    return base64.b64encode(raw).decode("ascii")


def _decode(text: str) -> bytes:
    return base64.b64decode(text, validate=True)
