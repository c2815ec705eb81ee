"""memory.* of records: who may ask and as whom; what a turn may not do; what it takes in."""

from __future__ import annotations

from typing import Any

import pytest

from homed.api.table import whole
from homed.errors import ConfigError, Conflict, Denied, InvalidInput, NotFound
from homed.identity.roles import Identity, Role
from homed.wire.methods import MEMORY_WRITE, TO_KERNEL
from tests.homed.api.fakes import FakeCaller, House
from tests.homed.api.test_dispatch import ENOUGH

OWNER = Identity("webui:owner", "webui", "", Role.OWNER, "owner")
WRITES = sorted(name for name, needed in TO_KERNEL.items() if needed == MEMORY_WRITE)
READS = sorted(
    f"memory.{name}" for name in ("stats", "records", "record", "injections", "graph", "cold", "thresholds")
)  # fmt: skip
KEY = "sk-proj-abcdefghijklmnop1234567890"


THRESHOLD = "core.memory.inject_min_score"
WAYS: list[tuple[str, dict[str, Any]]] = [
    ("admin.threshold_set", {"key": THRESHOLD, "value": 0.2}),
    ("admin.config_set", {"key": THRESHOLD, "value": "0.2"}),
    ("admin.config_unset", {"key": THRESHOLD}),
    ("admin.config_change", {"changes": {THRESHOLD: 0.2}}),
    ("settings.set", {"key": THRESHOLD, "value": 0.2}),
    ("settings.change", {"changes": {THRESHOLD: None}}),
]
"""Each method by which a threshold can be moved."""


async def ask(house: House, method: str, peer: str = "webui:owner", **params: Any) -> Any:
    return await house.api.dispatch(FakeCaller(peer.partition(":")[0]), method, {"peer": peer, **params})


async def note(house: House, text: str, peer: str = "webui:owner", **more: Any) -> str:
    return str((await ask(house, "memory.note", peer, text=text, **more))["id"])


async def test_a_record_from_its_writing_to_its_hiding(house: House) -> None:
    made = await note(house, "The cat is black.", tags=["pets"])
    listed = await ask(house, "memory.records", record="l2", evidence="manual")
    assert [one["text"] for one in listed["records"]] == ["The cat is black."]
    now = await ask(house, "memory.edit", id=made[-8:], revision=1, text="The cat is grey.", importance=9)
    assert (now["revision"], now["importance"], now["text"]) == (2, 9, "The cat is grey.")
    opened = await ask(house, "memory.record", id=made)
    assert [one["text"] for one in opened["history"]] == ["The cat is black."]
    assert (opened["source"], opened["evidence"]) == ("", [])
    await ask(house, "memory.hide", id=made)
    assert (await ask(house, "memory.records"))["records"] == []
    assert (await ask(house, "memory.restore", id=made))["status"] == "active"
    assert (await ask(house, "memory.stats"))["records"]["evidence"]["manual"] == 1


async def test_two_become_one_and_are_parted_again(house: House) -> None:
    keep, gone = await note(house, "The cat is called Tom."), await note(house, "Their tomcat has the name Tom.")
    assert (await ask(house, "memory.combine", keep=keep, gone=gone))["superseded"] == [gone]
    history = await ask(house, "memory.records", status="superseded")
    assert [(one["id"], one["superseded_by"]) for one in history["records"]] == [(gone, keep)]
    assert (await ask(house, "memory.reinstate", id=gone))["status"] == "active"
    with pytest.raises(Conflict):
        await ask(house, "memory.reinstate", id=gone)


async def test_b14_each_sees_and_changes_what_is_theirs(house: House) -> None:
    mine = await note(house, "Mine.")
    theirs = await note(house, "Theirs.", "qq:1")
    assert [one["text"] for one in (await ask(house, "memory.records", "qq:1"))["records"]] == ["Theirs."]
    assert [one["text"] for one in (await ask(house, "memory.records"))["records"]] == ["Mine."]
    assert (await ask(house, "memory.records", scope="guest:qq:1"))["records"] == []
    for method, params in (
        ("memory.record", {}), ("memory.hide", {}), ("memory.edit", {"revision": 1, "text": "x y"}),
    ):  # fmt: skip
        with pytest.raises(NotFound):
            await ask(house, method, "qq:1", id=mine, **params)
    with pytest.raises(NotFound):
        await ask(house, "memory.record", id=theirs)
    assert "by_scope" not in await ask(house, "memory.stats", "qq:1")


