"""Roles and scopes: who shares memory with whom (fault B14)."""

from __future__ import annotations

import itertools

import pytest

from homed.identity.roles import Identity, Role, intersection, scope_of, visible_scopes


def who(peer: str, role: Role, group: str = "") -> Identity:
    plugin = peer.partition(":")[0]
    return Identity(peer, plugin, "", role, scope_of(peer, role, plugin=plugin, group=group))


@pytest.mark.parametrize(
    ("identity", "scope"),
    [
        (who("webui:owner", Role.OWNER), "owner"),
        (who("cli:owner", Role.OWNER), "owner"),
        (who("qq:1", Role.TRUSTED), "trusted:qq:1"),
        (who("qq:2", Role.GUEST), "guest:qq:2"),
        (who("qq:2", Role.GUEST, "77"), "group:qq:77"),
        (who("qq:1", Role.OWNER, "77"), "group:qq:77"),
    ],
)
def test_scope_follows_role_and_group(identity: Identity, scope: str) -> None:
    assert identity.scope == scope


def test_two_people_never_see_each_other_and_a_group_never_sees_the_owner() -> None:
    """B14: A's private memory must not reach B or a group."""
    apart = [
        who("webui:owner", Role.OWNER), who("qq:1", Role.TRUSTED), who("qq:2", Role.GUEST), who("tg:2", Role.GUEST),
        who("qq:9", Role.OWNER, "77"), who("tg:9", Role.OWNER, "77"),
    ]  # fmt: skip
    for one, other in itertools.combinations(apart, 2):
        assert visible_scopes(one).isdisjoint(visible_scopes(other))


def test_the_owner_is_one_person_in_every_channel() -> None:
    assert visible_scopes(who("webui:owner", Role.OWNER)) == visible_scopes(who("cli:owner", Role.OWNER))


def test_a_peer_cannot_name_itself_into_another_scope() -> None:
    assert scope_of("qq:owner", Role.GUEST) == "guest:qq:owner"
    assert scope_of("qq:1", Role.GUEST, plugin="qq", group="x:owner") == "group:qq:x:owner"


@pytest.mark.parametrize(
    ("roles", "least"),
    [
        ([Role.OWNER, Role.OWNER], Role.OWNER),
        ([Role.OWNER, Role.TRUSTED], Role.TRUSTED),
        ([Role.OWNER, Role.GUEST, Role.TRUSTED], Role.GUEST),
        ([], Role.GUEST),
    ],
)
def test_merged_messages_get_the_least_role(roles: list[Role], least: Role) -> None:
    assert intersection(roles) is least
