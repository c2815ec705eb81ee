"""An endpoint over HTTP: what is sent, what is taken, what every trouble is called, and that the key is nowhere."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import httpx2
import numpy as np
import pytest
import trio

from homed.net import open_http
from homed.retrieval.embed.choice import Endpoint
from homed.retrieval.embed.failed import EmbedFailed
from homed.retrieval.embed.remote import ASKED_LIMIT, CHARACTERS, LONGEST, TEXTS, TRIES, RemoteEmbedder
from homed.retrieval.embed.till import Asked

KEY = "sk-proj-abcdefghijklmnop1234567890"
ENDPOINT = Endpoint("https://models.example/v1", "small-embed", 0, KEY)
Answer = Callable[[dict[str, Any]], httpx2.Response]


def rows(asked: dict[str, Any], dims: int = 3) -> httpx2.Response:
    """Each text's length on the first axis, one on the second; in reverse order."""
    data = [
        {"index": at, "embedding": [float(len(text)), 1.0, *[0.0] * (dims - 2)]}
        for at, text in enumerate(asked["input"])
    ]
    return httpx2.Response(200, json={"data": data[::-1]})


class Server(httpx2.AsyncBaseTransport):
    """Answers by ``answer``, which may be replaced; ``hang``: not at all."""

    def __init__(self, answer: Answer = rows) -> None:
        self.answer = answer
        self.asked: list[dict[str, Any]] = []
        self.requests: list[httpx2.Request] = []
        self.hang = False

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(request)
        self.asked.append(json.loads(request.content))
        if self.hang:
            await trio.sleep_forever()
        await trio.lowlevel.checkpoint()
        return self.answer(self.asked[-1])


@asynccontextmanager
async def remote(server: Server, endpoint: Endpoint = ENDPOINT) -> AsyncIterator[RemoteEmbedder]:
    async with open_http(server) as http:
        yield RemoteEmbedder(endpoint, http)


async def test_texts_go_out_and_rows_come_back_in_order_and_of_length_one() -> None:
    server = Server()
    async with remote(server) as embedder:
        space = await embedder.prepare()
        made = await embedder.embed(["a", "  ", "bcd"])
    assert (space.dims, space.baseline, space.media) == (3, 0.22, False)
    expected = np.array([[1, 1, 0], [0, 0, 0], [3, 1, 0]]) / np.sqrt([[2], [1], [10]])
    assert np.allclose(made, expected)
    assert server.asked[1] == {"model": "small-embed", "input": ["a", "bcd"], "encoding_format": "float"}
    assert str(server.requests[1].url) == "https://models.example/v1/embeddings"
    assert server.requests[1].headers["authorization"] == f"Bearer {KEY}"


async def test_without_a_key_none_is_sent_and_set_dimensions_are_asked_for() -> None:
    server = Server()
    async with remote(server, Endpoint("http://h/v1", "m", 3)) as embedder:
        assert (await embedder.prepare()).dims == 3
    assert server.asked[0]["dimensions"] == 3
    assert "authorization" not in server.requests[0].headers


async def test_the_space_is_address_model_and_dimensions_but_not_the_key() -> None:
    async def name(endpoint: Endpoint, dims: int = 3) -> str:
        async with remote(Server(lambda asked: rows(asked, dims)), endpoint) as embedder:
            return (await embedder.prepare()).fingerprint

    first = await name(Endpoint("http://h/v1", "m", 0, "k1"))
    assert first == await name(Endpoint("http://h/v1", "m", 0, "k2"))
    others = [
        await name(Endpoint("http://i/v1", "m", 0)), await name(Endpoint("http://h/v1", "n", 0)),
        await name(Endpoint("http://h/v1", "m", 0), 4), first,
    ]  # fmt: skip
    assert len(set(others)) == 4


async def test_many_texts_go_in_several_requests_and_a_huge_one_is_cut() -> None:
    server = Server()
    texts = ["x" * (number % 9 + 1) for number in range(TEXTS + 3)] + ["y" * (LONGEST + 5)] * (
        CHARACTERS // LONGEST + 1
    )
    async with remote(server) as embedder:
        await embedder.prepare()
        made = await embedder.embed(texts)
    sent = server.asked[1:]
    assert [text for asked in sent for text in asked["input"]] == [text[:LONGEST] for text in texts]
    assert all(len(asked["input"]) <= TEXTS for asked in sent)
    assert all(sum(map(len, asked["input"])) <= CHARACTERS for asked in sent)
    assert np.isclose(made[3, 0] / made[3, 1], 4)