@pytest.mark.parametrize("method", WRITES)
async def test_no_turn_changes_anything_with_a_token(house: House, method: str) -> None:
    assert whole()[method].in_person
    with (
        house.tokens.lent("timer", OWNER, turn="turn_1", thread="t", channel="webui") as token,
        pytest.raises(Denied, match="for a person to say"),
    ):
        await house.api.dispatch(FakeCaller("timer"), method, {"call": token, **ENOUGH[method]})


@pytest.mark.parametrize("method", WRITES)
async def test_whoever_may_read_memory_may_not_write_it(house: House, method: str) -> None:
    caller = FakeCaller()
    caller.capabilities = frozenset({"core", "memory"})
    with pytest.raises(Denied, match=r"capability memory\.write"):
        await house.api.dispatch(caller, method, {"peer": "webui:owner", **ENOUGH[method]})


async def test_b15_a_turn_that_reads_words_of_strangers_has_them_in_view(house: House) -> None:
    made = await note(house, "The cat is black.")
    with house.tokens.lent("timer", OWNER, turn="turn_1", thread="t", channel="webui") as token:
        for method in READS:
            params = {"id": made} if method == "memory.record" else {}
            await house.api.dispatch(FakeCaller("timer"), method, {"call": token, **params})
        assert not any(untrusted for _, _, untrusted, _ in _taken(house))
        await house.store.write(lambda tx: tx.execute("UPDATE records SET untrusted = 1"))
        await house.api.dispatch(FakeCaller("timer"), "memory.records", {"call": token})
        await house.api.dispatch(FakeCaller("timer"), "memory.record", {"call": token, "id": made})
    assert [untrusted for _, _, untrusted, _ in _taken(house)][-2:] == [True, True]


def _taken(house: House) -> list[Any]:
    return [call for call in house.calling.calls if call[0] == "took_in"]


async def test_a_turn_finds_nothing_that_is_hidden(house: House) -> None:
    made = await note(house, "The cat is black.")
    await ask(house, "memory.hide", id=made)
    with house.tokens.lent("timer", OWNER, turn="turn_1", thread="t", channel="webui") as token:
        for status in ("hidden", "any", "active"):
            asked = {"call": token, "status": status}
            answer: Any = await house.api.dispatch(FakeCaller("timer"), "memory.records", asked)
            assert answer["records"] == []
        with pytest.raises(NotFound):
            await house.api.dispatch(FakeCaller("timer"), "memory.record", {"call": token, "id": made})
    assert [one["id"] for one in (await ask(house, "memory.records", status="hidden"))["records"]] == [made]


