"""What the REST interface answers about settings, the persona, keys and health; see ``answered.py``."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from .answered import Answer


class SettingAnswer(Answer):
    """A setting; a password is masked."""

    key: str
    value: Any
    source: str
    type: str
    name: str
    description: str
    category: str
    masked: bool
    place: str = Field(description="Where a value comes from that is given from outside and cannot be changed here.")
    minimum: float | None
    maximum: float | None
    restart: bool = Field(description="A change takes effect at the next start.")


class Settings(Answer):
    """The settings."""

    settings: list[SettingAnswer]


class Applied(Answer):
    """Whether a new value counts now or after a restart."""

    key: str
    applied: Literal["now", "restart"]
    note: str


class Changed(Answer):
    """Whether new values count now or after a restart."""

    applied: Literal["now", "restart"]
    note: str


class Snapshot(Answer):
    """What the settings of the models were before a change, and what a roll back to it would change."""

    id: int
    at: float
    changed: list[str]
    differences: list[dict[str, Any]]


class Snapshots(Answer):
    """The ways back, newest first."""

    snapshots: list[Snapshot]


class RolledBack(Answer):
    """What could not be brought back, a sentence each."""

    notes: list[str]


class PersonaAnswer(Answer):
    """Who the assistant is.  ``ask``: nobody has chosen yet."""

    text: str
    source: str
    place: str
    ask: bool
    presets: list[dict[str, str]]


class Key(Answer):
    """An API key, without the key."""

    name: str
    peer: str
    scopes: list[str]
    created_at: float
    used_at: float | None


class Keys(Answer):
    """The API keys."""

    keys: list[Key]


class KeyMade(Answer):
    """A new API key.  ``key`` stands here and nowhere else, ever."""

    name: str
    key: str
    scopes: list[str]


class Check(Answer):
    """One thing that was looked at."""

    name: str
    state: Literal["ok", "warn", "bad"]
    what: str
    hint: str = Field(description="What to do; empty where there is nothing to do.")


class Checks(Answer):
    """What the daemon found when it looked at itself."""

    checks: list[Check]
