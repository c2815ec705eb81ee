"""Several model sources in one, each answering from a script of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from homed.errors import NotFound
from homed.providers.base import Provider, Source
from tests.kit.builders import Answer, FakeModel


class Member(FakeModel):
    """A source by its name."""

    def __init__(self, name: str, *script: Answer, **source: Any) -> None:
        super().__init__(*script)
        self._source = replace(self._source, name=name, model=f"{name}-1", **source)


class Fleet(FakeModel):
    """Sources in the order they were added; the first is in use, or the one named ``used``."""

    def __init__(self, *members: Member, used: str = "") -> None:
        super().__init__()
        self.members = {member.source.name: member for member in members}
        self.used = used or members[0].source.name

    def __getitem__(self, name: str) -> Member:
        return self.members[name]

    @property
    def asked(self) -> dict[str, int]:
        """How often each was."""
        return {name: len(member.requests) for name, member in self.members.items()}

    def list(self) -> Sequence[Source]:
        return [member.source for member in self.members.values()]

    def current(self) -> Source | None:
        return self.members[self.used].source

    def provider(self, name: str | None = None) -> Provider:
        member = self.members.get(name or self.used)
        if member is None:
            raise NotFound(f"There is no model source {name!r}.")
        return member
