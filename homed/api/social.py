"""``social.*``: who is known here.  What is known *about* people is the user model's, which is not built yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from pydantic import Field

from homed.api.method import MAX_NAME, Method, Name, PeerCall, PeerParams, administrative, personal
from homed.errors import Unavailable
from homed.identity.people import Person
from homed.identity.roles import Role


class OfPerson(PeerParams):
    """``social.get_person``; without ``person`` it is whoever asks."""

    person: str = Field(default="", max_length=MAX_NAME)


class ListPersons(PeerParams):
    """``social.list_persons``"""

    query: str = Field(default="", max_length=256)
    limit: int = Field(default=50, ge=1, le=200)
    after: str = Field(default="", max_length=MAX_NAME)


class Trait(OfPerson):
    """``social.get_trait``"""

    trait: str = Field(default="", max_length=MAX_NAME)


class Network(OfPerson):
    """``social.get_network``"""

    depth: int = Field(default=1, ge=1, le=3)


class SetRole(PeerParams):
    """``social.set_role``, ``admin.peers_role``"""

    person: Name
    role: Role = Field(strict=False)


class SetName(PeerParams):
    """``social.set_name``"""

    person: Name
    name: str = Field(max_length=1024)


async def get_person(call: PeerCall[OfPerson]) -> Mapping[str, object]:
    """Somebody the peer may know of."""
    found = await call.ports.people.get(call.who, call.params.person or call.who.peer)
    _names_read(call, [found])
    return {"person": found.wire()}


async def list_persons(call: PeerCall[ListPersons]) -> Mapping[str, object]:
    """Everybody the peer may know of, page by page."""
    params = call.params
    found = await call.ports.people.list_(call.who, params.query, limit=params.limit + 1, after=params.after)
    _names_read(call, found[: params.limit])
    return {"persons": [person.wire() for person in found[: params.limit]], "more": len(found) > params.limit}


def _names_read(call: PeerCall[Any], persons: Sequence[Person]) -> None:
    """Everybody chooses their own name and id: to a turn those of others are strangers' words."""
    call.took_in(untrusted=any(person.role != Role.OWNER for person in persons))


async def not_built(call: PeerCall[Any]) -> NoReturn:
    """What is known about somebody: nothing yet.  Of whom the peer may not know, not even that is said."""
    await call.ports.people.get(call.who, call.params.person or call.who.peer)
    raise Unavailable(
        "This homed keeps no traits of people and no relations between them yet.",
        hint="social.get_person says who somebody is.",
        detail={"missing": "usermodel"},
    )


async def set_role(call: PeerCall[SetRole]) -> Mapping[str, object]:
    """Give somebody a role."""
    await call.ports.directory.set_role(call.params.person, call.params.role)
    return {"person": (await call.ports.people.get(call.who, call.params.person)).wire()}


async def set_name(call: PeerCall[SetName]) -> Mapping[str, object]:
    """Call somebody so, whatever the channel says."""
    await call.ports.directory.set_name(call.params.person, call.params.name)
    return {"person": (await call.ports.people.get(call.who, call.params.person)).wire()}


METHODS: dict[str, Method] = {
    "social.get_person": personal(OfPerson, get_person),
    "social.list_persons": personal(ListPersons, list_persons),
    "social.get_trait": personal(Trait, not_built),
    "social.get_relations": personal(OfPerson, not_built),
    "social.get_network": personal(Network, not_built),
    # who is owner here is for an owner to say, never for a model
    "social.set_role": administrative(SetRole, set_role, in_person=True),
    "social.set_name": administrative(SetName, set_name),
}
