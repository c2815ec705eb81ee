"""The way back for the settings of the models: what is brought back, and that no key goes elsewhere."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from homed.settings import snapshots
from homed.settings.apart import header_slot, live, owner
from homed.settings.snapshots import (
    KeyRing,
    Plan,
    Snapshot,
    differences,
    keeping,
    replaced,
    take,
    unneeded,
    where,
)

PEPPER = "p" * 64


def source(name: str = "a", url: str = "https://a.example/v1", model: str = "m", **more: Any) -> dict[str, Any]:
    return {"name": name, "base_url": url, "model": model, **more}


def ring(**keys: str) -> KeyRing:
    """Source → key."""
    return KeyRing({live(name): key for name, key in keys.items()}, PEPPER)


def state(*sources: dict[str, Any], **keys: str) -> Snapshot:
    stored = {"core.llm.sources": list(sources), "core.agent.persona": "mine"}
    return take(stored, ring(**keys), at=1.0, changed=())


def test_only_settings_of_models_are_kept_and_of_a_key_a_digest() -> None:
    found = state(source(), a="sk-secret-key")
    assert list(found.settings) == ["core.llm.sources"]
    assert "secret" not in repr(found)
    assert found.keys == {"a": ring().digest("sk-secret-key")}
    assert "sk-" not in repr(ring(a="sk-secret-key"))


def test_another_pepper_gives_another_digest() -> None:
    """So that a short key cannot be tried out by whoever has the database alone."""
    assert KeyRing({}, "one").digest("k") != KeyRing({}, "two").digest("k")


def test_headers_of_ones_own_may_be_keys_and_are_left_out() -> None:
    headers = {"headers": {"X-Key": "hunter2", "X-Team": "t"}}
    found = state(source(options={**headers, "reasoning": "strip"}))
    assert "hunter2" not in repr(found)
    assert "'reasoning': 'strip'" in repr(found)


class TestDifferences:
    def test_they_are_told_field_by_field(self) -> None:
        found = differences(state(source(), a="one"), state(source(url="http://b"), source("n"), a="two"))
        assert [(one.what, one.then, one.now) for one in found[:2]] == [
            ("a.base_url", "https://a.example/v1", "http://b"), ("n", None, "m https://a.example/v1"),
        ]  # fmt: skip
        assert found[2].what == "a.api_key"
        assert "one" not in str(found[2])

    def test_one_state_has_none(self) -> None:
        assert differences(state(source(), a="k"), state(source(), a="k")) == []


def planned(then: Snapshot, now: Snapshot, keys: KeyRing, stored: list[dict[str, Any]]) -> Plan:
    return snapshots.plan(then, now, {"core.llm.sources": stored}, keys)


class TestPlan:
    def test_a_broken_address_is_put_right_and_the_key_put_back(self) -> None:
        then, broken = state(source(), a="good"), [source(url="https://wrong.example")]
        keys = KeyRing({live("a"): "bad", replaced("a", ring().digest("good")): "good"}, PEPPER)
        plan = planned(then, state(*broken, a="bad"), keys, broken)
        assert plan.changes == {"core.llm.sources": [source()]}
        assert plan.secrets == {live("a"): "good", replaced("a", ring().digest("bad")): "bad"}
        assert plan.notes == ()

    def test_where_the_key_of_then_is_gone_the_present_one_stays_at_the_same_server(self) -> None:
        now = [source(model="wrong")]
        plan = planned(state(source(), a="old"), state(*now, a="rotated"), ring(a="rotated"), now)
        assert plan.secrets == {}
        assert plan.notes == ("The key of a is the present one: the one of then is gone.",)

    def test_but_it_goes_to_no_other_server(self) -> None:
        now = [source(url="https://elsewhere.example")]
        plan = planned(state(source(), a="old"), state(*now, a="theirs"), ring(a="theirs"), now)
        assert plan.secrets[live("a")] is None
        assert plan.notes == ("The key of a is gone: give it again.",)

    def test_a_source_that_was_added_since_goes_and_its_key_waits(self) -> None:
        now = [source(), source("new")]
        plan = planned(state(source()), state(*now, new="k"), ring(new="k"), now)
        assert plan.changes == {"core.llm.sources": [source()]}
        assert plan.secrets == {live("new"): None, replaced("new", ring().digest("k")): "k"}

    def test_what_was_not_set_then_is_taken_out(self) -> None:
        then = take({}, ring(), at=1.0, changed=())
        now = take({"core.llm.current": "a"}, ring(), at=2.0, changed=())
        assert snapshots.plan(then, now, {}, ring()).changes == {"core.llm.current": None}

    def test_a_header_comes_back_with_what_it_was(self) -> None:
        slot, mine = header_slot("a", "X-Key"), source(options={"headers": {"X-Key": "hunter2"}})
        now = [source(url="https://else.example", options={"headers": {"X-Key": "hunter3"}})]
        keys = KeyRing({live(slot): "hunter3", replaced(slot, ring().digest("hunter2")): "hunter2"}, PEPPER)
        then = Snapshot(1, 1.0, (), state(mine).settings, {slot: ring().digest("hunter2")})
        plan = planned(then, state(*now), keys, now)
        assert plan.secrets == {live(slot): "hunter2", replaced(slot, ring().digest("hunter3")): "hunter3"}
        assert "hunter" not in str(plan.changes)
        assert plan.notes == ()


def test_a_removed_key_takes_those_it_had_replaced_with_it() -> None:
    keys = KeyRing({live("a"): "new", replaced("a", "0" * 16): "old", live("b"): "other"}, PEPPER)
    assert keeping({live("a"): None}, keys) == {live("a"): None, replaced("a", "0" * 16): None}
    assert keeping({live("a"): None}, keys, forget=False) == {live("a"): None}
    assert keeping({live("a"): "newer"}, keys)[replaced("a", keys.digest("new"))] == "new"
    assert keeping({live("a"): "new"}, keys) == {live("a"): "new"}
    assert keeping({"setting.x": "y"}, keys) == {"setting.x": "y"}


def test_replaced_keys_go_with_the_last_snapshot_that_needs_them() -> None:
    kept = state(a="one")
    names = [live("a"), replaced("a", ring().digest("one")), replaced("a", ring().digest("two")), "setting.x"]
    assert unneeded(names, [kept]) == [replaced("a", ring().digest("two"))]


@pytest.mark.parametrize("url", ["", "http://[", None, 5, "no address"])
def test_an_odd_address_is_a_place_like_another(url: object) -> None:
    assert isinstance(where({"base_url": url}), tuple)


PLACES = ["https://a.example/v1", "https://b.example/v1", "http://c.example"]
SLOTS = ["a", "b", header_slot("a", "X"), header_slot("b", "X")]
STEP = st.tuples(
    st.sampled_from(SLOTS), st.sampled_from([*PLACES, ""]), st.sampled_from(["", "k1", "k2", "k3"]),
    st.integers(0, 5),
)  # fmt: skip


@settings(max_examples=300)
@given(st.lists(STEP, max_size=12))
def test_whatever_happens_a_key_goes_only_where_it_was_given_for(
    steps: list[tuple[str, str, str, int]],
) -> None:
    """Sources come, move, change keys, go, and are rolled back; the invariant of the whole thing."""
    stored: dict[str, dict[str, Any]] = {}
    secrets: dict[str, str] = {}
    given_for: dict[str, set[tuple[str, str]]] = {}
    history: list[Snapshot] = []

    def now() -> Snapshot:
        return take({"core.llm.sources": list(stored.values())}, KeyRing(secrets, PEPPER), at=0, changed=())

    def put(changes: dict[str, str | None]) -> None:
        for name, value in changes.items():
            secrets.pop(name, None) if value is None else secrets.update({name: value})

    for slot, url, key, back in steps:
        name = owner(slot)[0]
        keys = KeyRing(dict(secrets), PEPPER)
        if back < len(history):
            then, before = history[back], now()
            plan = snapshots.plan(then, before, {"core.llm.sources": list(stored.values())}, keys)
            history.append(before)
            put(keeping(dict(plan.secrets), keys, forget=False))
            if "core.llm.sources" in plan.changes:
                found = plan.changes["core.llm.sources"] or []
                stored = {one["name"]: dict(one) for one in found}  # type: ignore[attr-defined]
        elif url:
            history.append(now())
            unique = f"{key}@{where({'base_url': url})}" if key else ""  # one key for one server, as people have them
            moved = name in stored and where(stored[name]) != where({"base_url": url})
            others = [other for other in SLOTS if moved and owner(other)[0] == name]  # they are refused, or not sent
            put(keeping({**{live(other): None for other in others}, live(slot): unique or None}, keys))
            stored[name] = source(name, url)
            given_for.setdefault(unique, set()).add(where(stored[name]))
        else:
            history.append(now())
            put(keeping({live(other): None for other in SLOTS if owner(other)[0] == name}, keys))
            stored.pop(name, None)
        for one in stored.values():
            for other in SLOTS:
                sent = secrets.get(live(other)) if owner(other)[0] == one["name"] else None
                assert sent is None or where(one) in given_for[sent], "a key would go to another server"