@pytest.mark.parametrize(
    ("status", "body", "words", "lasting"),
    [
        (401, {"error": {"message": "Incorrect API key provided: " + KEY}}, "HTTP 401: Incorrect API key", True),
        (404, {"detail": "no such model"}, "HTTP 404: no such model", True),
        (400, {"error": "this model does not support embeddings"}, "HTTP 400: this model", True),
        (503, {"message": "overloaded"}, "HTTP 503: overloaded", False),
        (502, "<html>bad gateway</html>", "HTTP 502: it sent a web page", False),
        (500, "nothing readable", r"HTTP 500\.", False),
    ],
)
async def test_a_refusal_is_told_in_its_words_without_the_key(
    status: int, body: Any, words: str, lasting: bool, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(_: object) -> httpx2.Response:
        whole = {"json": body} if isinstance(body, dict) else {"text": body}
        return httpx2.Response(status, **whole)

    with_password = replace(ENDPOINT, base_url="https://user:pw@models.example/v1")
    with caplog.at_level(logging.DEBUG, "homed"):  # libraries stay at warning, see homed.log
        async with remote(Server(refuse), with_password) as embedder:
            with pytest.raises(EmbedFailed, match=words) as caught:
                await embedder.prepare()
    assert caught.value.lasting == lasting
    said = f"{caught.value} {caught.value.detail} {caplog.text} {embedder!r}"
    assert KEY not in said
    assert "user:pw" not in said
    assert KEY[:12] not in said


async def test_a_key_that_looks_like_a_word_is_taken_out_too() -> None:
    server = Server(lambda _: httpx2.Response(403, json={"error": "the token quietmoonlight99 is not known"}))
    async with remote(server, Endpoint("http://h/v1", "m", 0, "quietmoonlight99")) as embedder:
        with pytest.raises(EmbedFailed, match="is not known") as caught:
            await embedder.prepare()
    assert "moonlight" not in str(caught.value)


async def test_what_people_wrote_is_in_no_error() -> None:
    def echo(asked: dict[str, Any]) -> httpx2.Response:
        return httpx2.Response(400, json={"error": {"message": f"cannot embed '{asked['input'][0][:40]}'"}})

    server = Server()
    async with remote(server) as embedder:
        await embedder.prepare()
        server.answer = echo
        with pytest.raises(EmbedFailed) as caught:
            await embedder.embed(["my mother's maiden name is Quist"])
    assert "maiden" not in str(caught.value)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"object": "list"}, "gives no embeddings"),
        ({"data": [{"index": 0, "embedding": "AAAA"}]}, "gives no embeddings"),
        ({"data": [{"index": 0}]}, "gives no embeddings"),
        ({"data": []}, "another number of embeddings"),
        ({"data": [{"index": 0, "embedding": []}]}, "another number of embeddings"),
        ({"data": [{"index": 0, "embedding": [1]}, {"index": 1, "embedding": [1]}]}, "another number of embeddings"),
        ({"data": [{"index": 0, "embedding": [1, 2]}, {"index": 1, "embedding": [1]}]}, "gives no embeddings"),
        ({"choices": []}, "gives no embeddings"),
    ],
)
async def test_an_answer_that_makes_no_sense_is_said_to(body: dict[str, Any], words: str) -> None:
    async with remote(Server(lambda _: httpx2.Response(200, json=body))) as embedder:
        with pytest.raises(EmbedFailed, match=words):
            await embedder.prepare()


async def test_numbers_that_are_none_are_not_taken() -> None:
    answer = b'{"data": [{"index": 0, "embedding": [NaN, 1]}]}'
    async with remote(Server(lambda _: httpx2.Response(200, content=answer))) as embedder:
        with pytest.raises(EmbedFailed, match="hold no numbers"):
            await embedder.prepare()


async def test_other_dimensions_than_set_or_than_before_are_no_vectors_of_this_space() -> None:
    async with remote(Server(), Endpoint("http://h/v1", "m", 8)) as embedder:
        with pytest.raises(EmbedFailed, match="3 dimensions, not of 8") as caught:
            await embedder.prepare()
        assert caught.value.lasting
    server = Server()
    async with remote(server) as embedder:
        await embedder.prepare()
        server.answer = lambda asked: rows(asked, 4)
        with pytest.raises(EmbedFailed, match="4 dimensions now, not of 3"):
            await embedder.embed(["a"], query=True)


async def test_bulk_comes_again_when_it_is_told_to_and_a_question_does_not(
    autojump_clock: trio.testing.MockClock,
) -> None:
    server, times = Server(), []

    def busy(asked: dict[str, Any]) -> httpx2.Response:
        times.append(trio.current_time())
        if len(times) % TRIES:
            return httpx2.Response(429, headers={"retry-after": "7"}, json={"error": {"message": "slow down"}})
        return rows(asked)

    async with remote(server) as embedder:
        await embedder.prepare()
        server.answer = busy
        assert len(await embedder.embed(["a"])) == 1
        assert np.allclose(np.diff(times), 7, atol=0.5)
        with pytest.raises(EmbedFailed, match="slow down"):
            await embedder.embed(["a"], query=True)
    assert len(times) == TRIES + 1


