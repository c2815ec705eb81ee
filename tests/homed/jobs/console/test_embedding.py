"""Embedding settings: tried without keeping anything, set in one change, and the key comes back nowhere."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from homed.config.definitions import (
    EMBEDDING,
    EMBEDDING_API_KEY,
    EMBEDDING_BASE_URL,
    EMBEDDING_KEY_FILE,
    EMBEDDING_MODEL,
)
from homed.errors import ConfigError, InvalidInput
from homed.jobs.console.embedding import Place
from homed.store.db import open_store
from tests.homed.retrieval.embed.test_remote import Server
from tests.kit.console import Desk, open_desk

KEY = "sk-proj-abcdefghijklmnop1234567890"
OTHER = "sk-proj-zyxwvutsrqponmlk0987654321"
HERE, ELSEWHERE = "https://models.example/v1", "https://elsewhere.example/v1"


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
async def desk(tmp_path: Path, server: Server) -> AsyncIterator[Desk]:
    async with open_store(tmp_path / "homed.db") as store, open_desk(tmp_path, store, transport=server) as made:
        yield made


async def use(desk: Desk) -> None:
    await desk.settings.change(
        {EMBEDDING: "endpoint", EMBEDDING_BASE_URL: HERE, EMBEDDING_MODEL: "small", EMBEDDING_API_KEY: KEY}
    )


async def probe(desk: Desk, **place: Any) -> dict[str, Any]:
    return dict(await desk.console.embedding.probe(Place(**place)))


class TestProbe:
    async def test_one_question_says_all_and_keeps_nothing(self, desk: Desk, server: Server) -> None:
        before = [(view.key, view.value) for view in desk.settings.list_()]
        found = await probe(desk, base_url=HERE, model="small", api_key=KEY)
        assert (found["ok"], found["reachable"], found["embeds"], found["dims"]) == (True, True, True, 3)
        assert (found["error"], len(server.asked)) == ("", 1)
        assert found["ms"] >= 0
        assert [(view.key, view.value) for view in desk.settings.list_()] == before
        assert desk.known == [KEY]
        assert KEY not in json.dumps(found)

    async def test_without_anything_what_is_set_is_tried(self, desk: Desk, server: Server) -> None:
        await use(desk)
        assert (await probe(desk))["ok"]
        assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
        assert str(server.requests[0].url) == f"{HERE}/embeddings"

    @pytest.mark.parametrize("given", [None, ""])
    async def test_the_stored_key_goes_to_its_own_address_alone(
        self, desk: Desk, server: Server, given: str | None
    ) -> None:
        await use(desk)
        await probe(desk, base_url=ELSEWHERE, model="small", api_key=given)
        assert "authorization" not in server.requests[0].headers
        await probe(desk, base_url=f"{HERE}/", model="large")
        assert server.requests[1].headers["authorization"] == f"Bearer {KEY}"

    async def test_a_chat_model_is_none_for_embeddings(self, desk: Desk, server: Server) -> None:
        server.answer = lambda _: httpx2.Response(200, json={"choices": []})
        found = await probe(desk, base_url=HERE, model="chatty")
        assert (found["ok"], found["reachable"], found["embeds"]) == (False, True, False)
        assert "gives no embeddings" in found["error"]

    async def test_a_refusal_is_told_without_the_key_that_it_repeats(self, desk: Desk, server: Server) -> None:
        server.answer = lambda _: httpx2.Response(401, json={"error": {"message": f"bad key {KEY}"}})
        found = await probe(desk, base_url=HERE, model="small", api_key=KEY)
        assert (found["ok"], found["reachable"]) == (False, True)
        assert "401" in found["error"]
        assert KEY not in json.dumps(found)

    @pytest.mark.parametrize("address", ["ftp://x/v1", "https://", "nonsense"])
    async def test_what_is_no_address_is_told(self, desk: Desk, address: str) -> None:
        found = await probe(desk, base_url=address, model="small")
        assert (found["ok"], found["reachable"]) == (False, False)
        assert found["error"]

    async def test_one_that_can_not_be_reached_is_told(self, desk: Desk, server: Server) -> None:
        def refuse(_: object) -> httpx2.Response:
            raise httpx2.ConnectError("connection refused")

        server.answer = refuse
        found = await probe(desk, base_url=HERE, model="small")
        assert (found["ok"], found["reachable"]) == (False, False)
        assert "cannot be reached" in found["error"]

    async def test_without_an_address_there_is_nothing_to_ask(self, desk: Desk) -> None:
        with pytest.raises(InvalidInput, match="address"):
            await probe(desk, model="small")


class TestSet:
    async def test_one_change_with_the_key_and_vectors_are_made_anew_beside(self, desk: Desk) -> None:
        with desk.settings.watch("core.memory.embedding") as changes:
            found = await desk.console.embedding.set(Place(HERE, "small", 3, KEY), enabled=True)
            keys = {(await anext(changes))[0] for _ in range(5)}
        assert EMBEDDING_API_KEY in keys
        assert (found["base_url"], found["model"], found["dimensions"]) == (HERE, "small", 3)
        assert (found["embedding"], found["enabled"], found["hasKey"]) == ("endpoint", True, True)
        assert KEY not in json.dumps(found)
        assert desk.settings.str(EMBEDDING_API_KEY) == KEY
        assert desk.woken.times == 1

    async def test_what_is_not_said_stays_and_an_empty_key_removes_it(self, desk: Desk) -> None:
        await use(desk)
        await desk.console.embedding.set(Place(model="large"))
        assert (desk.settings.str(EMBEDDING_API_KEY), desk.settings.str(EMBEDDING_BASE_URL)) == (KEY, HERE)
        found = await desk.console.embedding.set(Place(api_key=""))
        assert (found["hasKey"], desk.settings.str(EMBEDDING_API_KEY)) == (False, "")

    async def test_another_address_does_not_take_the_key_of_this_one_along(self, desk: Desk) -> None:
        await use(desk)
        found = await desk.console.embedding.set(Place(base_url=ELSEWHERE))
        assert found["hasKey"] is False
        await use(desk)
        assert (await desk.console.embedding.set(Place(base_url=ELSEWHERE, api_key=OTHER)))["hasKey"]

    async def test_off_and_on_again(self, desk: Desk) -> None:
        await desk.console.embedding.set(Place(), enabled=False)
        assert desk.settings.str(EMBEDDING) == "off"
        assert (await desk.console.embedding.set(Place(), enabled=True))["embedding"] == "auto"
        assert (await desk.console.embedding.set(Place(), embedding="tfidf"))["embedding"] == "tfidf"

    @pytest.mark.parametrize(("place", "more"), [(Place(dimensions=-1), {}), (Place(), {"embedding": "nonsense"})])
    async def test_what_does_not_fit_changes_nothing(self, desk: Desk, place: Place, more: Any) -> None:
        await use(desk)
        with pytest.raises(ConfigError):
            await desk.console.embedding.set(place, **more)
        with pytest.raises(InvalidInput):
            await desk.console.embedding.set(Place())
        assert desk.settings.str(EMBEDDING_MODEL) == "small"

    async def test_a_key_in_a_file_counts_and_one_that_others_may_read_does_not(
        self, desk: Desk, tmp_path: Path
    ) -> None:
        file = tmp_path / "key"
        file.write_text(f"{KEY}\n")
        file.chmod(0o600)
        await desk.settings.change({EMBEDDING_KEY_FILE: str(file)})
        assert (await desk.console.embedding.get())["hasKey"] is True
        file.chmod(0o644)
        assert (await desk.console.embedding.get())["hasKey"] is False


async def test_how_far_it_is(desk: Desk) -> None:
    put = (
        "INSERT INTO records (id, scope, record, kind, text, key, origin, extractor, created_at, updated_at)"
        " VALUES ('fact_' || ?, 'owner', 'fact', 'fact', 'The cat is black.', 'k', 'import', 'model', 1, 1)"
    )
    await desk.store.write(lambda tx: tx.many(put, [("1",), ("2",)]))
    found: Any = await desk.console.embedding.get()
    assert found["progress"] == {"done": 0, "total": 2, "failed": 0, "foreign": 0}
    await desk.vectorise()
    found = await desk.console.embedding.get()
    assert found["progress"] == {"done": 2, "total": 2, "failed": 0, "foreign": 0}
    assert (found["fingerprint"], found["dims"], found["embedder"]["used"]) == ("fake", 64, "bundled")


@pytest.mark.parametrize(
    "address", ["https://u:hunter2hunter2@models.example/v1", "https://hunter2hunter2@models.example/v1",
                "https://models.example/v1?key=hunter2hunter2", "https://models.example/v1#hunter2hunter2"],
)  # fmt: skip
async def test_an_address_with_a_secret_in_it_is_kept_on_no_path(desk: Desk, address: str) -> None:
    """Whoever looks is shown the address: what opens it belongs to the key, which nobody is shown."""
    for change in (
        desk.console.embedding.set(Place(base_url=address, model="small")),
        desk.settings.change({EMBEDDING_BASE_URL: address}),
    ):
        with pytest.raises(ConfigError, match="without a password") as refused:
            await change
        assert "hunter2" not in f"{refused.value} {refused.value.detail} {refused.value.hint}"
    assert "hunter2" not in json.dumps(dict(await desk.console.embedding.get()))