@pytest.mark.parametrize(
    ("method", "params", "words"),
    [
        ("memory.records", {"limit": 101}, "limit"),
        ("memory.records", {"evidence": "hearsay"}, "evidence"),
        ("memory.records", {"record": "l4"}, "record"),
        ("memory.records", {"sort": "random"}, "sort"),
        ("memory.records", {"since": "yesterday"}, "since"),
        ("memory.records", {"since": float("nan")}, "since"),
        ("memory.records", {"before": "nonsense"}, "before"),
        ("memory.cold", {"before": "9" * 60}, "before"),
        ("memory.cold", {"before": "x"}, "before"),
        ("memory.graph", {"depth": 4}, "depth"),
        ("memory.graph", {"limit": 201}, "limit"),
        ("memory.note", {"text": "x" * 4001}, "text"),
        ("memory.note", {"text": "x", "tags": ["a"] * 9}, "tags"),
        ("memory.edit", {"id": "fact_1", "revision": 0}, "revision"),
        ("admin.threshold_set", {"key": "core.memory.inject_min_score", "value": 1, "reason": ""}, "reason"),
        ("admin.embedding_set", {"dimensions": 9000}, "dimensions"),
    ],
)
async def test_wrong_parameters_are_named(house: House, method: str, params: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        await ask(house, method, **params)


class TestThresholds:
    async def test_each_with_what_it_prevents_and_moved_only_with_a_reason_that_stays(self, house: House) -> None:
        key = "core.memory.inject_min_score"
        moved = await ask(house, "admin.threshold_set", key=key, value=0.2, reason="noise at breakfast")
        assert (moved["value"], moved["applied"]) == (0.2, "now")
        [change] = moved["changes"]
        assert (change["was"], change["now"], change["reason"], change["peer"]) == (
            0.12, 0.2, "noise at breakfast", "webui:owner",
        )  # fmt: skip
        found = {one["key"]: one for one in (await ask(house, "memory.thresholds"))["thresholds"]}
        assert all(one["prevents"] for one in found.values())
        assert found[key]["changes"] == [change]

    @pytest.mark.parametrize(
        ("key", "value", "why"),
        [("core.memory.inject_min_score", 5, "between 0 and 1"), ("core.agent.persona", "x", "no threshold")],
    )
    async def test_what_does_not_fit_or_is_none(self, house: House, key: str, value: object, why: str) -> None:
        with pytest.raises((ConfigError, InvalidInput), match=why):
            await ask(house, "admin.threshold_set", key=key, value=value, reason="because")

    async def test_why_they_were_moved_and_where_they_are_set_is_the_owners_to_read(self, house: House) -> None:
        key = "core.memory.inject_min_score"
        await ask(house, "admin.threshold_set", key=key, value=0.2, reason="Ida's notes came up")
        found = await ask(house, "memory.thresholds", "qq:1")
        one = next(one for one in found["thresholds"] if one["key"] == key)
        assert (one["value"], one["changes"], one["place"]) == (0.2, [], "")
        assert "Ida" not in str(found)

    @pytest.mark.parametrize(("method", "params"), WAYS)
    async def test_on_every_way_it_needs_a_reason_and_says_who_it_was(
        self, house: House, method: str, params: dict[str, Any]
    ) -> None:
        await ask(house, "admin.threshold_set", key=THRESHOLD, value=0.5, reason="to have something to go back from")
        for reason in ({}, {"reason": " … "}):
            with pytest.raises((ConfigError, InvalidInput), match="reason"):
                await ask(house, method, **params, **reason)
        assert house.settings.get(THRESHOLD) == 0.5
        await ask(house, method, **params, reason="noise at breakfast")
        (one,) = [one for one in (await ask(house, "memory.thresholds"))["thresholds"] if one["key"] == THRESHOLD]
        assert one["value"] != 0.5
        assert [(it["was"], it["reason"], it["peer"]) for it in one["changes"]][:1] == [
            (0.5, "noise at breakfast", "webui:owner")
        ]

    @pytest.mark.parametrize(("method", "params"), WAYS)
    async def test_a_turn_moves_one_by_the_tools_alone_which_ask_a_person_each_time(
        self, house: House, method: str, params: dict[str, Any]
    ) -> None:
        await ask(house, "admin.threshold_set", key=THRESHOLD, value=0.5, reason="to have something to go back from")
        with house.tokens.lent("timer", OWNER, turn="turn_1", thread="t", channel="webui") as token:
            asked = house.api.dispatch(FakeCaller("timer"), method, {"call": token, **params, "reason": "noise"})
            if method.startswith("settings."):
                assert await asked
            else:
                with pytest.raises(Denied, match="person"):
                    await asked
            other = {"key": "core.agent.max_tool_turns", "value": 4}
            assert await house.api.dispatch(FakeCaller("timer"), "admin.config_set", {"call": token, **other})
        assert (house.settings.get(THRESHOLD) != 0.5) == method.startswith("settings.")

    async def test_no_other_method_takes_a_setting_by_its_key(self) -> None:
        fields = {name: one.params.model_fields.keys() for name, one in whole().items()}
        takes = {name for name, has in fields.items() if {"key", "value"} <= has or "changes" in has}
        others = {"core.settings_set", "tracker.add"}  # a plugin's own settings; changes of files
        assert takes == {method for method, _ in WAYS} - {"admin.config_unset"} | others

    async def test_a_guest_moves_none(self, house: House) -> None:
        with pytest.raises(Denied, match="for owners"):
            await ask(house, "admin.threshold_set", "qq:1", key="core.memory.inject_min_score", value=0, reason="x")


async def test_the_key_of_an_embedding_endpoint_comes_back_nowhere(house: House) -> None:
    given = {"base_url": "https://models.example/v1", "model": "small", "api_key": KEY}
    answers = [await ask(house, "admin.embedding_set", enabled=True, **given), await ask(house, "admin.embedding_get")]
    answers += [await ask(house, "memory.stats"), await ask(house, "admin.config_list")]
    assert (answers[0]["hasKey"], answers[0]["embedding"]) == (True, "endpoint")
    assert KEY not in str(answers)
    with pytest.raises(InvalidInput) as caught:
        await ask(house, "admin.embedding_probe", api_key=5, base_url=KEY * 100)
    assert KEY not in str(caught.value)
