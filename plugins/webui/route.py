"""A route: what there is at an address, who may ask, what is asked and what is answered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from . import v1_shape
from .bodies import MAX_BODY
from .guard import SAFE_METHODS

PREFIX = "/api/v1"
V1 = v1_shape.PREFIX
HOLO = "/holo"
"""The addresses of the memory console under which its original had them."""

JSON = "application/json"
MEMORY = "memory"
"""The room whose changes need `guard.MEMORY_HEADER`."""

Scope = Literal["open", "session", "any", "chat", "memory", "admin"]
Kind = Literal["json", "file", "nothing"]


@dataclass(frozen=True, slots=True)
class Route:
    """One method of one path, relative to `PREFIX`.

    ``name``: the endpoint, the method that answers it, and the operation's id.  ``scope``: of an API key; ``any`` key
    may, only a ``session`` may, or everybody (``open``).  ``takes``: a body of JSON, the bytes of a file, or nothing.
    ``limit``: bytes of the body.  ``statuses``: of success, with what they mean.  ``kinds``: media types of the answer.
    ``refusals``: statuses of errors beyond those that any route may answer.
    """

    method: str
    path: str
    name: str
    scope: Scope
    summary: str
    answer: str = ""
    query: str = ""
    body: str = ""
    takes: Kind = "nothing"
    limit: int = MAX_BODY
    statuses: Mapping[int, str] = field(default_factory=lambda: {200: "Done."})
    kinds: tuple[str, ...] = (JSON,)
    refusals: tuple[int, ...] = ()
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Parameters of the path that can only be one of these."""

    prefix: str = PREFIX
    """What the path begins with."""

    same_as: str = ""
    """The name of the route that this is another address of."""

    @property
    def room(self) -> str:
        """What it is about: the first word of its path."""
        return MEMORY if self.prefix == HOLO else self.path.split("/")[1].partition(".")[0]

    @property
    def endpoint(self) -> str:
        """Its name in the application."""
        return f"{ {PREFIX: 'api', V1: 'v1', HOLO: 'holo'}[self.prefix] }.{self.name}"

    @property
    def by_key(self) -> bool:
        """Whether a key alone lets in: no session does, which another page could use."""
        return self.prefix == V1

    @property
    def changes_memory(self) -> bool:
        """Whether it needs the header that says that a change of memory is meant."""
        return self.room == MEMORY and self.method not in SAFE_METHODS

    @property
    def rule(self) -> str:
        """Its path as the application's router writes it."""
        rule = self.path
        for name, choices in self.choices.items():
            rule = rule.replace(f"{{{name}}}", f"<any({','.join(choices)}):{name}>")
        return rule.replace("{", "<").replace("}", ">")


def get(path: str, name: str, scope: Scope, summary: str, answer: str, query: str = "") -> Route:
    """A route that reads."""
    return Route("GET", path, name, scope, summary, answer, query)


def post(path: str, name: str, scope: Scope, summary: str, answer: str, body: str = "Empty") -> Route:
    """A route that changes something."""
    return Route("POST", path, name, scope, summary, answer, body=body, takes="json")


def delete(path: str, name: str, scope: Scope, summary: str, answer: str) -> Route:
    """A route that removes something."""
    return Route("DELETE", path, name, scope, summary, answer)
