"""auth.*: from a link or a password to a session and back."""

from __future__ import annotations

from typing import Any, cast

import pytest

from homed.config.definitions import WEB_PASSWORD
from homed.errors import Denied
from homed.identity.roles import Role
from tests.homed.api.fakes import FakeCaller, House


async def call(house: House, method: str, *, caller: str = "webui", **params: object) -> dict[str, object]:
    answer = await house.api.dispatch(FakeCaller(caller), method, params)
    assert isinstance(answer, dict)
    return answer


async def test_a_link_becomes_a_session_that_can_be_checked_and_ended(house: House) -> None:
    link = await call(house, "admin.link", peer="webui:owner")
    session = await call(house, "auth.redeem", secret=link["secret"])
    assert session["peer"] == "webui:owner"
    checked = await call(house, "auth.check", session=session["session"])
    assert checked == {"peer": "webui:owner", "role": "owner", "expires_at": session["expires_at"]}
    await call(house, "auth.logout", session=session["session"])
    with pytest.raises(Denied):
        await call(house, "auth.check", session=session["session"])


async def test_the_password_logs_in_once_it_is_set(house: House) -> None:
    assert await call(house, "auth.state") == {"password_set": False}
    await house.settings.set(WEB_PASSWORD, "open sesame")
    assert await call(house, "auth.state") == {"password_set": True}
    session = await call(house, "auth.login", password="open sesame")
    assert (await call(house, "auth.check", session=session["session"]))["role"] == "owner"
    with pytest.raises(Denied, match="wrong"):
        await call(house, "auth.login", password="open barley")


async def test_a_role_taken_away_is_gone_from_the_running_session(house: House) -> None:
    secret, _ = await house.logins.make_link()
    session = await call(house, "auth.redeem", secret=secret)
    await call(house, "auth.check", session=session["session"])
    await house.directory.identify("cli", "cli:owner")
    await house.directory.set_role("webui:owner", Role.GUEST)
    assert (await call(house, "auth.check", session=session["session"]))["role"] == "guest"


async def test_a_key_tells_whose_it_is_and_what_for_and_nothing_once_it_is_removed(house: House) -> None:
    made = await call(house, "admin.keys_add", peer="webui:owner", name="phone", scopes=["chat"])
    assert made == {"name": "phone", "key": made["key"], "scopes": ["chat"]}
    told = await call(house, "auth.key", key=made["key"])
    assert told == {"peer": "webui:owner", "role": "owner", "name": "phone", "scopes": ["chat"]}
    await house.directory.identify("cli", "cli:owner")
    await house.directory.set_role("webui:owner", Role.TRUSTED)
    assert (await call(house, "auth.key", key=made["key"]))["role"] == "trusted", "looked up each time"
    listed = await call(house, "admin.keys_list", caller="cli", peer="cli:owner")
    (key,) = cast(list[dict[str, Any]], listed["keys"])
    assert key["name"] == "phone"
    assert key["used_at"] >= key["created_at"]
    assert str(made["key"]) not in str(listed)
    await call(house, "admin.keys_remove", caller="cli", peer="cli:owner", name="phone")
    with pytest.raises(Denied, match="not valid"):
        await call(house, "auth.key", key=made["key"])