async def test_one_that_never_answers_is_given_up(autojump_clock: trio.testing.MockClock) -> None:
    """B12: an endpoint that hangs."""
    server = Server()
    async with remote(server) as embedder:
        await embedder.prepare()
        server.hang = True
        begun = trio.current_time()
        with pytest.raises(EmbedFailed, match="did not answer within 5 s"):
            await embedder.embed(["a"], query=True)
        assert trio.current_time() - begun <= ASKED_LIMIT + 0.1
        with trio.move_on_after(1.2) as recall:  # what a turn has for it
            await embedder.embed(["a"], query=True)
        assert recall.cancelled_caught


async def test_a_key_that_cannot_be_one_and_an_address_that_is_none() -> None:
    for key in ("two words", "schlüssel", "line\nbreak"):
        async with remote(Server(), Endpoint("http://h/v1", "m", 0, key)) as embedder:
            with pytest.raises(EmbedFailed, match="no key has") as caught:
                await embedder.prepare()
            assert key not in str(caught.value)
    for address in ("", "ftp://h", "http://[::1"):
        async with remote(Server(), Endpoint(address, "m", 0)) as embedder:
            with pytest.raises(EmbedFailed, match="no address that can be asked"):
                await embedder.prepare()


async def test_one_that_is_not_there() -> None:
    class Gone(httpx2.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            raise httpx2.ConnectError("connection refused")

    async with open_http(Gone()) as http:
        with pytest.raises(EmbedFailed, match=re.escape("models.example (small-embed) cannot be reached")) as caught:
            await RemoteEmbedder(ENDPOINT, http).prepare()
    assert not caught.value.lasting


@pytest.mark.parametrize(
    ("index", "embedding", "words"),
    [
        ("0", f"[1{'0' * 400}, 1]", "no embeddings"),
        ("Infinity", "[1, 1]", "no embeddings"),
        ("0", "[1e300, 1]", "hold no numbers"),
        ("0", "[1e400, 1]", "hold no numbers"),
        ("0", "[3e38, 3e38]", "hold no numbers"),
    ],
)
async def test_numbers_beyond_all_measure_are_a_failure_like_any_other(index: str, embedding: str, words: str) -> None:
    answer = f'{{"data": [{{"index": {index}, "embedding": {embedding}}}]}}'.encode()
    async with remote(Server(lambda _: httpx2.Response(200, content=answer))) as embedder:
        with pytest.raises(EmbedFailed, match=words):
            await embedder.prepare()


async def test_one_whose_client_is_closed_fails_as_one_that_was_replaced() -> None:
    async with remote(Server()) as embedder:
        await embedder.prepare()
    for query in (True, False):
        with pytest.raises(EmbedFailed, match="changed or is being stopped"):
            await embedder.embed(["hello"], query=query)


async def test_an_answer_is_read_no_further_than_one_can_be_long() -> None:
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        while True:
            sent += 1 << 16
            await trio.lowlevel.checkpoint()
            yield b" " * (1 << 16)

    async with remote(Server(lambda _: httpx2.Response(200, content=endless()))) as embedder:
        with pytest.raises(EmbedFailed, match="without end"):
            await embedder.prepare()
    assert sent <= 2 << 20, "of one text: some thousand numbers"


class Till:
    """Writes down what goes through it; ``refuse``: nothing does."""

    def __init__(self, *, refuse: bool = False) -> None:
        self.refuse = refuse
        self.asked: list[tuple[str, str, int, Asked]] = []

    @asynccontextmanager
    async def asking(self, address: str, model: str, tokens: int) -> AsyncIterator[Asked]:
        await trio.lowlevel.checkpoint()
        if self.refuse:
            raise EmbedFailed("The day's limit is used up.")
        self.asked.append((address, model, tokens, Asked()))
        yield self.asked[-1][3]


async def test_each_request_goes_through_the_till_with_what_it_took() -> None:
    server, till = Server(), Till()
    counted = lambda asked: httpx2.Response(200, json={**rows(asked).json(), "usage": {"prompt_tokens": 12}})  # noqa: E731
    refused = lambda _: httpx2.Response(401, json={"error": {"message": "no"}})  # noqa: E731
    async with open_http(server) as http:
        embedder = RemoteEmbedder(ENDPOINT, http, till=till)
        await embedder.prepare()
        server.answer = counted
        await embedder.embed(["one two three", "four"])
        server.answer = refused
        with pytest.raises(EmbedFailed, match="401"):
            await embedder.embed(["one"])
        till.refuse = True
        with pytest.raises(EmbedFailed, match="used up"):
            await embedder.embed(["one"])
    assert len(server.requests) == 3
    assert [one[:2] for one in till.asked] == [(ENDPOINT.base_url, ENDPOINT.model)] * 3
    assert till.asked[1][2] > till.asked[0][2] > 0
    assert [one[3] for one in till.asked] == [Asked(), Asked(took=12), Asked(owed=False)]
