"""Call tokens: the identity of one invocation, for one plugin, for as long as it lasts."""

from __future__ import annotations

import pytest

from homed.errors import Denied
from homed.identity.roles import Identity, Role
from homed.identity.tokens import CallTokens

OWNER = Identity("webui:owner", "webui", "", Role.OWNER, "owner")


def test_a_token_gives_the_plugin_the_identity_of_the_turn() -> None:
    tokens = CallTokens()
    token = tokens.mint("timer", OWNER, turn="turn_1", thread="t1", channel="webui")
    found = tokens.resolve("timer", token)
    assert (found.identity, found.turn, found.thread, found.channel) == (OWNER, "turn_1", "t1", "webui")


def test_another_plugin_cannot_use_it() -> None:
    tokens = CallTokens()
    token = tokens.mint("timer", OWNER, turn="turn_1", thread="t1", channel="webui")
    with pytest.raises(Denied, match="shell"):
        tokens.resolve("shell", token)


def test_it_dies_with_the_invocation_and_its_death_is_told_like_any_wrong_token() -> None:
    tokens = CallTokens()
    with tokens.lent("timer", OWNER, turn="turn_1", thread="t1", channel="webui") as token:
        assert tokens.resolve("timer", token).identity is OWNER
    with pytest.raises(Denied) as dead:
        tokens.resolve("timer", token)
    with pytest.raises(Denied) as made_up:
        tokens.resolve("timer", "guess")
    assert str(dead.value) == str(made_up.value)
    assert token not in str(dead.value)
    assert len(tokens) == 0


def test_revoking_twice_is_no_error() -> None:
    tokens = CallTokens()
    token = tokens.mint("timer", OWNER, turn="", thread="", channel="")
    tokens.revoke(token)
    tokens.revoke(token)


def test_two_invocations_of_one_turn_have_two_tokens() -> None:
    tokens = CallTokens()
    one, two = (tokens.mint("timer", OWNER, turn="turn_1", thread="t1", channel="webui") for _ in range(2))
    tokens.revoke(one)
    assert tokens.resolve("timer", two).turn == "turn_1"
