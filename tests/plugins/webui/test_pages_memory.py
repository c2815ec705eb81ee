"""The memory console's pages of records as the server renders them."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import Any

import pytest

from homed.errors import Conflict, InvalidInput
from plugins.webui.pages_memory import day, wanted

from .client import Browser, browsing
from .standin import StandIn, furnished
from .standin_records import AT, DAY, cold, furnished_records, record, said, side

ID = "fact_000000009f3c1a7b"
PAGES = ("/memory", "/memory/records", f"/memory/records/{ID}", "/memory/cold", "/memory/merges")
BAD = "<img src=x onerror=alert(1)>"


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    kernel = furnished(StandIn())
    furnished_records(kernel)
    async with browsing(kernel) as made:
        yield made


def called(browser: Browser, method: str) -> list[dict[str, Any]]:
    return [params for name, params in browser.kernel.calls if name == method]


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize(("lang", "menu"), [("en", "Memory"), ("zh", "记忆")])
async def test_every_page_has_the_menu_and_the_parts_in_the_persons_language(
    browser: Browser, path: str, lang: str, menu: str
) -> None:
    body = (await browser.get(path, Accept_Language=lang)).body
    assert f'<a href="/memory" aria-current="page">{menu}</a>' in body.replace("\n", "")
    assert body.count('aria-current="page"') == 2, "the entry of the menu and the part"
    assert "/static/css/memory.css" in body
    assert " style=" not in body
    assert "<script>" not in body
    if lang == "zh":
        plain = re.sub(r"<[^>]*>|&#?\w+;", " ", body.partition("<main")[2].partition("<template")[0])
        assert not re.search(r"\b(found|search|evidence|revision|Combine|hidden)\b", plain)


@pytest.mark.parametrize("path", [*PAGES, "/memory/injections", "/memory/graph", "/memory/thresholds"])
async def test_what_comes_while_a_page_is_made_or_before_its_stream_begins_is_told_to_it(
    browser: Browser, path: str
) -> None:
    kernel, call = browser.kernel, browser.kernel.call

    async def slow(method: str, params: Any) -> Any:
        found = await call(method, params)
        if method == "io.threads":  # asked for last: what the page shows is older
            kernel.post("memory", "", "", what="changed")
        return found

    kernel.call = slow  # type: ignore[method-assign]
    kernel.post("memory", "", "", what="before")
    body = (await browser.get(path)).body
    (cursor,) = re.findall(r'id="memory"[^>]* data-cursor="([^"]+)"', body)
    assert [one.seq for one in kernel.hub.missed(cursor, "", owner=True) or ()] == [kernel.seq]


@pytest.mark.parametrize(
    ("lang", "count", "more", "words"),
    [
        ("en", 3, {"due": AT}, ["3 turns are not read yet.", "The next look is due by <time datetime="]),
        ("en", 1, {"paused": True}, ["One turn is not read yet.", "paused"]),
        ("zh", 3, {"due": AT, "held": 2}, ["有 3 轮尚未阅读。", "最迟阅读时间："]),
        ("en", 0, {"due": AT}, []),
    ],
)
async def test_turns_that_are_not_read_yet_are_told_above_the_list_with_when_they_are(
    browser: Browser, lang: str, count: int, more: dict[str, Any], words: list[str]
) -> None:
    listed = browser.kernel.memory_records
    unread = {"count": count, "held": 0, "due": None, "paused": False, **more}
    browser.kernel.memory_records = lambda peer, **asked: {**listed(peer, **asked), "unread": unread}  # type: ignore[method-assign]
    body = (await browser.get("/memory/records", Accept_Language=lang)).body
    (told,) = re.findall(r'<p id="unread"[^>]*>(.*?)</p>', body, re.DOTALL)
    assert [one for one in words if one not in told] == []
    assert bool(told.strip()) == bool(words)


async def test_the_overview_shows_what_there_is_what_waits_and_what_was_stopped(browser: Browser) -> None:
    body = (await browser.get("/memory")).body
    told = (
        "What holds", "33 %", "nobody said it", "3 times a secret was kept out.", "95 % have one",
        "1 left alone after failures", "2 in seven days, 7 in all, of 3 records", "edited by a person",
    )  # fmt: skip
    assert [one for one in told if one not in body] == []
    for link in ("evidence=none", "status=superseded", "untrusted=1", f"/memory/records/{ID}"):
        assert link in body
    assert body.count("<rect") > 10


async def test_what_is_not_told_to_one_that_is_no_owner_is_not_missed(browser: Browser) -> None:
    stats = browser.kernel.memory_stats("")
    for key in ("vectors", "bytes", "by_scope", "jobs", "runs", "paths"):
        del stats[key]
    browser.kernel.memory_stats = lambda peer: stats  # type: ignore[method-assign]
    body = (await browser.get("/memory")).body
    assert "What holds" in body
    assert "On disk" not in body


async def test_a_list_asks_for_what_its_address_says(browser: Browser) -> None:
    query = "query=mei&record=fact&status=any&evidence=none&untrusted=1&since=2026-01-31&until=2026-02-01&sort=cited"
    body = (await browser.get(f"/memory/records?{query}&tag=home&before=30&limit=9999")).body
    (asked,) = called(browser, "memory.records")
    begin = day("2026-01-31").timestamp()
    assert asked == {
        "peer": "webui:owner", "query": "mei", "record": "fact", "status": "any", "evidence": "none",
        "untrusted": True, "since": begin, "until": begin + 2 * DAY, "sort": "cited", "tag": "home", "before": "30",
        "limit": 30,
    }  # fmt: skip
    assert 'value="mei"' in body
    assert '<option value="cited" selected>' in body
    assert '<details class="line more" open>' in body


async def test_nonsense_in_the_address_is_said_or_left_out_and_never_a_fault(browser: Browser) -> None:
    answer = await browser.get("/memory/records?since=yesterday&record=everything")
    assert answer.status == 200
    assert "That is no day." in answer.body
    assert called(browser, "memory.records") == []
    assert (await browser.get("/memory/records?since=0001-01-01&until=9999-12-31")).status == 200
    browser.kernel.fail["memory.records"] = InvalidInput("before is no place of this list.")
    assert "before is no place of this list." in (await browser.get("/memory/records?before=x")).body


async def test_pages_follow_each_other_and_keep_what_was_asked_for(browser: Browser) -> None:
    for n in range(70):
        browser.kernel.keep(record(f"fact_{n:016x}", f"Bean number {n}.", created_at=AT - n))
    seen: list[str] = []
    path = "/memory/records?query=bean"
    while path:
        body = (await browser.get(path)).body
        seen += re.findall(r"Bean number (\d+)\.", body)
        more = re.search(r'href="(/memory/records\?[^"]*)" rel="next"', body)
        path = more[1].replace("&amp;", "&") if more else ""
        assert not path or "query=bean" in path
    assert [int(one) for one in seen] == list(range(70)), "each once, the newest first"


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("/memory/records", "Nothing is remembered yet."),
        ("/memory/records?query=x", "Nothing remembered fits that."),
        ("/memory/cold", "Nothing has left the window yet."),
        ("/memory/cold?query=x", "Nothing in cold memory fits that."),
        ("/memory/merges", "Nothing looks like one and the same just now."),
        ("/memory", "Nothing is remembered yet."),
    ],
)
async def test_where_there_is_nothing_it_says_why(path: str, says: str) -> None:
    async with browsing(furnished(StandIn())) as browser:
        assert says in (await browser.get(path)).body


async def test_a_record_shows_its_words_verbatim_and_how_they_stand(browser: Browser) -> None:
    body = (await browser.get(f"/memory/records/{ID}")).body
    assert "By the way, <mark>I live in Munich since May</mark> Do you have" in body
    assert re.findall(r'class="piece" data-hash="(\w+)"', body) == ["ok", "bad", "missing", "ok"]
    assert 'href="/t/th1#turn-turn1"' in body
    assert "of revision 1 and before" in body
    assert "Mei lives in Munich<ins> since May</ins>." in body
    assert "<del>moved to</del><ins>lives in</ins>" in body
    assert "Mei lives in Berlin." in body
    assert 'href="/turns/turn7/why"' in body


async def test_eight_digits_open_a_record_and_several_that_end_so_are_named(browser: Browser) -> None:
    assert "Mei lives in Munich" in (await browser.get("/memory/records/9f3c1a7b")).body
    missing = await browser.get("/memory/records/00000000")
    assert missing.status == 404
    browser.kernel.fail["memory.record"] = Conflict("Several.", detail={"candidates": ["fact_1", "fact_2"]})
    several = await browser.get("/memory/records/9f3c1a7b")
    assert several.status == 404
    assert 'href="/memory/records/fact_2"' in several.body


@pytest.mark.parametrize(
    ("status", "offers", "not_offered"),
    [
        ("active", {"edit", "combine", "hide", "forget"}, {"restore", "reinstate"}),
        ("superseded", {"edit", "reinstate", "hide", "forget"}, {"combine", "restore"}),
        ("hidden", {"restore", "forget"}, {"edit", "hide", "combine", "reinstate"}),
        ("quarantined", {"restore", "edit", "hide", "forget"}, {"combine", "reinstate"}),
    ],
)
async def test_each_record_offers_what_can_be_done_to_it(
    browser: Browser, status: str, offers: set[str], not_offered: set[str]
) -> None:
    browser.kernel.known["fact_00000000aaaa0003"]["status"] = status
    body = (await browser.get("/memory/records/aaaa0003")).body
    found = set(re.findall(r'data-record-do="(\w+)"', body))
    assert offers <= found
    assert not found & not_offered


async def test_what_others_named_is_text_in_every_field(browser: Browser) -> None:
    """XSS: whatever a model, a person, a page or a channel can fill."""
    kernel, bad = browser.kernel, BAD
    made = record(
        "fact_00000000bad00001", bad, kind=bad, title=bad, tags=[bad], project=bad, observed=bad, relation=bad,
        object=bad, subject={"id": bad, "name": bad}, scope=bad, untrusted=True, level=bad, extractor=bad, revision=2,
    )  # fmt: skip
    piece = said(bad, bad, title=bad, speaker=bad, before=bad, after=bad, turn=bad, thread=bad, untrusted=True)
    kernel.keep(made, piece)
    kernel.before[made["id"]] = [
        {"revision": 1, "title": bad, "text": f"not {bad}", "importance": 1, "tags": [bad, bad], "why": bad, "at": AT}
    ]
    told = {"turn": bad, "thread": bad, "title": bad, "at": AT}
    kernel.cited_in[made["id"]] = [told]
    kernel.told_in[made["id"]] = [
        {**told, "seq": 1, "mode": "hit", "band": "working", "why": bad, "score": 0.5, "relevance": 0.5, "revision": 1,
         "evidence": "source", "place": 1},
    ]  # fmt: skip
    kernel.keep(record("fact_00000000bad00002", bad, status="superseded", superseded_by=made["id"], title=bad))
    kernel.in_cold = [cold(1, bad, title=bad, thread=bad, turn=bad, event=bad, kind=bad)]
    kernel.proposed = [{"merge": bad, "scope": bad, "score": 0.5, "sides": [side(bad, bad, bad), side(bad, bad)]}]
    kernel.merged = [{"done": 1, "scope": bad, "kept": bad, "gone": bad, "at": AT}]
    kernel.gates = {bad: 2, f"secret:{bad}": 1}
    for path in (*PAGES, f"/memory/records/{made['id']}", "/memory/records?status=any", f"/memory/records?query={bad}"):
        body = (await browser.get(path)).body
        assert "<img src=x" not in body, path
    body = (await browser.get(f"/memory/records/{made['id']}")).body
    assert body.count("&lt;img src=x") > 15


async def test_untrusted_words_carry_their_sign_wherever_they_stand(browser: Browser) -> None:
    for path in ("/memory/records", "/memory/records/aaaa0003"):
        assert "⚠ from outside" in (await browser.get(path)).body
    browser.kernel.in_cold = [cold(1, "buy now", untrusted=True)]
    assert "⚠ from outside" in (await browser.get("/memory/cold")).body


async def test_cold_memory_is_looked_through_a_page_at_a_time(browser: Browser) -> None:
    body = (await browser.get("/memory/cold?query=tomatoes&before=60")).body
    (asked,) = called(browser, "memory.cold")
    assert asked == {"peer": "webui:owner", "query": "tomatoes", "before": "60", "limit": 30}
    assert "Message 59: tomatoes" in body
    more = re.search(r'href="(/memory/cold\?[^"]*)" rel="next"', (await browser.get("/memory/cold")).body)
    assert more is not None


def test_a_day_counts_whole_and_what_is_none_is_refused() -> None:
    found = wanted({"since": "2026-02-01", "until": "2026-02-01", "untrusted": "0"})
    assert found["untrusted"] is False
    assert float(str(found["until"])) - float(str(found["since"])) == DAY
    for text in ("2026-13-01", "x", "", "99999-01-01"):
        with pytest.raises(InvalidInput):
            day(text)
