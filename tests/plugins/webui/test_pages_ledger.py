"""The pages of the ledger and of how memory works, as the server renders them."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote

import pytest

from homed.config.definitions import CORE
from homed.errors import Denied, Unavailable
from plugins.webui.pages_ledger import place
from plugins.webui.pages_tending import KINDS

from .client import browsing
from .standin import StandIn, furnished
from .standin_ledger import furnish_ledger


def kernel() -> StandIn:
    made = furnished(StandIn())
    furnish_ledger(made)
    return made


PATHS = [
    "/memory/injections", "/turns/ta/why", "/turns/none/why", "/memory/graph", "/memory/health", "/memory/embedding",
    "/memory/thresholds",
]  # fmt: skip


@pytest.mark.parametrize("path", PATHS)
async def test_every_one_is_there_in_both_languages(path: str) -> None:
    async with browsing(kernel()) as browser:
        for accept, said in (("zh-CN", "记忆"), ("en", "Memory")):
            answer = await browser.get(path, Accept_Language=accept)
            assert (answer.status, said in answer.body) == (200, True)


async def test_a_conversation_is_found_by_its_title_as_well() -> None:
    made = kernel()
    async with browsing(made) as browser:
        listed = made.io_threads("")["threads"]
        await browser.get(f"/memory/injections?thread={quote(listed[0]['title'][:6].upper())}")
        given = next(given for method, given in made.calls if method == "memory.injections")
        assert given["thread"] == listed[0]["id"]


async def test_pages_of_the_ledger_are_asked_for_by_place_and_filter() -> None:
    made = kernel()
    async with browsing(made) as browser:
        await browser.get("/memory/injections?thread=th2&record=id:9f3c1a7b&before=7")
        given = next(given for method, given in made.calls if method == "memory.injections")
        assert {key: given[key] for key in ("thread", "record", "before")} == {
            "thread": "th2", "record": "9f3c1a7b", "before": 7,
        }  # fmt: skip
        made.injected = [{**made.injected[0], "seq": n} for n in range(1, 40)]
        body = (await browser.get("/memory/injections?thread=th1")).body
        assert re.search(r'href="/memory/injections\?before=10&amp;thread=th1" rel="next"', body)


def test_a_place_is_a_number_or_nothing() -> None:
    assert [place(one) for one in ("12", "", "-1", "x", "²", "9" * 40)] == [12, None, None, None, None, None]


@pytest.mark.parametrize(
    ("lang", "written", "said"),
    [
        ("en", {"state": "waiting", "due": 1.79e9}, ["What was made of this turn", "Not yet read", "is due by <time"]),
        ("zh", {"state": "waiting", "due": 1.79e9}, ["从这一轮记下了什么", "尚未阅读", "最迟阅读时间："]),
        ("en", {"state": "told", "paused": True, "records": {"summary": ["summary_000000001a2b3c4d"]}},
         ["is to read it yet", "paused", '<a href="/memory/records/summary_000000001a2b3c4d">']),
        ("en", {"state": "held"}, ["could not be read whole"]),
        ("en", {"state": "done"}, ["Nothing was remembered of this."]),
        ("en", {"state": "done", "records": {"fact": ["fact_000000009f3c1a7b"]}}, ["9f3c1a7b</code></a>"]),
    ],
)  # fmt: skip
async def test_why_says_what_was_made_of_the_turn_or_when_it_is_read(
    lang: str, written: dict[str, Any], said: list[str]
) -> None:
    made = kernel()
    told = made.memory_injections
    whole = {"turn": "ta", "records": {}, "due": None, "paused": False, **written}
    made.memory_injections = lambda peer, **asked: {**told(peer, **asked), "written": whole}  # type: ignore[method-assign]
    async with browsing(made) as browser:
        body = (await browser.get("/turns/ta/why", Accept_Language=lang)).body
        part = body.partition('aria-labelledby="written-title"')[2].partition("</section>")[0]
        assert [one for one in said if one not in part] == []
        assert ("<time" in part) == bool(whole["due"])


async def test_why_does_without_the_ledger() -> None:
    made = kernel()
    made.fail["memory.injections"] = Unavailable("Not now.")
    async with browsing(made) as browser:
        answer = await browser.get("/turns/ta/why")
        assert answer.status == 200


async def test_a_key_never_comes_out_and_where_it_is_given_stands_there() -> None:
    made = kernel()
    made.embedding |= {"hasKey": True, "places": {"core.memory.embedding_api_key": "HOMED_KEY"}}
    async with browsing(made) as browser:
        body = (await browser.get("/memory/embedding")).body
        field = re.search(r'<input name="api_key"[^>]*>', body)
        assert field is not None
        assert "value=" not in field[0]
        assert "disabled" in field[0]
        assert "HOMED_KEY" in body


def test_the_kinds_of_embedder_are_those_of_the_setting() -> None:
    (definition,) = (one for one in CORE if one.key == "core.memory.embedding")
    assert set(KINDS) == set(definition.options)


async def test_what_only_an_owner_looks_after_is_refused_to_others() -> None:
    made = kernel()
    made.fail |= {"memory.thresholds": Denied("No."), "admin.embedding_get": Denied("No.")}
    async with browsing(made) as browser:
        for path in ("/memory/embedding", "/memory/thresholds"):
            assert (await browser.get(path)).status == 403


async def test_a_reason_goes_with_a_setting_and_what_is_needed_is_said() -> None:
    made = kernel()
    async with browsing(made) as browser:
        body = {"key": "core.agent.max_tool_turns", "value": 5, "reason": "loops"}
        await browser.post("/api/v1/settings", body)
        assert made.calls[-1][1]["reason"] == "loops"
        answer = await browser.post(
            "/api/v1/memory/thresholds", {"key": "k", "value": 1, "reason": " "}, x_holo_memory="1"
        )
        assert answer.status == 400
