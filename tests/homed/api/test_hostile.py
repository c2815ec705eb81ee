"""Every method against every attack: none gets past the dispatcher, and the honest call does.

Handlers are replaced by one that counts, so that "refused" means refused before anything was done, and the control
shows that the same parameters without the attack get through.  Each test counts what it tried.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import Enum
from importlib import import_module
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import pytest
import trio
from pydantic import BaseModel

from homed.api.method import PeerParams
from homed.api.porch import METHODS as ON_THE_PORCH
from homed.api.table import MODULES, whole
from homed.errors import Denied, HomedError, InvalidInput
from homed.host.states import Trust
from homed.identity.roles import Identity, Role
from homed.wire.methods import CAPABILITIES, CORE, PACKAGED_ONLY, TO_KERNEL
from tests.homed.api.fakes import FakeCaller, House
from tests.homed.api.test_dispatch import ENOUGH

METHODS = whole()
OWNER = Identity("webui:owner", "webui", "", Role.OWNER, "owner")
ALL = sorted(TO_KERNEL)
OF_PEOPLE = [name for name in ALL if issubclass(METHODS[name].params, PeerParams)]
IN_PERSON = [name for name in ALL if METHODS[name].in_person]
OF_CALL = [name for name in ALL if METHODS[name].of_call]

HUGE = "x" * (2 << 20)


@dataclass
class Tried:
    """What was tried, what got through to a handler, and what was refused otherwise than it should have been."""

    reached: list[str] = field(default_factory=list)
    refused: dict[str, HomedError] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)


@contextmanager
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[Tried]:
    """Handlers that only count."""
    tried = Tried()

    def spy(name: str) -> Any:
        async def run(_: object) -> object:
            await trio.lowlevel.checkpoint()
            tried.reached.append(name)
            return {}

        return run

    with monkeypatch.context() as patch:
        for name, entry in METHODS.items():
            table = ON_THE_PORCH if name in ON_THE_PORCH else import_module(MODULES[name]).METHODS
            patch.setitem(table, name, replace(entry, handler=spy(name)))
        yield tried


def honest(name: str, **more: object) -> dict[str, object]:
    """Parameters with which the method works, without the one who asks."""
    return {**ENOUGH.get(name, {}), **more}


async def attack(
    house: House,
    tried: Tried,
    name: str,
    params: Mapping[str, object],
    *,
    caller: FakeCaller | None = None,
    expected: type[HomedError] = Denied,
) -> None:
    try:
        await house.api.dispatch(caller or FakeCaller(), name, params)
    except HomedError as error:
        tried.refused[name] = error
        if type(error) is not expected:
            tried.wrong.append(f"{name}: {type(error).__name__}: {error.message}")
    else:
        tried.wrong.append(f"{name}: let through")


def test_the_table_is_whole() -> None:
    assert len(ALL) >= 90
    assert len(OF_PEOPLE) >= 65
    assert {"io.approve", "io.thread_delete", "llm.set", "social.set_role", "admin.peers_role"} <= set(IN_PERSON)
    assert {"tools.call", "cold.query"} <= set(OF_CALL)
    assert TO_KERNEL.keys() == METHODS.keys()
    assert set(TO_KERNEL.values()) <= CAPABILITIES
    assert CAPABILITIES - set(TO_KERNEL.values()) == {"events.content", "io.critical"}  # rights on top of a method


async def test_control_an_honest_call_of_every_method_reaches_its_handler(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        counted(monkeypatch) as tried,
        house.tokens.lent("webui", OWNER, turn="turn_1", thread="thread_1", channel="webui") as token,
    ):
        for name in ALL:
            who = {"call": token} if name in OF_CALL else {"peer": "webui:owner"} if name in OF_PEOPLE else {}
            await house.api.dispatch(FakeCaller(), name, honest(name, **who))
        assert tried.reached == ALL


async def test_with_a_token_too_but_what_a_person_has_to_say(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    with (
        counted(monkeypatch) as tried,
        house.tokens.lent("webui", OWNER, turn="turn_1", thread="thread_1", channel="webui") as token,
    ):
        for name in ALL:
            if name in IN_PERSON:
                await attack(house, tried, name, honest(name, call=token))
            else:
                await house.api.dispatch(FakeCaller(), name, honest(name, call=token))
    assert tried.wrong == []
    assert sorted(tried.refused) == IN_PERSON
    assert len(tried.reached) + len(tried.refused) == len(ALL)


async def test_no_capability(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    with counted(monkeypatch) as tried:
        for name in ALL:
            caller = FakeCaller(capabilities=CAPABILITIES - {TO_KERNEL[name]})
            await attack(house, tried, name, honest(name, peer="webui:owner"), caller=caller)
    assert (tried.wrong, tried.reached) == ([], [])
    assert sorted(tried.refused) == ALL
    for name, error in tried.refused.items():
        needed = TO_KERNEL[name]
        assert error.detail["capability"] == needed
        assert all(word in error.message for word in ("webui", name, needed, "it has"))


async def test_an_external_plugin_whatever_it_was_granted(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = [name for name in ALL if TO_KERNEL[name] not in PACKAGED_ONLY]
    with (
        counted(monkeypatch) as tried,
        house.tokens.lent("webui", OWNER, turn="turn_1", thread="thread_1", channel="webui") as token,
    ):
        for name in ALL:
            caller = FakeCaller(trust=Trust.EXTERNAL, capabilities=CAPABILITIES)
            who = {"call": token} if name in OF_CALL else {"peer": "webui:owner"} if name in OF_PEOPLE else {}
            if name in mine:
                await house.api.dispatch(caller, name, honest(name, **who))
            else:
                await attack(house, tried, name, honest(name, **who), caller=caller)
    assert tried.wrong == []
    assert tried.reached == mine
    assert sorted(tried.refused) == sorted(set(ALL) - set(mine))
    # social read-only, events subscribe-only
    assert not {"social.set_role", "social.set_name", "events.publish", "settings.set", "tools.call"} & set(mine)
    assert {"events.subscribe", "social.get_person"} <= set(mine)


async def test_an_external_plugin_gets_no_content_of_events(house: House) -> None:
    caller = FakeCaller(trust=Trust.EXTERNAL, capabilities=CAPABILITIES - PACKAGED_ONLY)
    with pytest.raises(Denied, match=r"events\.content"):
        await house.api.dispatch(caller, "events.subscribe", {"content": True})
    assert caller.subscribed == []


@pytest.mark.parametrize("peer", ["webui:owner", "cli:owner", "kernel:owner", "tele:owner", "telegram:", ":", "webui"])
async def test_a_peer_of_another_plugin(house: House, monkeypatch: pytest.MonkeyPatch, peer: str) -> None:
    with counted(monkeypatch) as tried:
        for name in ALL:
            expected = Denied if name in OF_PEOPLE and name not in OF_CALL else InvalidInput
            await attack(house, tried, name, honest(name, peer=peer), caller=FakeCaller("telegram"), expected=expected)
    assert (tried.wrong, tried.reached) == ([], [])
    assert len(tried.refused) == len(ALL)


async def test_nobody_at_all(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    with counted(monkeypatch) as tried:
        for name in OF_PEOPLE:
            await attack(house, tried, name, honest(name), expected=InvalidInput)
    assert (tried.wrong, tried.reached, len(tried.refused)) == ([], [], len(OF_PEOPLE))


@pytest.mark.parametrize("kind", ["forged", "another plugin's", "dead", "with another peer"])
async def test_a_token_that_is_not_the_plugins_now(house: House, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    other = "cli" if kind == "another plugin's" else "webui"
    with (
        counted(monkeypatch) as tried,
        house.tokens.lent(other, OWNER, turn="turn_1", thread="thread_1", channel="webui") as token,
    ):
        if kind == "dead":
            house.tokens.revoke(token)
        given: dict[str, object] = {"call": token[:-1] + "!" if kind == "forged" else token}
        names = ALL
        if kind == "with another peer":
            given, names = {**given, "peer": "webui:else"}, OF_PEOPLE
        for name in names:
            await attack(house, tried, name, honest(name, **given))
    assert (tried.wrong, tried.reached) == ([], [])
    assert len(tried.refused) == len(names)


async def test_a_guest_where_an_owner_is_needed(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    for_owners = [name for name in ALL if METHODS[name].owner]
    guest = Identity("webui:guest", "webui", "", Role.GUEST, "guest:webui:guest")
    with (
        counted(monkeypatch) as tried,
        house.tokens.lent("webui", guest, turn="turn_1", thread="thread_1", channel="webui") as token,
    ):
        for name in for_owners:
            await attack(house, tried, name, honest(name, peer="webui:guest"))
            await attack(house, tried, name, honest(name, call=token))
    assert (tried.wrong, tried.reached) == ([], [])
    assert len(tried.refused) == len(for_owners) >= 25


async def test_a_field_that_is_none_of_the_methods(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    with counted(monkeypatch) as tried:
        for name in ALL:
            who = {"peer": "webui:owner"} if name in OF_PEOPLE else {}
            for more in {"role", "scope", "plugin", "$arena_", "peer.id"} - set(METHODS[name].params.model_fields):
                await attack(house, tried, name, honest(name, **who, **{more: "owner"}), expected=InvalidInput)
                assert more in tried.refused[name].message
    assert (tried.wrong, tried.reached) == ([], [])
    assert len(tried.refused) == len(ALL)


def parts_of(annotation: object) -> set[type]:
    """The plain types in an annotation."""
    if get_origin(annotation) is Annotated:
        return parts_of(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        return set().union(*(parts_of(arg) for arg in get_args(annotation)))
    if get_origin(annotation) is Literal:
        return {Enum}
    return {get_origin(annotation) or annotation}  # type: ignore[arg-type]


def garbage(kind: type) -> list[object]:
    """Values that a field of this type must refuse."""
    deep: object = "x"
    for _ in range(3000):
        deep = [deep]
    if kind in (int, float):
        return ["5", True, [], 10**30, -(10**30), {}]
    if kind is bool:
        return ["yes", 1, None]
    if kind is str or (isinstance(kind, type) and issubclass(kind, Enum)):
        return [5, True, HUGE, ["x"], {}, None]
    if kind is bytes:
        return [5, True, ["x"], {}, None]
    if kind is list:
        return ["x", {"0": "x"}, ["x"] * 100_000, [{}] * 100_000, 5]
    if kind is NoneType:
        return []
    if kind is object or (isinstance(kind, type) and issubclass(kind, Mapping)):
        return [{"a": HUGE}, {"a": deep}]
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return [5, [], {"unheard": "of"}, HUGE]
    raise AssertionError(f"say what a field of the type {kind} must refuse")


async def test_garbage_and_too_much_in_every_field(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    count = 0
    with counted(monkeypatch) as tried:
        for name in ALL:
            who = {"peer": "webui:owner"} if name in OF_PEOPLE and name not in OF_CALL else {}
            for field_, about in METHODS[name].params.model_fields.items():
                kinds = parts_of(about.annotation)
                wrong = [value for kind in kinds for value in garbage(kind)]
                for value in wrong:
                    if any(fine(kind, value) for kind in kinds):
                        continue
                    count, before = count + 1, len(tried.wrong)
                    await attack(house, tried, name, {**honest(name, **who), field_: value}, expected=InvalidInput)
                    if len(tried.wrong) > before:
                        tried.wrong[-1] += f" [{field_}: a {type(value).__name__}]"
    assert sorted(set(tried.wrong)) == [], "\n".join(sorted(set(tried.wrong)))
    assert tried.reached == []
    assert count > 1200


def fine(kind: type, value: object) -> bool:
    """Whether this value is one that another of the field's types takes."""
    if value is None:
        return kind is NoneType
    if kind in (int, float) and not isinstance(value, bool):
        return isinstance(value, int) and abs(value) < 10**20
    if kind is object:
        return isinstance(value, str | int | float | list) and value is not HUGE
    if isinstance(kind, type) and issubclass(kind, BaseModel) and kind.__name__ == "PeerRef":
        return False
    return False


@pytest.mark.parametrize("name", sorted(METHODS))
def test_no_text_list_or_number_is_without_a_limit(name: str) -> None:
    for field_, about in METHODS[name].params.model_fields.items():
        limits = {
            key for one in about.metadata for key in ("max_length", "le", "lt", "pattern", "func") if hasattr(one, key)
        }
        kinds = parts_of(about.annotation)
        if kinds & {str, list, object, dict}:
            assert limits & {"max_length", "pattern", "func"}, f"{name}: {field_} has no limit"


def test_core_is_the_only_capability_that_needs_no_grant() -> None:
    assert {name for name in ALL if TO_KERNEL[name] == CORE} == {name for name in ALL if name.startswith("core.")}
