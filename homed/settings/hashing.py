"""Passwords that are only ever checked, on their way into the settings."""

from __future__ import annotations

import trio

from homed.config.definitions import Definition
from homed.errors import ConfigError
from homed.identity.passwords import MIN_LENGTH, hash_password


async def hashed(definition: Definition, password: str) -> str:
    """The scrypt hash of a new password, made in a thread; ``ConfigError`` if it is too short."""
    if len(password) < MIN_LENGTH:
        raise ConfigError(f"{definition.key} needs at least {MIN_LENGTH} characters.")
    return await trio.to_thread.run_sync(hash_password, password)
